"""Terminal output with rich: lines, results, progress bars, and text made safe."""

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
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)


def safe(text: str) -> str:
    """Text of records, fit for a terminal."""
    return _CONTROL.sub("", text)


def line(text: str = "", *, style: str = "") -> None:
    """One line, as it is."""
    out.print(rich.text.Text(text, style=style))


def as_json(value: Any) -> None:
    """JSON on stdout, nothing else. What would move the cursor or turn the text around
    is escaped, and so still there for whoever reads the JSON.
    """
    text = json.dumps(value, ensure_ascii=False, indent=2, default=str)
    sys.stdout.write(_CONTROL.sub(_escaped, text) + "\n")


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"


def failure(problem: errors.ReverieError) -> None:
    """What went wrong and what to do, on stderr."""
    err.print(rich.text.Text.assemble(("✗ ", "red"), (safe(problem.message), "bold")))
    if problem.hint:
        err.print(rich.text.Text(f"  {safe(problem.hint)}", style="dim"))


def note(text: str) -> None:
    """A remark beside the result, on stderr."""
    err.print(rich.text.Text(safe(text), style="dim"))


def hit(number: int, result: results.Hit, *, why: bool = True) -> None:
    """One result: what it is, its best passage, why it is here, where it comes from."""
    head = rich.text.Text(f"{number:>2}  ", style="dim")
    head.append(result.domain.replace("_", " "), style="cyan")
    head.append("  ")
    head.append(safe(compact.clip(result.title, 80)), style="bold")
    if result.at:
        head.append(f"  {result.at.date()}", style="dim")
    out.print(head)
    if result.passages:
        out.print(quoted(result.passages[0], limit=220, indent="    "))
    foot = [reasons(result)] if why else []
    foot.append(safe(result.origin) or f"id {result.record_id}")
    foot.append(safe(result.where(result.passages[0])) if result.passages else "")
    out.print(
        rich.text.Text("    " + " · ".join(part for part in foot if part), style="dim")
    )


def quoted(passage: results.FoundPassage, *, limit: int, indent: str) -> rich.text.Text:
    """A passage cut around its first marked word, the words in bold.

    `limit` is in characters.
    """
    start = _start_of_quotation(passage, limit)
    end = _end_of_quotation(passage.text, start, limit)
    quotation = rich.text.Text(indent + ("…" if start else ""))
    position = start
    for first, last in passage.highlights:
        if first >= position and last <= end:
            quotation.append(_flat(passage.text[position:first]))
            quotation.append(_flat(passage.text[first:last]), style="bold yellow")
            position = last
    quotation.append(_flat(passage.text[position:end]))
    if end < len(passage.text):
        quotation.append("…")
    return quotation


def _start_of_quotation(passage: results.FoundPassage, limit: int) -> int:
    """The beginning, or a word's beginning before the first mark if that lies far in."""
    first = passage.highlights[0][0] if passage.highlights else 0
    if first < limit * 2 // 3:
        return 0
    return passage.text.rfind(" ", 0, first - limit // 3) + 1


def _end_of_quotation(text: str, start: int, limit: int) -> int:
    """The end of the text, or of the last whole word that fits."""
    end = min(len(text), start + limit)
    if end == len(text):
        return end
    blank = text.rfind(" ", start + limit // 2, end)
    return blank if blank > start else end


# Signals of search, as they are called in an explanation; in this order.
_SIGNAL_WORDS = {
    "reranker": "reranker",
    "semantic": "meaning",
    "lexical": "words",
    "heat": "heat",
}


def reasons(result: results.Hit) -> str:
    """Why a result is here, in words: `meaning 0.27 (#1) + words 3.10 (#3)`."""
    evidence = result.fused.evidence
    bonuses = result.fused.bonuses
    parts: list[str] = []
    for signal, word in _SIGNAL_WORDS.items():
        weighed = evidence.get(signal)
        if weighed and weighed.weight:
            parts.append(f"{word} {weighed.score:.2f} (#{weighed.rank})")
    if "time" in evidence or "time" in bonuses:
        parts.append("time")
    parts += [name for name in ("exact", "phrase") if name in bonuses]
    return " + ".join(parts)


def progress(*, remaining: bool = True) -> rich.progress.Progress:
    """A progress display on stderr that disappears when done; `remaining`: it guesses
    the time left by itself.
    """
    columns: list[rich.progress.ProgressColumn] = [
        rich.progress.TextColumn("{task.description}"),
        rich.progress.BarColumn(bar_width=30),
        rich.progress.MofNCompleteColumn(),
    ]
    if remaining:
        columns.append(rich.progress.TimeRemainingColumn(compact=True))
    return rich.progress.Progress(
        *columns,
        console=err,
        transient=True,
        disable=not err.is_terminal,
    )


def _flat(text: str) -> str:
    return safe(text).replace("\n", " ").replace("\t", " ")
