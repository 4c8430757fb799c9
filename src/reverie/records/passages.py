"""Cards and passages: the full-text index of each live record, and cutting (chunking).

They are written in the record's own transaction, so a record is found by its words at
commit, and a deleted or edited text is gone at once. Lists of postings follow.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from reverie import db, offload
from reverie.access import callers
from reverie.records import postings, terms

LIMIT = 300
FRAGMENT = 60
_BATCH = 200  # passages a statement; set by hand
_PARAGRAPH = re.compile(r"\n\s*\n")
_SENTENCE = re.compile(r"(?<=[.!?…。！？])\s+|\n")

# Cards and passages of some records in one round trip. A long text takes several: the
# cards are in the first of them.
_WRITE = """
WITH new_card AS (
    INSERT INTO card (user_id, record_id, domain, title, at, tags, people, category, origin, sensitivity)
    SELECT %(user)s, record_id, domain, title, at, tags, people, category, origin, sensitivity
    FROM jsonb_to_recordset(%(cards)s) AS new (record_id uuid, domain text, title text, at timestamptz, tags text[],
        people text[], category text, origin text, sensitivity text)
    ON CONFLICT (user_id, record_id) DO UPDATE SET title = excluded.title, at = excluded.at, tags = excluded.tags,
        people = excluded.people, category = excluded.category, origin = excluded.origin,
        sensitivity = excluded.sensitivity
), made AS (
    INSERT INTO passage (user_id, record_id, ordinal, place, text, head, hash, length, terms)
    SELECT %(user)s, record_id, ordinal, place, text, head, hash, length, terms
    FROM unnest(%(records)s::uuid[], %(ordinals)s::int[], %(places)s::jsonb[], %(texts)s::text[], %(heads)s::text[],
        %(hashes)s::bytea[], %(lengths)s::int[], %(terms)s::bytea[])
        AS new (record_id, ordinal, place, text, head, hash, length, terms)
    RETURNING id
)
INSERT INTO fresh (user_id, passage_id) SELECT %(user)s, id FROM made
"""
_SENSITIVITY = """
UPDATE card SET sensitivity = %(sensitivity)s
WHERE user_id = %(user)s AND record_id = %(record)s AND sensitivity <> %(sensitivity)s
"""
_DROP_FRESH = """
DELETE FROM fresh USING passage
WHERE fresh.user_id = %(user)s AND passage.user_id = %(user)s AND passage.record_id = %(record)s
  AND fresh.passage_id = passage.id
"""
_DROP_PASSAGES = """
WITH gone AS (
    DELETE FROM passage WHERE user_id = %(user)s AND record_id = %(record)s RETURNING hash
)
INSERT INTO stale (user_id, hash)
SELECT DISTINCT %(user)s::uuid, hash FROM gone WHERE hash IS NOT NULL ON CONFLICT DO NOTHING
"""
_DROP_CARD = "DELETE FROM card WHERE user_id = %(user)s AND record_id = %(record)s"
_DEAD = """
NOT EXISTS (SELECT FROM {table} AS t WHERE t.user_id = %(user)s AND t.id = card.record_id AND t.deleted_at IS NULL)
"""
_DROP_DEAD_PASSAGES = """
WITH gone AS (
    DELETE FROM passage USING card WHERE card.user_id = %(user)s AND card.domain = %(domain)s AND {dead}
        AND passage.user_id = card.user_id AND passage.record_id = card.record_id
    RETURNING passage.hash
)
INSERT INTO stale (user_id, hash)
SELECT DISTINCT %(user)s::uuid, hash FROM gone WHERE hash IS NOT NULL ON CONFLICT DO NOTHING
"""
_DROP_DEAD_CARDS = "DELETE FROM card WHERE card.user_id = %(user)s AND card.domain = %(domain)s AND {dead}"
_DROP_STRAY_FRESH = """
DELETE FROM fresh WHERE user_id = %(user)s
    AND NOT EXISTS (SELECT FROM passage WHERE passage.user_id = fresh.user_id AND passage.id = fresh.passage_id)
"""
# What is gone meanwhile leaves `fresh` too.
_TAKE = """
WITH taken AS (
    DELETE FROM fresh WHERE user_id = %(user)s
        AND passage_id IN (SELECT passage_id FROM fresh WHERE user_id = %(user)s ORDER BY passage_id LIMIT %(most)s)
    RETURNING passage_id
)
SELECT passage.id, passage.terms, passage.length
FROM taken JOIN passage ON passage.user_id = %(user)s AND passage.id = taken.passage_id ORDER BY passage.id
"""
_PASSAGE_TERMS = "SELECT id, terms, length FROM passage WHERE user_id = %s AND id = ANY(%s) ORDER BY id"
_TAKE_STALE = "DELETE FROM stale WHERE user_id = %s RETURNING hash"
_ALIVE = "SELECT count(*) FROM passage WHERE user_id = %s"
# Lists may hold a quarter more than is there.
_TOO_MUCH = 1.25
_WAITING = "SELECT count(*) FROM (SELECT FROM fresh WHERE user_id = %s LIMIT %s)"


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a record's text with its place in it (a turn, a heading, …).

    `head` is what stands above it, such as headings or the names of columns: search
    reads it with each passage, and nobody is shown it. `whole`: it is one passage as it
    stands. `words_only`: it is found by its words, and no vector is made of it.
    """

    text: str
    place: Mapping[str, object] = field(default_factory=dict[str, object])
    head: str = ""
    whole: bool = False
    words_only: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """What search knows of a record: a domain declares this and gets every slot.

    `keywords` (addresses, tags, amounts) are found by words only; title and sections by
    meaning too. Searches may be narrowed by `tags`, by `people` (names and addresses of
    who took part), by `category` (a folder, a board) and by `origin` (the file it was
    imported from).
    """

    title: str
    sections: Sequence[Section] = ()
    keywords: str = ""
    at: datetime | None = None
    tags: Sequence[str] = ()
    people: Sequence[str] = ()
    category: str | None = None
    origin: str = ""


