"""The door itself: where a call may go, what it carries, when its turn is, and its row
in the log.

`llm`, `asking` and `agents` are its faces: one for vectors, one for answers, one for
agents. Nothing else uses it.
"""

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar
from uuid import UUID

from reverie import db, errors
from reverie.privacy import log as routing_log
from reverie.privacy import masking, pseudonyms, routing, rules, vault
from reverie.providers import lanes, places

log = logging.getLogger(__name__)

T = TypeVar("T")
Level = routing.Level
Lane = lanes.Lane

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
    """A model that may be asked, as the door sees it."""

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
    """An answer with its way: which model gave it, what was done to the question, and
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
class _Way:
    """One model that may get a call, and what it gets."""

    target: Target
    action: routing.Action
    masked: masking.MaskedTexts


@dataclass(slots=True)
class _Call:
    """A call on its way: its level is the same for whoever is asked, and it is masked
    once.
    """

    origin: Origin
    texts: Sequence[str]
    level: Level
    most_out: int
    hidden: masking.MaskedTexts | None = None


@dataclass(frozen=True, slots=True)
class GatewayRules:
    """What holds for every call. `key` is the one of the pseudonyms; without it nothing
    private is sent.

    `patterns` are the shipped ones and the owner's, None for the shipped ones alone;
    `model` is the named-entity one.
    """

    key: vault.Key | None = field(default=None, repr=False)
    scope: Literal["user", "conversation"] = "user"
    daily_tokens: int = 0
    known: masking.KnownValues = masking.nobody
    patterns: rules.Rules | None = None
    model: bool = False


class Gateway:
    """A process holds one. It opens for a call, or says why not."""

    def __init__(self, database: db.Database, rules: GatewayRules) -> None:
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
        """How private each text is by itself, its record's own level in `bases`."""
        pairs = list(zip(texts, bases, strict=True))
        patterns = self._rules.patterns
        return await asyncio.to_thread(
            lambda: [
                routing.judged(text, base, patterns=patterns) for text, base in pairs
            ]
        )

    async def call(
        self,
        origin: Origin,
        texts: Sequence[str],
        ways: Sequence[tuple[Target, Send[T]]],
        *,
        most_out: int = 0,
    ) -> Routed[T]:
        """Ask the first model that may have these texts and answers.

        Raises Confined when none may, BudgetSpent, Invalid when it was refused, and
        else the last one's Unavailable.
        """
        call = _Call(origin, texts, await self.level(origin, texts), most_out)
        failure: errors.ReverieError | None = None
        for target, send in ways:
            way = await self._way(call, target)
            if way is None:
                continue
            for attempt in range(target.retries + 1):
                try:
                    async with self._turn(call, way) as meter:
                        async with _patience(way.target):
                            reply = await send(way.masked.texts)
                        meter.tokens_in, meter.tokens_out = _counted(reply, meter)
                    tokens = meter.tokens_in + meter.tokens_out
                    return Routed(
                        reply.value, way.target, way.action, way.masked, tokens
                    )
                except errors.ModelBusy as busy:
                    failure = busy
                    if attempt < way.target.retries:
                        await asyncio.sleep(_pause(attempt, busy))
                except (errors.Unavailable, errors.Invalid) as away:
                    failure = away
                    break
        raise failure or await self._refused(call)

    async def stream(
        self,
        origin: Origin,
        texts: Sequence[str],
        ways: Sequence[tuple[Target, Pieces]],
        *,
        most_out: int = 0,
    ) -> AsyncGenerator[str | Routed[None]]:
        """The answer in pieces, restored; the last one is Passed. Once a piece was
        given, nobody else is asked.
        """
        call = _Call(origin, texts, await self.level(origin, texts), most_out)
        failure: errors.ReverieError | None = None
        for target, send in ways:
            way = await self._way(call, target)
            if way is None:
                continue
            for attempt in range(target.retries + 1):
                begun = False
                try:
                    async with (
                        self._turn(call, way) as meter,
                        aclosing(send(way.masked.texts)) as pieces,
                        aclosing(_restored(way, pieces, meter)) as restored,
                    ):
                        async for piece in restored:
                            begun = True
                            yield piece
                    yield Routed(
                        None,
                        way.target,
                        way.action,
                        way.masked,
                        meter.tokens_in + meter.tokens_out,
                    )
                    return
                except errors.ModelBusy as busy:
                    if begun:
                        raise
                    failure = busy
                    if attempt < way.target.retries:
                        await asyncio.sleep(_pause(attempt, busy))
                except (errors.Unavailable, errors.Invalid) as away:
                    if begun:
                        raise
                    failure = away
                    break
        raise failure or await self._refused(call)

    async def _way(self, call: _Call, target: Target) -> _Way | None:
        """What a model gets of a call, or None if it may not have it."""
        action = routing.decide(call.level, target.place)
        if action == "blocked":
            return None
        if action != "sent_pseudonymised":
            return _Way(target, action, masking.MaskedTexts(tuple(call.texts), {}))
        call.hidden = call.hidden or await self._masked(call.origin, call.texts)
        return _Way(target, action, call.hidden) if call.hidden else None

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
    async def _turn(self, call: _Call, way: _Way) -> AsyncGenerator[_Meter]:
        """A call's turn at its provider. Its row is there before it begins: without a
        row there is no call.
        """
        origin = call.origin
        estimate = sum(map(len, way.masked.texts)) // _LETTERS_A_TOKEN + 1
        async with way.target.turns.place(origin.lane):
            await self._afford(origin, way.target, estimate + call.most_out)
            entry = routing_log.Entry(
                feature=origin.feature,
                domain=origin.domain,
                record=origin.record,
                lane=origin.lane,
                level=call.level,
                action=way.action,
                destination=way.target.place,
                model=way.target.name,
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

    async def _afford(self, origin: Origin, target: Target, tokens: int) -> None:
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
        origin, level = call.origin, call.level
        entry = routing_log.Entry(
            feature=origin.feature,
            domain=origin.domain,
            record=origin.record,
            lane=origin.lane,
            level=level,
            action="blocked",
            destination="",
            model="",
            outcome="refused",
        )
        async with self._database.transaction(origin.caller) as tx:
            await routing_log.append(tx, origin.caller, entry)
        if level is Level.CRITICAL:
            return errors.Confined(
                "This is too private to leave this machine, and there is no model here to ask.",
                hint='Add one under [model]: provider = "ollama", or "builtin" to try.',
            )
        return errors.Confined(
            "This could not be pseudonymised for sure, so it was not sent."
        )


def _counted(reply: Reply[T], meter: _Meter) -> tuple[int, int]:
    return max(reply.tokens_in, 0) or meter.tokens_in, max(reply.tokens_out, 0)


def _pause(attempt: int, busy: errors.ModelBusy) -> float:
    """What the provider asked for, or half a second, one, two, …, scattered."""
    asked = busy.details.get("after_s")
    own = _FIRST_WAIT_S * 2**attempt * random.uniform(0.75, 1.25)
    return max(own, float(asked) if isinstance(asked, int | float) else 0.0)


@asynccontextmanager
async def _patience(target: Target) -> AsyncGenerator[None]:
    try:
        async with asyncio.timeout(target.timeout_s):
            yield
    except TimeoutError:
        raise errors.ModelUnavailable(
            f"{target.name} takes longer than {target.timeout_s:g} s."
        ) from None


async def _restored(
    way: _Way, pieces: AsyncGenerator[str | Reply[None]], meter: _Meter
) -> AsyncGenerator[str]:
    """The pieces of an answer as their reader may see them; each must come within the
    time-out.
    """
    restoring = way.masked.stream() if way.masked.tokens else None
    letters = 0
    while True:
        async with _patience(way.target):
            piece = await anext(pieces, None)
        if piece is None:
            break
        if isinstance(piece, Reply):
            meter.tokens_in, meter.tokens_out = _counted(piece, meter)
            continue
        letters += len(piece)
        meter.tokens_out = letters // _LETTERS_A_TOKEN + 1
        ready = restoring.feed(piece) if restoring else piece
        if ready:
            yield ready
    if restoring and (rest := restoring.close()):
        yield rest
