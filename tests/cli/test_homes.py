"""No home is ever a source: not by its path, a link, a relative path or its parent."""

import os
import shutil
from pathlib import Path

from tests.cli.conftest import Home, wait_until

REASON = "it lies in a Reverie home, which is never a source"


def _told(home: Home, path: Path | str) -> dict[str, str]:
    told = home.json("import", path)
    assert told["imported"] == 0
    return {file["path"]: file["reason"] for file in told["files"]}


def test_a_home_is_not_read_by_whatever_way(warm_home: Home) -> None:
    home = warm_home
    home.run("search", "x")  # the token is there
    note = home.path / "hidden" / "note.md"
    note.parent.mkdir()
    note.write_text("# Hidden\n\nthe aardvark sleeps\n")
    home.given.mkdir(exist_ok=True)
    to_home = home.given / "link"
    to_home.symlink_to(home.path)
    assert _told(home, home.path) == {home.path.name: REASON}
    assert _told(home, note) == {"note.md": REASON}
    assert _told(home, note.parent) == {"hidden": REASON}
    assert _told(home, to_home / "hidden" / "note.md") == {"note.md": REASON}
    assert _told(home, to_home / "token") == {"token": REASON}
    relative = os.path.relpath(note, home.path)  # commands start in the home
    assert _told(home, relative) == {"note.md": REASON}
    assert _told(home, "../" + home.path.name) == {home.path.name: REASON}
    assert home.json("search", "aardvark")["results"] == []
    assert "rev_" not in home.run("search", "rev").stdout
    to_home.unlink()


def test_the_parent_of_a_home_is_read_without_it(warm_home: Home) -> None:
    """Another home, and a copy of which only the token is left, are told by what they
    hold.
    """
    home = warm_home
    home.run("search", "x")
    parent = home.given / "around"
    good = home.file("around/good.md", "# Good\n\nthe pangolin walks\n")
    for name in ("other", "copy"):
        (parent / name / "notes").mkdir(parents=True)
        (parent / name / "notes" / "bad.md").write_text("# Bad\n\nthe pangolin hides\n")
    shutil.copy(home.path / "token", parent / "copy" / "token")
    (parent / "other" / "pseudonym.key").write_text(
        "reverie-pseudonyms-1 " + "0" * 64 + "\n"
    )
    told = home.json("import", parent)
    files = {file["path"]: (file["status"], file["reason"]) for file in told["files"]}
    assert files == {
        good.name: ("imported", ""),
        "copy": ("skipped", REASON),
        "other": ("skipped", REASON),
    }
    titles = [found["title"] for found in home.json("search", "pangolin")["results"]]
    assert titles == ["Good"]


def test_a_folder_of_that_name_is_no_home(warm_home: Home) -> None:
    """Somebody's file called token, and a folder called blobs."""
    home = warm_home
    home.file("plain/token", "the word of the day is wombat\n")
    home.file("plain/blobs/a.md", "# A\n\nthe wombat digs\n")
    told = home.json("import", home.given / "plain")
    assert {file["reason"] for file in told["files"]} == {""}


def test_a_watch_leaves_a_home_out(home: Home) -> None:
    home.run("search", "x")
    folder = home.given / "watched"
    home.file("watched/first.md", "# First\n\nabout kites\n")
    (folder / "home").symlink_to(home.path)
    copied = folder / "copied"
    copied.mkdir()
    shutil.copy(home.path / "token", copied / "token")
    (copied / "second.md").write_text("# Second\n\nabout kites\n")
    home.start("watch", folder)
    wait_until(lambda: "First" in home.run("search", "kites").stdout)
    assert "Second" not in home.run("search", "kites").stdout
