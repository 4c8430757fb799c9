"""CLI commands `reverie graph`: nodes, links, paths, duplicates and merges."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime, time, timedelta
from itertools import groupby
from typing import Annotated, Any, TypeVar
from uuid import UUID

import typer

from reverie import app, compact, db, errors
from reverie.cli import terminal
from reverie.graph import duplicates as duplicate_nodes
from reverie.graph import forms, lookups, manual, merging, nodes, visibility

T = TypeVar("T")

graph = typer.Typer(
    no_args_is_help=True,
    help="Who and what your records are about: show, path, stats, duplicates.",
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Name = Annotated[str, typer.Argument(help="A name, an email address or an id.")]
_EMPTY = "The graph is empty. It fills as you keep records: contacts, mail, events and notes."
_LINES = 15  # links of one relation that are shown; set by hand


@graph.command("show")
def show_node(
    name: Name,
    as_of: Annotated[
        str | None, typer.Option("--as-of", help="As it was on this day: 2024-05-01.")
    ] = None,
    ended: Annotated[
        bool, typer.Option("--ended", help="What holds no longer, too.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Who or what it is, what it hangs together with, and the records that say so."""
    moment = _end_of(as_of)

    async def work(reverie: app.App, tx: db.Transaction) -> visibility.Whole:
        node = await _named(reverie, tx, name)
        return await visibility.whole(
            tx, reverie.owner, node, as_of=moment, ended=ended
        )

    details = _run(work)
    if as_json:
        terminal.as_json(forms.whole(details))
        return
    _print_node(details)
    for relation, shown in groupby(details.links, key=lambda link: link.link.relation):
        _print_relation(details.node.id, relation, list(shown))
    if not details.links:
        terminal.line("    Nothing is linked with it.", style="dim")
    if details.more:
        terminal.note("There are more links: --json shows 200 of them.")
    for merge in details.history:
        if merge.undone_at is None:
            loser = details.merged.get(merge.loser_id, "Another node")
            terminal.note(f"{loser} was merged into it: {merge.id}")


def _print_node(details: visibility.Whole) -> None:
    """Its name and kind, its other names, its description and its properties."""
    node = details.node
    owner = ", you" if node.is_owner else ""
    terminal.line(terminal.safe(f"{node.name} ({_kind(node)}{owner})"), style="bold")
    others = [
        alias
        for alias, kind in details.aliases
        if kind == "email" or alias != node.name.lower()
    ]
    properties = [f"{name}: {_text(value)}" for name, value in node.properties.items()]
    for text in (", ".join(others), node.description, *properties):
        if text:
            terminal.line(terminal.safe(f"    {compact.clip(text, 300)}"))


@graph.command("path")
def show_path(first: Name, second: Name, as_json: Json = False) -> None:
    """A shortest way from one to the other, a line a step, with a record that says so."""

    async def work(
        reverie: app.App, tx: db.Transaction
    ) -> tuple[nodes.Node, nodes.Node, Any]:
        begin = await _named(reverie, tx, first)
        end = await _named(reverie, tx, second)
        return begin, end, await visibility.path(tx, reverie.owner, begin, end)

    begin, end, path = _run(work)
    if as_json:
        terminal.as_json(forms.path(path))
        return
    if path is None:
        terminal.line(
            terminal.safe(
                f"No way of at most {lookups.DEEPEST} links leads from {begin.name} to {end.name}."
            )
        )
        return
    _, steps = path
    node = begin
    for step in steps:
        terminal.line(terminal.safe(_step(node, step)))
        node = step.other(node.id)
    if not steps:
        terminal.line(terminal.safe(f"Both are {begin.name}."))


def _step(node: nodes.Node, step: visibility.Shown) -> str:
    """One link of a path, from a node to the other, with a record that says so unless
    one of the two is a record.
    """
    other = step.other(node.id)
    outwards = step.begin.id == node.id
    arrow = f"—{step.link.relation}→" if outwards else f"←{step.link.relation}—"
    text = f"{_label(node)} {arrow} {_label(other)}"
    if step.proof and other.record_id is None and not node.record_id:
        text += f"   {_record(step.proof[0])}"
    return text


@graph.command("stats")
def show_stats(as_json: Json = False) -> None:
    """How many nodes of each kind and links of each relation there are."""

    async def work(reverie: app.App, tx: db.Transaction) -> lookups.Stats:
        return await visibility.stats(tx, reverie.owner)

    stats = _run(work)
    if as_json:
        terminal.as_json(
            {
                "nodes": dict(stats.nodes),
                "links": dict(stats.links),
                "version": stats.version,
            }
        )
        return
    if not stats.nodes:
        terminal.line(_EMPTY)
        return
    for title, counts in (("nodes", stats.nodes), ("links", stats.links)):
        terminal.line(f"{sum(counts.values()):,} {title}", style="bold")
        for name, count in counts.items():
            terminal.line(f"    {count:>8,}  {name}")


@graph.command("duplicates")
def duplicates(
    limit: Annotated[
        int, typer.Option(min=1, max=200, help="How many of each kind.")
    ] = 20,
    as_json: Json = False,
) -> None:
    """Nodes that may be one. Nothing is merged unless you say so."""

    async def work(
        reverie: app.App, tx: db.Transaction
    ) -> list[duplicate_nodes.Duplicate]:
        pairs: list[duplicate_nodes.Duplicate] = []
        for kind in duplicate_nodes.KINDS:
            pairs += await duplicate_nodes.suggested(
                tx, reverie.owner, kind, limit=limit
            )
        return pairs

    pairs = _run(work)
    if as_json:
        terminal.as_json([forms.double(pair) for pair in pairs])
        return
    for pair in pairs:
        terminal.line(
            terminal.safe(
                f"{pair.first.name}  =?  {pair.second.name}   ({pair.first.kind}, {pair.score:.2f})"
            )
        )
        terminal.line(terminal.safe(f"    {', '.join(pair.reasons)}"), style="dim")
        terminal.line(
            f"    reverie graph merge {pair.first.id} {pair.second.id}", style="dim"
        )
    if not pairs:
        terminal.line("No two look like one.")


