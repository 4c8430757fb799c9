"""CLI command `reverie doctor`: a health check, worst findings first, with remedies."""

import asyncio
import shutil
import stat
import sys
from typing import Annotated

import typer

from reverie import app, blobs, errors
from reverie.cli import running, terminal
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
        terminal.as_json([_finding_json(finding) for finding in findings])
    else:
        levels = list(_MARKS)
        for finding in sorted(findings, key=lambda each: levels.index(each.level)):
            _print_finding(finding)
    sys.exit(1 if any(finding.level == "wrong" for finding in findings) else 0)


# By level, the worst first: the mark and its colour.
_MARKS = {"wrong": ("✗", "red"), "degraded": ("!", "yellow"), "ok": ("✓", "green")}
_VERIFY_SECONDS = 1.5  # reading originals through; set by hand
_LITTLE_SPACE = 1024**3  # bytes free on the disk of the home; set by hand


def _finding_json(finding: checkup.Finding) -> dict[str, str]:
    return {
        "level": finding.level,
        "about": finding.about,
        "state": finding.state,
        "do": finding.remedy,
    }


def _print_finding(finding: checkup.Finding) -> None:
    mark, style = _MARKS[finding.level]
    text = f"{mark} {finding.about}: {finding.state}"
    terminal.line(terminal.safe(text), style=style)
    if finding.remedy:
        terminal.line(terminal.safe(f"    {finding.remedy}"), style="dim")


async def _examine(*, retry: bool) -> list[checkup.Finding]:
    settings = app.read_settings()
    findings: list[checkup.Finding] = []
    try:
        async with app.opened(settings) as reverie:
            findings += await checkup.examine(
                reverie.database,
                reverie.embeddings,
                reverie.owner,
                language=reverie.models,
                retry=retry,
            )
            findings += await _of_ingestions(reverie)
            findings += _surroundings(reverie)
            findings.append(await asyncio.to_thread(_of_originals, reverie))
    except errors.ReverieError as failure:
        findings.append(
            checkup.Finding("wrong", "start", failure.message, failure.hint)
        )
    return findings


async def _of_ingestions(reverie: app.App) -> list[checkup.Finding]:
    """What is being taken in, or was left undone."""
    async with reverie.database.transaction(reverie.owner) as tx:
        under_way = await ingestions.unfinished(tx, reverie.owner)
    if not under_way:
        return []
    reasons = [ingestion.reason for ingestion in under_way if ingestion.reason]
    state = f"{len(under_way)} under way"
    if reasons:
        state += f", which {reasons[0]}"
    return [
        checkup.Finding("degraded", "taking in", state, "`reverie up` goes on with it.")
    ]


def _surroundings(reverie: app.App) -> list[checkup.Finding]:
    home = reverie.settings.home
    free = shutil.disk_usage(home).free
    findings = [
        checkup.Finding("ok", "home", str(home), ""),
        checkup.Finding(
            "ok",
            "database",
            "embedded" if reverie.server else "your own PostgreSQL",
            "",
        ),
    ]
    if free < _LITTLE_SPACE:
        findings.append(
            checkup.Finding(
                "degraded", "disk", f"{free // 2**20} MB left", "Free some space."
            )
        )
    findings += [
        checkup.Finding(
            "wrong", secret.name, "others may read it", f"chmod 600 {secret}"
        )
        for secret in (reverie.token_file, home / "config.toml", home / "pseudonym.key")
        if secret.exists() and stat.S_IMODE(secret.stat().st_mode) & 0o077
    ]
    findings.append(_of_models(reverie))
    findings.append(
        checkup.Finding(
            "ok", "reverie up", str(running.server(home) or "not running"), ""
        )
    )
    return findings


def _of_originals(reverie: app.App) -> checkup.Finding:
    """Whether the bytes of imported files are still those that came in."""
    found = blobs.verify(reverie.blobs, seconds=_VERIFY_SECONDS)
    about = "originals"
    if found.damaged:
        names = ", ".join(str(path) for path in found.damaged[:3])
        return checkup.Finding(
            "wrong",
            about,
            f"{len(found.damaged)} damaged: {names}",
            "Import the same files again, or bring these back from a backup.",
        )
    if found.checked < found.kept:
        return checkup.Finding(
            "ok", about, f"{found.checked} of {found.kept} looked at, all whole", ""
        )
    return checkup.Finding("ok", about, f"{found.kept}, all whole", "")


def _of_models(reverie: app.App) -> checkup.Finding:
    """Which language models there are; none is well, too. Asks nobody: that is what
    `reverie models --test` does.
    """
    states = reverie.models.states()
    is_cloud = any(state.place == "cloud" for state in states)
    if is_cloud and not reverie.models.model_gateway.masks:
        remedy = "Bring `pseudonym.key` back from your backup; until then nothing private is sent to a cloud."
        return checkup.Finding(
            "wrong", "language model", "the key of the pseudonyms is not usable", remedy
        )
    names = ", ".join(state.name for state in states)
    return checkup.Finding(
        "ok", "language model", names or "none: answers are quotations", ""
    )
