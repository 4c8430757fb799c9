"""CLI command `reverie ask`: an answer from what is kept, with its sources."""

import asyncio
from contextlib import aclosing
from typing import Annotated

import rich.text
import typer

from reverie import app, errors
from reverie.chat import answers
from reverie.cli import hits, search, terminal
from reverie.search import results


def ask(
    words: search.Words,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=20, help="How many passages.")] = 4,
) -> None:
    """Answer from what you keep, with the sources: in a model's sentences where there
    is one, or else in quotations.
    """
    answer = asyncio.run(_ask(" ".join(words), limit, aloud=not as_json))
    found = results.as_json(answer.search_results)
    if as_json:
        fields = {name: getattr(answer, name) for name in _JSON_FIELDS}
        fields["told"] = answer.reason
        terminal.as_json({**found, "answer": fields})
        return
    if not answer.text:
        _quote(answer)
    if answer.sources:
        terminal.line()
    for source in answer.sources:
        origin = f" — {terminal.safe(source.hit.origin)}" if source.hit.origin else ""
        style = "" if source.number in answer.cited else "dim"
        label = terminal.safe(source.label)
        terminal.line(f"  [{source.number}] {label}{origin}", style=style)
    hits.show_remarks(found)
    if answer.sources:
        terminal.note(_provenance(answer))


_JSON_FIELDS = ("text", "cited", "kept", "model", "toy", "action")


def _quote(answer: answers.CitedAnswer) -> None:
    """The sources' own words, where no model put them into sentences."""
    for source in answer.sources:
        passage = results.passage_as_json(source.hit, source.passage)
        quotation = hits.quoted(passage, limit=700, indent="  “")
        terminal.out.print(quotation, end="")
        terminal.line(f"”  [{source.number}]")


async def _ask(question: str, limit: int, *, aloud: bool) -> answers.CitedAnswer:
    """The answer, its words shown as they come."""
    async with app.opened(app.read_settings()) as reverie:
        pieces = answers.answer(
            reverie.database,
            reverie.owner,
            reverie.embeddings,
            reverie.models,
            question,
            settings=reverie.settings.search,
            limit=limit,
        )
        begun = False
        async with aclosing(pieces):
            async for piece in pieces:
                if isinstance(piece, answers.CitedAnswer):
                    if begun:
                        terminal.line()
                    return piece
                if aloud:
                    terminal.out.print(rich.text.Text(terminal.safe(piece)), end="")
                    begun = True
    raise errors.ReverieError("The answer has no end.")


_WENT = {
    "local": "asked on this machine",
    "sent_plain": "sent as it was",
    "sent_pseudonymised": "sent with pseudonyms in place of personal values",
}


def _provenance(answer: answers.CitedAnswer) -> str:
    """Who answered, what it was sent, and what to make of it."""
    if not answer.text:
        return f"These are quotations. {answer.reason}"
    sentences = [f"{answer.model}, {_WENT.get(answer.action, answer.action)}."]
    if answer.toy:
        sentences.append("It is a toy: for trying out, not for believing.")
    if answer.kept:
        sentences.append(f"{answer.kept} too private for it, left out.")
    if not answer.cited:
        sentences.append("It names no source: compare with those above.")
    return " ".join(sentences)
