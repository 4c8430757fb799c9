"""The home: where the folder lies that holds everything, told by the environment."""

import os
from collections.abc import Mapping
from pathlib import Path


def of(environ: Mapping[str, str]) -> Path:
    """The home of this process: REVERIE_HOME, or where data lies by default."""
    named = environ.get("REVERIE_HOME")
    if named:
        return Path(named).expanduser().absolute()
    return default(root=os.geteuid() == 0, environ=environ)


def default(*, root: bool, environ: Mapping[str, str]) -> Path:
    """Where data lies unless told otherwise: root's under /var/lib, since PostgreSQL
    never runs as root.
    """
    if root:
        return Path("/var/lib/reverie")
    data = environ.get("XDG_DATA_HOME") or str(
        Path(environ.get("HOME", "~")).expanduser() / ".local/share"
    )
    return Path(data) / "reverie"


def token_file(home: Path) -> Path:
    """Where the owner's local token lies (0600)."""
    return home / "token"
