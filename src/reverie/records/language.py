"""Language detection by function words (stop words), and stemming (Snowball)."""

from collections.abc import Iterable
from functools import lru_cache

import snowballstemmer

_WORDS = {
    "en": (
        "the a an and or of to in on at for from with by is are was were be been am i you he she it we they me him "
        "her us them my your his its our their this that these those not no do does did have has had will would "
        "can could should as if but so than then there here what which who whom when where why how all any some "
        "just very about into over up out after before again more most other such only own same too don t s d ll "
        "re ve m"
    ),
    "es": (
        "el la los las un una unos unas y o u e de del al a en con por para sin sobre que qué quien quién cual "
        "cuál cuando cuándo donde dónde como cómo es son era eran fue fueron ser está están estaba estoy soy hay "
        "ha he han había se me te le les nos lo mi mis tu tus su sus este esta estos estas ese esa eso esto no ni "
        "sí si pero más muy ya también porque hasta desde entre todo toda todos todas nada yo él ella ellos ellas "
        "nosotros"
    ),
    "de": (
        "der die das den dem des ein eine einen einem einer eines und oder in im an am auf aus bei mit nach von "
        "vom zu zum zur über unter für ist sind war waren sein bin bist hat habe haben hatte wird werden wurde "
        "kann nicht kein keine ich du er sie es wir ihr mich mir dich dir ihn ihm uns euch mein meine dein sein "
        "ihre dass wenn aber auch als wie was wer wo wann warum noch nur schon so sehr hier da dort"
    ),
}
_ALGORITHM = {"en": "english", "es": "spanish", "de": "german"}
_STEMMERS = {
    language: snowballstemmer.stemmer(name) for language, name in _ALGORITHM.items()
}

FUNCTION_WORDS = {
    language: frozenset(words.split()) for language, words in _WORDS.items()
}


def detect(words: Iterable[str]) -> str:
    """The language (`en`, `es`, `de`) whose function words are most frequent among some
    words, or "" when unsure.

    Words are lower case with their accents. Two more hits than the runner-up are asked
    for, or all of the hits.
    """
    seen = list(words)
    hits = sorted(
        (
            (sum(word in known for word in seen), name)
            for name, known in FUNCTION_WORDS.items()
        ),
        reverse=True,
    )
    (best, name), (second, _) = hits[0], hits[1]
    return name if best and (best >= second + 2 or second == 0) else ""


@lru_cache(maxsize=100_000)
def stem(word: str, language: str) -> str:
    """The stem of a lower-case word with its accents, by the Snowball algorithm of its
    language.
    """
    return str(_STEMMERS[language].stemWord(word))


LANGUAGES = tuple(_ALGORITHM)
