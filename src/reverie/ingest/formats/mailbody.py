"""The body of a mail: which of its versions (multipart/alternative) is the letter.

The plain text, unless the page says what it does not: a plain part may be no more than
the wish for another mail program.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

# Letters without spaces between words (Chinese, Japanese, Thai) count one by one.
WORD = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]|[^\W_]+")
ADDRESS = re.compile(r"https?://\S+|www\.\S+")
# Set by hand: of the words of a page, so many may be missing in a text of the same
# letter, as are those of its buttons and links.
MISSING = 0.4
FEWEST = 3  # words that are not there before a page says more
OWN = 12  # words of its own for which a plain text is kept beside the page


@dataclass(frozen=True, slots=True)
class BodyVersion:
    """The text of a part; `page` when it was taken from HTML."""

    text: str
    page: bool = False


def fullest(versions: Sequence[BodyVersion]) -> BodyVersion:
    """The text of a letter that comes in several versions."""
    plain = _joined([version for version in versions if not version.page])
    page = _joined([version for version in versions if version.page])
    if not says_more(page, plain):
        return BodyVersion(plain or page, page=not plain)
    own = _words(plain)
    own -= _words(page)
    if len(own) >= OWN and not says_more(plain, page):
        own = set[str]()
    if len(own) < OWN:
        return BodyVersion(page, page=True)
    return BodyVersion(f"{plain}\n\n{page}")


def in_order(versions: Sequence[BodyVersion]) -> str:
    """The texts of parts that follow one another; a page that says again what stands
    before it is left out.
    """
    texts: list[str] = []
    for version in versions:
        so_far = "\n\n".join(texts) if version.page else ""
        if not so_far or says_more(version.text, so_far):
            texts.append(version.text)
    return "\n\n".join(texts)


def says_more(page: str, plain: str) -> bool:
    """Whether the first text has much that the second one has not."""
    wanted = _words(page)
    there = _words(plain)
    missing = len(wanted - there)
    if not there:
        return missing > 0
    return missing >= FEWEST and missing > MISSING * len(wanted)


def _joined(versions: Sequence[BodyVersion]) -> str:
    return "\n\n".join(version.text for version in versions if version.text)


def _words(text: str) -> set[str]:
    """The words of a text, but for those of addresses."""
    return set(WORD.findall(ADDRESS.sub(" ", text).casefold()))
