"""What exporters of chats add to the words: citation marks taken out, documents that
were written or pasted in a chat put in.
"""

import json
import re
from collections.abc import Mapping
from typing import cast

# ChatGPT writes its marks between private-use characters: a kind, then its values.
MARK = re.compile("[ \t]?\ue200([^\ue200\ue201]*)\ue201")
PART = "\ue202"
STRAY = re.compile("[\ue200-\ue2ff]")
# The same citations after another program has dropped these characters, and the older
# ones in lenticular brackets.
BARE_CITE = re.compile(r"[ \t]?\b(?:file)?cite(?:turn\d{1,4}[a-z_]{1,20}\d{1,4})+")
OLD_CITE = re.compile(r"[ \t]?【\d{1,4}(?::\d{1,4})?†[^】\n]{0,200}】")
# Kinds of marks that show words: where they stand among the values.
SHOWN = {
    "entity": 1,
    "url": 0,
    "link_title": 0,
    "product": 1,
    "product_entity": 1,
}
ARTIFACT = re.compile(r"<antArtifact\b([^<>]{0,2000})>")
ARTIFACT_END = "</antArtifact>"
THINKING = re.compile(r"<antThinking>|</antThinking>")
TITLE = re.compile(r"title=(?:\"([^\"]*)\"|'([^']*)')")
# Where tools that write documents have their names and their texts.
NAMES = (
    "title",
    "name",
    "path",
    "file_path",
    "filename",
    "file_name",
)
TEXTS = ("content", "file_text", "new_str")
LONGEST_NAME = 200


def clean(text: str) -> str:
    """The words of a message without the marks of the program."""
    if "\ue200" in text:
        text = MARK.sub(_shown, text)
    if "cite" in text:
        text = BARE_CITE.sub("", text)
    if "†" in text:
        text = OLD_CITE.sub("", text)
    if "<ant" in text:
        text = _with_artifacts(text)
    return STRAY.sub("", text)


def _shown(match: re.Match[str]) -> str:
    """What a mark shows, with the space before it; nothing for a citation."""
    kind, *values = match[1].split(PART)
    kind = kind.strip()
    whole = match[0]
    space = whole[:1].strip("\ue200")
    if kind not in SHOWN or not values:
        return ""
    try:
        loaded: object = json.loads(values[0])
    except (ValueError, RecursionError):
        return f"{space}{values[0]}"
    if isinstance(loaded, list):
        listed = cast("list[object]", loaded)
        at = min(SHOWN[kind], len(listed) - 1)
        return f"{space}{listed[at]}" if listed else ""
    return f"{space}{loaded}" if isinstance(loaded, str) else ""


def _with_artifacts(text: str) -> str:
    """A text of Claude with its documents in it as documents, without its thoughts."""
    texts: list[str] = []
    at = 0
    for opening in ARTIFACT.finditer(text):
        if opening.start() < at:
            continue
        end = text.find(ARTIFACT_END, opening.end())
        if end < 0:
            break
        title = TITLE.search(opening[1])
        name = (title[1] or title[2] or "") if title else ""
        inside = text[opening.end() : end]
        texts += [text[at : opening.start()], document(name, inside)]
        at = end + len(ARTIFACT_END)
    return "".join([*texts, text[at:]]) if texts else text


def without_thoughts(text: str) -> str:
    """A text of Claude without what it thought, which no reader saw."""
    if "<antThinking>" not in text:
        return text
    kept: list[str] = []
    for number, piece in enumerate(THINKING.split(text)):
        if number % 2 == 0:
            kept.append(piece)
    return "".join(kept).strip()


def document(name: str, text: str) -> str:
    """A document that belongs to a message."""
    mark = (
        f"[document: {name.strip()[:LONGEST_NAME]}]" if name.strip() else "[document]"
    )
    return f"{mark}\n{text.strip()}"


def written(call: Mapping[str, object]) -> str:
    """The document that a call of a tool writes; "" when it writes none."""
    text = _first(call, TEXTS)
    if not text:
        return _rewritten(call)
    return document(_first(call, NAMES), text)


def _first(call: Mapping[str, object], names: tuple[str, ...]) -> str:
    for name in names:
        value = call.get(name)
        if isinstance(value, str) and value.strip():
            return value
    return ""


def _rewritten(call: Mapping[str, object]) -> str:
    """What a canvas was changed to: its replacements."""
    updates = call.get("updates")
    if not isinstance(updates, list):
        return ""
    texts: list[str] = []
    for update in cast("list[object]", updates):
        if isinstance(update, dict):
            new = cast("dict[str, object]", update).get("replacement")
            if isinstance(new, str) and new.strip():
                texts.append(new.strip())
    return document(_first(call, NAMES), "\n".join(texts)) if texts else ""


def call_of(text: str) -> Mapping[str, object]:
    """The arguments of a call as it is written in a message; those of one that was
    broken off are its text.
    """
    try:
        loaded: object = json.loads(text)
    except (ValueError, RecursionError):
        return {"content": text}
    if isinstance(loaded, dict):
        return cast("dict[str, object]", loaded)
    return {}
