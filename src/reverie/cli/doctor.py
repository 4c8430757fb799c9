"""`reverie doctor`: what is silently wrong first, then what is degraded, then what
runs, each with what to do.
"""

import asyncio
import shutil
import stat
import sys
from typing import Annotated

import typer

from reverie import app, errors
from reverie.cli import serve, terminal
from reverie.ingest import ingestions
from reverie.pipeline import checkup


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    retry: Annotated[
        bool, typer.Option(help="Try again now what was put aside.")
    ] = False,
) -> None:
    """What runs, what is degraded, what to do. Exit code 1 when something needs you."""
    findings = asyncio.run(_examine(retry=retry))
    if as_json:
        terminal.as_json(
            [
                {"level": f.level, "about": f.about, "state": f.state, "do": f.remedy}
                for f in findings
            ]
        )
    else:
        marks = {
            "wrong": ("✗", "red"),
            "degraded": ("!", "yellow"),
            "ok": ("✓", "green"),
        }
        for one in sorted(findings, key=lambda f: list(marks).index(f.level)):
            mark, style = marks[one.level]
            terminal.line(
                terminal.safe(f"{mark} {one.about}: {one.state}"), style=style
            )
            if one.remedy:
                terminal.line(terminal.safe(f"    {one.remedy}"), style="dim")
    sys.exit(1 if any(one.level == "wrong" for one in findings) else 0)


async def _examine(*, retry: bool) -> list[checkup.Finding]:
    settings = app.read_settings()
    found: list[checkup.Finding] = []
    try:
        async with app.opened(settings) as reverie:
            found += await checkup.examine(
                reverie.database,
                reverie.embeddings,
                reverie.owner,
                language=reverie.models,
                retry=retry,
            )
            found += await _of_ingestions(reverie)
            found += _surroundings(reverie)
    except errors.ReverieError as failure:
        found.append(checkup.Finding("wrong", "start", failure.message, failure.hint))
    return found


async def _of_ingestions(reverie: app.App) -> list[checkup.Finding]:
    """What is being taken in, or was left undone."""
    async with reverie.database.transaction(reverie.owner) as tx:
        under_way = await ingestions.unfinished(tx, reverie.owner)
    if not under_way:
        return []
    reason = next((one.reason for one in under_way if one.reason), "")
    state = f"{len(under_way)} under way{f', which {reason}' if reason else ''}"
    return [
        checkup.Finding("degraded", "taking in", state, "`reverie up` goes on with it.")
    ]


def _surroundings(reverie: app.App) -> list[checkup.Finding]:
    home = reverie.settings.home
    free = shutil.disk_usage(home).free
    found = [
        checkup.Finding("ok", "home", str(home), ""),
        checkup.Finding(
            "ok",
            "database",
            "embedded" if reverie.server else "your own PostgreSQL",
            "",
        ),
    ]
    if free < 1024**3:
        found.append(
            checkup.Finding(
                "degraded", "disk", f"{free // 2**20} MB left", "Free some space."
            )
        )
    found += [
        checkup.Finding(
            "wrong", secret.name, "others may read it", f"chmod 600 {secret}"
        )
        for secret in (reverie.token_file, home / "config.toml", home / "pseudonym.key")
        if secret.exists() and stat.S_IMODE(secret.stat().st_mode) & 0o077
    ]
    found.append(_of_models(reverie))
    found.append(
        checkup.Finding("ok", "reverie up", serve.running(home) or "not running", "")
    )
    return found


def _of_models(reverie: app.App) -> checkup.Finding:
    """Which language models there are; none is well, too. Asks nobody: that is what
    `reverie models --test` does.
    """
    states = reverie.models.states()
    if (
        any(one.place == "cloud" for one in states)
        and not reverie.models.model_gateway.masks
    ):
        remedy = "Bring `pseudonym.key` back from your backup; until then nothing private is sent to a cloud."
        return checkup.Finding(
            "wrong", "language model", "the key of the pseudonyms is not usable", remedy
        )
    told = ", ".join(one.name for one in states)
    return checkup.Finding(
        "ok", "language model", told or "none: answers are quotations", ""
    )