@dataclass(frozen=True, slots=True)
class _Passage:
    """A passage as its row keeps it; `terms` are packed. Without a hash it has no
    vector.
    """

    place: Mapping[str, object]
    text: str
    head: str
    hash: bytes | None
    length: int
    terms: bytes


@dataclass(frozen=True, slots=True)
class IndexedText:
    """A text cut into passages, each with its terms: made before its transaction."""

    text: Text
    passages: Sequence[_Passage]


NOTHING = IndexedText(Text(""), ())


@dataclass(frozen=True, slots=True)
class KnownText:
    """What search is to know of one record."""

    domain: str
    record_id: UUID
    sensitivity: str
    indexed: IndexedText


def embedded_text(title: str, text: str, head: str = "") -> str:
    """What the embedder reads of a passage: the record's title and what stands above it
    give it its context.
    """
    lines = (title if text != title else "", head, text)
    return "\n".join(line for line in lines if line)


def content_hash(title: str, text: str, head: str = "") -> bytes:
    """The key of a passage's vector: SHA-256 of what the embedder reads."""
    return hashlib.sha256(embedded_text(title, text, head).encode()).digest()


def indexed(text: Text) -> IndexedText:
    """A text as search keeps it: cut, hashed, and its words counted. Takes
    milliseconds a page.
    """
    return IndexedText(text, _split(text))


async def write(
    tx: db.Transaction,
    caller: callers.Caller,
    *,
    domain: str,
    record_id: UUID,
    sensitivity: str,
    old: Text | None,
    new: Text,
) -> None:
    """Make search know a record's text, in place of what it knew."""
    if old == new:
        await tx.run(
            _SENSITIVITY,
            {"user": caller.user_id, "record": record_id, "sensitivity": sensitivity},
        )
        return
    if old is not None:
        await _drop(tx, caller, record_id)
    size = sum(len(section.text) for section in new.sections)
    # A long document takes seconds, in which others want to be answered.
    if size > offload.LONG:
        text = await offload.to_thread(size, indexed, new)
    else:
        text = indexed(new)
    await add(tx, caller, [KnownText(domain, record_id, sensitivity, text)])


async def add(
    tx: db.Transaction, caller: db.HasUser, entries: Sequence[KnownText]
) -> None:
    """Make search know the texts of some records of which it knows no passage."""
    rows = [
        (entry.record_id, ordinal, passage)
        for entry in entries
        for ordinal, passage in enumerate(entry.indexed.passages, start=1)
    ]
    cards = [_card(entry) for entry in entries]
    # In pieces that the driver makes parameters of in some milliseconds.
    for start in range(0, len(rows), _BATCH):
        values = _columns(rows[start : start + _BATCH])
        more = {"user": caller.user_id, "cards": db.json(cards)}
        await tx.run(_WRITE, values | more)
        cards = []


def _card(entry: KnownText) -> dict[str, object]:
    text = entry.indexed.text
    return {
        "record_id": str(entry.record_id),
        "domain": entry.domain,
        "title": text.title,
        "at": text.at and text.at.isoformat(),
        "tags": list(text.tags),
        "people": [terms.fold(person) for person in text.people if person],
        "category": terms.fold(text.category or ""),
        "origin": terms.fold(text.origin),
        "sensitivity": entry.sensitivity,
    }


def _columns(rows: Sequence[tuple[UUID, int, _Passage]]) -> dict[str, object]:
    """Passages with their records and ordinals, as a list for each column."""
    passages = [passage for _, _, passage in rows]
    return {
        "records": [record_id for record_id, _, _ in rows],
        "ordinals": [ordinal for _, ordinal, _ in rows],
        "places": [db.json(passage.place) for passage in passages],
        "texts": [passage.text for passage in passages],
        "heads": [passage.head for passage in passages],
        "hashes": [passage.hash for passage in passages],
        "lengths": [passage.length for passage in passages],
        "terms": [passage.terms for passage in passages],
    }


async def remove(
    tx: db.Transaction, caller: callers.Caller, *, record_id: UUID
) -> None:
    """Take a record out of search."""
    await _drop(tx, caller, record_id)
    await tx.run(_DROP_CARD, {"user": caller.user_id, "record": record_id})


