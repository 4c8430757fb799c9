"""The gateway to models: routing, masking, a token budget, retries with backoff, a log.

`embedding`, `chat` and `agents` are its faces: one for vectors, one for answers, one
for agents. Nothing else uses it.
"""

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar
from uuid import UUID

from reverie import db, errors
from reverie.privacy import log as routing_log
from reverie.privacy import masking, pseudonyms, routing, rules, vault
from reverie.providers import lanes, places

log = logging.getLogger(__name__)

T = TypeVar("T")
Level = routing.Level
Lane = lanes.Lane

# Set by hand, like the next.
_FIRST_WAIT_S = 0.5
# What takes longer to be judged is taken for the worst.
_PATIENCE_S = 20.0
# What a token is worth, until the model has counted: no language is below it by much.
_LETTERS_A_TOKEN = 3


@dataclass(frozen=True, slots=True)
class Origin:
    """Whose call it is and what for: what the log keeps, and what decides. `level` is
    that of the record.

    `unreadable` says that it carries what nobody here can read, an image for one: that
    goes to no cloud. A `conversation` has pseudonyms of its own, if the owner wants
    that.
    """

    caller: db.HasUser
    feature: str
    domain: str = ""
    record: UUID | None = None
    level: Level = Level.NORMAL
    lane: Lane = "query"
    conversation: UUID | None = None
    unreadable: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """A model that may be asked, as the gateway sees it."""

    name: str
    place: places.Place
    turns: lanes.Lanes
    timeout_s: float
    retries: int = 0


@dataclass(frozen=True, slots=True)
class Reply(Generic[T]):
    """What a model answered, and the tokens it counted (0: it did not)."""

    value: T
    tokens_in: int = 0
    tokens_out: int = 0


Send = Callable[[Sequence[str]], Awaitable[Reply[T]]]
"""Sends texts that may leave, in the order in which they were given."""
Pieces = Callable[[Sequence[str]], AsyncGenerator["str | Reply[None]"]]
"""The same for an answer in pieces; a Reply among them brings the counts."""


@dataclass(frozen=True, slots=True)
class Routed(Generic[T]):
    """An answer with its route: which model gave it, what was done to the question, and
    how to read what it says.
    """

    value: T
    target: Target
    action: routing.Action
    masked: masking.MaskedTexts
    tokens: int


@dataclass(slots=True)
class _Meter:
    tokens_in: int
    tokens_out: int = 0


@dataclass(frozen=True, slots=True)
class _Route:
    """One model that may get a call, and what it gets."""

    target: Target
    action: routing.Action
    masked: masking.MaskedTexts


@dataclass(slots=True)
class _Call:
    """A call under way: its level is the same for whoever is asked, and it is masked
    once. `language` is the unknown one for which it goes to no cloud.
    """

    origin: Origin
    texts: Sequence[str]
    level: Level
    most_out: int
    language: str = ""
    hidden: masking.MaskedTexts | None = None
    failure: errors.ReverieError | None = None


@dataclass(slots=True)
class _Attempt(Generic[T]):
    """One try of a call at one model. What becomes of it decides what comes next."""

    route: _Route
    send: T
    number: int
    begun: bool = False
    failure: errors.ReverieError | None = None

    @contextmanager
    def guarded(self) -> Generator[None]:
        """Note a failure that another try or model may mend; once a piece of the answer
        was given, it is raised.
        """
        try:
            yield
        except (errors.Unavailable, errors.Invalid) as failure:
            if self.begun:
                raise
            self.failure = failure

    def pause(self) -> float | None:
        """Seconds until the same model is asked again; None when it is not.

        Exponential backoff with jitter: half a second, one, two, …, or what the
        provider asked for if that is more.
        """
        busy = self.failure
        retries = self.route.target.retries
        if not isinstance(busy, errors.ModelBusy) or self.number >= retries:
            return None
        after_s = busy.details.get("after_s")
        own = _FIRST_WAIT_S * 2**self.number * random.uniform(0.75, 1.25)
        return max(own, float(after_s) if isinstance(after_s, int | float) else 0.0)


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """What holds for every call. `key` is the one of the pseudonyms; without it nothing
    private is sent.

    `patterns` are the shipped ones and the owner's, None for the shipped ones alone;
    `model` is the named-entity one; with `unknown_languages` texts go to a cloud whose
    language's words of health and the like are not known.
    """

    key: vault.Key | None = field(default=None, repr=False)
    scope: Literal["user", "conversation"] = "user"
    daily_tokens: int = 0
    known: masking.KnownValues = masking.nobody
    patterns: rules.Rules | None = None
    model: bool = False
    unknown_languages: bool = False


