"""Address lists of mail headers (RFC 5322, 3.4), read in one pass however broken.

The parser of the standard library takes time quadratic in the brackets of a header.
"""

import re
from dataclasses import dataclass, field

MOST = 50_000  # addresses of one header; set by hand
BRACKET = re.compile("[<>]")
SEPARATORS = frozenset(",;")  # Outlook writes semicolons


@dataclass(slots=True)
class _Mailbox:
    """A mailbox while it is read: letters outside brackets, in angle brackets, in
    comments.
    """

    words: list[str] = field(default_factory=list[str])
    address: list[str] = field(default_factory=list[str])
    comment: list[str] = field(default_factory=list[str])
    angled: bool = False

    def pair(self) -> tuple[str, str]:
        """The name and the address; either may be ""."""
        words = "".join(self.words)
        words = " ".join(words.split())
        comment = "".join(self.comment)
        comment = " ".join(comment.split())
        address = "".join(self.address)
        address = "".join(address.split())
        if self.angled:
            # A route (obsolete): "@one,@two:address".
            if address.startswith("@") and ":" in address:
                address = address.rpartition(":")[2]
            return words or comment, address
        if "@" in words and " " not in words:
            return comment, words
        return _loose(words, comment)


def parse(line: str) -> list[tuple[str, str]]:
    """The names and addresses of a header's value, in their order."""
    pairs: list[tuple[str, str]] = []
    mailbox = _Mailbox()
    at = 0
    last = {mark: line.rfind(mark) for mark in '")'}
    while at < len(line) and len(pairs) < MOST:
        letter = line[at]
        if letter == '"' and at < last['"']:
            at = _quoted(line, at + 1, mailbox.words)
        elif letter == "(" and at < last[")"]:
            at = _comment(line, at + 1, mailbox.comment)
        elif letter == "<":
            at = _angle(line, at + 1, mailbox)
        elif letter in SEPARATORS:
            _finish(pairs, mailbox)
            mailbox = _Mailbox()
            at += 1
        elif letter == ":" and not mailbox.angled and "@" not in mailbox.words:
            # The name of a group: what follows are its members.
            mailbox = _Mailbox()
            at += 1
        else:
            if letter not in "()>":
                mailbox.words.append(letter)
            at += 1
    _finish(pairs, mailbox)
    return pairs


def _finish(pairs: list[tuple[str, str]], mailbox: _Mailbox) -> None:
    pair = mailbox.pair()
    if any(pair):
        pairs.append(pair)


def _quoted(line: str, at: int, kept: list[str]) -> int:
    """Take a quoted string; returns where the line goes on."""
    while at < len(line):
        letter = line[at]
        if letter == '"':
            return at + 1
        if letter == "\\" and at + 1 < len(line):
            at += 1
            letter = line[at]
        kept.append(letter)
        at += 1
    return at


def _comment(line: str, at: int, kept: list[str]) -> int:
    """Take a comment, which may hold others; returns where the line goes on."""
    depth = 1
    while at < len(line):
        letter = line[at]
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth == 0:
            return at + 1
        if letter == "\\" and at + 1 < len(line):
            at += 1
            letter = line[at]
        if letter not in "()":
            kept.append(letter)
        at += 1
    return at


def _angle(line: str, at: int, mailbox: _Mailbox) -> int:
    """Take what stands in angle brackets; the first with something in it counts."""
    bracket = BRACKET.search(line, at)
    if bracket is None or bracket.group() == "<":
        return at  # a bracket that opens nothing
    end = bracket.start()
    inside = line[at:end].strip()
    if inside and not mailbox.angled:
        mailbox.address.append(inside)
        mailbox.angled = True
    elif inside:
        mailbox.words.append(f" {inside} ")
    return end + 1


def _loose(words: str, comment: str) -> tuple[str, str]:
    """A mailbox without brackets: the word with an @ is the address."""
    if "@" not in words:
        return words or comment, ""
    names: list[str] = []
    address = ""
    for word in words.split(" "):
        if "@" in word and not address:
            address = word.strip("<>[]\"'")
        else:
            names.append(word)
    return " ".join(names) or comment, address
