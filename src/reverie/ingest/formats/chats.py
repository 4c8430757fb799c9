"""Chats exported from ChatGPT and Claude, also inside their zip, and dialogue histories
by person and day.
"""

import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence

from reverie import errors
from reverie.ingest import charsets, drafts
from reverie.ingest.documents import sourcetext, units
from reverie.ingest.formats import chatmarks, jsonvalues

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
ROLES = frozenset({"user", "assistant", "system", "tool"})
TIMES = ("timestamp", "created_at", "create_time", "createdAt")
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
UNKNOWN_SHAPE = (
    "JSON of a shape that is not known: neither a chat export nor a dialogue history"
)
EXPORT_MARKS = (b'"mapping"', b'"chat_messages"')
Object = jsonvalues.Object


def read(source: drafts.SourceFile) -> Iterator[drafts.DraftOrSkip | units.Read]:
    """Every chat of a JSON export; JSON of any other shape is kept as text."""
    try:
        loaded = _load(source.data)
    except _BrokenJson as broken:
        if any(mark in source.data for mark in EXPORT_MARKS):
            raise  # a chat export that was cut off: get it anew
        yield drafts.Remark("", f"kept as text: {broken.message}")
        yield from _as_text(source)
        return
    if _is_export(loaded):
        yield from _export(loaded)
    else:
        yield from _as_text(source)


def _as_text(source: drafts.SourceFile) -> Iterator[units.Read]:
    name = source.relative.name
    yield from sourcetext.read(units.DocumentSource(source.data, name))


class _BrokenJson(errors.Unreadable):
    """What begins like JSON is none."""


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
        raise _BrokenJson(f"broken JSON: {reason}") from error


def _is_export(loaded: object) -> bool:
    """Whether this is of one of the shapes we know."""
    conversations = jsonvalues.sequence(loaded) or jsonvalues.sequence(
        jsonvalues.mapping(loaded).get("conversations")
    )
    if any(_is_chat(jsonvalues.mapping(item)) for item in conversations[:50]):
        return True
    return _is_chat(jsonvalues.mapping(loaded)) or is_history(loaded)


def _export(loaded: object) -> Iterator[drafts.DraftOrSkip]:
    """Chats of any of the shapes we know."""
    conversations = jsonvalues.sequence(loaded) or jsonvalues.sequence(
        jsonvalues.mapping(loaded).get("conversations")
    )
    if any(_is_chat(jsonvalues.mapping(item)) for item in conversations[:50]):
        for number, item in enumerate(conversations, start=1):
            yield _conversation(jsonvalues.mapping(item), number)
    elif _is_chat(jsonvalues.mapping(loaded)):
        yield _conversation(jsonvalues.mapping(loaded), 1)
    elif is_history(loaded):
        yield from _history(jsonvalues.mapping(loaded))
    else:
        yield drafts.Skip("", UNKNOWN_SHAPE)


def _is_chat(item: Object) -> bool:
    """ChatGPT has a tree of messages in "mapping", Claude a list in "chat_messages",
    many others one in "messages".
    """
    if "mapping" in item or "chat_messages" in item:
        return True
    return any(map(_is_message, jsonvalues.sequence(item.get("messages"))[:20]))


def _is_message(message: object) -> bool:
    """Whether this is {"role": "user", "content": ...}, as programs keep chats."""
    role = jsonvalues.string(jsonvalues.mapping(message), "role")
    return role in ROLES and "content" in jsonvalues.mapping(message)


