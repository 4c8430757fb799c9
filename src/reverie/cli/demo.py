"""CLI command `reverie demo`: sample data, three searches, and what to try next."""

import asyncio
import importlib.resources
import shlex
import sys
import time
from pathlib import Path

from reverie import app
from reverie.cli import hits, importing, terminal
from reverie.ingest import scan
from reverie.search import query as queries
from reverie.search import results, search

SEARCHES = (
    (
        "beach trip",
        "Meaning across languages: the note is in Spanish and has neither word.",
    ),
    ("INV-2024-0017", "An exact identifier."),
    ("García", "A person, wherever she appears."),
)


def demo() -> None:
    """Import an invented person's life and search it: no key, no network."""
    asyncio.run(_demo())


async def _demo() -> None:
    settings = app.demo_settings()
    began = time.monotonic()
    async with app.opened(settings) as reverie:
        terminal.line(
            "Elena Ruiz's life: invented, two languages, eleven kinds of records.",
            style="bold",
        )
        with importlib.resources.as_file(
            importlib.resources.files("reverie.sample")
        ) as folder:
            files = [
                file
                for file in scan.find([folder], name="sample")
                if file.file.suffix not in (".py", ".pyc")
            ]
            done = await importing.import_into(reverie, files)
        await importing.catch_up(reverie)
        terminal.line(
            f"{done.imported} imported, {done.unchanged} unchanged, {time.monotonic() - began:.0f} s."
        )
        for words, what in SEARCHES:
            terminal.line()
            terminal.line(f"“{words}”", style="bold magenta")
            terminal.line(f"{what}", style="dim")
            found = await search.search(
                reverie.database,
                reverie.owner,
                reverie.embeddings,
                queries.Query(text=words, limit=3),
            )
            hits.show(results.as_json(found))
    _next(settings.home)


def _next(home: Path) -> None:
    program = shlex.quote(_short(sys.argv[0]))
    environment = f"REVERIE_HOME={shlex.quote(str(home))} "
    terminal.line()
    terminal.line("Try next:", style="bold")
    for command, what in (
        (
            f'{environment}{program} ask "what did the doctor say about flying"',
            "quoted, with sources",
        ),
        (
            f'{environment}{program} search "wifi at the holiday house"',
            "found in a Spanish note",
        ),
        (f"{program} import ~/Documents ~/notes", "your own, in a home of its own"),
        (f"{program} up", "the API at 127.0.0.1"),
        (f"{program} connect claude-code", "give it to your agent"),
        (f"{program} doctor", "what runs, what is missing"),
    ):
        terminal.line(f"  {command}")
        terminal.line(f"      {what}", style="dim")


def _short(program: str) -> str:
    try:
        return str(Path(program).absolute().relative_to(Path.cwd()))
    except ValueError:
        return program
