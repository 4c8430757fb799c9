"""Matching of drafts with what was imported before (record linkage): the same thing, a
newer version of it, more about it, or another thing under a known key.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from reverie import db
from reverie.access import callers
from reverie.ingest import contact_merging, drafts, identity, ledger
from reverie.records import base, catalogue, contacts, record_types

How = Literal["new", "file", "copy", "newer", "person", "another"]
_ANOTHER = {
    "mid": "another letter than the one known by this Message-ID: both are kept",
    "uid": "not plainly a newer version of what is known by this UID: both are kept",
    "name": "not plainly the person who is known by this name: both are kept",
}


@dataclass(frozen=True, slots=True)
class ItemMatch:
    """What a draft is, by the ledger. `key` is that of its row there, and `seen` the
    mention that it goes with.

    `new`: nothing is known of it. `file`: this very file told of it before. `copy`:
    another file did, and said the same. `newer`: a plainly newer version of what a file
    from the same place said. `person`: another source of a known contact. `another`: a
    known key, and another thing.
    """

    key: str
    how: How = "new"
    seen: ledger.Seen | None = None
    content: bytes = b""

    @property
    def remark(self) -> str:
        """What the report says of another thing under a known key."""
        return _ANOTHER[self.key.partition(":")[0]] if self.how == "another" else ""


async def match(
    tx: db.Transaction,
    caller: callers.Caller,
    path: str,
    draft: drafts.Draft,
    digest: bytes,
) -> ItemMatch:
    """What a draft from a file is; `digest` is that of all it says."""
    if not draft.key:
        own = await ledger.own_mentions(tx, caller, path, ledger.WHOLE_FILE)
        return _by_key(path, ledger.WHOLE_FILE, own)
    content = identity.content_of(draft.key, draft.fields)
    variant = f"{draft.key}|{content.hex()[:16]}"
    mentions = await ledger.mentions(tx, caller, path, [draft.key, variant])
    if not content:
        return _by_key(path, draft.key, mentions)
    wanted = ItemMatch(draft.key, content=content)
    own = {mention.key: mention for mention in mentions if mention.path == path}
    if (
        draft.collected
        and draft.key in own
        and not await _is_same(tx, caller, own[draft.key], draft, digest, content)
    ):
        # A mailbox: a second letter under the same id lies beside the first.
        wanted = replace(wanted, key=variant)
    if wanted.key in own:
        return replace(wanted, how="file", seen=own[wanted.key])
    elsewhere = [mention for mention in mentions if mention.path != path]
    return await _elsewhere(tx, caller, path, draft, digest, wanted, elsewhere)


def _by_key(path: str, key: str, mentions: Sequence[ledger.Seen]) -> ItemMatch:
    """What its key says it is; this file's own mention comes first."""
    if not mentions:
        return ItemMatch(key)
    return ItemMatch(key, "file" if mentions[0].path == path else "copy", mentions[0])


async def _elsewhere(
    tx: db.Transaction,
    caller: callers.Caller,
    path: str,
    draft: drafts.Draft,
    digest: bytes,
    wanted: ItemMatch,
    mentions: Sequence[ledger.Seen],
) -> ItemMatch:
    """What a draft is beside what other files said under its key."""
    for mention in mentions:
        if await _is_same(tx, caller, mention, draft, digest, wanted.content):
            return replace(wanted, how="copy", seen=mention)
    # The record that came first: what came later under its key takes no update from it.
    for mention in sorted(mentions, key=lambda mention: mention.record_id):
        if await _is_older(tx, caller, mention, path, draft):
            return replace(wanted, how="newer", seen=mention)
    if draft.domain == "contact":
        person = await _person(tx, caller, draft, mentions)
        if person is not None:
            return replace(wanted, how="person", seen=person)
    return replace(wanted, how="another") if mentions else wanted


async def _is_same(
    tx: db.Transaction,
    caller: callers.Caller,
    mention: ledger.Seen,
    draft: drafts.Draft,
    digest: bytes,
    content: bytes,
) -> bool:
    """Whether a file said the same of a thing. Before its content was kept, its record
    tells.
    """
    if mention.content is not None:
        return mention.content == content
    if mention.domain != draft.domain:
        return False
    if mention.digest == digest:
        return True
    record = await _record(tx, caller, mention)
    return identity.content_of(draft.key, record) == content


async def _is_older(
    tx: db.Transaction,
    caller: callers.Caller,
    mention: ledger.Seen,
    path: str,
    draft: drafts.Draft,
) -> bool:
    """Whether a draft is plainly a newer version of what was said at the same place."""
    if mention.domain != draft.domain or not draft.key.startswith("uid:"):
        return False
    record = await _record(tx, caller, mention)
    if identity.origin_of(mention.path, record) != identity.origin_of(
        path, draft.fields
    ):
        return False
    return identity.edition_of(draft.fields).is_after(identity.edition_of(record))


async def _person(
    tx: db.Transaction,
    caller: callers.Caller,
    draft: drafts.Draft,
    mentions: Sequence[ledger.Seen],
) -> ledger.Seen | None:
    """The mention of an imported contact who is plainly the same person. Not that of the
    same UID: what it says of itself was looked at before.
    """
    same_uid = {
        mention.record_id for mention in mentions if mention.key.startswith("uid:")
    }
    name = str(draft.fields.get("display_name", ""))
    for contact in await contacts.named(tx, caller, name):
        if contact.source != "import" or contact.id in same_uid:
            continue
        if contact_merging.is_safe(fields_of(contact), draft.fields):
            return await ledger.last_mention(tx, caller, contact.id)
    return None


async def _record(
    tx: db.Transaction, caller: callers.Caller, mention: ledger.Seen
) -> Mapping[str, object]:
    domain = catalogue.domain(mention.domain)
    record = await base.get(tx, caller, domain, mention.record_id, deleted=True)
    return fields_of(record)


def fields_of(record: record_types.Record) -> dict[str, object]:
    """The fields of a record, by the names that drafts have."""
    return {
        db.field(name): getattr(record, db.field(name))
        for name in db.names(type(record))
    }
