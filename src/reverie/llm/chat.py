"""Chat with language models: answers whole, in pieces (streaming) or structured."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar
from uuid import UUID

import pydantic

from reverie import config, db, errors
from reverie.llm import gateway
from reverie.privacy import routing
from reverie.providers import chat_base, chat_models, lanes, structured

M = TypeVar("M", bound=pydantic.BaseModel)
Level = routing.Level
Message = chat_base.Message
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
class _ConfiguredModel:
    """A configured model: where it is, who asks it, and how the gateway sees it."""

    endpoint: chat_base.Endpoint
    client: chat_base.Client
    target: gateway.Target


class Models:
    """The language models, in the order in which they are asked. A process holds one;
    none need be configured.
    """

    def __init__(self, settings: config.Model, gateway: gateway.Gateway) -> None:
        self._gateway = gateway
        configured = [_opened(settings, retries=settings.retries, first=True)] + [
            _opened(fallback, retries=settings.retries, first=False)
            for fallback in settings.fallback
        ]
        self._all = [model for model in configured if model is not None]

    @property
    def is_configured(self) -> bool:
        """Whether any model is configured."""
        return bool(self._all)

    @property
    def model_gateway(self) -> gateway.Gateway:
        """What every call goes through."""
        return self._gateway

    def states(self) -> list[ModelState]:
        """Every configured model. Asks nobody."""
        return [
            ModelState(
                model.endpoint.name,
                model.endpoint.place,
                model.endpoint.toy,
                model.target.turns.waiting,
            )
            for model in self._all
        ]

    def bare(
        self, number: int
    ) -> tuple[gateway.Target, chat_base.Endpoint, chat_base.Client]:
        """A model without the gateway: for the face that wraps it (`agents`), and
        nobody else.
        """
        self._need()
        model = self._all[number]
        return model.target, model.endpoint, model.client

    async def ask(
        self, caller: db.HasUser, request: ChatRequest, *, only: int | None = None
    ) -> ChatAnswer:
        """An answer. Raises ModelUnavailable, Confined, BudgetSpent, Invalid. `only`
        asks one model and no other.
        """
        routed = await self._call(caller, request, None, only=only)
        return _answer(routed, self._toy(routed.target))

    async def stream(
        self, caller: db.HasUser, request: ChatRequest
    ) -> AsyncGenerator[str | ChatAnswer]:
        """An answer in pieces; the last one is a ChatAnswer with the whole text. Raises
        what `ask` raises.
        """
        self._need()
        parts: list[str] = []
        texts = [message.text for message in request.messages]
        targets = [
            (model.target, _streaming(model.client, request)) for model in self._all
        ]
        pieces = self._gateway.stream(
            origin(caller, request), texts, targets, most_out=request.max_tokens
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
        instruction = Message("system", structured.instruction(item))
        instructed = replace(request, messages=(*request.messages, instruction))
        schema: dict[str, Any] | None = structured.schema_of(item)
        refused: errors.Invalid | None = None
        answer: ItemsAnswer[M] | None = None
        for again in (False, True):
            try:
                answer = await self._items(caller, instructed, item, schema)
                if answer.items or not answer.refused:
                    return answer
            # some servers refuse a schema that they cannot hold a model to
            except errors.Invalid as failure:
                if again:
                    raise
                refused = failure
            schema = None
        if answer is None:
            raise refused or errors.ModelUnavailable("The model answered nothing.")
        return answer

    async def _items(
        self,
        caller: db.HasUser,
        request: ChatRequest,
        item: type[M],
        schema: dict[str, Any] | None,
    ) -> ItemsAnswer[M]:
        routed = await self._call(caller, request, schema)
        answer = _answer(routed, self._toy(routed.target))
        parsed = structured.parse(routed.value.text)
        if parsed is None:
            return ItemsAnswer((), 1, answer)
        checked = structured.checked(routed.masked.restored(parsed), item)
        return ItemsAnswer(checked.items, checked.refused, answer)

    async def _call(
        self,
        caller: db.HasUser,
        request: ChatRequest,
        schema: dict[str, Any] | None,
        *,
        only: int | None = None,
    ) -> gateway.Routed[chat_base.Completion]:
        self._need()
        texts = [message.text for message in request.messages]
        chosen = self._all if only is None else [self._all[only]]
        targets = [
            (model.target, _sending(model.client, request, schema)) for model in chosen
        ]
        return await self._gateway.call(
            origin(caller, request), texts, targets, most_out=request.max_tokens
        )

    def _need(self) -> None:
        if not self._all:
            raise errors.ModelUnavailable(WOULD_ADD, hint=HOW)

    def _toy(self, target: gateway.Target) -> bool:
        return any(model.endpoint.toy for model in self._all if model.target is target)


async def ask(models: Models, caller: db.HasUser, request: ChatRequest) -> ChatAnswer:
    """An answer to a question. Raises ModelUnavailable, Confined, BudgetSpent, Invalid."""
    return await models.ask(caller, request)


def stream(
    models: Models, caller: db.HasUser, request: ChatRequest
) -> AsyncGenerator[str | ChatAnswer]:
    """The same in pieces; the last one is a ChatAnswer."""
    return models.stream(caller, request)


def _opened(
    settings: config.LanguageModel, *, retries: int, first: bool
) -> _ConfiguredModel | None:
    endpoint = chat_models.endpoint(settings)
    if endpoint is None:
        if not first:
            raise errors.Misconfigured(
                "A fallback needs a `provider`.",
                hint="Set it under [[model.fallback]].",
            )
        return None
    # Set by hand: of a model on this machine, one answer at a time.
    at_a_time = settings.concurrency or (1 if endpoint.place == "local" else 4)
    target = gateway.Target(
        endpoint.name,
        endpoint.place,
        lanes.Lanes(at_a_time),
        settings.timeout_s,
        retries,
    )
    client = chat_models.client(settings, endpoint)
    return _ConfiguredModel(endpoint, client, target)


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
) -> chat_base.Prompt:
    turns = [
        Message(message.role, text)
        for message, text in zip(request.messages, texts, strict=True)
    ]
    return chat_base.Prompt(turns, request.max_tokens, schema)


def _sending(
    client: chat_base.Client, request: ChatRequest, schema: dict[str, Any] | None
) -> gateway.Send[chat_base.Completion]:
    async def send(texts: Sequence[str]) -> gateway.Reply[chat_base.Completion]:
        completion = await client.ask(_prompt(request, texts, schema))
        return gateway.Reply(completion, completion.tokens_in, completion.tokens_out)

    return send


def _streaming(client: chat_base.Client, request: ChatRequest) -> gateway.Pieces:
    async def send(texts: Sequence[str]) -> AsyncGenerator[str | gateway.Reply[None]]:
        async with aclosing(client.stream(_prompt(request, texts, None))) as pieces:
            async for piece in pieces:
                if isinstance(piece, str):
                    yield piece
                else:
                    yield gateway.Reply(None, piece.tokens_in, piece.tokens_out)

    return send


def _answer(routed: gateway.Routed[chat_base.Completion], toy: bool) -> ChatAnswer:
    text = routed.masked.restore(routed.value.text)
    return ChatAnswer(text, routed.action, routed.target.name, routed.tokens, toy)
