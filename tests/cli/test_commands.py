"""The commands as processes: what they print, what they keep, how they end."""

import json
import os
import signal
import stat
from collections import Counter
from pathlib import Path

import psycopg
import pytest

import reverie.sample
from reverie import embedded
from tests.cli.conftest import Home, make_home, wait_until

SAMPLE = Path(reverie.sample.__file__).parent


@pytest.fixture(scope="module")
def kept(warm_home: Home) -> Home:
    """A home that holds the sample life."""
    warm_home.run(
        "import", SAMPLE / "vault", SAMPLE / "mail.mbox", SAMPLE / "contacts.vcf"
    )
    return warm_home


def test_the_first_start_makes_a_home_of_ones_own(bare_home: Home) -> None:
    home = bare_home
    home.path.rmdir() if not any(home.path.iterdir()) else None
    done = home.run("search", "anything")
    assert "Nothing holds these words" in done.stdout
    assert stat.S_IMODE((home.path / "token").stat().st_mode) == 0o600
    assert stat.S_IMODE((home.path / "postgres").stat().st_mode) == 0o700
    assert home.postgres() == []
    token = (home.path / "token").read_text()
    assert token.startswith("rev_")
    home.run("search", "anything")
    assert (home.path / "token").read_text() == token
    # A home that is not there yet is made, closed to others.
    (home.path / "deep").mkdir(mode=0o711)
    missing = home.path / "deep" / "er"
    home.run("doctor", REVERIE_HOME=str(missing))
    assert stat.S_IMODE(missing.stat().st_mode) & 0o066 == 0
    assert stat.S_IMODE((missing / "token").stat().st_mode) == 0o600


def test_import_reports_every_file(warm_home: Home) -> None:
    home = warm_home
    good = home.file("report/a.md", "# A note\n\nthe quick brown fox")
    home.file("report/film.mp4", "\x00\x00\x00\x18ftypmp42")
    home.file("report/conversations.json", '[{"title": "cut off", "mapping": {')
    told = home.json("import", good.parent)
    assert {
        name: told[name]
        for name in ("imported", "updated", "unchanged", "skipped", "failed")
    } == {
        "imported": 1,
        "updated": 0,
        "unchanged": 0,
        "skipped": 1,
        "failed": 1,
    }
    files = {one["path"]: one for one in told["files"]}
    assert files["a.md"]["status"] == "imported"
    assert files["film.mp4"]["status"] == "skipped"
    assert files["film.mp4"]["reason"] == "audio and video are not read yet"
    assert files["conversations.json"]["status"] == "failed"
    assert files["conversations.json"]["reason"]
    again = home.json("import", good.parent)
    assert (again["imported"], again["unchanged"]) == (0, 1)
    shown = home.run("import", good.parent, "-v").stdout
    assert "0 imported, 0 updated, 1 unchanged, 1 skipped, 1 failed." in shown
    assert "audio and video are not read yet" in shown
    assert "a.md" in shown


def test_search_shows_sources_and_json(kept: Home) -> None:
    shown = kept.run("search", "INV-2024-0017").stdout
    assert "An old invoice, politely" in shown
    assert "mail.mbox" in shown
    assert "exact" in shown
    found = kept.json("search", "INV-2024-0017", "--limit", "2")
    assert found["results"][0]["title"] == "An old invoice, politely"
    assert found["results"][0]["origin"] == "mail.mbox"
    assert len(found["results"]) == 2
    assert found["results"][0]["provenance"]["signals"]["lexical"]["rank"] == 1
    assert found["signals"]["semantic"].startswith("left out")
    only = kept.json("search", "García", "--domain", "contact")
    assert {one["domain"] for one in only["results"]} == {"contact"}
    shown = kept.run("search", "§3", "Absatz", "2").stdout  # unquoted, as one types
    assert "Your three weeks in my flat" in shown


def test_nonsense_is_told_and_is_no_failure(kept: Home) -> None:
    shown = kept.run("search", "xqzzt", "vlorp").stdout
    assert shown.startswith("Nothing holds these words")
    assert kept.json("search", "xqzzt")["results"] == []
    assert "Nothing holds these words" in kept.run("ask", "xqzzt").stdout


def test_ask_quotes_with_sources(kept: Home) -> None:
    done = kept.run("ask", "INV-2024-0017")
    assert "invoice INV-2024-0017 of 4 November 2024" in " ".join(done.stdout.split())
    assert '[1] email "An old invoice, politely", 2026-01-12 — mail.mbox' in done.stdout
    assert "No language model is configured" in done.stderr


