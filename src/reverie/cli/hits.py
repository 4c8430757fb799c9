"""Search results on the terminal: hits, quotations with their marked words, remarks.

A hit, a passage and an answer are the JSON of the API (`search.results.as_json`).
"""

from collections.abc import Mapping
from typing import Any

import rich.text

from reverie import compact
from reverie.cli import terminal

Json = Mapping[str, Any]


def show(answer: Json) -> None:
    """All hits of an answer, with what it should be read with."""
    for number, hit in enumerate(answer["results"], start=1):
        show_hit(number, hit)
    show_remarks(answer)


def show_hit(number: int, hit: Json) -> None:
    """One result: what it is, its best passage, why it is here, where it comes from."""
    terminal.out.print(_head(number, hit))
    foot = [reasons(hit), hit["origin"] or f"id {hit['id']}"]
    for best in hit["passages"][:1]:
        terminal.out.print(quoted(best, limit=220, indent="    "))
        foot.append(best["where"])
    shown = filter(None, map(terminal.safe, foot))
    terminal.line("    " + " · ".join(shown), style="dim")


def _head(number: int, hit: Json) -> rich.text.Text:
    domain = hit["domain"].replace("_", " ")
    title = compact.clip(hit["title"], 80)
    head = rich.text.Text(f"{number:>2}  ", style="dim")
    head.append(domain, style="cyan")
    head.append("  ")
    head.append(terminal.safe(title), style="bold")
    if hit["at"]:
        day = hit["at"][:10]
        head.append(f"  {day}", style="dim")
    return head


def quoted(passage: Json, *, limit: int, indent: str) -> rich.text.Text:
    """A passage cut around its first marked word, the words in bold.

    `limit` is in characters.
    """
    text = passage["text"]
    start = _start_of_quotation(passage, limit)
    end = _end_of_quotation(text, start, limit)
    quotation = rich.text.Text(indent)
    if start:
        quotation.append("…")
    position = start
    for first, last in passage["highlights"]:
        if first < position or last > end:
            continue
        before = _flat(text[position:first])
        marked = _flat(text[first:last])
        quotation.append(before)
        quotation.append(marked, style="bold yellow")
        position = last
    rest = _flat(text[position:end])
    quotation.append(rest)
    if end < len(text):
        quotation.append("…")
    return quotation


def _start_of_quotation(passage: Json, limit: int) -> int:
    """The beginning, or a word's beginning before the first mark if that lies far in."""
    first = 0
    if passage["highlights"]:
        first = passage["highlights"][0][0]
    if first < limit * 2 // 3:
        return 0
    return passage["text"].rfind(" ", 0, first - limit // 3) + 1


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


def reasons(hit: Json) -> str:
    """Why a result is here, in words: `meaning 0.27 (#1) + words 3.10 (#3)`."""
    evidence = hit["provenance"]["signals"]
    bonuses = hit["provenance"]["bonuses"]
    parts: list[str] = []
    for signal, word in _SIGNAL_WORDS.items():
        weighed = evidence.get(signal)
        if not weighed or not weighed["weight"]:
            continue
        score = weighed["score"]
        rank = weighed["rank"]
        parts.append(f"{word} {score:.2f} (#{rank})")
    if "time" in evidence or "time" in bonuses:
        parts.append("time")
    parts += [name for name in ("exact", "phrase") if name in bonuses]
    return " + ".join(parts)


def _flat(text: str) -> str:
    return terminal.safe(text).replace("\n", " ").replace("\t", " ")


def show_remarks(answer: Json) -> None:
    """What was not searched, and what is not shown."""
    if answer["reason"]:
        terminal.line(answer["reason"])
    for remark in answer["remarks"]:
        terminal.note(remark)
    if answer["hidden_cold"]:
        terminal.note(f"{answer['hidden_cold']} cold records are not shown.")
