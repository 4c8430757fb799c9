"""Commands of single records, beside a server and without one, for people and as JSON."""

import json
import sys
from pathlib import Path

from reverie.cli import records
from reverie.records import catalogue
from tests.cli.conftest import Home


def _kept(home: Home, *arguments: str) -> str:
    return str(home.json("add", *arguments)["id"])


def test_the_kinds_of_the_command_line_are_those_of_the_catalogue() -> None:
    kinds = {kind.name: kind.plural for kind in catalogue.DOMAINS.values()}
    assert dict(records.DOMAINS) == kinds


def test_a_note_lives_and_dies_and_lives_again(warm_home: Home) -> None:
    home = warm_home
    note = _kept(home, "The walrus sleeps at noon", "--tag", "sea", "--title", "Walrus")
    short = note[-8:]
    assert f"{short}  " in home.run("list", "note", "--where", "tag=sea").stdout
    assert home.run("list", "note", "--where", "tag=land").stdout == ""
    shown = home.run("show", short).stdout
    assert "Walrus" in shown
    assert "The walrus sleeps at noon" in shown
    home.run("edit", short, "title=Old walrus", "tags=sea, ice")
    record = home.json("show", note[-6:])["record"]
    assert (record["title"], record["tags"]) == ("Old walrus", ["sea", "ice"])
    assert "update" in home.run("history", short).stdout
    assert "Deleted note “Old walrus”." in home.run("delete", short).stdout
    assert home.json("search", "walrus")["results"] == []
    assert short in home.run("trash", "note").stdout
    assert "in the trash" in home.run("show", short).stdout
    home.run("restore", short)
    assert [hit["id"] for hit in home.json("search", "walrus")["results"]] == [note]


def test_a_task_an_event_a_contact_and_a_bookmark(warm_home: Home) -> None:
    home = warm_home
    _kept(home, "Buy rope", "--task", "--due", "2031-05-01")
    assert "due 2031-05-01" in home.run("list", "task").stdout
    _kept(home, "Dentist", "--event", "2031-05-02T10:30", "--place", "Bilbao")
    assert "10:30        Dentist · Bilbao" in home.run("agenda", "2031-05-02").stdout
    assert "Nothing is on." in home.run("agenda", "2031-05-03").stdout
    _kept(home, "Ana Ruiz", "--contact", "--email", "ana@example.org")
    assert "ana@example.org" in home.run("list", "contact").stdout
    _kept(home, "--bookmark", "https://example.org/boats", "--title", "Boats")
    assert "Boats" in home.run("list", "bookmark").stdout


def test_a_note_comes_from_an_editor_and_is_changed_in_one(
    warm_home: Home, tmp_path: Path
) -> None:
    home = warm_home
    note = _kept(home, "The heron waits")
    editor = tmp_path / "editor.py"
    editor.write_text(
        "import pathlib, sys\n"
        "file = pathlib.Path(sys.argv[1])\n"
        "file.write_text(file.read_text().replace('waits', 'flies'))\n"
    )
    home.run("edit", note, EDITOR=f"{sys.executable} {editor}")
    assert home.json("show", note)["record"]["content"] == "The heron flies"
    told = home.run("edit", note, EDITOR=f"{sys.executable} -c exit(3)", code=1).stderr
    assert "nothing was changed" in told
    assert home.json("show", note)["record"]["content"] == "The heron flies"


def test_an_editor_that_changes_nothing_changes_nothing(warm_home: Home) -> None:
    """Not even the ends of lines."""
    home = warm_home
    note = home.json("add", "one\r\ntwo")["id"]
    assert "Left as it was" in home.run("edit", note, EDITOR="true").stdout
    assert home.json("show", note)["record"]["content"] == "one\r\ntwo"


def test_what_was_written_in_an_editor_that_fails_is_kept(
    warm_home: Home, tmp_path: Path
) -> None:
    home = warm_home
    note = _kept(home, "The rook calls")
    editor = tmp_path / "editor.py"
    editor.write_text(
        "import pathlib, sys\n"
        "pathlib.Path(sys.argv[1]).write_text('an hour of work')\n"
        "sys.exit(1)\n"
    )
    told = home.run("edit", note, EDITOR=f"{sys.executable} {editor}", code=1).stderr
    written = Path(told.split("is in ")[1].split()[0].rstrip("."))
    assert written.read_text() == "an hour of work"
    written.unlink()


def test_what_cannot_be_found_or_understood_is_a_sentence(warm_home: Home) -> None:
    home = warm_home
    for arguments, sentence in (
        (("show", "zz"), "There is no such record."),
        (("show", "abcdef"), "There is no such record."),
        (("show", "señor a/b?c"), "There is no such record."),
        (("list", "nosuch"), "There is no domain `nosuch`."),
        (("list", "note", "--where", "tag"), "`tag` is no filter."),
        (("add",), "There is nothing to keep."),
        (("add", "x", "--event", "soon"), "soon is no day and no time."),
        (("add", "x", "--task", "--contact"), "This is several things at once."),
        (("agenda", "someday"), "someday is no day."),
        (("delete", "abcdef"), "There is no such record."),
    ):
        told = home.run(*arguments, code=1)
        assert told.stdout == ""
        assert sentence in told.stderr


def test_the_original_of_a_record_is_saved_and_never_over_another_file(
    warm_home: Home,
) -> None:
    home = warm_home
    source = home.file("pelican.md", "# Pelican\n\nthe pelican dives\n")
    home.run("import", source)
    [hit] = home.json("search", "pelican")["results"]
    escaping = home.given / "\x1b]0;owned\x07.md"
    assert "\x1b" not in home.run("open", hit["id"], "--to", escaping).stdout
    target = home.given / "saved.md"
    assert "Saved" in home.run("open", hit["id"], "--to", target).stdout
    assert target.read_bytes() == source.read_bytes()
    assert (
        "exists already" in home.run("open", hit["id"], "--to", target, code=1).stderr
    )


def test_a_page_is_asked_for_by_its_address(warm_home: Home) -> None:
    """Whoever runs fetches it, behind the guard."""
    asked = warm_home.json("add", "--fetch", "https://example.org/boats")
    assert asked["status"] == f"/api/v1/ingest/status/{asked['id']}"
    assert "`reverie up`" in warm_home.run("add", "--fetch", "https://b.example").stdout


def test_json_is_one_value_on_stdout(warm_home: Home) -> None:
    home = warm_home
    note = _kept(home, "The stork nests")
    for arguments in (
        ("show", note),
        ("list", "note"),
        ("trash", "note"),
        ("history", note),
        ("edit", note, "title=Stork"),
        ("agenda", "next"),
        ("delete", note),
        ("restore", note),
    ):
        json.loads(home.run(*arguments, "--json").stdout)