def test_doctor_as_text_and_as_json(kept: Home) -> None:
    shown = kept.run("doctor").stdout
    assert "✓ records: " in shown
    assert "✓ database: embedded" in shown
    assert "none, by configuration" in shown
    assert "✗" not in shown
    told = kept.json("doctor")
    assert all(set(one) == {"level", "about", "state", "do"} for one in told)
    assert Counter(one["level"] for one in told)["wrong"] == 0
    token = kept.path / "token"
    token.chmod(0o644)
    try:
        wrong = [one for one in kept.json("doctor", code=1) if one["level"] == "wrong"]
    finally:
        token.chmod(0o600)
    assert [one["about"] for one in wrong] == ["token"]
    assert str(token) in wrong[0]["do"]


def test_doctor_tells_of_damaged_originals_and_an_import_repairs_them(
    home: Home,
) -> None:
    note = home.file("a.md", "# A note\n\nthe quick brown fox")
    home.run("import", note)
    assert "originals: 1, all whole" in home.run("doctor").stdout
    kept = next(path for path in (home.path / "blobs").rglob("*") if path.is_file())
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-1] + b"?")
    assert f"originals: 1 damaged: {kept}" in home.run("doctor", code=1).stdout
    home.run("import", note)
    assert kept.read_bytes() == whole
    assert "originals: 1, all whole" in home.run("doctor").stdout


def test_json_holds_no_control_characters(home: Home) -> None:
    odd = "before\x9bafter\u202etxt.exe\u2066 \x85"
    home.run("import", home.file("odd.txt", f"kestrel {odd} end\n"))
    shown = home.run("search", "kestrel", "--json").stdout
    assert not set(shown) & set(odd) - set("beforeaftertxt.exe ")
    assert "\x9bafter\u202etxt.exe\u2066" in json.dumps(
        json.loads(shown), ensure_ascii=False
    )


def test_rebuild_says_how_many(kept: Home) -> None:
    before = kept.json("search", "García")
    assert "Rebuilt from " in kept.run("rebuild").stdout
    after = kept.json("search", "García")
    assert [one["id"] for one in after["results"]] == [
        one["id"] for one in before["results"]
    ]


@pytest.mark.parametrize(
    ("arguments", "environment", "sentence"),
    [
        (("search", "x"), {"REVERIE_PROT": "1"}, "Unknown setting REVERIE_PROT."),
        (("search", "x"), {"REVERIE_PORT": "many"}, "The setting `port` is wrong"),
        (("import", "/nowhere/at/all"), {}, "There is nothing at /nowhere/at/all."),
        (("search", "x" * 1001), {}, "A search has at most 1000 characters."),
        (("search", ""), {}, "There is nothing to search for."),
        (("search", "x", "--domain", "dreams"), {}, "dreams"),
        (
            ("search", "x"),
            {"REVERIE_HOME": "/proc/reverie"},
            "/proc/reverie cannot be made",
        ),
        (
            ("search", "x"),
            {"REVERIE_DATABASE_URL": "postgresql://127.0.0.1:9/x"},
            "PostgreSQL does not answer",
        ),
    ],
)
def test_what_cannot_be_done_is_a_sentence(
    warm_home: Home,
    arguments: tuple[str, ...],
    environment: dict[str, str],
    sentence: str,
) -> None:
    done = warm_home.run(*arguments, code=1, **environment)
    assert done.stdout == ""
    assert done.stderr.startswith("✗ ")
    assert sentence in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [("serach", "x"), ("search",), ("search", "x", "--limit", "0"), ("import",)],
)
def test_wrong_use_is_exit_code_2(warm_home: Home, arguments: tuple[str, ...]) -> None:
    assert warm_home.run(*arguments, code=2).stderr


def test_help_needs_no_home(bare_home: Home) -> None:
    home = bare_home
    shown = home.run("--help").stdout
    for command in (
        "import",
        "search",
        "ask",
        "up",
        "mcp",
        "connect",
        "doctor",
        "rebuild",
        "demo",
    ):
        assert command in shown
    assert home.run("version").stdout.strip() == reverie.__version__
    assert not (home.path / "postgres").exists()


def test_broken_settings_are_named(home: Home) -> None:
    file = home.path / "config.toml"
    file.write_text("port = [")
    assert f"{file} is not valid TOML" in " ".join(
        home.run("search", "x", code=1).stderr.split()
    )
    file.write_text("colour = 'red'\n")
    assert "The setting `colour` is wrong" in home.run("search", "x", code=1).stderr


