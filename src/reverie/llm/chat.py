"""Asking language models: the door's face for answers, whole, in pieces or as checked
items.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar
from uuid import UUID

import pydantic

from reverie import config, db, errors
from reverie.llm import gateway
from reverie.privacy import routing
from reverie.providers import chat_models, lanes, structured

M = TypeVar("M", bound=pydantic.BaseModel)
Level = routing.Level
Message = chat_models.Message
Lane = lanes.Lane

WOULD_ADD = (
    "No language model is configured, and everything that needs none works: search, import, heat, the agenda. "
    "A model would add answers in whole sentences, summaries, and what is said between the lines."
)
HOW = 'Two lines under [model] in config.toml: provider = "openai" (or anthropic, google, groq, ollama), api_key = "…".'


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A question to a model. `level` is that of the record it is about; what the
    messages say can only raise it.

    `schema` is the form of one item, for `items`. `unreadable`: it is about something
    that nobody could read.
    """

    messages: Sequence[Message]
    feature: str
    domain: str = ""
    record: UUID | None = None
    level: Level = Level.NORMAL
    lane: Lane = "query"
    max_tokens: int = 1024
    schema: type[pydantic.BaseModel] | None = None
    conversation: UUID | None = None
    unreadable: bool = False


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """What a model said, by which way it went, and what it cost."""

    text: str
    action: routing.Action
    model: str
    tokens: int
    toy: bool = False


@dataclass(frozen=True, slots=True)
class ItemsAnswer(Generic[M]):
    """The items of an answer that fit their schema, and how many did not."""

    items: tuple[M, ...]
    refused: int
    answer: ChatAnswer


@dataclass(frozen=True, slots=True)
class ModelState:
    """A configured model, as `reverie models` shows it."""

    name: str
    place: str
    toy: bool
    waiting: int


@dataclass(frozen=True, slots=True)
class _One:
    """A configured model."""

    endpoint: chat_models.Endpoint
    client: chat_models.Client
    target: gateway.Target


class Models:
    """The language models, in the order in which they are asked. A process holds one;
    none need be configured.
    """

    def __init__(self, settings: config.Model, opening: gateway.Gateway) -> None:
        self._door = opening
        self._all = [
            made
            for number, one in enumerate((settings, *settings.fallback))
            if (made := _opened(one, retries=settings.retries, first=number == 0))
        ]

    @property
    def there(self) -> bool:
        """Whether any model is configured."""
        return bool(self._all)

    @property
    def opening(self) -> gateway.Gateway:
        """What every call goes through."""
        return self._door

    def states(self) -> list[ModelState]:
        """Every configured model. Asks nobody."""
        return [
            ModelState(
                one.endpoint.name,
                one.endpoint.place,
                one.endpoint.toy,
                one.target.turns.waiting,
            )
            for one in self._all
        ]

    def bare(
        self, number: int
    ) -> tuple[gateway.Target, chat_models.Endpoint, chat_models.Client]:
        """A model without its door: for the door that wraps it (`agents`), and nobody
        else.
        """
        self._need()
        one = self._all[number]
        return one.target, one.endpoint, one.client

    async def ask(
        self, caller: db.HasUser, request: ChatRequest, *, only: int | None = None
    ) -> ChatAnswer:
        """An answer. Raises ModelUnavailable, Confined, BudgetSpent, Invalid. `only`
        asks one model and no other.
        """
        passed = await self._passed(caller, request, None, only=only)
        return _answer(passed, self._toy(passed.target))

    async def stream(
        self, caller: db.HasUser, request: ChatRequest
    ) -> AsyncGenerator[str | ChatAnswer]:
        """An answer in pieces; the last one is an Answer with the whole text. Raises
        what `ask` raises.
        """
        self._need()
        parts: list[str] = []
        texts = [one.text for one in request.messages]
        ways = [(one.target, _streaming(one.client, request)) for one in self._all]
        pieces = self._door.stream(
            origin(caller, request), texts, ways, most_out=request.max_tokens
        )
        async with aclosing(pieces):
            async for piece in pieces:
                if isinstance(piece, str):
                    parts.append(piece)
                    yield piece
                else:
                    toy = self._toy(piece.target)
                    yield ChatAnswer(
                        "".join(parts),
                        piece.action,
                        piece.target.name,
                        piece.tokens,
                        toy,
                    )

    async def items(
        self, caller: db.HasUser, request: ChatRequest, item: type[M]
    ) -> ItemsAnswer[M]:
        """Items of a form, each checked by itself; if none fits, it is asked once more.
        Raises what `ask` does.
        """
        told = replace(
            request,
            messages=(
                *request.messages,
                Message("system", structured.instruction(item)),
            ),
        )
        schema: dict[str, Any] | None = structured.schema_of(item)
        refused: errors.Invalid | None = None
        found: ItemsAnswer[M] | None = None
        for again in (False, True):
            try:
                found = await self._items(caller, told, item, schema)
                if found.items or not found.refused:
                    return found
            # some servers refuse a schema that they cannot hold a model to
            except errors.Invalid as failure:
                if again:
                    raise
                refused = failure
            schema = None
        if found is None:
            raise refused or errors.ModelUnavailable("The model answered nothing.")
        return found

    async def _items(
        self,
        caller: db.HasUser,
        request: ChatRequest,
        item: type[M],
        schema: dict[str, Any] | None,
    ) -> ItemsAnswer[M]:
        passed = await self._passed(caller, request, schema)
        answer = _answer(passed, self._toy(passed.target))
        read = structured.parse(passed.value.text)
        if read is None:
            return ItemsAnswer((), 1, answer)
        checked = structured.checked(passed.masked.restored(read), item)
        return ItemsAnswer(checked.items, checked.refused, answer)

    async def _passed(
        self,
        caller: db.HasUser,
        request: ChatRequest,
        schema: dict[str, Any] | None,
        *,
        only: int | None = None,
    ) -> gateway.Routed[chat_models.Completion]:
        self._need()
        texts = [one.text for one in request.messages]
        chosen = self._all if only is None else [self._all[only]]
        ways = [(one.target, _sending(one.client, request, schema)) for one in chosen]
        return await self._door.call(
            origin(caller, request), texts, ways, most_out=request.max_tokens
        )

    def _need(self) -> None:
        if not self._all:
            raise errors.ModelUnavailable(WOULD_ADD, hint=HOW)

    def _toy(self, target: gateway.Target) -> bool:
        return any(one.endpoint.toy for one in self._all if one.target is target)


