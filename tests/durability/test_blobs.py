"""Original bytes: kept once, whole or not at all, each user's for that user alone."""

import os
import stat
from pathlib import Path
from uuid import UUID

import pytest

from reverie import blobs, errors
from tests.durability.test_postmaster import fill, small_disk

ME, YOU = UUID(int=1), UUID(int=2)


def files(root: Path) -> list[Path]:
    return sorted(one for one in root.rglob("*") if one.is_file())


def test_the_same_bytes_are_kept_once(tmp_path: Path) -> None:
    data = os.urandom(100_000)
    address = blobs.put(tmp_path, ME, data)
    assert blobs.put(tmp_path, ME, data) == address == blobs.digest(data)
    assert blobs.get(tmp_path, ME, address) == data
    assert [one.name for one in files(tmp_path)] == [address]
    assert blobs.get(tmp_path, ME, blobs.put(tmp_path, ME, b"")) == b""


def test_nobody_else_has_them(tmp_path: Path) -> None:
    address = blobs.put(tmp_path, ME, b"secret")
    with pytest.raises(errors.NotFound) as foreign:
        blobs.get(tmp_path, YOU, address)
    with pytest.raises(errors.NotFound) as unknown:
        blobs.get(tmp_path, YOU, blobs.digest(b"unknown"))
    assert foreign.value.message == unknown.value.message
    assert blobs.put(tmp_path, YOU, b"secret") == address
    assert len(files(tmp_path)) == 2


def test_they_are_closed_to_others(tmp_path: Path) -> None:
    root = tmp_path / "blobs"
    blobs.put(root, ME, b"secret")
    for one in (root, *root.rglob("*")):
        assert stat.S_IMODE(one.stat().st_mode) & 0o077 == 0, one


def test_a_half_written_original_is_written_again(tmp_path: Path) -> None:
    data = b"x" * 1000
    address = blobs.put(tmp_path, ME, data)
    files(tmp_path)[0].write_bytes(data[:10])
    assert blobs.put(tmp_path, ME, data) == address
    assert blobs.get(tmp_path, ME, address) == data


def test_damaged_bytes_are_an_error_until_the_same_come_again(tmp_path: Path) -> None:
    data = b"x" * 1000
    address = blobs.put(tmp_path, ME, data)
    path = files(tmp_path)[0]
    for repair in (
        lambda: blobs.put(tmp_path, ME, data),
        lambda: blobs.put_file(tmp_path, ME, tmp_path / "again"),
    ):
        (tmp_path / "again").write_bytes(data)
        path.write_bytes(b"y" + data[1:])
        with pytest.raises(errors.Damaged) as damaged:
            blobs.get(tmp_path, ME, address)
        assert address[:12] in damaged.value.message
        assert "Import the same file again" in damaged.value.hint
        with pytest.raises(errors.Damaged):
            blobs.verified(tmp_path, ME, address)
        assert blobs.verify(tmp_path, seconds=0).damaged == (path,)
        assert repair() == address
        assert blobs.get(tmp_path, ME, address) == data
        assert blobs.verified(tmp_path, ME, address) == path
        assert blobs.verify(tmp_path, seconds=5) == blobs.Verification(1, 1, ())


def test_damage_that_nobody_met_is_found_by_reading_through(tmp_path: Path) -> None:
    for number in range(20):
        blobs.put(tmp_path, ME if number % 2 else YOU, bytes([number]) * 5000)
    victim = files(tmp_path)[7]
    victim.write_bytes(b"short")
    found = blobs.verify(tmp_path, seconds=30)
    assert found == blobs.Verification(20, 20, (victim,))
    victim.unlink()  # even what is gone is known as damaged
    with pytest.raises(errors.Damaged):
        blobs.get(tmp_path, UUID(victim.parts[-3]), victim.name)


def test_a_full_disk_is_named_and_leaves_no_half() -> None:
    with small_disk(4) as folder:
        kept = blobs.put(folder / "blobs", ME, b"early")
        filler = fill(folder)
        data = os.urandom(500_000)
        with pytest.raises(errors.DiskFull, match="No space left") as refused:
            blobs.put(folder / "blobs", ME, data)
        assert refused.value.hint
        assert [one.name for one in files(folder / "blobs")] == [kept]
        assert blobs.get(folder / "blobs", ME, kept) == b"early"
        filler.unlink()
        assert (
            blobs.get(folder / "blobs", ME, blobs.put(folder / "blobs", ME, data))
            == data
        )


def test_what_was_left_half_written_is_swept_after_a_day(tmp_path: Path) -> None:
    kept = blobs.put(tmp_path, ME, b"whole")
    old, new = tmp_path / str(ME) / ".half-old", tmp_path / str(ME) / ".half-new"
    for half in (old, new):
        half.write_bytes(b"ha")
    os.utime(old, (0, 0))
    blobs.sweep(tmp_path)
    assert {one.name for one in files(tmp_path)} == {kept, ".half-new"}
    blobs.sweep(tmp_path / "nowhere")
