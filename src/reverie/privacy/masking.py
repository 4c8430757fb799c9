"""Texts that travel together, masked and restored as one: the same value has the same
pseudonym in all of them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from reverie import db
from reverie.privacy import detect, pseudonyms, rules, spans, unmasking, vault

Known = Callable[[db.Transaction, db.HasUser], Awaitable[Sequence[spans.KnownValue]]]
"""The names that a user's own contacts and graph know."""

_PATIENCE_S = 20.0


@dataclass(frozen=True, slots=True)
class MaskedTexts:
    """Masked texts, and the way back for what is said about them."""

    texts: tuple[str, ...]
    tokens: Mapping[str, str] = field(repr=False)

    def restore(self, text: str) -> str:
        """A text with what its pseudonyms stand for; no others than these."""
        return unmasking.restore(text, self.tokens) if self.tokens else text

    def restored(self, found: Any) -> Any:
        """The same for every text inside a JSON value."""
        if isinstance(found, str):
            return self.restore(found)
        if isinstance(found, Mapping):
            pairs = cast(Mapping[Any, Any], found).items()
            return {self.restored(key): self.restored(value) for key, value in pairs}
        if isinstance(found, list):
            return [self.restored(one) for one in cast(list[Any], found)]
        return found

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
    known: Known = nobody,
    patterns: rules.Rules | None = None,
    model: bool = False,
) -> MaskedTexts:
    """Every personal value replaced, `model` asking the named-entity model too.

    Raises whatever goes wrong: then nothing may be sent.
    """
    async with asyncio.timeout(_PATIENCE_S):
        async with database.transaction(caller) as tx:
            names = tuple(await known(tx, caller))
        found = await asyncio.to_thread(
            lambda: [
                detect.find(text, known=names, with_rules=patterns, model=model)
                for text in texts
            ]
        )
        given = list(zip(texts, found, strict=True))
        # Committed before anything is sent: what was rolled back could not be restored.
        async with database.transaction(caller) as tx:
            masked = await pseudonyms.mask_all(tx, caller, given, scope=scope, key=key)
    tokens = {token: value for one in masked for token, value in one.tokens.items()}
    return MaskedTexts(tuple(one.text for one in masked), tokens)
