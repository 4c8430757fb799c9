"""Chats: conversations, turn by turn; a turn is a passage whose place names the chat
and the turn.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import NotRequired

import pydantic
from typing_extensions import TypedDict

from reverie import compact
from reverie.records import passages, record_types


class Turn(TypedDict):
    """One thing that somebody said; `at` is an ISO 8601 time."""

    id: str
    speaker: str
    at: NotRequired[str | None]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat(record_types.Record):
    title: str
    started: pydantic.AwareDatetime | None = None
    turns: list[Turn] = field(default_factory=list[Turn])


def _text(chat: Chat) -> passages.Text:
    sections = [
        passages.Section(
            f"{turn['speaker']}: {turn['text']}",
            {
                "chat": str(chat.id),
                "turn": turn["id"],
                "speaker": turn["speaker"],
                "at": turn.get("at"),
            },
        )
        for turn in chat.turns
        if turn["text"].strip()
    ]
    people = list(dict.fromkeys(turn["speaker"] for turn in chat.turns))
    return passages.Text(chat.title, sections, at=chat.started, people=people)


def _line(chat: Chat, now: datetime) -> str:
    when = f" [{compact.ago(chat.started, now)}]" if chat.started else ""
    return f'"{compact.clip(chat.title, 48)}" {len(chat.turns)} turns{when}'


CHATS = record_types.Domain(
    name="chat",
    plural="chats",
    record=Chat,
    text=_text,
    summary=lambda chat: chat.title,
    line=_line,
    order="t.started DESC NULLS LAST, t.id",
    json=frozenset({"turns"}),
)
