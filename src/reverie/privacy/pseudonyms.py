"""Pseudonymisation: the map from personal values to tokens, and texts masked with it.

The map is the table `pseudonym`: a keyed digest finds a value's token, and the value
itself is encrypted. A token is made of the digest, so two processes make the same one;
the database sees to it that no two values share one. Whoever sends a masked text away
commits first: what was rolled back cannot be restored in a later turn.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID

from reverie import db, errors
from reverie.privacy import forms, mask_spans, spans, spelling, unmasking, vault

USER = "user"
"""The scope in which a value has one token for all that a user does."""

# With as many cores a value finds a free one: each is an independent digest.
_ATTEMPTS = 8
# Numbers of spellings: U2 to U999.
_SPELLINGS = 998

_KEY = "SELECT id FROM pseudonym_key WHERE user_id = %s"
_KEEP_KEY = (
    "INSERT INTO pseudonym_key (user_id, id) VALUES (%s, %s) ON CONFLICT DO NOTHING"
)
_ISSUE = """
WITH given AS (
    SELECT kind, digest, token, value
    FROM unnest(%(kinds)s::text[], %(digests)s::bytea[], %(tokens)s::text[], %(values)s::bytea[])
        AS g (kind, digest, token, value)
), kept AS (
    SELECT p.kind, p.digest, p.token, p.value FROM pseudonym p JOIN given g ON g.kind = p.kind AND g.digest = p.digest
    WHERE p.user_id = %(user)s AND p.scope = %(scope)s
), made AS (
    INSERT INTO pseudonym (user_id, scope, kind, digest, token, value)
    SELECT %(user)s, %(scope)s, g.kind, g.digest, g.token, g.value FROM given g
    WHERE NOT EXISTS (SELECT FROM kept k WHERE k.kind = g.kind AND k.digest = g.digest)
        AND EXISTS (SELECT FROM pseudonym_key WHERE user_id = %(user)s AND id = %(key)s)
    ORDER BY g.kind, g.digest
    ON CONFLICT DO NOTHING
    RETURNING kind, digest, token, value
)
SELECT kind, digest, token, value FROM kept
UNION ALL SELECT kind, digest, token, value FROM made
UNION ALL
SELECT kind, digest, token, value FROM pseudonym
WHERE user_id = %(user)s AND scope = %(scope)s AND token = ANY(%(lookalikes)s::text[])
UNION ALL SELECT '', id, '', '' FROM pseudonym_key WHERE user_id = %(user)s
"""
_ISSUED = (
    "SELECT kind, digest, token, value FROM pseudonym WHERE user_id = %s AND scope = %s"
)
_FORGET = "DELETE FROM pseudonym WHERE user_id = %s AND scope = %s"
_FORGET_ALL = "DELETE FROM pseudonym WHERE user_id = %s"
_FORGET_KEY = "DELETE FROM pseudonym_key WHERE user_id = %s"


@dataclass(frozen=True, slots=True)
class MaskedText:
    """A text that may leave, and what its tokens stand for, which may not."""

    text: str
    tokens: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Value:
    """A value to find a token for. A spelling other than the first is another one;
    `first_core` is the core of the first.
    """

    kind: str
    digest: bytes
    spelling: str
    first_core: str = ""


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of the map, its value opened."""

    kind: str
    digest: bytes
    core: str
    spelling: str


@dataclass(frozen=True, slots=True)
class _Map:
    """Whose map, which part of it, and its key."""

    tx: db.Transaction
    user_id: UUID
    scope: str
    key: vault.Key
    regions: Sequence[str]

    def bound(self, core: str) -> bytes:
        """What a sealed value is bound to."""
        return b"\x00".join((self.user_id.bytes, self.scope.encode(), core.encode()))

    def digest(self, purpose: str, *parts: bytes) -> bytes:
        """A keyed digest that is of this user and scope alone."""
        return vault.digest(
            self.key, purpose.encode(), self.user_id.bytes, self.scope.encode(), *parts
        )


