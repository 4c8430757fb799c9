"""CLI commands `reverie token`, `user` and `agent`: access tokens, people, scopes."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal, TypeVar
from uuid import UUID

import typer

from reverie import app, errors
from reverie.access import agents, logins, passwords, tokens, users
from reverie.cli import terminal

T = TypeVar("T")

token = typer.Typer(
    no_args_is_help=True, help="Tokens of machines and agents: mint, list, revoke."
)
user = typer.Typer(
    no_args_is_help=True,
    help="The people of this household: add, list, rename, password.",
)
agent = typer.Typer(
    no_args_is_help=True, help="Agents and what each may do: list, scopes."
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@token.command("mint")
def mint(
    name: Annotated[
        str,
        typer.Argument(
            help="Whose it is; the name of an agent takes that agent's scopes."
        ),
    ],
    kind: Annotated[
        Literal["machine", "agent"], typer.Option(help="machine or agent.")
    ] = "agent",
    scope: Annotated[
        list[str] | None,
        typer.Option(help="Such as notes:read, events:* or *:read (may be repeated)."),
    ] = None,
    days: Annotated[
        int, typer.Option(min=0, help="How long it lasts; 0: until it is revoked.")
    ] = tokens.DAYS,
) -> None:
    """Mint a token. It is printed once, alone on stdout, and kept nowhere."""

    async def work(reverie: app.App) -> tuple[str, tokens.AccessToken]:
        return await tokens.grant(
            reverie.database,
            reverie.owner,
            name=name,
            kind=kind,
            scopes=scope or (),
            days=days or None,
        )

    secret, row = _run(work)
    sys.stdout.write(secret + "\n")
    until = (
        f"until {row.expires_at.date()}" if row.expires_at else "until you revoke it"
    )
    terminal.note(
        f"{row.kind} {row.name}, {until}: {', '.join(row.scopes)}. It is not shown again."
    )


@token.command("list")
def list_tokens(
    as_json: Json = False,
    ended: Annotated[bool, typer.Option(help="Those that ended too.")] = False,
) -> None:
    """All tokens, without their secrets."""

    async def work(reverie: app.App) -> tuple[list[tokens.AccessToken], UUID | None]:
        return await tokens.listed(reverie.database, reverie.owner), reverie.owner.proof

    rows, own = _run(work)
    rows = [row for row in rows if ended or row.live]
    if as_json:
        terminal.as_json([_fields(row) | {"live": row.live} for row in rows])
        return
    for row in rows:
        yours = "  (this command line's own)" if row.id == own else ""
        scopes = " ".join(row.scopes)
        text = f"{row.id}  {row.kind} {row.name}  {_lifetime(row)}  {scopes}{yours}"
        terminal.line(terminal.safe(text))


def _lifetime(row: tokens.AccessToken) -> str:
    if not row.live:
        return "ended"
    return f"until {row.expires_at.date()}" if row.expires_at else "no end"


def _fields(row: tokens.AccessToken | users.User | agents.Agent) -> dict[str, Any]:
    """A row as JSON has it: every field by its name."""
    return {name: getattr(row, name) for name in row.__slots__}


@token.command("revoke")
def revoke(
    which: Annotated[
        str, typer.Argument(help="Its id, or its name if only one live token has it.")
    ],
) -> None:
    """End a token and all that it minted, at once and everywhere."""

    async def work(reverie: app.App) -> int:
        matches = [
            row
            for row in await tokens.listed(reverie.database, reverie.owner)
            if row.live and which in (str(row.id), row.name)
        ]
        if len(matches) > 1:
            raise errors.Conflict(
                f"{len(matches)} tokens are called {which}.",
                hint="Give its id: `reverie token list`.",
            )
        if not matches:
            raise errors.NotFound(
                "There is no such token.",
                hint="`reverie token list` tells those there are.",
            )
        [match] = matches
        if match.id == reverie.owner.proof:
            raise errors.Invalid(
                "This is the token of this command line itself.",
                hint=f"Move {reverie.token_file} away first: the next command makes a new one.",
            )
        return await tokens.revoke(reverie.database, reverie.owner, match.id)

    count = _run(work)
    terminal.line(
        "Revoked."
        if count == 1
        else f"Revoked, and {count - 1} more that it had minted."
    )


@user.command("add")
def add_user(
    name: Annotated[
        str, typer.Argument(help="What this person is called and logs in as.")
    ],
    timezone: Annotated[str, typer.Option(help="Such as Europe/Madrid.")] = "UTC",
    no_password: Annotated[
        bool,
        typer.Option("--no-password", help="Without one nobody can log in as them."),
    ] = False,
) -> None:
    """Add a member of the household, with a memory of their own."""
    password = None if no_password else _read_password()

    async def work(reverie: app.App) -> users.User:
        user = await users.add(
            reverie.database, reverie.owner, name=name, timezone=timezone
        )
        if password is not None:
            await logins.give_password(reverie.database, user.user_id, password)
        return user

    terminal.line(terminal.safe(f"{_run(work).name} is a member of this household."))


@user.command("list")
def list_users(as_json: Json = False) -> None:
    """The people of this household."""

    async def work(reverie: app.App) -> list[users.User]:
        return await users.listed(reverie.database, reverie.owner)

    members = _run(work)
    if as_json:
        terminal.as_json([_fields(member) for member in members])
        return
    for member in members:
        terminal.line(
            terminal.safe(
                f"{member.user_id}  {member.role}  {member.name}  {member.timezone}"
            )
        )


@user.command("rename")
def rename(
    name: Annotated[str, typer.Argument(help="Who.")],
    new: Annotated[str, typer.Argument(help="The new name.")],
) -> None:
    """Give a person another name."""

    async def work(reverie: app.App) -> users.User:
        return await users.rename(
            reverie.database,
            reverie.owner,
            (await _person(reverie, name)).user_id,
            name=new,
        )

    terminal.line(terminal.safe(f"Renamed to {_run(work).name}."))


@user.command("password")
def password(name: Annotated[str, typer.Argument(help="Whose.")] = "owner") -> None:
    """Set a person's password, and end their logins. Asked for, or read from standard
    input; never an argument.
    """
    new_password = _read_password()

    async def work(reverie: app.App) -> None:
        await logins.give_password(
            reverie.database, (await _person(reverie, name)).user_id, new_password
        )

    _run(work)
    terminal.line("The password is set.")


@agent.command("list")
def list_agents(as_json: Json = False) -> None:
    """The agents and what each may do."""

    async def work(reverie: app.App) -> list[agents.Agent]:
        return await agents.listed(reverie.database, reverie.owner)

    known_agents = _run(work)
    if as_json:
        terminal.as_json([_fields(row) for row in known_agents])
        return
    for row in known_agents:
        terminal.line(terminal.safe(f"{row.name}  {row.about}"), style="bold")
        terminal.line(terminal.safe(f"    {' '.join(row.scopes) or 'nothing'}"))


@agent.command("scopes")
def scopes(
    name: Annotated[str, typer.Argument(help="The agent; a new name is a new agent.")],
    new_scopes: Annotated[
        list[str] | None,
        typer.Argument(metavar="SCOPES", help="All that it may do from now on."),
    ] = None,
    about: Annotated[
        str | None, typer.Option(help="What it is for, in a few words.")
    ] = None,
    nothing: Annotated[
        bool, typer.Option("--nothing", help="It may do nothing.")
    ] = False,
) -> None:
    """Say what an agent may do, or show it. What runs under its name follows with its
    next call.
    """

    async def work(reverie: app.App) -> agents.Agent:
        if new_scopes or nothing:
            return await agents.change(
                reverie.database,
                reverie.owner,
                name=name,
                scopes=new_scopes or (),
                about=about,
            )
        for row in await agents.listed(reverie.database, reverie.owner):
            if row.name == name:
                return row
        raise errors.NotFound(
            f"There is no agent `{name}`.", hint="Give it scopes, and it is made."
        )

    terminal.line(terminal.safe(" ".join(_run(work).scopes) or "nothing"))


async def _person(reverie: app.App, name: str) -> users.User:
    for member in await users.listed(reverie.database, reverie.owner):
        if users.folded(member.name) == users.folded(name):
            return member
    raise errors.NotFound(
        f"Nobody is called {name}.", hint="`reverie user list` tells who is there."
    )


def _read_password() -> str:
    """A password, checked before anything is done."""
    if not sys.stdin.isatty():
        return passwords.checked(sys.stdin.readline().rstrip("\n"))
    return passwords.checked(
        str(typer.prompt("Password", hide_input=True, confirmation_prompt=True))
    )


def _run(work: Callable[[app.App], Awaitable[T]]) -> T:
    async def opened() -> T:
        async with app.opened(app.read_settings()) as reverie:
            return await work(reverie)

    return asyncio.run(opened())
