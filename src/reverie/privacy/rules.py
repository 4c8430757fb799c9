"""Pattern files of PII detection: read, checked and compiled, the owner's on top.

A bad pattern is named with its file and line.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from reverie import errors
from reverie.privacy import check_digits, folding, special_categories
from reverie.vocabulary import function_words

LANGUAGES = ("en", "es", "de")
SPECIAL_LANGUAGES = (
    *("en", "es", "de", "fr", "it", "pt", "nl", "pl", "ca", "eu", "gl", "ru", "zh"),
)
TAKES = frozenset({"name", "capital", "listed", "place", "organisation", "address"})
_KEYS = {
    "name",
    "kind",
    "match",
    "score",
    "check",
    "cue",
    "when",
    "case",
    "take",
    "only",
    "raises",
    "digit",
    "reach",
    "signs",
    "unbroken",
}
_REQUIRED_KEYS = {"name", "kind", "match"}
_PAIR_KEYS = {"about", "words", "near"}
_DEFAULT_SCORE = 0.8
_DEFAULT_REACH = 130
LONG_WORD = 15
"""The fewest characters without a space that a pattern may ask for."""
_HEADER = re.compile(r"^\s*\[\[\s*pattern\s*\]\]", re.MULTILINE)
# What `[A-Z]` means in Latin, Greek and Cyrillic: the module re has no class for it.
_UPPER = "".join(
    chr(code)
    for code in (*range(0x41, 0x557), *range(0x1E00, 0x2000))
    if chr(code).isupper()
)
_CAP = f"(?-i:[{_UPPER}])[\\w'’]{{1,30}}(?:-\\w{{1,30}})?"
_MACROS = {
    "{Cap}": _CAP,
    "{Org}": f"{_CAP}(?:(?:,? (?:and|&|y|und|of|de|del) |[ ,]{{1,2}}){_CAP}){{0,4}}",
}
_CAPITAL = re.compile(r"\\.|\(\?P<\w+>|\(\?P[=>]|[^\W\d_a-z]")
# A repeated group that itself ends in an unbounded repeat: the shape of patterns that
# never come back.
_NESTED = re.compile(r"(?<!\\)[+*]\)(?:[+*]|\{\d+,\})")


@dataclass(frozen=True, slots=True)
class Pattern:
    """One regular expression: its group `value`, or all of it, is a value of `kind`.

    `check` names a function of check_digits.py; `cue` must stand in the 60 characters
    before; `when` names a list of words of which the text must hold two; `only` is the
    language it is for; what `raises` makes a text private whatever its kind is. Some
    keys say where no match can be, so that it is not looked for in vain: `digit` is how
    many digits in a row each match holds, `reach` how far it may reach from the nearest
    of these, `unbroken` how many characters (15 at least) it holds without a space, and
    one of `signs` (small letters) stands in each match, or in its cue, and if that is
    `unbroken`, in these characters. `take`
    says that what follows the match is wanted and not the match itself: a `name`, a name
    with its `capital`, a `listed` name, a `place`, an `organisation` or an `address`, as
    names.py and addresses.py cut them out. In
    `match`, {Cap} stands for a capitalised word and {Org} for up to five of them.
    """

    name: str
    kind: str
    match: re.Pattern[str]
    score: float
    check: str
    cue: re.Pattern[str] | None
    when: str
    take: str
    only: str
    lowered: bool
    raises: bool
    digit: int
    reach: int
    signs: tuple[str, ...]
    unbroken: int


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """All patterns, the lists of folded words by their name, and the words of special
    categories, compiled. Each load is its own: what is chosen of it is remembered by
    it.
    """

    patterns: tuple[Pattern, ...]
    words: Mapping[str, frozenset[str]]
    special: special_categories.SpecialWords


@dataclass(frozen=True, slots=True)
class _File:
    """What one file holds."""

    patterns: tuple[Pattern, ...]
    words: Mapping[str, frozenset[str]]
    together: tuple[special_categories.WordPair, ...]


def load(extra: Sequence[Path] = ()) -> Rules:
    """The shipped patterns and the owner's files on top. Raises errors.Misconfigured."""
    if not extra:
        return _shipped()
    return _join([*_shipped_files(), *map(_read, extra)])


@cache
def _shipped() -> Rules:
    return _join(_shipped_files())


@cache
def _shipped_files() -> tuple[_File, ...]:
    package = resources.files("reverie.privacy")
    names = [f"patterns/{name}.toml" for name in _NAMES]
    names += [f"special/{name}.toml" for name in ("any", *SPECIAL_LANGUAGES)]
    return tuple(
        _parse(package.joinpath(name).read_text("utf-8"), name.partition("/")[2])
        for name in names
    )


_NAMES = ("any", "secrets", *LANGUAGES)