def scope_of(
    setting: Literal["user", "conversation"], conversation: UUID | None
) -> str:
    """The scope of a call. What belongs to no conversation (embedding, extraction,
    sleep) is the user's.
    """
    if setting == "user" or conversation is None:
        return USER
    return f"conversation:{conversation}"


async def mask(
    tx: db.Transaction,
    caller: db.HasUser,
    text: str,
    detected: Iterable[spans.FoldedSpan | spans.Span],
    *,
    scope: str,
    key: vault.Key,
    regions: Sequence[str] = (),
) -> MaskedText:
    """A text with a token in place of each span. Raises KeyLost, and Invalid for spans
    of another text.
    """
    texts = [(text, detected)]
    masked = await mask_all(tx, caller, texts, scope=scope, key=key, regions=regions)
    return masked[0]


async def mask_all(
    tx: db.Transaction,
    caller: db.HasUser,
    texts: Sequence[tuple[str, Iterable[spans.FoldedSpan | spans.Span]]],
    *,
    scope: str,
    key: vault.Key,
    regions: Sequence[str] = (),
) -> list[MaskedText]:
    """All texts of one call, in one round trip to the map (a second one where values
    are spelled in a new way).

    A text that holds something like a token gets a token for that too, so that it pulls
    nobody's name out. `restore(masked.text, masked.tokens)` is the text, exactly.
    """
    entries = _Map(tx, caller.user_id, scope, key, regions)
    plain = [text for text, _ in texts]
    to_mask = [
        _with_literals(text, detected, forms.looks(text)) for text, detected in texts
    ]
    # What looks like a token in the texts as they came: it may be one of ours.
    lookalikes = sorted({core for text in plain for core in unmasking.cores(text)})
    while True:
        tokens, known_lookalikes = await _tokens(entries, plain, to_mask, lookalikes)
        masked = [
            _masked(text, places, tokens)
            for text, places in zip(plain, to_mask, strict=True)
        ]
        wider = _widened(plain, to_mask, masked, known_lookalikes)
        if wider == to_mask:
            return masked
        to_mask = wider


async def issued(
    tx: db.Transaction, caller: db.HasUser, *, scope: str, key: vault.Key
) -> Mapping[str, str]:
    """All tokens of a conversation, for a reply that comes after a restart. Raises
    KeyLost.

    Not for the user's own scope: there, only the tokens that a conversation has sent
    may come back to it.
    """
    if scope == USER:
        raise errors.Invalid(
            "The tokens of a whole user are not those of a conversation."
        )
    entries = _Map(tx, caller.user_id, scope, key, ())
    rows = await tx.rows(_ISSUED, (caller.user_id, scope), binary=True)
    opened = [_opened(entries, row) for row in rows]
    return _by_token(opened)


async def forget(
    tx: db.Transaction, caller: db.HasUser, *, scope: str | None = None
) -> int:
    """Forget the pseudonyms of a scope, or all and their key; returns how many. Their
    tokens stay unreadable.
    """
    if scope is not None:
        return await tx.run(_FORGET, (caller.user_id, scope))
    count = await tx.run(_FORGET_ALL, (caller.user_id,))
    await tx.run(_FORGET_KEY, (caller.user_id,))
    return count


def _by_token(rows: Iterable[_Row]) -> dict[str, str]:
    return {forms.shown(row.kind, row.core): row.spelling for row in rows}


def _with_literals(
    text: str,
    detected: Iterable[spans.FoldedSpan | spans.Span],
    literals: Iterable[tuple[int, int]],
) -> list[spans.FoldedSpan]:
    """The spans to mask: personal values, and what looks like a token."""
    looks = [spans.FoldedSpan(start, end, forms.LITERAL) for start, end in literals]
    return mask_spans.merge(text, [*detected, *looks])


