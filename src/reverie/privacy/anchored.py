"""Anchored scanning: the matches of a pattern that begins with one of a few signs.

The module `re` skips to the next place where a pattern may begin if that is a sign or a
class of signs; behind a look-behind or in groups it does not see it, and tries the whole
pattern at each character.
"""

import re
from collections.abc import Iterator


def matches(
    pattern: re.Pattern[str], start: re.Pattern[str], text: str
) -> Iterator[re.Match[str]]:
    """What `pattern.finditer` finds, if each match begins with a sign that `start`
    finds, and is not empty.
    """
    end = 0
    for sign in start.finditer(text):
        if sign.start() < end:
            continue
        match = pattern.match(text, sign.start())
        if match:
            yield match
            end = match.end()
