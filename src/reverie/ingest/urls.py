"""Pages and files by URL: fetched from public addresses, kept like any original."""

import asyncio
import mimetypes
import re
import urllib.parse
from pathlib import Path, PurePosixPath
from uuid import UUID

from reverie import blobs, errors
from reverie.ingest import scan
from reverie.outbound import fetching

_PAUSES_S = (1.0, 3.0)
_LONGEST_NAME = 120
_UNFIT = re.compile(r"[^\w.() -]+")


async def fetched(root: Path, user_id: UUID, url: str) -> scan.ScannedFile:
    """What lies at an address, as a file to ingest. Raises Invalid, Unreadable,
    DiskFull.
    """
    page = await _page(url)
    address = await asyncio.to_thread(blobs.put, root, user_id, page.data)
    kept = blobs.path_of(root, user_id, address)
    custom = {"url": page.final_url, "asked_url": url if url != page.final_url else ""}
    return scan.ScannedFile(
        kept, url, PurePosixPath(_name(page)), blob=address, custom=custom
    )


async def _page(url: str) -> fetching.Fetched:
    """The page, asked for three times: a host that is not there now may never have
    been.
    """
    for pause in _PAUSES_S:
        try:
            return await fetching.fetch(url)
        except errors.Unavailable:
            await asyncio.sleep(pause)
    try:
        return await fetching.fetch(url)
    except errors.Unavailable as away:
        raise errors.Unreadable(away.message, hint=away.hint) from None


def _name(page: fetching.Fetched) -> str:
    """A name for the file, with an ending that says what it is."""
    parts = urllib.parse.urlsplit(page.final_url)
    last = urllib.parse.unquote(parts.path.rstrip("/").rpartition("/")[2])
    name = _UNFIT.sub("-", last or parts.hostname or "page")
    name = name.strip("-. ")[-_LONGEST_NAME:] or "page"
    ending = mimetypes.guess_extension(page.media_type) or ""
    has_ending = name.lower().endswith((ending, ".htm"))
    return name if has_ending else name + ending
