"""CLI command `reverie search`: hits by meaning and by words, with their sources."""

from datetime import date
from typing import Annotated, Literal

import typer

from reverie import errors
from reverie.cli import client, hits, terminal

Words = Annotated[
    list[str], typer.Argument(help="What to look for.", metavar="QUESTION")
]


_Tier = Annotated[
    Literal["hot", "warm", "cold"] | None,
    typer.Option(help="Only as warm as this: hot, warm or cold."),
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
    tier: _Tier = None,
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
    weights = _weights(weigh or [])
    query: dict[str, object] = {
        "q": " ".join(words),
        "domain": domain,
        "limit": limit,
        "tag": tag,
        "person": person,
        "category": category,
        "file": file,
        "from": _day(first),
        "to": _day(last),
        "tier": tier,
        "include_cold": not hide_cold,
    }
    path = "/search/advanced" if weights else "/search"
    with client.connected() as api:
        answer = api.get(path, query | weights)
    if as_json:
        terminal.as_json(answer)
    else:
        hits.show(answer)


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise errors.Invalid(
            f"{text} is no day.", hint="Write it as 2026-03-01."
        ) from None


_SIGNALS = ("lexical", "semantic", "heat", "graph")


def _weights(weigh: list[str]) -> dict[str, object]:
    """The weights that were given; a signal that was not named counts for nothing."""
    if not weigh:
        return {}
    weights: dict[str, object] = dict.fromkeys(_SIGNALS, 0.0)
    for text in weigh:
        name, _, value = text.partition("=")
        if name not in _SIGNALS:
            raise errors.Invalid(
                f"There is no signal `{name}`.",
                hint=f"There are {', '.join(_SIGNALS)}.",
            )
        try:
            weights[name] = float(value)
        except ValueError:
            raise errors.Invalid(
                f"`{text}` is no weight.", hint="Write it as lexical=0.5."
            ) from None
    return weights
