"""Access control (authorisation) of original bytes: who may open, who may ingest them.

A file is opened whole, and so only by whoever may read every record that it, or a file
inside it, told of. Who sent some bytes may have them ingested.
"""

from uuid import UUID

from reverie import db, errors
from reverie.access import callers
from reverie.ingest import ledger
from reverie.records import catalogue

# A receipt is forgotten after so many days: the bytes are ingested by then, or sent again.
_SENT = """
INSERT INTO upload (user_id, digest, sender) VALUES (%s, %s, %s)
ON CONFLICT (user_id, digest, sender) DO UPDATE SET at = now()
"""
_FORGET = "DELETE FROM upload WHERE user_id = %s AND at < now() - interval '30 days'"
_WAS_SENT = "SELECT EXISTS (SELECT FROM upload WHERE user_id = %s AND digest = %s AND sender = %s)"
# Of files that hold these bytes, and of those that lie inside them (`scan.inside`), all
# that they told of. `read` is false while no reading of these bytes has ended.
_DOMAINS = """
WITH holder AS (
    SELECT path FROM imported WHERE user_id = %(user)s AND original = %(address)s
    UNION SELECT path FROM imported_file WHERE user_id = %(user)s AND digest = %(address)s
), told AS (
    SELECT domain FROM imported WHERE user_id = %(user)s AND original = %(address)s
    UNION SELECT unnest(domains) FROM imported_file WHERE user_id = %(user)s AND digest = %(address)s
    UNION SELECT domain FROM holder JOIN imported
        ON imported.user_id = %(user)s AND starts_with(imported.path, holder.path || '!')
    UNION SELECT unnest(domains) FROM holder JOIN imported_file
        ON imported_file.user_id = %(user)s AND starts_with(imported_file.path, holder.path || '!')
)
SELECT coalesce((SELECT array_agg(domain) FROM told), '{}') AS domains,
    EXISTS (SELECT FROM imported_file WHERE user_id = %(user)s AND digest = %(address)s) AS read
"""


async def address(tx: db.Transaction, caller: callers.Caller, record_id: UUID) -> str:
    """The address of the bytes that a record was imported from. Raises NotFound, and
    Forbidden where they hold what the caller may not read.
    """
    original = await ledger.original(tx, caller, record_id)
    if not await _may_open(tx, caller, original):
        raise errors.Forbidden(
            "The file of this record holds more than this token may read.",
            hint="Read the record itself, or open the file with a token that may read all of it.",
        )
    return original


async def openable(tx: db.Transaction, caller: callers.Caller, record_id: UUID) -> bool:
    """Whether a record has original bytes that the caller may open."""
    try:
        await address(tx, caller, record_id)
    except (errors.NotFound, errors.Forbidden):
        return False
    return True


async def _may_open(tx: db.Transaction, caller: callers.Caller, original: str) -> bool:
    """Whether the caller may read all that some bytes told of. Bytes whose reading has
    not ended are open to whoever may read everything.
    """
    readable = {
        domain.name
        for domain in catalogue.DOMAINS.values()
        if caller.may(domain.plural, "read")
    }
    if len(readable) == len(catalogue.DOMAINS):
        return True
    values = {"user": caller.user_id, "address": original}
    [row] = await tx.rows(_DOMAINS, values)
    return bool(row["read"]) and readable.issuperset(row["domains"])


async def sent(tx: db.Transaction, caller: callers.Caller, digest: str) -> None:
    """Note that a caller has sent some bytes."""
    await tx.run(_FORGET, (caller.user_id,))
    await tx.run(_SENT, (caller.user_id, digest, _sender(caller)))


async def may_ingest(tx: db.Transaction, caller: callers.Caller, digest: str) -> bool:
    """Whether a caller has sent some bytes, or may open them anyway."""
    values = (caller.user_id, digest, _sender(caller))
    return bool(await tx.value(_WAS_SENT, values)) or await _may_open(
        tx, caller, digest
    )


def _sender(caller: callers.Caller) -> str:
    """A person is one however they come; every token of an agent or a machine is one."""
    return caller.label if caller.kind == "user" else f"{caller.label} {caller.proof}"