def _read(path: Path) -> _File:
    try:
        return _parse(path.read_text("utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise errors.Misconfigured(
            f"The pattern file {path} cannot be read: {error}"
        ) from error


def _parse(text: str, name: str) -> _File:
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise errors.Misconfigured(f"{name}: {error}") from error
    unknown = set(content) - {"pattern", "words", "together"}
    if unknown:
        raise errors.Misconfigured(
            f"{name}: unknown key {min(unknown)}; there are `pattern`, `words` and `together`."
        )
    lines = [text.count("\n", 0, header.end()) + 1 for header in _HEADER.finditer(text)]
    patterns: list[Mapping[str, Any]] = content.get("pattern", [])
    compiled = tuple(
        _pattern(pattern, f"{name}:{line}")
        for pattern, line in zip(patterns, lines, strict=True)
    )
    words: Mapping[str, Sequence[str] | str] = content.get("words", {})
    lists = {key: _words(value) for key, value in words.items()}
    language = name.removesuffix(".toml")
    if language in SPECIAL_LANGUAGES:
        special_categories.keep_short_words_apart(lists, language)
    if "function" in lists:
        shared = function_words.FUNCTION_WORDS.get(language, frozenset())
        lists["function"] |= _words(sorted(shared))
        lists[f"function {language}"] = lists["function"]
    pairs: list[Mapping[str, Any]] = content.get("together", [])
    return _File(compiled, lists, tuple(_pair(pair, name) for pair in pairs))


def _words(value: Sequence[str] | str) -> frozenset[str]:
    """A text is a list of words; the texts of a list are phrases with commas between."""
    if isinstance(value, str):
        return frozenset(map(folding.plain, value.split()))
    entries = (entry.strip() for text in value for entry in text.split(","))
    return frozenset(map(folding.plain, entries)) - {""}


def _pair(raw: Mapping[str, Any], where: str) -> special_categories.WordPair:
    """One `[[together]]`, checked."""
    if set(raw) != _PAIR_KEYS:
        raise errors.Misconfigured(
            f"{where}: [[together]] has the keys about, words and near."
        )
    about = str(raw["about"])
    if about not in special_categories.CATEGORIES:
        allowed = ", ".join(special_categories.CATEGORIES)
        raise errors.Misconfigured(f"{where}: about is one of {allowed}.")
    return special_categories.WordPair(about, _words(raw["words"]), _words(raw["near"]))


def _pattern(raw: Mapping[str, Any], where: str) -> Pattern:
    """One entry of a file, checked and compiled. `where` is its file and line."""
    name = str(raw.get("name", "without a name"))
    label = f"{where}: pattern {name}"
    _check_keys(raw, label)
    check = str(raw.get("check", ""))
    if check and check not in check_digits.CHECKS:
        raise errors.Misconfigured(f"{label}: no check is called {check}.")
    score = _score(raw, label)
    take = str(raw.get("take", ""))
    if take and take not in TAKES:
        allowed = ", ".join(sorted(TAKES))
        raise errors.Misconfigured(f"{label}: take is one of {allowed}.")
    unbroken = int(raw.get("unbroken", 0))
    if 0 < unbroken < LONG_WORD:
        raise errors.Misconfigured(f"{label}: unbroken is {LONG_WORD} or more.")
    match = str(raw["match"])
    lowered = not raw.get("case") and _can_be_lowered(match)
    if lowered:
        match = _lowered(match)
    flags = re.NOFLAG if raw.get("case") or lowered else re.IGNORECASE
    cue = str(raw.get("cue", ""))
    return Pattern(
        name=name,
        kind=str(raw["kind"]),
        match=_compile(match, flags, label),
        score=score,
        check=check,
        cue=_compile(cue, re.IGNORECASE, f"{where}: cue of {name}") if cue else None,
        when=str(raw.get("when", "")),
        take=take,
        only=str(raw.get("only", "")),
        lowered=lowered,
        raises=bool(raw.get("raises", False)),
        digit=int(raw.get("digit", 0)),
        reach=int(raw.get("reach", _DEFAULT_REACH)),
        signs=tuple(raw.get("signs", ())),
        unbroken=unbroken,
    )


def _check_keys(raw: Mapping[str, Any], label: str) -> None:
    unknown = set(raw) - _KEYS
    if unknown:
        raise errors.Misconfigured(f"{label}: unknown key {min(unknown)}.")
    missing = _REQUIRED_KEYS - set(raw)
    if missing:
        raise errors.Misconfigured(f"{label}: {min(missing)} is missing.")


def _score(raw: Mapping[str, Any], label: str) -> float:
    score = float(raw.get("score", _DEFAULT_SCORE))
    if not 0 < score <= 1:
        raise errors.Misconfigured(f"{label}: score must be above 0 and at most 1.")
    return score


def _can_be_lowered(match: str) -> bool:
    """Whether a pattern can be read in lower case: that is several times faster than
    IGNORECASE. What minds capitals here and there cannot.
    """
    return "(?-i" not in match and not any(macro in match for macro in _MACROS)


def _lowered(match: str) -> str:
    """A pattern in lower case, but for what a capital means in it (`\\S`, names)."""
    return _CAPITAL.sub(_lowered_letter, match)


def _lowered_letter(part: re.Match[str]) -> str:
    text = part.group()
    return text if text[0] in "\\(" else text.lower()


def _compile(text: str, flags: re.RegexFlag, where: str) -> re.Pattern[str]:
    for macro, meaning in _MACROS.items():
        text = text.replace(macro, meaning)
    try:
        compiled = re.compile(text, flags | re.MULTILINE)
    except re.error as error:
        raise errors.Misconfigured(f"{where}: {error}.") from error
    if _NESTED.search(text):
        raise errors.Misconfigured(
            f"{where}: a repeat inside a repeat can take for ever.",
            hint="Bound one: {1,20}.",
        )
    if compiled.match(""):
        raise errors.Misconfigured(
            f"{where}: it matches nothing at all, so it would match everywhere."
        )
    return compiled


def _join(parts: Sequence[_File]) -> Rules:
    words: dict[str, frozenset[str]] = {}
    for part in parts:
        for key, value in part.words.items():
            words[key] = words.get(key, frozenset()) | value
    patterns = tuple(pattern for part in parts for pattern in part.patterns)
    pairs = [pair for part in parts for pair in part.together]
    return Rules(patterns, words, special_categories.SpecialWords(words, pairs))
