"""Pseudonymisation of texts that travel together: masked and unmasked as one."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from reverie import db
from reverie.privacy import detect, pseudonyms, rules, spans, unmasking, vault

KnownValues = Callable[
    [db.Transaction, db.HasUser], Awaitable[Sequence[spans.KnownValue]]
]
"""The names that a user's own contacts and graph know."""

# Set by hand: a call that cannot be masked in this time fails, and nothing is sent.
_TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True)
class MaskedTexts:
    """Masked texts, and the way back for what is said about them."""

    texts: tuple[str, ...]
    tokens: Mapping[str, str] = field(repr=False)

    def restore(self, text: str) -> str:
        """A text with what its pseudonyms stand for; no others than these."""
        return unmasking.restore(text, self.tokens) if self.tokens else text

    def restored(self, value: Any) -> Any:
        """The same for every text inside a JSON value."""
        if isinstance(value, str):
            return self.restore(value)
        if isinstance(value, Mapping):
            pairs = cast(Mapping[Any, Any], value).items()
            return {self.restored(key): self.restored(item) for key, item in pairs}
        if isinstance(value, list):
            return [self.restored(item) for item in cast(list[Any], value)]
        return value

    def stream(self) -> unmasking.Stream:
        """For an answer that comes in pieces."""
        return unmasking.Stream(self.tokens)


async def nobody(tx: db.Transaction, caller: db.HasUser) -> Sequence[spans.KnownValue]:
    """No name is known."""
    del tx, caller
    return ()


async def mask(
    database: db.Database,
    caller: db.HasUser,
    texts: Sequence[str],
    *,
    scope: str,
    key: vault.Key,
    known: KnownValues = nobody,
    patterns: rules.Rules | None = None,
    model: bool = False,
) -> MaskedTexts:
    """Every personal value replaced, `model` asking the named-entity model too.

    Raises whatever goes wrong: then nothing may be sent.
    """
    async with asyncio.timeout(_TIMEOUT_S):
        async with database.transaction(caller) as tx:
            names = tuple(await known(tx, caller))

        def find(text: str) -> list[spans.Span]:
            return detect.find(text, known=names, with_rules=patterns, model=model)

        detected = await asyncio.to_thread(lambda: [find(text) for text in texts])
        pairs = list(zip(texts, detected, strict=True))
        # Committed before anything is sent: what was rolled back could not be restored.
        async with database.transaction(caller) as tx:
            masked = await pseudonyms.mask_all(tx, caller, pairs, scope=scope, key=key)
    tokens: dict[str, str] = {}
    for text in masked:
        tokens.update(text.tokens)
    return MaskedTexts(tuple(text.text for text in masked), tokens)
