"""Agents with tools: the gateway's face, a model of pydantic-ai that asks another.

Everything an agent's request carries is judged and masked together: instructions,
turns, calls of tools and what they returned. What cannot be read here, an image for
one, goes to no cloud. Imported only where an agent is made, since pydantic-ai takes a
second to load.
"""

import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

import pydantic
from pydantic_ai import (
    Agent,
    RunContext,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
    UsageLimits,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    RetryFeedbackPart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import (
    CompletedStreamedResponse,
    ModelRequestParameters,
    StreamedResponse,
)
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from reverie import db, errors
from reverie.llm import chat, gateway
from reverie.privacy import masking
from reverie.providers import families

_Change = Callable[[str], str]
_BETWEEN = ": "


class _Unreadable(Exception):
    """A part that holds what is not text, or that is not known here."""


class Guarded(WrapperModel):
    """The configured model number `number`, for one caller and one feature.

    An agent's models may fall back to another only by asking `model` for it: each goes
    through the gateway by itself.
    """

    def __init__(
        self, models: chat.Models, origin: gateway.Origin, *, number: int = 0
    ) -> None:
        self._target, self._endpoint, client = models.bare(number)
        super().__init__(client.model)
        self._gateway = models.model_gateway
        self._origin = origin

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """One turn of an agent. Raises ModelUnavailable, Confined, BudgetSpent,
        Invalid.
        """
        origin, texts = self._origin, list[str]()
        try:
            _changed(
                messages,
                model_request_parameters,
                lambda text: texts.append(text) or text,
            )
        except _Unreadable:
            origin = replace(origin, unreadable=True)

        async def send(sent: Sequence[str]) -> gateway.Reply[ModelResponse]:
            turns, parameters = messages, model_request_parameters
            if sent != tuple(texts):
                following = iter(sent)
                turns, parameters = _changed(
                    messages, model_request_parameters, lambda _: next(following)
                )
            answer = await self._translated(turns, model_settings, parameters)
            return gateway.Reply(
                answer, answer.usage.input_tokens, answer.usage.output_tokens
            )

        most = (model_settings or {}).get("max_tokens") or 0
        routed = await self._gateway.call(
            origin, texts, [(self._target, send)], most_out=most
        )
        if not routed.masked.tokens:
            return routed.value
        parts = [_restored(part, routed.masked) for part in routed.value.parts]
        return replace(routed.value, parts=parts)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """The whole answer as one piece: a pseudonym inside the arguments of a tool
        cannot be restored halfway.
        """
        answer = await self.request(messages, model_settings, model_request_parameters)
        yield CompletedStreamedResponse(
            answer,
            model_request_parameters=model_request_parameters,
            replay_events=True,
        )

    async def count_tokens(self, *_: Any, **__: Any) -> Any:
        """Some providers count by being sent everything, beside the gateway."""
        raise errors.ModelUnavailable("Tokens are counted by the gateway.")

    async def _translated(
        self,
        messages: list[ModelMessage],
        settings: ModelSettings | None,
        parameters: ModelRequestParameters,
    ) -> ModelResponse:
        with families.translated(self._endpoint):
            return await self.wrapped.request(messages, settings, parameters)


def model(
    models: chat.Models,
    caller: db.HasUser,
    request: chat.ChatRequest,
    *,
    number: int = 0,
) -> Guarded:
    """A model for an agent of pydantic-ai; of `request` count feature, domain, record,
    level, lane, conversation.
    """
    return Guarded(models, chat.origin(caller, request), number=number)


def _changed(
    messages: Sequence[ModelMessage],
    parameters: ModelRequestParameters,
    change: _Change,
) -> tuple[list[ModelMessage], ModelRequestParameters]:
    """Every text of a request, changed, always in the same order."""
    changed: list[ModelMessage] = []
    for message in messages:
        if isinstance(message, ModelRequest):
            instructions = message.instructions
            if instructions:
                instructions = change(instructions)
            request = [_request_part(part, change) for part in message.parts]
            changed.append(replace(message, parts=request, instructions=instructions))
        else:
            response = [_response_part(part, change) for part in message.parts]
            changed.append(replace(message, parts=response))
    if parameters.instruction_parts:
        parts = [
            replace(part, content=change(part.content))
            for part in parameters.instruction_parts
        ]
        parameters = replace(parameters, instruction_parts=parts)
    return changed, parameters


def _request_part(part: ModelRequestPart, change: _Change) -> ModelRequestPart:
    if isinstance(part, SystemPromptPart):
        return replace(part, content=change(part.content))
    if isinstance(part, UserPromptPart):
        if isinstance(part.content, str):
            return replace(part, content=change(part.content))
        return replace(
            part, content=[_user_content(content, change) for content in part.content]
        )
    if isinstance(part, ToolReturnPart | RetryFeedbackPart):
        return replace(part, content=_value(part.content, change))
    raise _Unreadable


def _user_content(content: Any, change: _Change) -> Any:
    if isinstance(content, str):
        return change(content)
    if isinstance(content, TextContent):
        return replace(content, content=change(content.content))
    raise _Unreadable


def _response_part(part: ModelResponsePart, change: _Change) -> ModelResponsePart:
    if isinstance(part, TextPart | ThinkingPart):
        return replace(part, content=change(part.content))
    if isinstance(part, ToolCallPart):
        return replace(part, args=_arguments(part.args, change))
    raise _Unreadable


def _restored(
    part: ModelResponsePart, masked: masking.MaskedTexts
) -> ModelResponsePart:
    if isinstance(part, ToolCallPart):
        return replace(part, args=_restored_arguments(part.args, masked))
    return _response_part(part, masked.restore)


def _restored_arguments(args: Any, masked: masking.MaskedTexts) -> Any:
    """The arguments of a tool with real values again: inside of JSON, where they are
    that.
    """
    if not isinstance(args, str):
        return masked.restored(args)
    try:
        return json.dumps(masked.restored(json.loads(args)), ensure_ascii=False)
    except ValueError:
        return masked.restore(args)


def _arguments(args: Any, change: _Change) -> Any:
    """The arguments of a tool, which may come as JSON text: changed inside, so that
    they stay JSON.
    """
    if not isinstance(args, str):
        return _value(args, change)
    try:
        return json.dumps(_value(json.loads(args), change), ensure_ascii=False)
    except ValueError:
        return change(args)


def _value(value: Any, change: _Change) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float | str):
        changed = change(str(value))  # a telephone number may come as a number
        return value if changed == str(value) else changed
    if isinstance(value, date | UUID | Decimal):
        return change(str(value))
    if isinstance(value, pydantic.BaseModel):
        return _value(value.model_dump(mode="json"), change)
    return _collection(value, change)


