"""Terminal output with rich: lines, results, progress bars, and text made safe."""

import json
import re
import sys
from typing import Any

import rich.console
import rich.progress
import rich.text

from reverie import errors

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
