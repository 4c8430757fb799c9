"""Composition root (dependency injection): settings, database and models opened."""

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from reverie import config, db, embedded, errors
from reverie import home as home_folder
from reverie.access import callers, tokens, users
from reverie.graph.cypher import projection
from reverie.ingest.sandbox import pool
from reverie.llm import chat, embedding, gateway
from reverie.migrations import runner
from reverie.privacy import rules, vault
from reverie.records import acquaintances

log = logging.getLogger(__name__)

_HEARTBEAT_SECONDS = 2.0


@dataclass(frozen=True)
class App:
    """A running Reverie, as every surface gets it. `server` is None on the owner's own
    PostgreSQL.
    """

    settings: config.Config
    database: db.Database
    embeddings: embedding.Embeddings
    models: chat.Models
    server: embedded.EmbeddedServer | None
    owner: callers.Caller
    projections: projection.Projections = field(
        default_factory=lambda: projection.Projections(held=2)
    )
    worker_pool: pool.WorkerPool = field(default_factory=pool.WorkerPool)

    @property
    def blobs(self) -> Path:
        """The folder of original bytes."""
        return self.settings.home / "blobs"

    @property
    def owner_url(self) -> str:
        """The database as the role that owns the tables."""
        if self.server is not None:
            return self.server.owner_url
        return self.settings.database_url

    @property
    def token_file(self) -> Path:
        """Where the owner's local token lies (0600)."""
        return home_folder.token_file(self.settings.home)


def read_settings() -> config.Config:
    """The configuration of this process."""
    return config.load(os.environ)


def demo_settings() -> config.Config:
    """The configuration of the demo: a home and a database of its own, unless
    REVERIE_HOME names one.
    """
    if os.environ.get("REVERIE_HOME"):
        return read_settings()
    home = home_folder.default(root=os.geteuid() == 0, environ=os.environ)
    return config.load(
        {**os.environ, "REVERIE_HOME": f"{home}-demo", "REVERIE_DATABASE_URL": ""}
    )


@asynccontextmanager
async def opened(settings: config.Config) -> AsyncGenerator[App]:
    """Everything a surface needs, ready; closed again at the end, the embedded server
    too if nobody else uses it.
    """
    embedded.make_home(settings.home)
    server: embedded.EmbeddedServer | None = None
    if settings.database_url:
        owner_url = settings.database_url
        app_url = db.as_app(owner_url)
    else:
        server = await asyncio.to_thread(embedded.acquire, settings.home)
        owner_url, app_url = server.owner_url, server.app_url
    try:
        if server is not None:
            await runner.ensure_database(
                server.place.url(embedded.OWNER_ROLE, database="postgres"),
                embedded.DATABASE,
            )
        await runner.migrate(owner_url)
        database = db.Database(app_url)
        await database.open()
        model_gateway = gateway.Gateway(database, _gateway_rules(settings))
        models = chat.Models(settings.model, model_gateway)
        cache = settings.home / "cache"
        embeddings = embedding.Embeddings(
            settings.embedding, settings.reranker, cache=cache, gateway=model_gateway
        )
        try:
            timezone = users.local_timezone(os.environ.get("TZ", ""))
            owner = await tokens.ensure_owner(
                database, home_folder.token_file(settings.home), timezone=timezone
            )
            opened = App(settings, database, embeddings, models, server, owner)
            try:
                yield opened
            finally:
                await opened.projections.close()
                await opened.worker_pool.close()
        finally:
            embeddings.close()
            await database.close()
    finally:
        if server is not None:
            await asyncio.to_thread(server.release)


def _gateway_rules(settings: config.Config) -> gateway.GatewaySettings:
    """What holds for every call of a model. Without the key of the pseudonyms, nothing
    private goes to a cloud.
    """
    try:
        key = vault.open_key(settings.home)
    except errors.ReverieError as lost:
        log.warning("%s %s", lost.message, lost.hint)
        key = None
    return gateway.GatewaySettings(
        key,
        scope=settings.privacy.scope,
        daily_tokens=settings.model.daily_tokens,
        known=acquaintances.known_values,
        patterns=rules.load(_pattern_files(settings)),
        model=settings.privacy.model,
        unknown_languages=settings.privacy.unknown_languages,
    )


def _pattern_files(settings: config.Config) -> list[Path]:
    own = settings.home / "patterns.toml"
    return [
        *([own] if own.exists() else []),
        *(settings.home / name for name in settings.privacy.patterns),
    ]


async def caller_of_token(app: App, token: str) -> callers.Caller:
    """Who a token speaks for. Raises Unauthorized."""
    if not token:
        raise errors.Unauthorized(
            "A token is needed.", hint=f"The owner's is in {app.token_file}."
        )
    return await tokens.caller(app.database, token)


async def keep_alive(reverie: App, *, notify: Callable[[str], None]) -> None:
    """Start the embedded server again whenever it was killed; runs until cancelled.
    `notify` gets the sentence.
    """
    while reverie.server is not None:
        await asyncio.sleep(_HEARTBEAT_SECONDS)
        try:
            if await asyncio.to_thread(reverie.server.revive):
                notify("The database had gone; it is back.")
        except errors.ReverieError as failure:
            notify(failure.message)
