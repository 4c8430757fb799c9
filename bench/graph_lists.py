"""Writes `src/reverie/privacy/data/words-de.txt.gz`: the ordinary words of German, as
folded stems.

    python bench/graph_lists.py OUT

The words come from simplemma (MIT). A word that is made of two others of the list is
left out, since the product takes words apart; so are given names and places that are no
words besides.
"""

import argparse
import gzip
import re
from pathlib import Path

import snowballstemmer
from simplemma.strategies.dictionaries import DefaultDictionaryFactory

from reverie.privacy import folding, lists

WORD = re.compile(r"[^\W\d_]{2,}")
SURELY_A_NAME = 4


def stems() -> set[str]:
    """Stems of the words; a capitalised one that is a usual given name or a place is
    left out.
    """
    stemmer = snowballstemmer.stemmer("german")
    found: set[str] = set()
    dictionary = DefaultDictionaryFactory(cache_max_size=1).get_dictionary("de")
    for form in dictionary:
        word = str(form)
        if not WORD.fullmatch(word) or word.isupper():
            continue
        plain = folding.plain(word)
        name = word[0].isupper() and (
            lists.given(plain) >= SURELY_A_NAME or lists.place(plain)
        )
        if not name:
            found.add(folding.plain(str(stemmer.stemWord(word.lower()))))
    return {word for word in found if len(word) > 1}


def simple(found: set[str]) -> set[str]:
    """Without what is two of the others, shortest first."""
    kept: set[str] = set()
    for word in sorted(found, key=lambda one: (len(one), one)):
        if len(word) < 2 * lists.SHORTEST_PART or not lists.german_compound(word, kept):
            kept.add(word)
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    out: Path = parser.parse_args().out
    words = simple(stems())
    with out.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
        packed.write("".join(f"{word}\n" for word in sorted(words)).encode())
    print(len(words), out.stat().st_size)


if __name__ == "__main__":
    main()
