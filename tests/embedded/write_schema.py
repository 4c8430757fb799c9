"""Writes src/reverie/migrations/schema.sql: what all migrations make of an empty
database, as pg_dump tells it.

    python tests/embedded/write_schema.py

Nothing reads that file but people and the test that compares it, so that a change of
the shape shows in its diff.
"""

import asyncio
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from reverie import embedded
from reverie.migrations import runner

TARGET = Path(runner.__file__).with_name("schema.sql")
HEAD = """\
-- What the migrations make, for reading and for the diff: never applied, never edited by hand.
-- Written by `python tests/embedded/write_schema.py`; tests/embedded/test_migrations.py keeps it equal.
"""
# What a dump says of itself, of its session or of its version, and not of the tables.
_NOISE = re.compile(
    r"^(--.*|SET .*|SELECT pg_catalog\.set_config.*|\\(un)?restrict .*)$\n?",
    re.MULTILINE,
)


def normalised(dump: str) -> str:
    """The statements of a dump, without its remarks and with one empty line between
    them.
    """
    bare = _NOISE.sub("", dump).replace("public.", "")
    bare = re.sub(
        r"^ALTER (TABLE|SEQUENCE) (ONLY )?\S+ OWNER TO \S+;$\n?",
        "",
        bare,
        flags=re.MULTILINE,
    )
    return HEAD + "\n" + re.sub(r"\n{3,}", "\n\n", bare).strip() + "\n"


def dump(server: embedded.EmbeddedServer, database: str) -> str:
    """The shape of a database on an embedded server."""
    program = embedded._programs_of_wheel() / "pg_dump"
    url = server.place.url(embedded.OWNER_ROLE, database=database)
    done = subprocess.run(
        [str(program), "--schema-only", "--no-comments", "--exclude-schema=dbos", url],
        capture_output=True,
        text=True,
        check=True,
    )
    return normalised(done.stdout)


async def made(server: embedded.EmbeddedServer, database: str) -> None:
    """A migrated database."""
    await runner.ensure_database(
        server.place.url(embedded.OWNER_ROLE, database="postgres"), database
    )
    await runner.migrate(server.place.url(embedded.OWNER_ROLE, database=database))


def main() -> None:
    """Make a server, migrate, dump, and throw the server away."""
    home = Path(tempfile.mkdtemp(prefix="rev-", dir="/tmp"))
    home.chmod(0o711)
    server = embedded.acquire(home)
    try:
        asyncio.run(made(server, "shape"))
        TARGET.write_text(dump(server, "shape"), encoding="utf-8")
    finally:
        server.release()
        shutil.rmtree(home, ignore_errors=True)
    sys.stdout.write(f"{TARGET}\n")


if __name__ == "__main__":
    main()
