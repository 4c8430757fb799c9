"""Writes `src/reverie/providers/data/known_words.bloom`: which words some language
knows (docs/decisions/0025).

    python bench/known_words.py OUT [--check N]

The words come from the lists of simplemma (MIT) for six languages: those in small
letters, and those with a capital in front. The same version of simplemma gives the same
file, byte by byte. `--check` asks the file for each word and for N others that are in
no list, and prints how many of these it takes for known.
"""

import argparse
import random
import time
from importlib import metadata
from pathlib import Path

from simplemma.strategies.dictionaries import DefaultDictionaryFactory

from reverie.providers import bloom_filter, lexicon

LANGUAGES = ("en", "es", "de", "fr", "pt", "it")
LETTERS = "aaaabcdeeeeefghiiiijklmnnnooopqrrrsssttttuuuvwxyzáéíóúäöüñç"


def known_words() -> set[str]:
    """What the lists hold, in the letters and of the length that questions are asked
    in.
    """
    found: set[str] = set()
    for language in LANGUAGES:
        factory = DefaultDictionaryFactory(cache_max_size=1)
        for form in factory.get_dictionary(language):
            word = str(form)
            lower = word.lower()
            as_asked = word in (lower, lower.capitalize())
            if as_asked and lexicon.WORD.fullmatch(lower):
                found.add(lower)
    return found


def checked(out: Path, words: set[str], count: int) -> str:
    """What the file says of the words, and of others made of letters by chance and of
    words with two letters changed.
    """
    known = bloom_filter.opened(out)
    lost = sum(word not in known for word in words)
    chance = random.Random(5)
    some = chance.sample(sorted(words), count)
    by_chance = ["".join(chance.choices(LETTERS, k=len(word))) for word in some]
    changed = [_changed(word, chance) for word in some]
    lines = [f"{lost} of {len(words):,} words lost"]
    for name, made in (("letters by chance", by_chance), ("words changed", changed)):
        others = [word for word in made if word not in words]
        wrong = sum(word in known for word in others)
        lines.append(
            f"{name}: {wrong} of {len(others):,} taken for known ({wrong / len(others):.2%})"
        )
    began = time.perf_counter()
    for word in some:
        _ = word in known
    lines.append(f"{(time.perf_counter() - began) / count * 1e6:.1f} us a word")
    return "\n".join(lines)


def _changed(word: str, chance: random.Random) -> str:
    letters = list(word)
    for _ in range(2):
        letters[chance.randrange(len(letters))] = chance.choice(LETTERS)
    return "".join(letters)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--check", type=int, default=0, metavar="N")
    given = parser.parse_args()
    out: Path = given.out
    words = known_words()
    version = metadata.version("simplemma")
    about = {
        "source": f"word lists of simplemma {version} (MIT, Copyright (c) 2021 Adrien Barbaresi)",
        "languages": " ".join(LANGUAGES),
    }
    out.write_bytes(bloom_filter.built(words, about))
    print(f"{len(words):,} words, {out.stat().st_size:,} bytes")
    if given.check:
        print(checked(out, words, given.check))


if __name__ == "__main__":
    main()