async def ask(models: Models, caller: db.HasUser, request: ChatRequest) -> ChatAnswer:
    """An answer to a question. Raises ModelUnavailable, Confined, BudgetSpent, Invalid."""
    return await models.ask(caller, request)


def stream(
    models: Models, caller: db.HasUser, request: ChatRequest
) -> AsyncGenerator[str | ChatAnswer]:
    """The same in pieces; the last one is an Answer."""
    return models.stream(caller, request)


def _opened(
    settings: config.LanguageModel, *, retries: int, first: bool
) -> _One | None:
    where = chat_models.endpoint(settings)
    if where is None:
        if not first:
            raise errors.Misconfigured(
                "A fallback needs a `provider`.",
                hint="Set it under [[model.fallback]].",
            )
        return None
    places = settings.concurrency or (1 if where.place == "local" else 4)
    target = gateway.Target(
        where.name, where.place, lanes.Lanes(places), settings.timeout_s, retries
    )
    return _One(where, chat_models.client(settings, where), target)


def origin(caller: db.HasUser, request: ChatRequest) -> gateway.Origin:
    """Whose call a request is and what for."""
    return gateway.Origin(
        caller=caller,
        feature=request.feature,
        domain=request.domain,
        record=request.record,
        level=request.level,
        lane=request.lane,
        conversation=request.conversation,
        unreadable=request.unreadable,
    )


def _prompt(
    request: ChatRequest, texts: Sequence[str], schema: dict[str, Any] | None
) -> chat_models.Prompt:
    turns = [
        Message(one.role, text)
        for one, text in zip(request.messages, texts, strict=True)
    ]
    return chat_models.Prompt(turns, request.max_tokens, schema)


def _sending(
    client: chat_models.Client, request: ChatRequest, schema: dict[str, Any] | None
) -> gateway.Send[chat_models.Completion]:
    async def send(texts: Sequence[str]) -> gateway.Reply[chat_models.Completion]:
        said = await client.ask(_prompt(request, texts, schema))
        return gateway.Reply(said, said.tokens_in, said.tokens_out)

    return send


def _streaming(client: chat_models.Client, request: ChatRequest) -> gateway.Pieces:
    async def send(texts: Sequence[str]) -> AsyncGenerator[str | gateway.Reply[None]]:
        async with aclosing(client.stream(_prompt(request, texts, None))) as pieces:
            async for piece in pieces:
                yield (
                    piece
                    if isinstance(piece, str)
                    else gateway.Reply(None, piece.tokens_in, piece.tokens_out)
                )

    return send


def _answer(passed: gateway.Routed[chat_models.Completion], toy: bool) -> ChatAnswer:
    text = passed.masked.restore(passed.value.text)
    return ChatAnswer(text, passed.action, passed.target.name, passed.tokens, toy)