def _widened(
    texts: Sequence[str],
    to_mask: Sequence[list[spans.FoldedSpan]],
    masked: Sequence[MaskedText],
    known_lookalikes: Mapping[str, str],
) -> list[list[spans.FoldedSpan]]:
    """The spans to mask, with more of them in texts that would not come back exactly.

    Each text is restored with the tokens of all, and with those of the map that it may
    be taken for (docs/decisions/0014).
    """
    tokens = dict(known_lookalikes)
    for text in masked:
        tokens.update(text.tokens)
    every_token = unmasking.index(tokens)
    wider: list[list[spans.FoldedSpan]] = []
    for text, places, result in zip(texts, to_mask, masked, strict=True):
        if unmasking.restore(result.text, every_token) != text:
            literals = unmasking.token_spans(text, every_token)
            places = _wider(text, places, literals)
        wider.append(places)
    return wider


def _wider(
    text: str, places: list[spans.FoldedSpan], literals: list[tuple[int, int]]
) -> list[spans.FoldedSpan]:
    """With what would be taken for a token masked as well; if that is nothing new, the
    whole text.
    """
    whole = [spans.FoldedSpan(0, len(text), forms.LITERAL)]
    if places == whole:
        raise errors.ReverieError("A text cannot be masked so that it can be restored.")
    more = _with_literals(text, places, literals)
    return more if more != places else whole


def _masked(
    text: str,
    places: list[spans.FoldedSpan],
    token_of: Mapping[tuple[str, str], str],
) -> MaskedText:
    """A text with the token of each span's (kind, value) in its place."""
    pieces: list[str] = []
    tokens: dict[str, str] = {}
    done = 0
    for span in places:
        value = text[span.start : span.end]
        token = token_of[span.kind, value]
        tokens[token] = value
        pieces += (text[done : span.start], token)
        done = span.end
    return MaskedText("".join([*pieces, text[done:]]), tokens)


async def _tokens(
    entries: _Map,
    texts: Sequence[str],
    to_mask: Sequence[list[spans.FoldedSpan]],
    lookalikes: list[str],
) -> tuple[dict[tuple[str, str], str], dict[str, str]]:
    """The token of each (kind, value), and of the lookalikes those that are tokens, with
    their values.
    """
    values = _values(entries, texts, to_mask)
    if not values and not lookalikes:
        return {}, {}
    # Of several spellings of a new value the one that comes first is kept as its first.
    firsts = {(value.kind, value.digest): value for value in reversed(values.values())}
    rows, known_lookalikes = await _kept(entries, firsts, lookalikes)
    cores: dict[tuple[str, str], str] = {}
    respelled: dict[tuple[str, str], _Value] = {}
    for name, value in values.items():
        row = rows[value.kind, value.digest]
        if row.spelling == value.spelling:
            cores[name] = row.core
        else:
            respelled[name] = _respelled(entries, value, row.core)
    if respelled:
        others = {(value.kind, value.digest): value for value in respelled.values()}
        rows, _ = await _kept(entries, others, [])
        for name, value in respelled.items():
            cores[name] = rows[value.kind, value.digest].core
    tokens = {name: forms.shown(name[0], core) for name, core in cores.items()}
    return tokens, _by_token(known_lookalikes)


def _values(
    entries: _Map,
    texts: Sequence[str],
    to_mask: Sequence[list[spans.FoldedSpan]],
) -> dict[tuple[str, str], _Value]:
    """Each (kind, value) of the spans once, with the digest of its folded spelling."""
    values: dict[tuple[str, str], _Value] = {}
    for text, places in zip(texts, to_mask, strict=True):
        for span in places:
            written = text[span.start : span.end]
            if (span.kind, written) in values:
                continue
            folded = spelling.fold(span.kind, written, regions=entries.regions)
            digest = entries.digest("value", span.kind.encode(), _bytes(folded))
            values[span.kind, written] = _Value(span.kind, digest, written)
    return values