class Gateway:
    """The gateway: lets a call through to a model, or says why not. A process has one."""

    def __init__(self, database: db.Database, rules: GatewaySettings) -> None:
        self._database = database
        self._rules = rules

    @property
    def masks(self) -> bool:
        """Whether it can put pseudonyms in place of what is private. Without, that is
        not sent.
        """
        return self._rules.key is not None

    async def level(self, origin: Origin, texts: Sequence[str]) -> Level:
        """How private texts are together: their record's level, raised by what they
        say.
        """
        if origin.unreadable:
            return Level.CRITICAL
        try:
            async with asyncio.timeout(_PATIENCE_S):
                return await asyncio.to_thread(
                    routing.level_of, texts, origin.level, patterns=self._rules.patterns
                )
        except TimeoutError:
            return Level.CRITICAL

    async def judged(self, texts: Sequence[str], bases: Sequence[Level]) -> list[Level]:
        """How private each text is by itself, its record's own level in `bases`. In an
        unknown language it is critical: it goes to no cloud.
        """
        pairs = list(zip(texts, bases, strict=True))
        return await asyncio.to_thread(lambda: [self._judged(*pair) for pair in pairs])

    def _judged(self, text: str, base: Level) -> Level:
        if self._unknown_language([text]):
            return Level.CRITICAL
        return routing.judged(text, base, patterns=self._rules.patterns)

    def _unknown_language(self, texts: Sequence[str]) -> str:
        if self._rules.unknown_languages:
            return ""
        return routing.unknown_language(texts)

    async def _call(self, origin: Origin, texts: Sequence[str], most_out: int) -> _Call:
        """A call with its level, and its language where that confines it."""
        level = await self.level(origin, texts)
        call = _Call(origin, texts, level, most_out)
        if level is not Level.CRITICAL:
            call.language = await asyncio.to_thread(self._unknown_language, texts)
        return call

    async def call(
        self,
        origin: Origin,
        texts: Sequence[str],
        targets: Sequence[tuple[Target, Send[T]]],
        *,
        most_out: int = 0,
    ) -> Routed[T]:
        """Ask the first model that may have these texts and answers.

        Raises Confined when none may, BudgetSpent, Invalid when it was refused, and
        else the last one's Unavailable.
        """
        call = await self._call(origin, texts, most_out)
        async with aclosing(self._attempts(call, targets)) as attempts:
            async for attempt in attempts:
                route = attempt.route
                with attempt.guarded():
                    async with self._turn(call, route) as meter:
                        async with lanes.time_limit(
                            route.target.name, route.target.timeout_s
                        ):
                            reply = await attempt.send(route.masked.texts)
                        meter.tokens_in, meter.tokens_out = _counted(reply, meter)
                    return _routed(reply.value, route, meter)
        raise call.failure or await self._refused(call)

    async def stream(
        self,
        origin: Origin,
        texts: Sequence[str],
        targets: Sequence[tuple[Target, Pieces]],
        *,
        most_out: int = 0,
    ) -> AsyncGenerator[str | Routed[None]]:
        """The answer in pieces, restored; the last one is Routed. Once a piece was
        given, nobody else is asked.
        """
        call = await self._call(origin, texts, most_out)
        async with aclosing(self._attempts(call, targets)) as attempts:
            async for attempt in attempts:
                route = attempt.route
                with attempt.guarded():
                    async with (
                        self._turn(call, route) as meter,
                        aclosing(attempt.send(route.masked.texts)) as pieces,
                        aclosing(_restored(route, pieces, meter)) as restored,
                    ):
                        async for piece in restored:
                            attempt.begun = True
                            yield piece
                    yield _routed(None, route, meter)
                    return
        raise call.failure or await self._refused(call)

    async def _attempts(
        self, call: _Call, targets: Sequence[tuple[Target, T]]
    ) -> AsyncGenerator[_Attempt[T]]:
        """The tries of a call: each model that may have the texts in its turn, a busy
        one again after a pause (retry with exponential backoff).

        Whoever takes a try makes it; what it failed of is then in `call.failure`.
        """
        for target, send in targets:
            route = await self._route(call, target)
            if route is None:
                continue
            for number in range(target.retries + 1):
                attempt = _Attempt(route, send, number)
                yield attempt
                call.failure = attempt.failure
                pause = attempt.pause()
                if pause is None:
                    break
                await asyncio.sleep(pause)

    async def _route(self, call: _Call, target: Target) -> _Route | None:
        """What a model gets of a call, or None if it may not have it."""
        level = Level.CRITICAL if call.language else call.level
        action = routing.decide(level, target.place)
        if action == "blocked":
            return None
        if action != "sent_pseudonymised":
            return _Route(target, action, masking.MaskedTexts(tuple(call.texts), {}))
        call.hidden = call.hidden or await self._masked(call.origin, call.texts)
        return _Route(target, action, call.hidden) if call.hidden else None

    async def _masked(
        self, origin: Origin, texts: Sequence[str]
    ) -> masking.MaskedTexts | None:
        """Masked texts, or None: what cannot be masked for sure is not sent."""
        if self._rules.key is None:
            return None
        scope = pseudonyms.scope_of(self._rules.scope, origin.conversation)
        try:
            return await masking.mask(
                self._database,
                origin.caller,
                texts,
                scope=scope,
                key=self._rules.key,
                known=self._rules.known,
                patterns=self._rules.patterns,
                model=self._rules.model,
            )
        except errors.DatabaseUnavailable:
            raise
        except Exception as broken:  # noqa: BLE001 - whatever it is, the stricter side is to send nothing
            log.warning(
                "a text could not be pseudonymised (%s), so it is not sent",
                type(broken).__name__,
            )
            return None

    @asynccontextmanager
    async def _turn(self, call: _Call, route: _Route) -> AsyncGenerator[_Meter]:
        """A call's turn at its provider. Its row is there before it begins: without a
        row there is no call.
        """
        origin = call.origin
        estimate = sum(map(len, route.masked.texts)) // _LETTERS_A_TOKEN + 1
        async with route.target.turns.place(origin.lane):
            await self._check_budget(origin, route.target, estimate + call.most_out)
            entry = _entry(
                call,
                action=route.action,
                destination=route.target.place,
                model=route.target.name,
                tokens_in=estimate,
            )
            async with self._database.transaction(origin.caller) as tx:
                number = await routing_log.append(tx, origin.caller, entry)
            meter = _Meter(estimate)
            outcome: routing_log.Outcome = "stopped"
            try:
                yield meter
                outcome = "done"
            except errors.ReverieError:
                outcome = "failed"
                raise
            finally:
                await asyncio.shield(self._ended(origin, number, outcome, meter))

    async def _ended(
        self, origin: Origin, number: int, outcome: routing_log.Outcome, meter: _Meter
    ) -> None:
        try:
            async with self._database.transaction(origin.caller) as tx:
                await routing_log.finish(
                    tx,
                    origin.caller,
                    number,
                    outcome=outcome,
                    tokens_in=meter.tokens_in,
                    tokens_out=meter.tokens_out,
                )
        except errors.DatabaseUnavailable:
            log.warning("the end of a call is not in the log; its beginning is")

    async def _check_budget(self, origin: Origin, target: Target, tokens: int) -> None:
        """Raise BudgetSpent when background work has sent enough for today. A model on
        this machine costs nothing.
        """
        most = self._rules.daily_tokens
        if origin.lane != "bulk" or target.place == "local" or not most:
            return
        async with self._database.transaction(origin.caller) as tx:
            spent = await routing_log.spent_today(tx, origin.caller)
        if spent + tokens > most:
            raise errors.BudgetSpent(
                f"Today's {most:,} tokens for background work are spent; it goes on tomorrow.",
                hint="Raise `daily_tokens` under [model], or use a model on this machine.",
            )

    async def _refused(self, call: _Call) -> errors.Confined:
        """No model may have it: that is a row, too."""
        origin = call.origin
        entry = _entry(
            call, action="blocked", destination="", model="", outcome="refused"
        )
        async with self._database.transaction(origin.caller) as tx:
            await routing_log.append(tx, origin.caller, entry)
        if call.level is Level.CRITICAL:
            return errors.Confined(
                "This is too private to leave this machine, and there is no model here to ask.",
                hint='Add one under [model]: provider = "ollama", or "builtin" to try.',
            )
        if call.language:
            return errors.Confined(
                f"A passage is in a language ({call.language}) whose words for health, "
                "religion and the like are not known here, so it goes to no cloud.",
                hint="Use a model on this machine, or set `unknown_languages = true` "
                "under [privacy].",
            )
        return errors.Confined(
            "This could not be pseudonymised for sure, so it was not sent."
        )


