"""The embedded server: private to one OS user, at home in any folder, and nobody's
folders are opened for it.
"""

import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from reverie import embedded, errors

ROOT = os.geteuid() == 0
as_root = pytest.mark.skipif(not ROOT, reason="only root has other OS users to be")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of the test's own that others may pass through."""
    one = Path(tempfile.mkdtemp(prefix="rev-", dir="/tmp"))
    one.chmod(0o711)
    yield one
    shutil.rmtree(one, ignore_errors=True)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def answers(server: embedded.EmbeddedServer) -> bool:
    with psycopg.connect(
        server.place.url(embedded.OWNER_ROLE, database="postgres")
    ) as connection:
        row = connection.execute("SELECT 1").fetchone()
    return row == (1,)


def test_modes_of_a_new_home(folder: Path) -> None:
    before = {one: mode(one) for one in (folder, *folder.parents)}
    home = folder / "deep" / "reverie"
    server = embedded.acquire(home)
    try:
        assert answers(server)
        assert mode(home) == (0o711 if ROOT else 0o700)
        assert mode(server.place.data) == mode(server.place.socket) == 0o700
        owner = server.place.user.pw_uid if server.place.user else os.geteuid()
        assert {
            one.stat().st_uid for one in (server.place.data, server.place.socket)
        } == {owner}
        assert home.stat().st_uid == os.geteuid()
        for private in (
            "pg_hba.conf",
            "pg_ident.conf",
            "postgresql.conf",
            "socket.conf",
            "server.log",
        ):
            assert mode(server.place.data / private) & 0o077 == 0, private
        assert mode(server.place.socket / ".s.PGSQL.5432") == 0o700
        assert {one: mode(one) for one in before} == before
    finally:
        server.release()
    assert not (server.place.data / "postmaster.pid").exists()


def test_an_existing_home_keeps_its_mode(folder: Path) -> None:
    home = folder / "home"
    home.mkdir(mode=0o755)
    home.chmod(0o755)
    embedded.make_home(home)
    assert mode(home) == 0o755


def test_it_listens_on_no_port(cluster: embedded.EmbeddedServer) -> None:
    with psycopg.connect(
        cluster.place.url(embedded.OWNER_ROLE, database="postgres")
    ) as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
        assert connection.execute("SHOW unix_socket_directories").fetchone() == (
            str(cluster.place.socket),
        )


CONNECT = """
import socket, sys
one = socket.socket(socket.AF_UNIX)
try:
    one.connect(sys.argv[1])
except OSError as refused:
    print(type(refused).__name__)
else:
    print("connected")
"""


