"""`reverie search` and `reverie ask`."""

import asyncio
from contextlib import aclosing
from datetime import date
from typing import Annotated

import rich.text
import typer

from reverie import app, errors
from reverie.chat import answers
from reverie.cli import terminal
from reverie.records import base
from reverie.search import advanced
from reverie.search import query as queries
from reverie.search import results as searched
from reverie.search import search as searching

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
        base.Tier | None, typer.Option(help="Only as warm as this: hot, warm or cold.")
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
    results = asyncio.run(_search(query, _sliders(weigh)))
    if as_json:
        terminal.as_json(searched.as_json(results))
        return
    for number, hit in enumerate(results.hits, start=1):
        terminal.hit(number, hit)
    _remarks(results)


def ask(
    words: Words,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=20, help="How many passages.")] = 4,
) -> None:
    """Answer from what you keep, with the sources: in a model's sentences where there
    is one, or else in quotations.
    """
    made = asyncio.run(_ask(" ".join(words), limit, aloud=not as_json))
    if as_json:
        told = {
            name: getattr(made, name)
            for name in ("text", "cited", "kept", "model", "toy", "action", "told")
        }
        terminal.as_json({**searched.as_json(made.found), "answer": told})
        return
    if not made.text:
        for one in made.sources:
            terminal.out.print(
                terminal.quoted(one.passage, limit=700, indent="  “"), end=""
            )
            terminal.line(f"”  [{one.number}]")
    if made.sources:
        terminal.line()
    for one in made.sources:
        origin = f" — {terminal.safe(one.hit.origin)}" if one.hit.origin else ""
        style = "" if one.number in made.cited else "dim"
        terminal.line(
            f"  [{one.number}] {terminal.safe(one.told)}{origin}", style=style
        )
    _remarks(made.found)
    if made.sources:
        terminal.note(_provenance(made))


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


def _provenance(made: answers.CitedAnswer) -> str:
    """Who answered, what it was sent, and what to make of it."""
    if not made.text:
        return f"These are quotations. {made.told}"
    told = [f"{made.model}, {_WENT.get(made.action, made.action)}."]
    if made.toy:
        told.append("It is a toy: for trying out, not for believing.")
    if made.kept:
        told.append(f"{made.kept} too private for it, left out.")
    if not made.cited:
        told.append("It names no source: compare with those above.")
    return " ".join(told)


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
    given: dict[str, float] = dict.fromkeys(advanced.NAMES, 0.0)
    for one in weigh:
        name, _, value = one.partition("=")
        try:
            given[name] = float(value)
        except ValueError:
            raise errors.Invalid(
                f"`{one}` is no weight.", hint="Write it as lexical=0.5."
            ) from None
        if name not in advanced.NAMES:
            raise errors.Invalid(
                f"There is no signal `{name}`.",
                hint=f"There are {', '.join(advanced.NAMES)}.",
            )
    return advanced.Sliders(**given)


async def _search(
    query: queries.Query, sliders: advanced.Sliders | None = None
) -> searched.Results:
    async with app.opened(app.read_settings()) as reverie:
        if sliders is not None:
            return await searching.by_sliders(
                reverie.database,
                reverie.owner,
                reverie.embeddings,
                query,
                sliders,
                settings=reverie.settings.search,
            )
        return await searching.search(
            reverie.database,
            reverie.owner,
            reverie.embeddings,
            query,
            settings=reverie.settings.search,
        )


def _remarks(results: searched.Results) -> None:
    if results.reason:
        terminal.line(results.reason)
    elif results.signals["semantic"].startswith("left out"):
        terminal.note(
            f"Meaning was not searched: {results.signals['semantic'].removeprefix('left out: ')}"
        )
    if results.hidden_cold:
        terminal.note(f"{results.hidden_cold} cold records are not shown.")
