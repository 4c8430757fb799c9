"""CLI commands `reverie models` and `reverie privacy`: models, and the routing log."""

import asyncio
from dataclasses import asdict
from typing import Annotated, Any

import typer

from reverie import app, errors
from reverie.cli import terminal
from reverie.llm import chat
from reverie.privacy import log as routing_log

_TEST = chat.ChatRequest(
    messages=(chat.Message("user", "Answer with the one word: ready"),),
    feature="models.test",
    level=chat.Level.LOW,
    max_tokens=64,
)


def models(
    test: Annotated[
        bool, typer.Option("--test", help="Ask each of them one word.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Which models are configured, where they are, and with --test whether they answer."""
    report = asyncio.run(_models(test=test))
    if as_json:
        terminal.as_json(report)
        return
    for row in report["models"]:
        toy = ", a toy: for trying out, not for believing" if row["toy"] else ""
        terminal.line(terminal.safe(f"{row['model']} ({_WHERE[row['place']]}{toy})"))
        if "answer" in row:
            mark, style = ("✓", "green") if row["works"] else ("✗", "red")
            terminal.line(terminal.safe(f"    {mark} {row['answer']}"), style=style)
            if row["hint"]:
                terminal.line(terminal.safe(f"      {row['hint']}"), style="dim")
    if not report["models"]:
        terminal.line(terminal.safe(chat.WOULD_ADD))
        terminal.line(terminal.safe(chat.HOW), style="dim")
    terminal.line(terminal.safe(f"vectors: {report['embedding']}"), style="dim")
    terminal.line(terminal.safe(f"reranker: {report['reranker']}"), style="dim")


def privacy(
    days: Annotated[
        int, typer.Option(min=1, max=366, help="How many days, today included.")
    ] = 7,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """What models were asked, and what left this machine as it was, pseudonymised, or
    not at all.
    """
    summary = asyncio.run(_privacy(days))
    if as_json:
        terminal.as_json({**asdict(summary), "sentence": summary.sentence})
        return
    terminal.line(terminal.safe(summary.sentence))
    for row in summary.models:
        failed = f", {row.failed:,} failed" if row.failed else ""
        state = f"{row.calls:,} calls{failed}, {row.tokens_in:,} tokens there, {row.tokens_out:,} back"
        terminal.line(
            terminal.safe(f"    {row.model} ({_WHERE[row.destination]}): {state}"),
            style="dim",
        )


_WHERE = {"local": "on this machine or its network", "cloud": "a cloud"}


async def _models(*, test: bool) -> dict[str, Any]:
    async with app.opened(app.read_settings()) as reverie:
        rows: list[dict[str, Any]] = []
        for number, state in enumerate(reverie.models.states()):
            row = {"model": state.name, "place": state.place, "toy": state.toy}
            if test:
                row |= await _tested(reverie, number)
            rows.append(row)
        reranks = reverie.embeddings.reranks
        return {
            "models": rows,
            "embedding": _embedding(reverie),
            "reranker": reverie.settings.reranker.model if reranks else "none",
        }


def _embedding(reverie: app.App) -> str:
    """Which model makes the vectors, and whether it is elsewhere."""
    if not reverie.embeddings.model:
        return "none"
    cloud = ", a cloud" if reverie.embeddings.leaves() else ""
    return f"{reverie.embeddings.model}{cloud}"


async def _tested(reverie: app.App, number: int) -> dict[str, Any]:
    try:
        answer = await reverie.models.ask(reverie.owner, _TEST, only=number)
    except errors.ReverieError as failure:
        return {"works": False, "answer": failure.message, "hint": failure.hint}
    words = " ".join(answer.text.split())[:80]
    return {
        "works": True,
        "answer": f"answers: {words}" if words else "answers, with no word",
        "hint": "",
    }


async def _privacy(days: int) -> routing_log.Summary:
    async with (
        app.opened(app.read_settings()) as reverie,
        reverie.database.transaction(reverie.owner) as tx,
    ):
        return await routing_log.summary(tx, reverie.owner, days)