def _conversation(chat: Object, number: int) -> drafts.DraftOrSkip:
    """One chat of ChatGPT or Claude; `number` counts from 1."""
    app, turns = _turns_of(chat)
    title = jsonvalues.first_string(chat, "title", "name")
    if not turns:
        key = _key(chat, title, number)
        return drafts.Skip(key, f"a chat without messages: {title or 'untitled'}")
    first = turns[0]
    key = _key(chat, title, first["at"])
    started = jsonvalues.first_time(
        chat, "create_time", "created_at"
    ) or jsonvalues.time(first["at"])
    custom = {
        "app": app,
        "updated": jsonvalues.first_time(chat, "update_time", "updated_at"),
        "model": jsonvalues.first_string(chat, "default_model_slug", "model"),
        "summary": jsonvalues.string(chat, "summary"),
        "project": jsonvalues.string(jsonvalues.mapping(chat.get("project")), "name"),
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


def _turns_of(chat: Object) -> tuple[str | None, list[drafts.Fields]]:
    """The program that a chat was had with, if that can be told, and its turns."""
    if "mapping" in chat:
        return "ChatGPT", _chatgpt(chat)
    if "chat_messages" in chat:
        return "Claude", _claude(chat)
    return None, _messages(chat)


def _messages(chat: Object) -> list[drafts.Fields]:
    """The turns of a chat kept as {"role": ..., "content": ...}."""
    turns: list[drafts.Fields] = []
    for message in map(jsonvalues.mapping, jsonvalues.sequence(chat.get("messages"))):
        role = jsonvalues.string(message, "role")
        content = message.get("content")
        parts = [content] if isinstance(content, str) else jsonvalues.sequence(content)
        text = _joined(map(_message_part, parts)).strip()
        if text and role in ("user", "assistant"):
            at = next(filter(None, map(message.get, TIMES)), None)
            turns.append(_turn(jsonvalues.string(message, "id"), role, at, text))
    return turns


def _message_part(part: object) -> str:
    if isinstance(part, str):
        return chatmarks.clean(part)
    kind = jsonvalues.mapping(part).get("type")
    if kind in ("text", "input_text", "output_text"):
        return chatmarks.clean(
            jsonvalues.string(jsonvalues.mapping(part), "text") or ""
        )
    if kind == "tool_use":
        return chatmarks.written(
            jsonvalues.mapping(jsonvalues.mapping(part).get("input"))
        )
    return "[image]" if "image" in str(kind) else ""


def _first_line(text: str) -> str:
    """How a chat without a title begins."""
    line, _, _ = text.partition("\n")
    return line[:80]


def _key(chat: Object, title: str | None, began: object) -> str:
    """The identity of a chat; without one of its own, its title and its beginning."""
    identity = jsonvalues.first_string(chat, "conversation_id", "id", "uuid")
    if identity:
        return f"chat:{identity}"
    return f"chat:{title or ''}|{began}"


def _chatgpt(chat: Object) -> list[drafts.Fields]:
    """The turns of the branch the user saw last."""
    turns: list[drafts.Fields] = []
    for node in _last_branch(chat):
        message = jsonvalues.mapping(node.get("message"))
        text = _chatgpt_text(message)
        if not text:
            continue
        identity = jsonvalues.string(message, "id") or jsonvalues.string(node, "id")
        at = message.get("create_time")
        turns.append(_turn(identity, _speaker(message), at, text))
    return turns


def _chatgpt_text(message: Object) -> str:
    """What the user saw of a message: its words, the document it wrote onto the canvas,
    the names of its files.
    """
    text = _content(jsonvalues.mapping(message.get("content")))
    recipient = jsonvalues.string(message, "recipient") or ""
    if recipient.startswith("canmore."):
        is_written = recipient != "canmore.comment_textdoc"
        return chatmarks.written(chatmarks.call_of(text)) if is_written and text else ""
    if not _is_shown(message):
        return ""
    files = jsonvalues.sequence(
        jsonvalues.mapping(message.get("metadata")).get("attachments")
    )
    names = [jsonvalues.string(jsonvalues.mapping(file), "name") for file in files]
    marks = [f"[file: {name}]" for name in names if name]
    return "\n".join(filter(None, (chatmarks.clean(text).strip(), *marks)))


def _last_branch(chat: Object) -> list[Object]:
    """The nodes from the root to current_node."""
    mapping = jsonvalues.mapping(chat.get("mapping"))
    at = jsonvalues.string(chat, "current_node")
    if at not in mapping:
        at = _newest_leaf(mapping)
    branch: list[Object] = []
    seen: set[str] = set()
    # A circle of parents ends where it began.
    while at and at in mapping and at not in seen:
        seen.add(at)
        node = jsonvalues.mapping(mapping[at])
        branch.append(node)
        at = jsonvalues.string(node, "parent")
    return branch[::-1]


def _is_shown(message: Object) -> bool:
    """Whether the user saw a message: not one that is hidden, or sent to a tool."""
    metadata = jsonvalues.mapping(message.get("metadata"))
    if metadata.get("is_visually_hidden_from_conversation"):
        return False
    is_spoken = _speaker(message) in {"user", "assistant"}
    return is_spoken and jsonvalues.string(message, "recipient") in {None, "all"}


def _speaker(message: Object) -> str:
    """The role of the author: "user", "assistant", "tool" or "system"."""
    return jsonvalues.string(jsonvalues.mapping(message.get("author")), "role") or ""


def _newest_leaf(mapping: Object) -> str | None:
    """The last message without an answer, where no node is current."""

    def created(name: str) -> float:
        message = jsonvalues.mapping(jsonvalues.mapping(mapping[name]).get("message"))
        return jsonvalues.number(message.get("create_time"))

    leaves = [
        name
        for name, node in mapping.items()
        if not jsonvalues.sequence(jsonvalues.mapping(node).get("children"))
    ]
    return max(leaves, key=created, default=None)


def _content(content: Object) -> str:
    """The words of a message; pictures and files by a mark, so that the answer to them
    can be understood.
    """
    if jsonvalues.string(content, "content_type") in UNSPOKEN:
        return ""
    parts = jsonvalues.sequence(content.get("parts"))
    text = _joined(map(_part_text, parts))
    other_text = jsonvalues.first_string(content, "text", "result") or ""
    return (text or other_text).strip()


def _part_text(part: object) -> str:
    """The words of one part, or the mark of a picture."""
    if isinstance(part, str):
        return part
    kind = jsonvalues.string(jsonvalues.mapping(part), "content_type") or ""
    if kind == "audio_transcription":
        return jsonvalues.string(jsonvalues.mapping(part), "text") or ""
    if kind == "text":
        return jsonvalues.string(jsonvalues.mapping(part), "text") or ""
    return "[image]" if "image" in kind else ""


def _joined(texts: Iterable[str]) -> str:
    """Those texts that are more than white space, a line each."""
    return "\n".join(text for text in texts if text.strip())


def _claude(chat: Object) -> list[drafts.Fields]:
    """The turns in their order: an export of Claude has no branches."""
    turns: list[drafts.Fields] = []
    for item in jsonvalues.sequence(chat.get("chat_messages")):
        message = jsonvalues.mapping(item)
        text = _claude_text(message)
        if text:
            by_user = jsonvalues.string(message, "sender") == "human"
            speaker = "user" if by_user else "assistant"
            identity = jsonvalues.string(message, "uuid")
            at = message.get("created_at")
            turns.append(_turn(identity, speaker, at, text))
    return turns


def _claude_text(message: Object) -> str:
    """The words of a message, the documents it wrote, and the files that came with it:
    what was pasted with its text, others by their names.
    """
    parts = map(jsonvalues.mapping, jsonvalues.sequence(message.get("content")))
    text = _joined(map(_claude_part, parts))
    text = text or chatmarks.clean(jsonvalues.string(message, "text") or "")
    text = chatmarks.without_thoughts(text)
    return "\n".join([text.strip(), *_claude_files(message)]).strip()


def _claude_part(part: Object) -> str:
    """The words of one part; of the call of a tool, the document that it writes."""
    kind = part.get("type")
    if kind == "text":
        return chatmarks.clean(jsonvalues.string(part, "text") or "")
    if kind == "tool_use":
        return chatmarks.written(jsonvalues.mapping(part.get("input")))
    return ""


def _claude_files(message: Object) -> Iterable[str]:
    """The files that came with a message of Claude, once each; of what was pasted, the
    text.
    """
    texts: dict[str, str] = {}
    for field in ("attachments", "files"):
        for file in map(jsonvalues.mapping, jsonvalues.sequence(message.get(field))):
            name = jsonvalues.string(file, "file_name") or ""
            text = (jsonvalues.string(file, "extracted_content") or "").strip()
            mark = f"[file: {name}]" if name else f"[pasted: {len(texts) + 1}]"
            if name or text:
                texts[mark] = texts.get(mark) or text
    return [f"{mark}\n{text}".strip() for mark, text in texts.items()]


def _turn(identity: str | None, speaker: str, at: object, text: str) -> drafts.Fields:
    """A turn as records of chats keep it."""
    moment = jsonvalues.time(at)
    return {
        "id": identity or "",
        "speaker": speaker,
        "at": moment.isoformat() if moment else None,
        "text": text,
    }


def is_history(loaded: object) -> bool:
    """Whether this is person -> history -> date -> [{query, response}]."""
    people = list(jsonvalues.mapping(loaded).values())[:20]
    return any(
        isinstance(exchanges, list) and DAY.match(day)
        for person in people
        for day, exchanges in list(_days(person).items())[:5]
    )


def _days(person: object) -> Object:
    """Date -> exchanges of one person."""
    return jsonvalues.mapping(jsonvalues.mapping(person).get("history"))


def _history(people: Object) -> Iterator[drafts.DraftOrSkip]:
    """A chat for each person and day."""
    for name, person in people.items():
        for day, exchanges in _days(person).items():
            yield _history_day(name, day, jsonvalues.sequence(exchanges))


def _history_day(
    name: str, day: str, exchanges: Sequence[object]
) -> drafts.DraftOrSkip:
    """The queries and responses of a day as turns."""
    key = f"chat:{name}/{day}"
    started = jsonvalues.time(day)
    if started is None:
        return drafts.Skip(key, f"a day that is no date: {day}")
    speakers = {"query": name, "response": "assistant"}
    turns: list[drafts.Fields] = []
    for number, exchange in enumerate(map(jsonvalues.mapping, exchanges), start=1):
        for field, speaker in speakers.items():
            text = (jsonvalues.string(exchange, field) or "").strip()
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