def _collection(value: Any, change: _Change) -> Any:
    if isinstance(value, Mapping):
        entries = cast(Mapping[Any, Any], value).items()
        return dict(_entry(str(key), inner, change) for key, inner in entries)
    if isinstance(value, list | tuple):
        return [_value(inner, change) for inner in cast(Sequence[Any], value)]
    raise _Unreadable


def _entry(key: str, value: Any, change: _Change) -> tuple[str, Any]:
    """A name and its value, read together: `phone: 34612345678` tells what the digits
    alone do not.
    """
    if (
        _BETWEEN in key
        or isinstance(value, bool)
        or not isinstance(value, str | int | float)
    ):
        return change(key), _value(value, change)
    together = f"{key}{_BETWEEN}{value}"
    changed = change(together)
    if changed == together:
        return key, value
    name, between, rest = changed.partition(_BETWEEN)
    return (name, rest) if between else (changed, "")


async def run(
    models: chat.Models,
    caller: db.HasUser,
    request: chat.ChatRequest,
    *,
    tools: Sequence[Callable[..., Any]],
    most_calls: int,
) -> str:
    """Let the first model work on a request with some tools, for so many of its turns.
    Raises what asking raises.

    The first message is its instruction, the last one what it works on. A tool's
    docstring tells the model what it does.
    """
    instructions, question = request.messages[0].text, request.messages[-1].text
    agent = Agent(
        model(models, caller, request),
        instructions=instructions,
        tools=list(tools),
        retries=1,
    )
    try:
        result = await agent.run(
            question, usage_limits=UsageLimits(request_limit=most_calls)
        )
    except (UnexpectedModelBehavior, UsageLimitExceeded) as lost:
        raise errors.Invalid(f"The model did not come to an end: {lost}.") from lost
    return result.output
