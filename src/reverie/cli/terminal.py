"""How things look in the terminal."""

import json
import re
import sys
from typing import Any

import rich.console
import rich.progress
import rich.text

from reverie import compact, errors
from reverie.search import results

out = rich.console.Console(highlight=False, soft_wrap=True)
err = rich.console.Console(stderr=True, highlight=False, soft_wrap=True)
# Records may hold what moves a terminal's cursor or turns text around: none of it
# reaches the terminal.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def safe(text: str) -> str:
    """Text of records, fit for a terminal."""
    return _CONTROL.sub("", text)


def line(text: str = "", *, style: str = "") -> None:
    """One line, as it is."""
    out.print(rich.text.Text(text, style=style))


def as_json(value: Any) -> None:
    """JSON on stdout, nothing else."""
    sys.stdout.write(
        json.dumps(value, ensure_ascii=False, indent=2, default=str) + "\n"
    )


def failure(problem: errors.ReverieError) -> None:
    """What went wrong and what to do, on stderr."""
    err.print(rich.text.Text.assemble(("✗ ", "red"), (safe(problem.message), "bold")))
    if problem.hint:
        err.print(rich.text.Text(f"  {safe(problem.hint)}", style="dim"))


def note(text: str) -> None:
    """A remark beside the result, on stderr."""
    err.print(rich.text.Text(safe(text), style="dim"))


def hit(number: int, one: results.Hit, *, why: bool = True) -> None:
    """One result: what it is, its best passage, why it is here, where it comes from."""
    head = rich.text.Text(f"{number:>2}  ", style="dim")
    head.append(one.domain.replace("_", " "), style="cyan")
    head.append("  ")
    head.append(safe(compact.clip(one.title, 80)), style="bold")
    if one.at:
        head.append(f"  {one.at.date()}", style="dim")
    out.print(head)
    if one.passages:
        out.print(quoted(one.passages[0], limit=220, indent="    "))
    foot = [reasons(one)] if why else []
    foot.append(safe(one.origin) or f"id {one.record_id}")
    foot.append(safe(one.where(one.passages[0])) if one.passages else "")
    out.print(
        rich.text.Text("    " + " · ".join(part for part in foot if part), style="dim")
    )


def quoted(passage: results.FoundPassage, *, limit: int, indent: str) -> rich.text.Text:
    """A passage cut around its first marked word, the words in bold."""
    first = passage.highlights[0][0] if passage.highlights else 0
    start = (
        0
        if first < limit * 2 // 3
        else passage.text.rfind(" ", 0, first - limit // 3) + 1
    )
    shown = rich.text.Text(indent + ("…" if start else ""))
    end = min(len(passage.text), start + limit)
    if end < len(passage.text):
        cut = passage.text.rfind(" ", start + limit // 2, end)
        end = cut if cut > start else end
    at = start
    for begin, stop in passage.highlights:
        if begin >= at and stop <= end:
            shown.append(_flat(passage.text[at:begin]))
            shown.append(_flat(passage.text[begin:stop]), style="bold yellow")
            at = stop
    shown.append(_flat(passage.text[at:end]))
    if end < len(passage.text):
        shown.append("…")
    return shown


def reasons(one: results.Hit) -> str:
    """Why a result is here, in words: `meaning 0.27 (1st) · words (3rd)`."""
    told: list[str] = []
    for name, word in (
        ("reranker", "reranker"),
        ("semantic", "meaning"),
        ("lexical", "words"),
        ("heat", "heat"),
    ):
        evidence = one.fused.evidence.get(name)
        if evidence and evidence.weight:
            told.append(f"{word} {evidence.score:.2f} (#{evidence.rank})")
    told += ["time"] if "time" in {*one.fused.evidence, *one.fused.bonuses} else []
    told += [name for name in ("exact", "phrase") if name in one.fused.bonuses]
    return " + ".join(told)


def progress() -> rich.progress.Progress:
    """A progress display on stderr that disappears when done."""
    return rich.progress.Progress(
        rich.progress.TextColumn("{task.description}"),
        rich.progress.BarColumn(bar_width=30),
        rich.progress.MofNCompleteColumn(),
        rich.progress.TimeRemainingColumn(compact=True),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    )


def _flat(text: str) -> str:
    return safe(text).replace("\n", " ").replace("\t", " ")
