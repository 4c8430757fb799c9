"""`reverie search` and `reverie ask`."""

import asyncio
from datetime import date
from typing import Annotated

import typer

from reverie import app, errors
from reverie.cli import show
from reverie.records import base
from reverie.search import advanced
from reverie.search import query as queries
from reverie.search import results as searched
from reverie.search import search as searching

Words = Annotated[list[str], typer.Argument(help="What to look for.", metavar="QUESTION")]


def search(
    words: Words,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON with all provenance.")] = False,
    domain: Annotated[list[str] | None, typer.Option(help="Only this domain (may be repeated).")] = None,
    limit: Annotated[int, typer.Option(min=1, max=50, help="How many results.")] = 10,
    tag: Annotated[str | None, typer.Option(help="Only records with this tag.")] = None,
    person: Annotated[str | None, typer.Option(help="Only with this person: a part of a name or an address.")] = None,
    category: Annotated[str | None, typer.Option(help="Only in this folder, board or calendar.")] = None,
    file: Annotated[str | None, typer.Option(help="Only from files whose path holds this.")] = None,
    first: Annotated[str | None, typer.Option("--from", help="Only from this day on: 2026-03-01.")] = None,
    last: Annotated[str | None, typer.Option("--to", help="Only up to this day.")] = None,
    tier: Annotated[base.Tier | None, typer.Option(help="Only as warm as this: hot, warm or cold.")] = None,
    hide_cold: Annotated[bool, typer.Option(help="Leave out what was touched once and went cold.")] = False,
    weigh: Annotated[
        list[str] | None,
        typer.Option(help="Weigh signals yourself: lexical=1, semantic=0.5, heat=0.2, graph=0 (may be repeated)."),
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
        show.as_json(searched.as_json(results))
        return
    for number, hit in enumerate(results.hits, start=1):
        show.hit(number, hit)
    _remarks(results)


def ask(
    words: Words,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=20, help="How many passages.")] = 3,
) -> None:
    """Answer from what you keep: the best passages, quoted, with their sources."""
    results = asyncio.run(_search(queries.Query(text=" ".join(words), limit=limit, include_cold=True)))
    if as_json:
        show.as_json(searched.as_json(results))
        return
    for number, hit in enumerate(results.hits, start=1):
        for passage in hit.passages[:1]:
            show.out.print(show.quoted(passage, limit=700, indent="  “"), end="")
            show.line(f"”  [{number}]")
    if results.hits:
        show.line()
    for number, hit in enumerate(results.hits, start=1):
        origin = f" — {show.safe(hit.origin)}" if hit.origin else ""
        show.line(f"  [{number}] {show.safe(hit.source)}{origin}", style="dim")
    _remarks(results)
    if results.hits:
        show.note("These are quotations. No language model is connected yet to put them into one answer.")


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise errors.Invalid(f"{text} is no day.", hint="Write it as 2026-03-01.") from None


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
            raise errors.Invalid(f"`{one}` is no weight.", hint="Write it as lexical=0.5.") from None
        if name not in advanced.NAMES:
            raise errors.Invalid(f"There is no signal `{name}`.", hint=f"There are {', '.join(advanced.NAMES)}.")
    return advanced.Sliders(**given)


async def _search(query: queries.Query, sliders: advanced.Sliders | None = None) -> searched.Results:
    async with app.opened(app.read_settings()) as reverie:
        if sliders is not None:
            return await searching.by_sliders(
                reverie.database, reverie.owner, reverie.embeddings, query, sliders, settings=reverie.settings.search
            )
        return await searching.search(
            reverie.database, reverie.owner, reverie.embeddings, query, settings=reverie.settings.search
        )


def _remarks(results: searched.Results) -> None:
    if results.reason:
        show.line(results.reason)
    elif results.signals["semantic"].startswith("left out"):
        show.note(f"Meaning was not searched: {results.signals['semantic'].removeprefix('left out: ')}")
    if results.hidden_cold:
        show.note(f"{results.hidden_cold} cold records are not shown.")
