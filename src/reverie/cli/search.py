"""CLI commands `reverie search` and `reverie ask`: hits, or an answer with sources."""

import asyncio
from contextlib import aclosing
from datetime import date
from typing import Annotated

import rich.text
import typer

from reverie import app, errors
from reverie.chat import answers
from reverie.cli import terminal
from reverie.records import record_types
from reverie.search import advanced, results
from reverie.search import query as queries
from reverie.search import search as search_engine

Words = Annotated[
    list[str], typer.Argument(help="What to look for.", metavar="QUESTION")
]


def search(
    words: Words,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON with all provenance.")
    ] = False,
    domain: Annotated[
        list[str] | None, typer.Option(help="Only this domain (may be repeated).")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=50, help="How many results.")] = 10,
    tag: Annotated[str | None, typer.Option(help="Only records with this tag.")] = None,
    person: Annotated[
        str | None,
        typer.Option(help="Only with this person: a part of a name or an address."),
    ] = None,
    category: Annotated[
        str | None, typer.Option(help="Only in this folder, board or calendar.")
    ] = None,
    file: Annotated[
        str | None, typer.Option(help="Only from files whose path holds this.")
    ] = None,
    first: Annotated[
        str | None, typer.Option("--from", help="Only from this day on: 2026-03-01.")
    ] = None,
    last: Annotated[
        str | None, typer.Option("--to", help="Only up to this day.")
    ] = None,
    tier: Annotated[
        record_types.Tier | None,
        typer.Option(help="Only as warm as this: hot, warm or cold."),
    ] = None,
    hide_cold: Annotated[
        bool, typer.Option(help="Leave out what was touched once and went cold.")
    ] = False,
    weigh: Annotated[
        list[str] | None,
        typer.Option(
            help="Weigh signals yourself: lexical=1, semantic=0.5, heat=0.2, graph=0 (may be repeated)."
        ),
    ] = None,
) -> None:
    """Find records by meaning and by words, in any language, with their sources."""
    query = queries.Query(
        text=" ".join(words),
        domains=tuple(domain or ()),
        limit=limit,
        tag=tag,
        person=person,
        category=category,
        file=file,
        first=_day(first),
        last=_day(last),
        tier=tier,
        include_cold=not hide_cold,
    )
    answer = asyncio.run(_search(query, _sliders(weigh)))
    if as_json:
        terminal.as_json(results.as_json(answer))
    else:
        _print_answer(answer)


def _print_answer(answer: results.Results) -> None:
    for number, hit in enumerate(answer.hits, start=1):
        terminal.hit(number, hit)
    _remarks(answer)


def ask(
    words: Words,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=20, help="How many passages.")] = 4,
) -> None:
    """Answer from what you keep, with the sources: in a model's sentences where there
    is one, or else in quotations.
    """
    answer = asyncio.run(_ask(" ".join(words), limit, aloud=not as_json))
    if as_json:
        fields = {name: getattr(answer, name) for name in _JSON_FIELDS}
        fields["told"] = answer.reason
        terminal.as_json({**results.as_json(answer.search_results), "answer": fields})
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
    _remarks(answer.search_results)
    if answer.sources:
        terminal.note(_provenance(answer))


_JSON_FIELDS = ("text", "cited", "kept", "model", "toy", "action")


def _quote(answer: answers.CitedAnswer) -> None:
    """The sources' own words, where no model put them into sentences."""
    for source in answer.sources:
        quotation = terminal.quoted(source.passage, limit=700, indent="  “")
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


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise errors.Invalid(
            f"{text} is no day.", hint="Write it as 2026-03-01."
        ) from None


def _sliders(weigh: list[str] | None) -> advanced.Sliders | None:
    """The weights that were given; a signal that was not named counts for nothing."""
    if not weigh:
        return None
    weights: dict[str, float] = dict.fromkeys(advanced.NAMES, 0.0)
    for text in weigh:
        name, _, value = text.partition("=")
        try:
            weights[name] = float(value)
        except ValueError:
            raise errors.Invalid(
                f"`{text}` is no weight.", hint="Write it as lexical=0.5."
            ) from None
        if name not in advanced.NAMES:
            raise errors.Invalid(
                f"There is no signal `{name}`.",
                hint=f"There are {', '.join(advanced.NAMES)}.",
            )
    return advanced.Sliders(**weights)


async def _search(
    query: queries.Query, sliders: advanced.Sliders | None = None
) -> results.Results:
    async with app.opened(app.read_settings()) as reverie:
        settings = reverie.settings.search
        embeddings = reverie.embeddings
        if sliders is None:
            return await search_engine.search(
                reverie.database, reverie.owner, embeddings, query, settings=settings
            )
        return await search_engine.by_sliders(
            reverie.database,
            reverie.owner,
            embeddings,
            query,
            sliders,
            settings=settings,
        )


def _remarks(answer: results.Results) -> None:
    """What was not searched, and what is not shown."""
    semantic = answer.signals["semantic"]
    if answer.reason:
        terminal.line(answer.reason)
    elif semantic.startswith("left out") and semantic != results.ONLY_TIME:
        why = semantic.removeprefix("left out: ")
        terminal.note(f"Meaning was not searched: {why}")
    for remark in results.remarks(answer):
        terminal.note(remark)
    if answer.hidden_cold:
        terminal.note(f"{answer.hidden_cold} cold records are not shown.")
