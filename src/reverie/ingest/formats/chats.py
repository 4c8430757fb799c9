"""Chats exported from ChatGPT and Claude, also inside their zip, and dialogue histories
by person and day.
"""

import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import cast

from reverie import errors
from reverie.ingest import charsets, drafts

LARGEST = 200 * 1024 * 1024
RATIO = 100
SMALL = (
    1024 * 1024
)  # below this no ratio matters: a short file of one letter packs a thousand to one
Object = Mapping[str, object]


def read(source: drafts.SourceFile) -> Iterator[drafts.Draft | drafts.Skip]:
    """Every chat of a JSON export."""
    yield from _export(_load(source.data))


def read_zip(source: drafts.SourceFile) -> Iterator[drafts.Draft | drafts.Skip]:
    """Every chat of an export as it was downloaded; the other files in the archive stay
    unread.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
            names = [
                info
                for info in archive.infolist()
                if re.search(r"(^|/)conversations(-\d+)?\.json$", info.filename)
            ]
            if not names:
                yield drafts.Skip(
                    "",
                    "an archive without a chat export: unpack it and import the folder",
                )
                return
            for info in names:
                yield from _export(_load(_unpack(archive, info)))
    except (
        zipfile.BadZipFile,
        zlib.error,
        NotImplementedError,
        RuntimeError,
        EOFError,
        OSError,
    ) as error:
        # RuntimeError is an encrypted member, NotImplementedError a packing this Python
        # does not know.
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
    if len(data) > LARGEST:
        raise errors.Unreadable(f"a JSON file larger than {LARGEST // 1024 // 1024} MB")
    try:
        return json.loads(charsets.decode(data)[0])
    except RecursionError as error:
        raise errors.Unreadable("the JSON is nested too deeply") from error
    except ValueError as error:
        raise errors.Unreadable(f"broken JSON: {str(error)[:120]}") from error


def _export(loaded: object) -> Iterator[drafts.Draft | drafts.Skip]:
    conversations = _list(loaded) or _list(_object(loaded).get("conversations"))
    if any(
        "mapping" in _object(item) or "chat_messages" in _object(item)
        for item in conversations[:50]
    ):
        for number, item in enumerate(conversations, start=1):
            yield _conversation(_object(item), number)
    elif "mapping" in _object(loaded) or "chat_messages" in _object(loaded):
        yield _conversation(_object(loaded), 1)
    elif is_history(loaded):
        yield from _history(_object(loaded))
    else:
        yield drafts.Skip(
            "",
            "JSON of a shape that is not known: neither a chat export nor a dialogue history",
        )


def _conversation(chat: Object, number: int) -> drafts.Draft | drafts.Skip:
    identity = (
        _string(chat, "conversation_id") or _string(chat, "id") or _string(chat, "uuid")
    )
    title = _string(chat, "title") or _string(chat, "name")
    turns = _chatgpt(chat) if "mapping" in chat else _claude(chat)
    key = (
        f"chat:{identity}"
        if identity
        else f"chat:{title or ''}|{turns[0]['at'] if turns else number}"
    )
    if not turns:
        return drafts.Skip(key, f"a chat without messages: {title or 'untitled'}")
    started = (
        _time(chat.get("create_time"))
        or _time(chat.get("created_at"))
        or _time(turns[0]["at"])
    )
    custom = {
        "app": "ChatGPT" if "mapping" in chat else "Claude",
        "updated": _time(chat.get("update_time")) or _time(chat.get("updated_at")),
        "model": _string(chat, "default_model_slug") or _string(chat, "model"),
        "summary": _string(chat, "summary"),
        "project": _string(_object(chat.get("project")), "name"),
        "archived": chat.get("is_archived") or None,
        "starred": chat.get("is_starred") or None,
    }
    title = title or str(turns[0]["text"]).split("\n")[0][:80]
    return drafts.Draft(
        "chat",
        key,
        {"title": title, "started": started, "turns": turns, "custom": custom},
    )


def _chatgpt(chat: Object) -> list[dict[str, object]]:
    """The branch the user saw last: from current_node up to the root."""
    mapping = _object(chat.get("mapping"))
    at = _string(chat, "current_node")
    if at not in mapping:
        at = _newest_leaf(mapping)
    branch: list[Object] = []
    seen: set[str] = set()
    while (
        at and at in mapping and at not in seen
    ):  # a circle of parents ends where it began
        seen.add(at)
        node = _object(mapping[at])
        branch.append(node)
        at = _string(node, "parent")
    turns: list[dict[str, object]] = []
    for node in reversed(branch):
        message = _object(node.get("message"))
        hidden = _object(message.get("metadata")).get(
            "is_visually_hidden_from_conversation"
        )
        speaker = _string(_object(message.get("author")), "role") or ""
        text = _content(_object(message.get("content")))
        if (
            text
            and not hidden
            and speaker in {"user", "assistant"}
            and _string(message, "recipient") in {None, "all"}
        ):
            turns.append(
                _turn(
                    _string(message, "id") or _string(node, "id"),
                    speaker,
                    message.get("create_time"),
                    text,
                )
            )
    return turns


def _newest_leaf(mapping: Object) -> str | None:
    leaves = [
        name
        for name, node in mapping.items()
        if not _list(_object(node).get("children"))
    ]
    return max(
        leaves,
        key=lambda name: _number(
            _object(_object(mapping[name]).get("message")).get("create_time")
        ),
        default=None,
    )


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _content(content: Object) -> str:
    """The words of a message; pictures and files by a mark, so that the answer to them
    can be understood.
    """
    kind = _string(content, "content_type") or "text"
    if kind in {
        "thoughts",
        "reasoning_recap",
        "user_editable_context",
        "model_editable_context",
        "tether_browsing_display",
    }:
        return ""
    texts: list[str] = []
    for part in _list(content.get("parts")):
        if isinstance(part, str):
            texts.append(part)
        elif _object(part).get("content_type") == "audio_transcription":
            texts.append(_string(_object(part), "text") or "")
        elif "image" in (_string(_object(part), "content_type") or ""):
            texts.append("[image]")
    text = (
        "\n".join(text for text in texts if text.strip())
        or _string(content, "text")
        or _string(content, "result")
        or ""
    )
    return text.strip()


def _claude(chat: Object) -> list[dict[str, object]]:
    turns: list[dict[str, object]] = []
    for item in _list(chat.get("chat_messages")):
        message = _object(item)
        texts = [
            _string(_object(part), "text") or ""
            for part in _list(message.get("content"))
            if _object(part).get("type") == "text"
        ]
        text = (
            "\n".join(text for text in texts if text.strip())
            or _string(message, "text")
            or ""
        )
        files = [*_list(message.get("attachments")), *_list(message.get("files"))]
        names = dict.fromkeys(
            name for file in files if (name := _string(_object(file), "file_name"))
        )
        text = "\n".join([text.strip(), *(f"[file: {name}]" for name in names)]).strip()
        if text:
            speaker = "user" if _string(message, "sender") == "human" else "assistant"
            turns.append(
                _turn(
                    _string(message, "uuid"), speaker, message.get("created_at"), text
                )
            )
    return turns


def _turn(
    identity: str | None, speaker: str, at: object, text: str
) -> dict[str, object]:
    moment = _time(at)
    return {
        "id": identity or "",
        "speaker": speaker,
        "at": moment.isoformat() if moment else None,
        "text": text,
    }


def is_history(loaded: object) -> bool:
    """Whether this is person -> history -> date -> [{query, response}]."""
    people = list(_object(loaded).values())
    return bool(people) and any(
        isinstance(turns, list) and re.match(r"\d{4}-\d{2}-\d{2}", day)
        for person in people[:20]
        for day, turns in list(_object(_object(person).get("history")).items())[:5]
    )


def _history(people: Object) -> Iterator[drafts.Draft | drafts.Skip]:
    for name, person in people.items():
        for day, exchanges in _object(_object(person).get("history")).items():
            key = f"chat:{name}/{day}"
            started = _time(day)
            turns: list[dict[str, object]] = []
            for number, item in enumerate(_list(exchanges), start=1):
                exchange = _object(item)
                said = (
                    (name, _string(exchange, "query")),
                    ("assistant", _string(exchange, "response")),
                )
                at = day if started else None
                for speaker, text in said:
                    if text and text.strip():
                        identity = f"{day}:{number}:{speaker}"
                        turns.append(
                            {
                                "id": identity,
                                "speaker": speaker,
                                "at": at,
                                "text": text.strip(),
                            }
                        )
            if started is None:
                yield drafts.Skip(key, f"a day that is no date: {day}")
            elif turns:
                yield drafts.Draft(
                    "chat",
                    key,
                    {
                        "title": f"{name}, {day}",
                        "started": started,
                        "turns": turns,
                        "custom": {"person": name},
                    },
                )
            else:
                yield drafts.Skip(key, "a day without words")


def _time(value: object) -> datetime | None:
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
    return cast("Object", value) if isinstance(value, dict) else {}


def _list(value: object) -> Sequence[object]:
    return cast("Sequence[object]", value) if isinstance(value, list) else []


def _string(holder: Object, name: str) -> str | None:
    value = holder.get(name)
    return value if isinstance(value, str) and value else None