def _entry(call: _Call, **route: Any) -> routing_log.Entry:
    """A row of the routing log, with what is the same for every row of a call."""
    origin = call.origin
    return routing_log.Entry(
        feature=origin.feature,
        domain=origin.domain,
        record=origin.record,
        lane=origin.lane,
        level=call.level,
        **route,
    )


def _routed(value: T, route: _Route, meter: _Meter) -> Routed[T]:
    tokens = meter.tokens_in + meter.tokens_out
    return Routed(value, route.target, route.action, route.masked, tokens)


def _counted(reply: Reply[T], meter: _Meter) -> tuple[int, int]:
    return max(reply.tokens_in, 0) or meter.tokens_in, max(reply.tokens_out, 0)


async def _restored(
    route: _Route, pieces: AsyncGenerator[str | Reply[None]], meter: _Meter
) -> AsyncGenerator[str]:
    """The pieces of an answer as their reader may see them; each must come within the
    time-out.
    """
    unmasking = route.masked.stream() if route.masked.tokens else None
    letters = 0
    while True:
        async with lanes.time_limit(route.target.name, route.target.timeout_s):
            piece = await anext(pieces, None)
        if piece is None:
            break
        if isinstance(piece, Reply):
            meter.tokens_in, meter.tokens_out = _counted(piece, meter)
            continue
        letters += len(piece)
        meter.tokens_out = letters // _LETTERS_A_TOKEN + 1
        ready = unmasking.feed(piece) if unmasking else piece
        if ready:
            yield ready
    if unmasking and (rest := unmasking.close()):
        yield rest
