"""Pseudonyms: the map from personal values to the tokens that stand for them, and texts
with the ones for the others.

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

_ATTEMPTS = 8

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
WHERE user_id = %(user)s AND scope = %(scope)s AND token = ANY(%(suspects)s::text[])
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
    """A value to find a token for. A spelling other than the first is another one, `of`
    the core of the first.
    """

    kind: str
    digest: bytes
    spelling: str
    of: str = ""


@dataclass(frozen=True, slots=True)
class _Row:
    kind: str
    digest: bytes
    core: str
    spelling: str


@dataclass(frozen=True, slots=True)
class _Place:
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
    return (
        USER
        if setting == "user" or conversation is None
        else f"conversation:{conversation}"
    )


async def mask(
    tx: db.Transaction,
    caller: db.HasUser,
    text: str,
    given: Iterable[spans.FoldedSpan | spans.Span],
    *,
    scope: str,
    key: vault.Key,
    regions: Sequence[str] = (),
) -> MaskedText:
    """A text with a token in place of each span. Raises KeyLost, and Invalid for spans
    of another text.
    """
    return (
        await mask_all(
            tx, caller, [(text, given)], scope=scope, key=key, regions=regions
        )
    )[0]


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
    place = _Place(tx, caller.user_id, scope, key, regions)
    plain = [text for text, _ in texts]
    hidden = [_with_literals(text, given, forms.looks(text)) for text, given in texts]
    suspects = sorted({core for text in plain for core in unmasking.cores(text)})
    while True:
        found, strangers = await _tokens(place, plain, hidden, suspects)
        masked = [
            _written(text, places, found)
            for text, places in zip(plain, hidden, strict=True)
        ]
        tokens = strangers | {
            token: value for one in masked for token, value in one.tokens.items()
        }
        everything = unmasking.index(tokens)
        again = False
        for number, text in enumerate(plain):
            if unmasking.restore(masked[number].text, everything) != text:
                again = True
                hidden[number] = _more_hidden(
                    text, hidden[number], unmasking.places(text, everything)
                )
        if not again:
            return masked


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
    place = _Place(tx, caller.user_id, scope, key, ())
    rows = await tx.rows(_ISSUED, (caller.user_id, scope), binary=True)
    return {
        forms.shown(one.kind, one.core): one.spelling
        for one in (_opened(place, row) for row in rows)
    }


async def forget(
    tx: db.Transaction, caller: db.HasUser, *, scope: str | None = None
) -> int:
    """Forget the pseudonyms of a scope, or all and their key; returns how many. Their
    tokens stay unreadable.
    """
    if scope is not None:
        return await tx.run(_FORGET, (caller.user_id, scope))
    gone = await tx.run(_FORGET_ALL, (caller.user_id,))
    await tx.run(_FORGET_KEY, (caller.user_id,))
    return gone


def _with_literals(
    text: str,
    places: Iterable[spans.FoldedSpan | spans.Span],
    literals: Iterable[tuple[int, int]],
) -> list[spans.FoldedSpan]:
    return mask_spans.merge(
        text,
        [
            *places,
            *(spans.FoldedSpan(start, end, forms.LITERAL) for start, end in literals),
        ],
    )


def _more_hidden(
    text: str, hidden: list[spans.FoldedSpan], found: list[tuple[int, int]]
) -> list[spans.FoldedSpan]:
    """With what would be taken for a token hidden as well; if that is nothing new, the
    whole text.
    """
    whole = [spans.FoldedSpan(0, len(text), forms.LITERAL)]
    if hidden == whole:
        raise errors.ReverieError("A text cannot be masked so that it can be restored.")
    more = _with_literals(text, hidden, found)
    return more if more != hidden else whole


def _written(
    text: str, places: list[spans.FoldedSpan], found: Mapping[tuple[str, str], str]
) -> MaskedText:
    pieces: list[str] = []
    tokens: dict[str, str] = {}
    done = 0
    for span in places:
        value = text[span.start : span.end]
        token = found[span.kind, value]
        tokens[token] = value
        pieces += (text[done : span.start], token)
        done = span.end
    return MaskedText("".join([*pieces, text[done:]]), tokens)


async def _tokens(
    place: _Place,
    texts: Sequence[str],
    hidden: Sequence[list[spans.FoldedSpan]],
    suspects: list[str],
) -> tuple[dict[tuple[str, str], str], dict[str, str]]:
    """The token of each (kind, value), and of the suspects those that are tokens, with
    their values.
    """
    wanted: dict[tuple[str, str], _Value] = {}
    for text, places in zip(texts, hidden, strict=True):
        for span in places:
            value = text[span.start : span.end]
            if (span.kind, value) not in wanted:
                folded = spelling.fold(span.kind, value, regions=place.regions)
                digest = place.digest("value", span.kind.encode(), _bytes(folded))
                wanted[span.kind, value] = _Value(span.kind, digest, value)
    if not wanted and not suspects:
        return {}, {}
    firsts = {(one.kind, one.digest): one for one in reversed(wanted.values())}
    rows, strangers = await _kept(place, firsts, suspects)
    cores: dict[tuple[str, str], str] = {}
    others: dict[tuple[str, bytes], _Value] = {}
    for name, one in wanted.items():
        row = rows[one.kind, one.digest]
        if row.spelling == one.spelling:
            cores[name] = row.core
        else:
            digest = place.digest("spelling", one.digest, _bytes(one.spelling))
            others[one.kind, digest] = wanted[name] = _Value(
                one.kind, digest, one.spelling, of=row.core
            )
    if others:
        rows, _ = await _kept(place, others, [])
        cores |= {
            name: rows[one.kind, one.digest].core
            for name, one in wanted.items()
            if one.of
        }
    return (
        {
            (kind, value): forms.shown(kind, core)
            for (kind, value), core in cores.items()
        },
        {forms.shown(one.kind, one.core): one.spelling for one in strangers},
    )


async def _kept(
    place: _Place, values: Mapping[tuple[str, bytes], _Value], suspects: list[str]
) -> tuple[dict[tuple[str, bytes], _Row], list[_Row]]:
    """The rows of these values, made where missing, and of the suspects those that are
    there.
    """
    found: dict[tuple[str, bytes], _Row] = {}
    strangers: list[_Row] = []
    suspected = frozenset(suspects)
    for attempt in range(_ATTEMPTS):
        missing = [one for name, one in values.items() if name not in found]
        if attempt and not missing:
            break
        # What is missing after an attempt was either made by another process meanwhile,
        # and is found now, or its token is another value's; then it gets the next one.
        for row in await _asked(place, missing, [] if attempt else suspects, attempt):
            if (row.kind, row.digest) in values:
                found[row.kind, row.digest] = row
            if row.core in suspected:
                strangers.append(row)
        if len(found) == len(values):
            break
    else:
        raise errors.ReverieError("No free token was found for a name.")
    return found, strangers


async def _asked(
    place: _Place, missing: list[_Value], suspects: list[str], attempt: int
) -> list[_Row]:
    cores = [_core(place, one, attempt) for one in missing]
    params = {
        "user": place.user_id,
        "scope": place.scope,
        "key": place.key.id,
        "kinds": [one.kind for one in missing],
        "digests": [one.digest for one in missing],
        "tokens": cores,
        "values": [
            vault.seal(place.key, one.spelling, bound_to=place.bound(core))
            for one, core in zip(missing, cores, strict=True)
        ],
        "suspects": suspects,
    }
    rows = await place.tx.rows(_ISSUE, params, binary=True)
    held = [row["digest"] for row in rows if not row["kind"]]
    if not held:
        # The first pseudonyms of this user: from now on they belong to this key.
        await place.tx.run(_KEEP_KEY, (place.user_id, place.key.id))
        if await place.tx.value(_KEY, (place.user_id,)) != place.key.id:
            raise vault.not_the_one(place.key)
        rows = await place.tx.rows(_ISSUE, params, binary=True)
    elif held != [place.key.id]:
        raise vault.not_the_one(place.key)
    return [_opened(place, row) for row in rows if row["kind"]]


def _opened(place: _Place, row: Mapping[str, object]) -> _Row:
    kind, digest, core, sealed = row["kind"], row["digest"], row["token"], row["value"]
    if not (
        isinstance(kind, str)
        and isinstance(digest, bytes)
        and isinstance(core, str)
        and isinstance(sealed, bytes)
    ):
        raise errors.ReverieError("The map of pseudonyms has another shape.")
    return _Row(
        kind, digest, core, vault.unseal(place.key, sealed, bound_to=place.bound(core))
    )


def _core(place: _Place, one: _Value, attempt: int) -> str:
    """The core of a value: 13 characters of its digest's digest, 26 where those were
    taken.
    """
    count = 0
    while True:
        drawn = place.digest("core", one.digest, bytes([attempt, count]))
        if one.of:
            return f"{one.of}U{2 + int.from_bytes(drawn[:8], 'big') % 998}"
        core = vault.letters(drawn)[: forms.LENGTHS[min(attempt, 1)]]
        if not forms.SURE_DIGITS.isdisjoint(core):
            return core
        count += 1


def _bytes(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass")
