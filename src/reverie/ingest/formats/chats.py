"""Chats exported from ChatGPT and Claude, also inside their zip, and dialogue histories
by person and day.
"""

import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import cast

from reverie import errors
from reverie.ingest import charsets, drafts

LARGEST = 200 * 1024 * 1024
RATIO = 100
# Below this no ratio matters: a short file of one letter packs a thousand to one.
SMALL = 1024 * 1024
EXPORTED = re.compile(r"(^|/)conversations(-\d+)?\.json$")
# RuntimeError is an encrypted member, NotImplementedError a packing this Python does
# not know.
BROKEN_ARCHIVE = (
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OSError,
)
# What ChatGPT keeps among the messages, and nobody said.
UNSPOKEN = frozenset(
    {
        "thoughts",
        "reasoning_recap",
        "user_editable_context",
        "model_editable_context",
        "tether_browsing_display",
    }
)
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
UNKNOWN_SHAPE = (
    "JSON of a shape that is not known: neither a chat export nor a dialogue history"
)
Object = Mapping[str, object]


def read(source: drafts.SourceFile) -> Iterator[drafts.DraftOrSkip]:
    """Every chat of a JSON export."""
    yield from _export(_load(source.data))


def read_zip(source: drafts.SourceFile) -> Iterator[drafts.DraftOrSkip]:
    """Every chat of an export as it was downloaded; the other files in the archive stay
    unread.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
            members = [
                info for info in archive.infolist() if EXPORTED.search(info.filename)
            ]
            if not members:
                reason = (
                    "an archive without a chat export: unpack it and import the folder"
                )
                yield drafts.Skip("", reason)
                return
            for info in members:
                yield from _export(_load(_unpack(archive, info)))
    except BROKEN_ARCHIVE as error:
        raise errors.Unreadable(f"a broken archive: {error}") from error


def _unpack(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """The member's bytes, counted while they come: the size an archive claims is only a
    claim.
    """
    limit = min(LARGEST, max(SMALL, info.compress_size * RATIO))
    with archive.open(info) as member:
        data = member.read(limit + 1)
    if len(data) > limit:
        raise errors.Unreadable(
            f"{info.filename} unpacks to more than {limit // 1024 // 1024} MB, too much for its size"
        )
    return data


def _load(data: bytes) -> object:
    """The JSON of an export. Raises Unreadable."""
    if len(data) > LARGEST:
        raise errors.Unreadable(f"a JSON file larger than {LARGEST // 1024 // 1024} MB")
    try:
        text, _ = charsets.decode(data)
        # Not strict: a raw control character in a string costs only itself.
        return json.loads(text, strict=False)
    except RecursionError as error:
        raise errors.Unreadable("the JSON is nested too deeply") from error
    except ValueError as error:
        reason = str(error)[:120]
        raise errors.Unreadable(f"broken JSON: {reason}") from error


def _export(loaded: object) -> Iterator[drafts.DraftOrSkip]:
    """Chats of any of the shapes we know."""
    conversations = _list(loaded) or _list(_object(loaded).get("conversations"))
    if any(_is_chat(_object(item)) for item in conversations[:50]):
        for number, item in enumerate(conversations, start=1):
            yield _conversation(_object(item), number)
    elif _is_chat(_object(loaded)):
        yield _conversation(_object(loaded), 1)
    elif is_history(loaded):
        yield from _history(_object(loaded))
    else:
        yield drafts.Skip("", UNKNOWN_SHAPE)


def _is_chat(item: Object) -> bool:
    """ChatGPT has a tree of messages in "mapping", Claude a list in "chat_messages"."""
    return "mapping" in item or "chat_messages" in item


def _conversation(chat: Object, number: int) -> drafts.DraftOrSkip:
    """One chat of ChatGPT or Claude; `number` counts from 1."""
    is_chatgpt = "mapping" in chat
    title = _first_string(chat, "title", "name")
    turns = _chatgpt(chat) if is_chatgpt else _claude(chat)
    if not turns:
        key = _key(chat, title, number)
        return drafts.Skip(key, f"a chat without messages: {title or 'untitled'}")
    first = turns[0]
    key = _key(chat, title, first["at"])
    started = _first_time(chat, "create_time", "created_at") or _time(first["at"])
    custom = {
        "app": "ChatGPT" if is_chatgpt else "Claude",
        "updated": _first_time(chat, "update_time", "updated_at"),
        "model": _first_string(chat, "default_model_slug", "model"),
        "summary": _string(chat, "summary"),
        "project": _string(_object(chat.get("project")), "name"),
        "archived": chat.get("is_archived") or None,
        "starred": chat.get("is_starred") or None,
    }
    fields: drafts.Fields = {
        "title": title or _first_line(str(first["text"])),
        "started": started,
        "turns": turns,
        "custom": custom,
    }
    return drafts.Draft("chat", key, fields)


def _first_line(text: str) -> str:
    """How a chat without a title begins."""
    line, _, _ = text.partition("\n")
    return line[:80]


def _key(chat: Object, title: str | None, began: object) -> str:
    """The identity of a chat; without one of its own, its title and its beginning."""
    identity = _first_string(chat, "conversation_id", "id", "uuid")
    if identity:
        return f"chat:{identity}"
    return f"chat:{title or ''}|{began}"


def _chatgpt(chat: Object) -> list[drafts.Fields]:
    """The turns of the branch the user saw last."""
    turns: list[drafts.Fields] = []
    for node in _last_branch(chat):
        message = _object(node.get("message"))
        text = _content(_object(message.get("content")))
        if not text or not _is_shown(message):
            continue
        identity = _string(message, "id") or _string(node, "id")
        at = message.get("create_time")
        turns.append(_turn(identity, _speaker(message), at, text))
    return turns


def _last_branch(chat: Object) -> list[Object]:
    """The nodes from the root to current_node."""
    mapping = _object(chat.get("mapping"))
    at = _string(chat, "current_node")
    if at not in mapping:
        at = _newest_leaf(mapping)
    branch: list[Object] = []
    seen: set[str] = set()
    # A circle of parents ends where it began.
    while at and at in mapping and at not in seen:
        seen.add(at)
        node = _object(mapping[at])
        branch.append(node)
        at = _string(node, "parent")
    return branch[::-1]


def _is_shown(message: Object) -> bool:
    """Whether the user saw a message: not one that is hidden, or sent to a tool."""
    metadata = _object(message.get("metadata"))
    if metadata.get("is_visually_hidden_from_conversation"):
        return False
    is_spoken = _speaker(message) in {"user", "assistant"}
    return is_spoken and _string(message, "recipient") in {None, "all"}


def _speaker(message: Object) -> str:
    """The role of the author: "user", "assistant", "tool" or "system"."""
    return _string(_object(message.get("author")), "role") or ""


def _newest_leaf(mapping: Object) -> str | None:
    """The last message without an answer, where no node is current."""

    def created(name: str) -> float:
        message = _object(_object(mapping[name]).get("message"))
        return _number(message.get("create_time"))

    leaves = [
        name
        for name, node in mapping.items()
        if not _list(_object(node).get("children"))
    ]
    return max(leaves, key=created, default=None)


def _number(value: object) -> float:
    """The value, or 0 in place of any other."""
    return float(value) if isinstance(value, int | float) else 0.0


def _content(content: Object) -> str:
    """The words of a message; pictures and files by a mark, so that the answer to them
    can be understood.
    """
    if _string(content, "content_type") in UNSPOKEN:
        return ""
    parts = _list(content.get("parts"))
    text = _joined(map(_part_text, parts))
    other_text = _first_string(content, "text", "result") or ""
    return (text or other_text).strip()


def _part_text(part: object) -> str:
    """The words of one part, or the mark of a picture."""
    if isinstance(part, str):
        return part
    kind = _string(_object(part), "content_type") or ""
    if kind == "audio_transcription":
        return _string(_object(part), "text") or ""
    return "[image]" if "image" in kind else ""


def _joined(texts: Iterable[str]) -> str:
    """Those texts that are more than white space, a line each."""
    return "\n".join(text for text in texts if text.strip())


def _claude(chat: Object) -> list[drafts.Fields]:
    """The turns in their order: an export of Claude has no branches."""
    turns: list[drafts.Fields] = []
    for item in _list(chat.get("chat_messages")):
        message = _object(item)
        text = _claude_text(message)
        if text:
            by_user = _string(message, "sender") == "human"
            speaker = "user" if by_user else "assistant"
            identity = _string(message, "uuid")
            at = message.get("created_at")
            turns.append(_turn(identity, speaker, at, text))
    return turns


def _claude_text(message: Object) -> str:
    """The words of a message, and the names of the files that came with it."""
    parts = map(_object, _list(message.get("content")))
    text = _joined(
        _string(part, "text") or "" for part in parts if part.get("type") == "text"
    )
    text = text or _string(message, "text") or ""
    marks = [f"[file: {name}]" for name in _file_names(message)]
    return "\n".join([text.strip(), *marks]).strip()


def _file_names(message: Object) -> Iterable[str]:
    """The names of the files that came with a message of Claude, once each."""
    names: dict[str, None] = {}
    for field in ("attachments", "files"):
        for file in map(_object, _list(message.get(field))):
            if name := _string(file, "file_name"):
                names[name] = None
    return names


def _turn(identity: str | None, speaker: str, at: object, text: str) -> drafts.Fields:
    """A turn as records of chats keep it."""
    moment = _time(at)
    return {
        "id": identity or "",
        "speaker": speaker,
        "at": moment.isoformat() if moment else None,
        "text": text,
    }


def is_history(loaded: object) -> bool:
    """Whether this is person -> history -> date -> [{query, response}]."""
    people = list(_object(loaded).values())[:20]
    return any(
        isinstance(exchanges, list) and DAY.match(day)
        for person in people
        for day, exchanges in list(_days(person).items())[:5]
    )


def _days(person: object) -> Object:
    """Date -> exchanges of one person."""
    return _object(_object(person).get("history"))


def _history(people: Object) -> Iterator[drafts.DraftOrSkip]:
    """A chat for each person and day."""
    for name, person in people.items():
        for day, exchanges in _days(person).items():
            yield _history_day(name, day, _list(exchanges))


def _history_day(
    name: str, day: str, exchanges: Sequence[object]
) -> drafts.DraftOrSkip:
    """The queries and responses of a day as turns."""
    key = f"chat:{name}/{day}"
    started = _time(day)
    if started is None:
        return drafts.Skip(key, f"a day that is no date: {day}")
    speakers = {"query": name, "response": "assistant"}
    turns: list[drafts.Fields] = []
    for number, exchange in enumerate(map(_object, exchanges), start=1):
        for field, speaker in speakers.items():
            text = (_string(exchange, field) or "").strip()
            if text:
                turn: drafts.Fields = {
                    "id": f"{day}:{number}:{speaker}",
                    "speaker": speaker,
                    "at": day,
                    "text": text,
                }
                turns.append(turn)
    if not turns:
        return drafts.Skip(key, "a day without words")
    fields: drafts.Fields = {
        "title": f"{name}, {day}",
        "started": started,
        "turns": turns,
        "custom": {"person": name},
    }
    return drafts.Draft("chat", key, fields)


def _time(value: object) -> datetime | None:
    """Seconds since 1970 or ISO 8601, as an aware time."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        if isinstance(value, str) and value:
            moment = datetime.fromisoformat(value)
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def _object(value: object) -> Object:
    """The value, or an empty object in place of any other."""
    return cast("Object", value) if isinstance(value, dict) else {}


def _list(value: object) -> Sequence[object]:
    """The value, or an empty list in place of any other."""
    return cast("Sequence[object]", value) if isinstance(value, list) else []


def _string(holder: Object, name: str) -> str | None:
    """A value that is a text and not empty."""
    value = holder.get(name)
    return value if isinstance(value, str) and value else None


def _first_string(holder: Object, *names: str) -> str | None:
    """The first of some fields that has a text."""
    for name in names:
        if text := _string(holder, name):
            return text
    return None


def _first_time(holder: Object, *names: str) -> datetime | None:
    """The first of some fields that has a time."""
    for name in names:
        if moment := _time(holder.get(name)):
            return moment
    return None