# The import cannot be over before Ctrl-C, however slow the machine is: the last notes
# wait for a lock that the test holds. They are in the third lot, which is taken up when
# one of the two before it is saved.
_STOP_AT_NOTE_250 = """
CREATE FUNCTION wait_for_the_test() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(250);
    RETURN NEW;
END $$;
CREATE TRIGGER wait_for_the_test BEFORE INSERT ON note
    FOR EACH ROW WHEN (NEW.title >= 'Note 250') EXECUTE FUNCTION wait_for_the_test();
"""


def test_ctrl_c_keeps_what_was_done_and_the_next_run_goes_on(home: Home) -> None:
    for number in range(300):
        home.file(
            f"notes/{number:03}.md",
            f"# Note {number:03}\n\n" + f"number {number} of a pile of notes\n\n" * 40,
        )
    folder = home.given / "notes"
    home.run("search", "x")  # the cluster is made
    server = embedded.acquire(home.path)
    try:
        with psycopg.connect(server.owner_url, autocommit=True) as connection:
            connection.execute(_STOP_AT_NOTE_250)
            connection.execute("SELECT pg_advisory_lock(250)")
            process = home.start("import", folder)
            wait_until(
                lambda: (_count(connection, "SELECT count(*) FROM imported_file")) >= 20
            )
            process.send_signal(signal.SIGINT)
            # The file that it is at is let go in the middle of its statement.
            out, err = process.communicate(timeout=20)
            connection.execute("SELECT pg_advisory_unlock(250)")
            assert process.returncode == 130, err
            assert "Stopped. What was done is kept" in out + err
            assert "Traceback" not in out + err
            done = _count(connection, "SELECT count(*) FROM note")
            assert 20 <= done < 300
            told = home.json("import", folder)
            assert (told["failed"], told["updated"]) == (0, 0)
            # The same request goes on, and its report is of the whole of it.
            assert (told["imported"], told["unchanged"]) == (300, 0)
            assert _count(connection, "SELECT count(*) FROM note") == 300
            assert _count(connection, "SELECT count(DISTINCT title) FROM note") == 300
            assert _count(connection, "SELECT count(*) FROM card") == 300
    finally:
        server.release()


def _count(connection: psycopg.Connection, statement: str) -> int:
    """A number from every user's rows: the owner of the tables steps over row-level
    security for a moment.
    """
    user = (
        connection.execute("SELECT set_config('reverie.system', 'on', false)")
        and connection.execute("SELECT user_id FROM users LIMIT 1").fetchone()
    )
    assert user
    connection.execute(
        "SELECT set_config('reverie.user_id', %s, false)", (str(user[0]),)
    )
    row = connection.execute(statement.encode()).fetchone()
    assert row
    return int(row[0])


def test_a_postgresql_of_ones_own(bare_home: Home) -> None:
    """A second cluster stands for the owner's server: nothing embedded is started, and
    nothing else changes.
    """
    home = bare_home
    elsewhere = make_home()
    server = embedded.acquire(elsewhere.path)
    try:
        with psycopg.connect(
            server.place.url(embedded.OWNER_ROLE, database="postgres"), autocommit=True
        ) as connection:
            connection.execute("CREATE DATABASE mine")
        url = server.place.url(embedded.OWNER_ROLE, database="mine")
        note = home.file("a.md", "# A note\n\nthe quick brown fox")
        assert (
            json.loads(
                home.run("import", note, "--json", REVERIE_DATABASE_URL=url).stdout
            )["imported"]
            == 1
        )
        assert "A note" in home.run("search", "fox", REVERIE_DATABASE_URL=url).stdout
        assert (
            "your own PostgreSQL" in home.run("doctor", REVERIE_DATABASE_URL=url).stdout
        )
        assert not (home.path / "postgres").exists()
        assert stat.S_IMODE((home.path / "token").stat().st_mode) == 0o600
        with psycopg.connect(url) as connection:
            assert _count(connection, "SELECT count(*) FROM note") == 1
    finally:
        server.release()
        elsewhere.end()


def test_a_name_that_is_no_utf8_stops_nothing(warm_home: Home) -> None:
    home = warm_home
    home.file("latin/a.txt", "the first kiln")
    home.file("latin/b.md", "the second kiln")
    home.file("latin/ü.txt", "the third kiln")
    folder = home.file("latin/c.txt", "gone").parent
    (folder / "c.txt").unlink()
    odd = os.fsencode(folder) + b"/caf\xe9 latin1.txt"
    Path(os.fsdecode(odd)).write_text("the fourth kiln")
    told = home.json("import", folder)
    assert (told["imported"], told["failed"]) == (4, 0)
    assert {file["path"] for file in told["files"]} == {
        "a.txt",
        "b.md",
        "ü.txt",
        "café latin1.txt",
    }
    again = home.json("import", folder)
    assert (again["imported"], again["unchanged"]) == (0, 4)
