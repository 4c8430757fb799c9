"""The composition root: one home gives one owner, one token, one server, however many
processes open it.
"""

import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from reverie import app, config, errors
from reverie.records import base, notes


@pytest.fixture
def settings() -> Iterator[config.Config]:
    # Not under tmp_path: as root, PostgreSQL's user must be able to walk there.
    with tempfile.TemporaryDirectory(
        prefix="rev-app-", dir="/tmp", ignore_cleanup_errors=True
    ) as folder:
        Path(folder).chmod(0o711)
        yield config.Config(
            home=Path(folder) / "home", embedding=config.Embedding(provider="none")
        )


def servers(home: Path) -> list[int]:
    found: list[int] = []
    for process in psutil.process_iter():
        try:
            if (
                process.name() == "postgres"
                and Path(process.cwd()) == (home / "postgres").resolve()
            ):
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


async def test_opened_again_it_is_the_same_person_and_the_same_records(
    settings: config.Config,
) -> None:
    async with app.opened(settings) as first:
        assert stat.S_IMODE(first.token_file.stat().st_mode) == 0o600
        assert first.owner.kind == "user"
        async with first.database.transaction(first.owner) as tx:
            made = await base.create(
                tx, first.owner, notes.NOTES, {"title": "kept", "content": "x"}
            )
    assert servers(settings.home) == []
    async with app.opened(settings) as second:
        assert second.owner == first.owner
        async with second.database.transaction(second.owner) as tx:
            assert (
                await base.get(tx, second.owner, notes.NOTES, made.id)
            ).title == "kept"
        # Two at once share the server; who leaves first takes nothing from the other.
        async with app.opened(settings) as third:
            assert third.owner == second.owner
        async with second.database.transaction(second.owner) as tx:
            assert (await base.find(tx, second.owner, notes.NOTES)).total == 1
    assert servers(settings.home) == []


async def test_a_lost_token_is_made_anew_and_a_foreign_one_is_refused(
    settings: config.Config,
) -> None:
    async with app.opened(settings) as first:
        token = first.token_file.read_text().strip()
        assert (await app.caller_of_token(first, token)).user_id == first.owner.user_id
        with pytest.raises(errors.Unauthorized, match="A token is needed"):
            await app.caller_of_token(first, "")
        first.token_file.unlink()
    async with app.opened(settings) as again:
        assert again.owner.user_id == first.owner.user_id
        assert again.token_file.read_text().strip() != token
        again.token_file.write_text("rev_of_somebody_else\n")
    with pytest.raises(errors.Unauthorized, match="is not valid for this database"):
        async with app.opened(settings):
            pass
    assert servers(settings.home) == []


async def test_a_failure_inside_lets_everything_go(settings: config.Config) -> None:
    with pytest.raises(ZeroDivisionError):  # noqa: PT012 - what is tested is the way out
        async with app.opened(settings) as opened:
            assert opened.server
            raise ZeroDivisionError
    assert servers(settings.home) == []


def test_the_demo_has_a_home_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("REVERIE_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("REVERIE_DATABASE_URL", "postgresql://owner@db/mine")
    own, demo = app.read_settings(), app.demo_settings()
    assert demo.home == own.home.with_name(f"{own.home.name}-demo")
    assert (own.database_url, demo.database_url) == ("postgresql://owner@db/mine", "")
    monkeypatch.setenv("REVERIE_HOME", str(tmp_path / "here"))
    assert app.demo_settings().home == tmp_path / "here"
