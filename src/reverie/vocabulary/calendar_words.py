"""Names of months and weekdays in English, Spanish and German."""

from collections.abc import Mapping

from reverie.vocabulary import word_lists

_LISTS = word_lists.read("calendar")

MONTHS = _LISTS["months"]
"""Language -> its twelve months, January first."""
WEEKDAYS = _LISTS["weekdays"]
"""Language -> its seven days, Monday first."""


def _numbered(table: str) -> dict[str, int]:
    """Every spelling of a table in any language, with its number from 1 on."""
    numbers: dict[str, int] = {}
    for names in _LISTS[table].values():
        places = range(1, len(names) + 1)
        numbers.update(zip(names, places, strict=True))
    other_spellings = _LISTS.get(f"{table}_also", {})
    for number, names in other_spellings.items():
        numbers.update(dict.fromkeys(names, int(number)))
    return numbers


MONTH_NUMBERS: Mapping[str, int] = _numbered("months")
"""Any name of a month -> 1 to 12."""
SHORT_MONTH_NUMBERS: Mapping[str, int] = _numbered("months_abbreviated")
"""Any abbreviation of a month -> 1 to 12."""
OTHER_MONTH_NUMBERS: Mapping[str, int] = _numbered("months_other")
"""Names of months in languages that only tables of numbers are read in."""
WEEKDAY_NUMBERS: Mapping[str, int] = _numbered("weekdays")
"""Any name of a weekday -> 1 (Monday) to 7, as `datetime.date.isoweekday()` has it."""