async def rewrite(
    tx: db.Transaction,
    caller: callers.Caller,
    *,
    domain: str,
    record_id: UUID,
    sensitivity: str,
    new: Text,
) -> None:
    """Make search know a record's text, whatever it knew."""
    await _drop(tx, caller, record_id)
    await write(
        tx,
        caller,
        domain=domain,
        record_id=record_id,
        sensitivity=sensitivity,
        old=None,
        new=new,
    )


async def sweep(
    tx: db.Transaction, caller: callers.Caller, *, domains: Iterable[str]
) -> None:
    """Take out of search what belongs to no live record of these domains."""
    for domain in domains:
        dead = db.compose(_DEAD, table=domain)
        for statement in (_DROP_DEAD_PASSAGES, _DROP_DEAD_CARDS):
            await tx.run(
                db.compose(statement, dead=dead),
                {"user": caller.user_id, "domain": domain},
            )
    await tx.run(_DROP_STRAY_FRESH, {"user": caller.user_id})


async def _drop(tx: db.Transaction, caller: db.HasUser, record_id: UUID) -> None:
    for statement in (_DROP_FRESH, _DROP_PASSAGES):
        await tx.run(statement, {"user": caller.user_id, "record": record_id})


async def pack(tx: db.Transaction, user: db.HasUser, *, most: int = 32_768) -> bool:
    """One step of packing: fresh passages once they are worth it, else segments too
    many for their size.

    Says whether there was anything to do. What is gone is left behind.
    """
    if await tx.value(_WAITING, (user.user_id, postings.SMALLEST)) == postings.SMALLEST:
        await postings.pack(
            tx,
            user,
            await tx.rows(_TAKE, {"user": user.user_id, "most": most}, binary=True),
        )
        return True
    segments = await postings.segments(tx, user)
    crowd = postings.crowded(segments)
    if not crowd:
        return False
    total = sum(segment.size for segment in segments)
    largest = segments[0].id  # it has most that is gone
    too_much = total > _TOO_MUCH * await tx.value(_ALIVE, (user.user_id,))
    if too_much and largest not in crowd:
        crowd = [*crowd, largest]
    ids = await postings.members(tx, user, crowd)
    await postings.drop(tx, user, crowd)
    await postings.pack(
        tx, user, await tx.rows(_PASSAGE_TERMS, (user.user_id, ids), binary=True)
    )
    return True


async def take_stale(tx: db.Transaction, user: db.HasUser) -> list[bytes]:
    """The hashes of texts that a passage was dropped of since the last time; some may
    be in other passages still.
    """
    return [
        row["hash"] for row in await tx.rows(_TAKE_STALE, (user.user_id,), binary=True)
    ]


def _split(text: Text) -> list[_Passage]:
    pieces = [
        (section, piece)
        for section in text.sections
        for piece in ([section.text] if section.whole else pieces_of(section.text))
    ] or [(Section(text.title), text.title)]
    passages: list[_Passage] = []
    for number, (section, piece) in enumerate(pieces):
        title = "" if piece == text.title else text.title
        keywords = f"{text.keywords} {' '.join(text.tags)}" if number == 0 else ""
        weighed = terms.of_text(title, piece, f"{section.head} {keywords}")
        digest = None
        if not section.words_only:
            digest = content_hash(text.title, piece, section.head)
        passage = _Passage(
            section.place,
            piece,
            section.head,
            hash=digest,
            length=weighed.length,
            terms=postings.packed(weighed.weights),
        )
        passages.append(passage)
    return passages


def pieces_of(text: str, limit: int = LIMIT) -> list[str]:
    """Cut a text at paragraphs, then sentences, into pieces of about `limit`
    characters; a fragment joins the next.
    """
    pieces: list[str] = []
    current = ""
    for glue, part in _parts(text, limit):
        if len(current) > FRAGMENT and len(current) + len(part) > limit:
            pieces.append(current)
            current = part
        else:
            current = f"{current}{glue}{part}" if current else part
    if current and len(current) <= FRAGMENT and pieces:
        pieces[-1] = f"{pieces[-1]}\n\n{current}"
    elif current:
        pieces.append(current)
    return pieces


def _parts(text: str, limit: int) -> Iterator[tuple[str, str]]:
    """Paragraphs, or their sentences where they are long, each with what ties it to
    what came before.
    """
    for paragraph in _PARAGRAPH.split(text):
        long = len(paragraph) > limit
        sentences = _SENTENCE.split(paragraph) if long else [paragraph]
        glue = "\n\n"
        for sentence in sentences:
            for part in _hard(sentence.strip(), limit):
                yield glue, part
                glue = " "


def _hard(sentence: str, limit: int) -> list[str]:
    if len(sentence) <= limit:
        return [sentence] if sentence else []
    cuts: list[str] = []
    while len(sentence) > limit:
        cut = sentence.rfind(" ", limit // 2, limit)
        cut = limit if cut < 0 else cut
        cuts.append(sentence[:cut].strip())
        sentence = sentence[cut:].strip()
    return [*cuts, sentence] if sentence else cuts
