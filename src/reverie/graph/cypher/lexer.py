"""Lexer of Cypher: the tokens of a text, and a cursor on them for the parser.

Comments and spaces end here. A string's value is decoded here, so that it is written
anew for the engine and the engine never reads an escape that its caller wrote.
"""

import re
from dataclasses import dataclass
from typing import Literal

from reverie import errors

LONGEST = 10_000
_DEEPEST = 25
_LONGEST_NUMBER = 40

Kind = Literal[
    "name", "quoted", "string", "whole", "number", "parameter", "sign", "end"
]

_TOKEN = re.compile(
    r"""(?P<space>\s+ | //[^\n]* | /\*.*?\*/)
    | (?P<name>[^\W\d]\w*)
    | `(?P<quoted>(?:[^`]|``)+)`
    | (?P<string>'(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*")
    | (?P<number>(?:[0-9]+\.[0-9]+|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?!\w) | [0-9]+[eE][+-]?[0-9]+(?!\w))
    | (?P<whole>0[xX][0-9a-fA-F]+(?!\w) | 0o[0-7]+(?!\w) | [0-9]+(?!\w))
    | \$(?P<parameter>\w+)
    | (?P<sign><> | <= | >= | => | =~ | \+= | \.\. | /(?!\*) | [-+*%^=<>()\[\]{},.:|;!&?@])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(
    r"\\(?:u(?P<four>[\da-fA-F]{4})|U(?P<eight>[\da-fA-F]{8})|(?P<single>.))", re.DOTALL
)
_ESCAPED = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    "'": "'",
    '"': '"',
    "\\": "\\",
    "`": "`",
    "/": "/",
}
_WRITTEN = {
    "\\": "\\\\",
    "'": "\\'",
    "\n": "\\n",
    "\t": "\\t",
    "\r": "\\r",
    "\b": "\\b",
    "\f": "\\f",
}


@dataclass(frozen=True, slots=True)
class CypherToken:
    """One word, value or sign, and where it stands."""

    kind: Kind
    value: str
    start: int
    end: int


def split(text: str) -> list[CypherToken]:
    """All tokens of a text, and the end as the last one; raises Invalid for what is
    none.
    """
    if len(text) > LONGEST:
        raise errors.Invalid(
            f"The query has {len(text)} characters; at most {LONGEST} are read."
        )
    tokens: list[CypherToken] = []
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise errors.Invalid(_unread(text, place))
        place = match.end()
        kind = match.lastgroup
        if kind == "space" or kind is None:
            continue
        tokens.append(_token(kind, match))
    return [*tokens, CypherToken("end", "", len(text), len(text))]


def quoted(value: str) -> str:
    """A string as the engine reads it."""
    return "'" + "".join(_WRITTEN.get(sign, sign) for sign in value) + "'"


def named(value: str) -> str:
    """A name as the engine reads it, whatever word it is."""
    return "`" + value.replace("`", "``") + "`"


def _token(kind: str, match: re.Match[str]) -> CypherToken:
    value, start, end = match[kind], match.start(), match.end()
    match kind:
        case "string":
            value = _plain(_ESCAPE.sub(_unescaped, value[1:-1]), start)
            return CypherToken("string", value, start, end)
        case "quoted":
            value = _plain(value.replace("``", "`"), start)
            return CypherToken("quoted", value, start, end)
        case "name" | "number" | "parameter" | "sign":
            return CypherToken(kind, value, start, end)
        case _:
            return CypherToken("whole", _decimal(value), start, end)


def _decimal(value: str) -> str:
    """A whole number in decimal digits: 0xff, 0o17."""
    if len(value) > _LONGEST_NUMBER:
        raise errors.Invalid(f"{value[:_LONGEST_NUMBER]}… is too large a number.")
    base = {"x": 16, "o": 8}.get(value[1:2].lower(), 10)
    return str(int(value, base))


def _unescaped(escape: re.Match[str]) -> str:
    code = escape["four"] or escape["eight"]
    if code:
        number = int(code, 16)
        if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
            raise errors.Invalid(f"There is no letter \\u{code}.")
        return chr(number)
    sign = _ESCAPED.get(escape["single"])
    if sign is None:
        raise errors.Invalid(f"A string may not hold the escape \\{escape['single']}.")
    return sign


def _plain(value: str, place: int) -> str:
    if any(sign == "\0" or 0xD800 <= ord(sign) <= 0xDFFF for sign in value):
        raise errors.Invalid(
            f"The text at character {place + 1} holds a sign that is no letter."
        )
    return value


def _unread(text: str, place: int) -> str:
    sign = text[place]
    if sign in "'\"`":
        return f"What begins with {sign} at character {place + 1} does not end."
    if text.startswith("/*", place):
        return f"The comment at character {place + 1} does not end."
    if sign == "\\":
        return "An escape may stand only inside a string."
    return f"The query cannot be read at character {place + 1}: {text[place : place + 10]!r}."


_CLOSED_BY = {"(": ")", "[": "]", "{": "}"}


def _closings(tokens: list[CypherToken]) -> dict[int, int]:
    """Where each bracket that opens is closed, by places; raises Invalid if one is not."""
    opened: list[int] = []
    closing: dict[int, int] = {}
    for place, token in enumerate(tokens):
        if token.kind != "sign":
            continue
        if token.value in _CLOSED_BY:
            opened.append(place)
        elif token.value in _CLOSED_BY.values():
            if not opened or _CLOSED_BY[tokens[opened[-1]].value] != token.value:
                raise errors.Invalid(f"The {_at(token)} closes nothing.")
            closing[opened.pop()] = place
    if opened:
        last = tokens[opened[-1]]
        raise errors.Invalid(f"The {_at(last)} is not closed.")
    return closing


def _at(token: CypherToken) -> str:
    """A token and where it is, for a message."""
    return f"{token.value} at character {token.start + 1}"


class TokenCursor:
    """A place in the tokens of a text. Names are compared without case, as Cypher does
    with its own words.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = split(text)
        self.position = 0
        self.closing = _closings(self.tokens)
        self._depth = 0

    @property
    def current(self) -> CypherToken:
        return self.tokens[self.position]

    def peek(self, steps: int = 1) -> CypherToken:
        """The token some steps on, or the end."""
        return self.tokens[min(self.position + steps, len(self.tokens) - 1)]

    def advance(self) -> CypherToken:
        """This token; the next one is here then."""
        token = self.current
        self.position = min(self.position + 1, len(self.tokens) - 1)
        return token

    def at_word(self, *words: str) -> bool:
        """Whether these words of Cypher follow each other here."""
        return all(
            self.peek(n).kind == "name" and self.peek(n).value.upper() == word
            for n, word in enumerate(words)
        )

    def at_sign(self, *signs: str) -> bool:
        """Whether one of these signs is here."""
        return self.current.kind == "sign" and self.current.value in signs

    def accept(self, *words: str) -> bool:
        """Go past these words if they are here."""
        if not self.at_word(*words):
            return False
        for _ in words:
            self.advance()
        return True

    def accept_sign(self, sign: str) -> bool:
        """Go past this sign if it is here."""
        if not self.at_sign(sign):
            return False
        self.advance()
        return True

    def expect(self, sign: str, where: str) -> None:
        """Go past a sign that has to be here."""
        if not self.accept_sign(sign):
            raise self.unexpected(f"`{sign}` {where}")

    def expect_word(self, word: str, where: str) -> None:
        """Go past a word that has to be here."""
        if not self.accept(word):
            raise self.unexpected(f"{word} {where}")

    def name(self, what: str) -> str:
        """A name that has to be here, quoted or not."""
        if self.current.kind not in ("name", "quoted"):
            raise self.unexpected(what)
        return self.advance().value

    def unexpected(self, wanted: str) -> errors.Invalid:
        """The sentence that says what stands here instead of what is wanted."""
        if self.current.kind == "end":
            return errors.Invalid(f"The query ends where it should have {wanted}.")
        token = self.text[self.current.start : self.current.end][:40]
        return errors.Invalid(
            f"At character {self.current.start + 1} the query should have {wanted}, not {token!r}."
        )

    def deeper(self) -> None:
        """One level of nesting more; `shallower` takes it back."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise errors.Invalid(f"The query nests more than {_DEEPEST} levels deep.")

    def shallower(self) -> None:
        """One level of nesting less."""
        self._depth -= 1