@graph.command("merge")
def merge(
    winner: Annotated[str, typer.Argument(help="The one that stays: a name or an id.")],
    loser: Annotated[str, typer.Argument(help="The one that becomes the other.")],
    as_json: Json = False,
) -> None:
    """Make one node of two. It can be undone."""

    async def work(
        reverie: app.App, tx: db.Transaction
    ) -> tuple[nodes.Node, nodes.Node, merging.MergeEntry]:
        kept = await _named(reverie, tx, winner)
        gone = await _named(reverie, tx, loser)
        entry = await manual.merge(tx, reverie.owner, winner=kept.id, loser=gone.id)
        return kept, gone, entry

    kept, gone, merge_ = _run(work)
    if as_json:
        terminal.as_json(forms.merge(merge_, gone.name))
        return
    terminal.line(terminal.safe(f"{gone.name} is {kept.name} from now on."))
    terminal.note(f"`reverie graph unmerge {merge_.id}` makes two of them again.")


@graph.command("unmerge")
def unmerge(
    which: Annotated[
        str,
        typer.Argument(
            metavar="ID", help="The id of the merge; `reverie graph show` tells it."
        ),
    ],
    as_json: Json = False,
) -> None:
    """Undo a merge: two again, each with the links it had."""
    try:
        merge_id = UUID(which)
    except ValueError:
        raise errors.Invalid(
            f"{which[:60]} is no id.",
            hint="`reverie graph show NAME` tells the merges.",
        ) from None

    async def work(
        reverie: app.App, tx: db.Transaction
    ) -> tuple[merging.MergeEntry, dict[UUID, nodes.Node]]:
        undone = await merging.undo(tx, reverie.owner, merge_id)
        return undone, await visibility.several(
            tx, reverie.owner, [undone.winner_id, undone.loser_id]
        )

    undone, both = _run(work)
    if as_json:
        terminal.as_json(
            {
                "merge": str(undone.id),
                "nodes": [forms.node(node) for node in both.values()],
            }
        )
        return
    terminal.line(
        terminal.safe(
            f"Two again: {' and '.join(node.name for node in both.values())}."
        )
    )


async def _named(reverie: app.App, tx: db.Transaction, name: str) -> nodes.Node:
    """The node of a name; of an empty graph that is told instead."""
    try:
        return await visibility.named(tx, reverie.owner, name)
    except errors.NotFound:
        if (await visibility.stats(tx, reverie.owner)).nodes:
            raise
        raise errors.NotFound(
            _EMPTY, hint="`reverie import` keeps what you have."
        ) from None


def _print_relation(
    node_id: UUID, relation: str, shown: list[visibility.Shown]
) -> None:
    """The links of one relation, and the records that say so."""
    terminal.line(terminal.safe(relation.replace("_", " ")), style="cyan")
    for link in shown[:_LINES]:
        other = link.other(node_id)
        arrow = "→" if link.begin.id == node_id else "←"
        properties = link.link.properties
        parts = [f"    {arrow} {_label(other)}", _validity(link)]
        parts += [f"{name}: {_text(value)}" for name, value in properties.items()]
        terminal.line(terminal.safe("  ".join(part for part in parts if part)))
        for proof in link.proof[:3]:
            # A record need not say that it says so.
            if proof.record_id != other.record_id:
                terminal.line(terminal.safe(f"        {_record(proof)}"), style="dim")
    if len(shown) > _LINES:
        terminal.line(f"    and {len(shown) - _LINES} more", style="dim")


def _validity(link: visibility.Shown) -> str:
    """`since 2024-01-01`, `until …`, or both."""
    begin = link.link.valid_from
    end = link.link.valid_to
    if begin and end:
        return f"{begin.date()} to {end.date()}"
    if begin:
        return f"since {begin.date()}"
    if end:
        return f"until {end.date()}"
    return ""


def _record(proof: visibility.Proof) -> str:
    when = f" {proof.at.date()}" if proof.at else ""
    return f"“{compact.clip(proof.title, 70)}” ({proof.domain.replace('_', ' ')}{when})"


def _label(node: nodes.Node) -> str:
    if node.record_id is not None:
        return f"“{compact.clip(node.name, 70)}” ({_kind(node)})"
    return node.name


def _kind(node: nodes.Node) -> str:
    return (node.type or node.kind).replace("_", " ")


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _end_of(day: str | None) -> datetime | None:
    """The end of a day: what began on it holds."""
    if not day:
        return None
    try:
        next_day = date.fromisoformat(day) + timedelta(days=1)
        return datetime.combine(next_day, time(), UTC)
    except ValueError:
        raise errors.Invalid(
            f"{day} is no day.", hint="Write it as 2024-05-01."
        ) from None


def _run(work: Callable[[app.App, db.Transaction], Awaitable[T]]) -> T:
    async def opened() -> T:
        async with (
            app.opened(app.read_settings()) as reverie,
            reverie.database.transaction(reverie.owner) as tx,
        ):
            return await work(reverie, tx)

    return asyncio.run(opened())