def _respelled(entries: _Map, value: _Value, first_core: str) -> _Value:
    """A value as another spelling of the one that has this core."""
    digest = entries.digest("spelling", value.digest, _bytes(value.spelling))
    return _Value(value.kind, digest, value.spelling, first_core=first_core)


async def _kept(
    entries: _Map, values: Mapping[tuple[str, bytes], _Value], lookalikes: list[str]
) -> tuple[dict[tuple[str, bytes], _Row], list[_Row]]:
    """The rows of these values, made where missing, and of the lookalikes those that are
    there.
    """
    kept: dict[tuple[str, bytes], _Row] = {}
    known_lookalikes: list[_Row] = []
    sought_bodies = frozenset(lookalikes)
    for attempt in range(_ATTEMPTS):
        missing = [value for name, value in values.items() if name not in kept]
        # What is missing after an attempt was either made by another process meanwhile,
        # and is found now, or its token is another value's; then it gets the next one.
        sought = lookalikes if attempt == 0 else []
        for row in await _issue(entries, missing, sought, attempt):
            if (row.kind, row.digest) in values:
                kept[row.kind, row.digest] = row
            if row.core in sought_bodies:
                known_lookalikes.append(row)
        if len(kept) == len(values):
            return kept, known_lookalikes
    raise errors.ReverieError("No free token was found for a name.")


async def _issue(
    entries: _Map, missing: list[_Value], lookalikes: list[str], attempt: int
) -> list[_Row]:
    """The rows of these values, made where no other has the token of this attempt; and
    of the lookalikes. Raises KeyLost if the map was made with another key.
    """
    cores = [_core(entries, value, attempt) for value in missing]
    sealed = [
        vault.seal(entries.key, value.spelling, bound_to=entries.bound(core))
        for value, core in zip(missing, cores, strict=True)
    ]
    params = {
        "user": entries.user_id,
        "scope": entries.scope,
        "key": entries.key.id,
        "kinds": [value.kind for value in missing],
        "digests": [value.digest for value in missing],
        "tokens": cores,
        "values": sealed,
        "lookalikes": lookalikes,
    }
    rows = await entries.tx.rows(_ISSUE, params, binary=True)
    # The row without a kind is the key that the map was made with.
    keys = [row["digest"] for row in rows if not row["kind"]]
    if not keys:
        await _keep_key(entries)
        rows = await entries.tx.rows(_ISSUE, params, binary=True)
    elif keys != [entries.key.id]:
        raise vault.not_the_one(entries.key)
    return [_opened(entries, row) for row in rows if row["kind"]]


async def _keep_key(entries: _Map) -> None:
    """The first pseudonyms of this user: from now on they belong to this key."""
    await entries.tx.run(_KEEP_KEY, (entries.user_id, entries.key.id))
    if await entries.tx.value(_KEY, (entries.user_id,)) != entries.key.id:
        raise vault.not_the_one(entries.key)


def _opened(entries: _Map, row: Mapping[str, object]) -> _Row:
    match row:
        case {
            "kind": str(kind),
            "digest": bytes(digest),
            "token": str(core),
            "value": bytes(sealed),
        }:
            bound_to = entries.bound(core)
        case _:
            raise errors.ReverieError("The map of pseudonyms has another shape.")
    value = vault.unseal(entries.key, sealed, bound_to=bound_to)
    return _Row(kind, digest, core, value)


def _core(entries: _Map, value: _Value, attempt: int) -> str:
    """The core of a value: 13 characters of its digest's digest, 26 where those were
    taken.
    """
    count = 0
    while True:
        drawn = entries.digest("core", value.digest, bytes([attempt, count]))
        if value.first_core:
            number = 2 + int.from_bytes(drawn[:8], "big") % _SPELLINGS
            return f"{value.first_core}U{number}"
        core = vault.letters(drawn)[: forms.LENGTHS[min(attempt, 1)]]
        if not forms.SURE_DIGITS.isdisjoint(core):
            return core
        count += 1


def _bytes(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass")
