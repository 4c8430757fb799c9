"""Folders that are never a source, looked at once for many files."""

from pathlib import Path

from reverie.ingest import homes, inspection, scan


def _home(path: Path) -> Path:
    (path / "blobs").mkdir(parents=True)
    (path / "up.lock").touch()
    (path / "note.md").write_text("hidden")
    return path


def test_a_file_is_refused_by_where_it_really_lies(tmp_path: Path) -> None:
    """Beside a file that may be read, and after it: a link into a home."""
    home = _home(tmp_path / "home")
    plain = tmp_path / "plain.md"
    plain.write_text("open")
    link = tmp_path / "link.md"
    link.symlink_to(home / "note.md")
    refusal = homes.refusals()
    assert refusal(plain) == ""
    assert refusal(link) == homes.REASON
    assert refusal(home / "note.md") == homes.REASON
    assert refusal(home) == homes.REASON


def test_a_file_that_became_a_link_after_the_scan_is_not_read(tmp_path: Path) -> None:
    home = _home(tmp_path / "home")
    swapped = tmp_path / "sources" / "swapped.md"
    swapped.parent.mkdir()
    swapped.write_text("open")
    [found] = scan.find([swapped.parent])
    assert not found.problem
    swapped.unlink()
    swapped.symlink_to(home / "note.md")
    assert inspection.inspect(found, homes.refusals()).problem == homes.REASON


def test_a_folder_is_looked_at_once_for_all_its_files(tmp_path: Path) -> None:
    """An unchanged tree of 10,000 files is to be gone through in seconds: what a folder
    is is not found out again for each of its files.
    """
    for number in range(200):
        (tmp_path / f"{number}.md").write_text("open")
    refusal = homes.refusals()
    assert [refusal(file) for file in tmp_path.iterdir()] == [""] * 200
    _home(tmp_path)  # since it was looked at, it became one
    assert refusal(tmp_path / "0.md") == ""
    assert homes.refusal(tmp_path / "0.md") == homes.REASON
