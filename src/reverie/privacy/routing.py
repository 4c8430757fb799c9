"""Routing of model calls by sensitivity: a table, and the stricter side in doubt."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from reverie.privacy import languages, rules, sensitivity

Level = sensitivity.Level
Destination = Literal["local", "cloud"]
Judge = Callable[[str], Level]
Action = Literal["sent_plain", "sent_pseudonymised", "local", "blocked"]


def decide(level: Level, destination: Destination) -> Action:
    """What becomes of a call of this level to a model there. What is neither known
    level nor place is blocked.
    """
    if destination == "local":
        return "local"
    if destination != "cloud":
        return "blocked"
    if level in (Level.LOW, Level.NORMAL):
        return "sent_plain"
    if level is Level.HIGH:
        return "sent_pseudonymised"
    return "blocked"


def level_of(
    texts: Iterable[str],
    bases: Level | Sequence[Level],
    *,
    patterns: rules.Rules | None = None,
    judge: Judge | None = None,
) -> Level:
    """The highest level of several texts that travel together; a text that cannot be
    judged is critical.

    `bases` is the level of their record, or of each one's own.
    """
    highest = bases if isinstance(bases, Level) else sensitivity.highest(bases)
    for position, text in enumerate(texts):
        if highest is Level.CRITICAL:
            break
        base = bases if isinstance(bases, Level) else bases[position]
        highest = max(highest, judged(text, base, patterns=patterns, judge=judge))
    return highest


def judged(
    text: str,
    base: Level,
    *,
    patterns: rules.Rules | None = None,
    judge: Judge | None = None,
) -> Level:
    """The level of one text, critical if it cannot be judged."""
    try:
        if judge is not None:
            return max(base, judge(text))
        return max(base, sensitivity.of_text(text, with_rules=patterns))
    except Exception:  # noqa: BLE001 - whatever is wrong with a text or a pattern, it is no reason to send it
        return Level.CRITICAL


def unknown_language(texts: Iterable[str]) -> str:
    """The language or script of the first text that is in one whose words of health and
    the like are not known, or "".
    """
    for text in texts:
        try:
            language = languages.unknown(text)
        except Exception:  # noqa: BLE001 - what cannot be told is not known
            return "?"
        if language:
            return language
    return ""
