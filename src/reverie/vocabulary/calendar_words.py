"""Names of months and weekdays in English, Spanish and German."""

import tomllib
from collections.abc import Iterator, Mapping
from importlib import resources

_FILE = resources.files("reverie.vocabulary").joinpath("data", "calendar.toml")
_LISTS: Mapping[str, Mapping[str, str]] = tomllib.loads(_FILE.read_text("utf-8"))


def _by_language(name: str) -> Mapping[str, tuple[str, ...]]:
    return {language: tuple(text.split()) for language, text in _LISTS[name].items()}


MONTHS = _by_language("months")
"""Language -> its twelve months, January first."""
WEEKDAYS = _by_language("weekdays")
"""Language -> its seven days, Monday first."""


def _numbered(name: str) -> Iterator[tuple[str, int]]:
    """Every spelling of a list in any language, with its number from 1 on."""
    for words in _by_language(name).values():
        yield from ((word, number) for number, word in enumerate(words, start=1))
    for number, also in _LISTS[f"{name}_also"].items():
        yield from ((word, int(number)) for word in also.split())


MONTH_NUMBERS: Mapping[str, int] = dict(_numbered("months"))
"""Any name of a month -> 1 to 12."""
SHORT_MONTH_NUMBERS: Mapping[str, int] = dict(_numbered("months_abbreviated"))
"""Any abbreviation of a month -> 1 to 12."""
WEEKDAY_NUMBERS: Mapping[str, int] = {
    word: number - 1 for word, number in _numbered("weekdays")
}
"""Any name of a weekday -> 0 (Monday) to 6, as `datetime.date.weekday()` has it."""
