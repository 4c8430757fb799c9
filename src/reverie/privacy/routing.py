"""The decision what becomes of a call: a table, and the stricter side wherever there is
doubt.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from reverie.privacy import rules, sensitivity

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
    if destination == "cloud" and level in (Level.LOW, Level.NORMAL):
        return "sent_plain"
    if destination == "cloud" and level is Level.HIGH:
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
    highest = bases if isinstance(bases, Level) else max(bases, default=Level.LOW)
    for number, text in enumerate(texts):
        if highest is Level.CRITICAL:
            break
        base = bases if isinstance(bases, Level) else bases[number]
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
        return max(
            base,
            judge(text) if judge else sensitivity.of_text(text, with_rules=patterns),
        )
    except Exception:  # noqa: BLE001 - whatever is wrong with a text or a pattern, it is no reason to send it
        return Level.CRITICAL