def as_nobody(program: list[str]) -> "subprocess.CompletedProcess[str]":
    nobody = pwd.getpwnam("nobody")
    return subprocess.run(
        program,
        user=nobody.pw_uid,
        group=nobody.pw_gid,
        extra_groups=[],
        cwd="/",
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@as_root
def test_no_other_user_can_connect(folder: Path) -> None:
    server = embedded.acquire(folder)
    try:
        psql = str(server.place.binaries / "psql")
        roles = (embedded.OWNER_ROLE, embedded.APP_ROLE, "postgres", "nobody")
        for role in roles:
            url = server.place.url(role, database="postgres")
            refused = as_nobody([psql, "-w", "-c", "SELECT 1", url])
            assert refused.returncode == 2
            assert "Permission denied" in refused.stderr
        # And with the door of the folder open, the server itself asks who comes.
        server.place.socket.chmod(0o755)
        (server.place.socket / ".s.PGSQL.5432").chmod(0o777)
        for role in roles:
            refused = as_nobody(
                [
                    psql,
                    "-w",
                    "-c",
                    "SELECT 1",
                    server.place.url(role, database="postgres"),
                ]
            )
            assert refused.returncode == 2
            assert "Peer authentication failed" in refused.stderr
        readable = as_nobody(["/bin/ls", str(server.place.data)])
        assert "Permission denied" in readable.stderr
    finally:
        server.release()


LONG = "a-rather-long-folder-name-that-nobody-would-type-but-some-backup-tool-makes"


@pytest.mark.parametrize(
    "name",
    [
        f"{LONG}/{LONG}",
        "José's data",
        "with space, and comma",
        'quote"d',
        "ünï/код/数据",
    ],
    ids=["long", "apostrophe", "comma", "quotation mark", "letters"],
)
def test_homes_of_all_kinds(folder: Path, name: str) -> None:
    home = folder / name
    for part in reversed(
        [one for one in home.parents if one.is_relative_to(folder) and one != folder]
    ):
        part.mkdir(mode=0o711)
        part.chmod(0o711)
    server = embedded.acquire(home)
    try:
        assert answers(server)
        assert len(os.fsencode(server.place.socket / ".s.PGSQL.5432")) <= 107
        assert mode(server.place.socket) == 0o700
        second = embedded.acquire(home)
        assert second.place == server.place
        second.release()
        assert answers(server)
    finally:
        server.release()
        if not server.place.socket.is_relative_to(folder):
            shutil.rmtree(server.place.socket)


def test_a_home_that_was_moved(folder: Path) -> None:
    server = embedded.acquire(folder / "old")
    with psycopg.connect(
        server.place.url(embedded.OWNER_ROLE, database="postgres")
    ) as connection:
        connection.execute("CREATE TABLE remembered ()")
    server.release()
    (folder / "old").rename(folder / "new")
    server = embedded.acquire(folder / "new")
    try:
        assert server.place.socket.is_relative_to(folder / "new") or ROOT
        with psycopg.connect(
            server.place.url(embedded.OWNER_ROLE, database="postgres")
        ) as connection:
            assert connection.execute("SELECT count(*) FROM remembered").fetchone() == (
                0,
            )
    finally:
        server.release()


@as_root
def test_a_closed_parent_stays_closed(folder: Path) -> None:
    """Root with a home that PostgreSQL's user cannot reach: the data lies elsewhere,
    and nothing was opened.
    """
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    home = closed / "reverie"
    server = embedded.acquire(home)
    elsewhere = server.place.data.parent
    try:
        assert answers(server)
        assert mode(closed) == 0o700
        assert mode(home) == 0o711
        assert not server.place.data.is_relative_to(home)
        assert elsewhere.name == (home / "cluster").read_text()
        assert mode(server.place.data) == mode(server.place.socket) == 0o700
        assert mode(elsewhere) == 0o711
        second = embedded.acquire(home)
        assert second.place == server.place
        second.release()
    finally:
        server.release()
        if elsewhere.parent == embedded._ROOT_CLUSTERS:
            shutil.rmtree(elsewhere)


@as_root
def test_a_socket_folder_of_somebody_else_is_not_taken(folder: Path) -> None:
    """Neither a folder that another user made before us, nor a link that leads to one
    of ours.
    """
    nobody = pwd.getpwnam("nobody")
    theirs = folder / "theirs"
    theirs.mkdir()
    os.chown(theirs, nobody.pw_uid, nobody.pw_gid)
    link = folder / "link"
    target = folder / "target"
    target.mkdir(mode=0o755)
    link.symlink_to(target)
    for path in (theirs, link):
        with pytest.raises(errors.Misconfigured, match="belongs to somebody else"):
            embedded._make_private_folder(path, pwd.getpwnam(embedded.OS_USER))
    assert (theirs.stat().st_uid, target.stat().st_uid) == (nobody.pw_uid, 0)
    assert mode(target) == 0o755


def test_a_home_that_cannot_be_made(folder: Path) -> None:
    (folder / "file").write_text("")
    with pytest.raises(errors.Misconfigured, match="cannot be made") as refused:
        embedded.acquire(folder / "file" / "home")
    assert "REVERIE_HOME" in refused.value.hint


@as_root
def test_as_an_ordinary_user(folder: Path) -> None:
    """Nobody's own Reverie: a home of 0700, a server that is nobody's, and root's modes
    nowhere.
    """
    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    program = (
        "import pathlib, sys; from reverie import embedded; import psycopg\n"
        "server = embedded.acquire(pathlib.Path(sys.argv[1]))\n"
        "with psycopg.connect(server.place.url(embedded.OWNER_ROLE, database='postgres')) as c: c.execute('SELECT 1')\n"
        "server.release()\n"
    )
    sources = Path(embedded.__file__).parents[1]
    if not (
        embedded._is_reachable(Path(sys.executable)) and embedded._is_reachable(sources)
    ):
        pytest.skip(
            "this Python, or these sources, lie in a folder that is closed to other OS users"
        )
    done = as_nobody(
        [
            "env",
            f"PYTHONPATH={sources}",
            sys.executable,
            "-c",
            program,
            str(folder / "home"),
        ]
    )
    assert done.returncode == 0, done.stderr
    assert mode(folder / "home") == 0o700
    assert (folder / "home" / "postgres").stat().st_uid == nobody.pw_uid


def test_a_half_made_cluster_is_made_anew(folder: Path) -> None:
    half = folder / "postgres.new"
    half.mkdir()
    (half / "PG_VERSION").write_text("18")
    server = embedded.acquire(folder)
    try:
        assert answers(server)
        assert not half.exists()
    finally:
        server.release()


def test_looking_whether_the_server_lives_writes_nothing_into_its_log(
    folder: Path,
) -> None:
    server = embedded.acquire(folder / "home")
    try:
        before = server.place.log.read_text()
        for _ in range(5):
            assert not server.revive()
        assert answers(server)
        assert server.place.log.read_text() == before
    finally:
        server.release()


def test_a_long_log_is_rotated_while_the_server_writes(folder: Path) -> None:
    server = embedded.acquire(folder / "home")
    log = server.place.log
    try:
        with log.open("ab") as opened:
            opened.write(b"a line of long ago\n" * 400_000)
        size = log.stat().st_size
        server.revive()
        assert log.stat().st_size == 0
        assert log.with_name("server.log.1").stat().st_size == size
        with (
            pytest.raises(psycopg.OperationalError),
            psycopg.connect(server.place.url(embedded.OWNER_ROLE, database="nowhere")),
        ):
            pass
        assert "nowhere" in log.read_text()
        assert log.stat().st_size < 10_000
    finally:
        server.release()
