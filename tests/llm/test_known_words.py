"""Which words are known: those of six languages, from a file that is mapped and never
unpacked; gibberish is not.
"""

import json
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from reverie import config, errors
from reverie.llm import embedding
from reverie.providers import bloom_filter, lexicon

SENSE = (
    "when is the dentist appointment",
    "passport number",
    "¿dónde están los papeles del coche?",
    "niñas corriendo por la calle",
    "Wann fährt der Zug nach Hamburg?",
    "Häuser am Wasser",
    "où sont les clés de la voiture",
    "quando é a reunião do condomínio",
    "perché non funziona la lavatrice",
    "HOUSES AND GARDENS",
    "Paris",
    "Donaudampfschiff oder Eisenbahn",
    # Four known words in ten.
    "qwzxk vrrblt snorfx house garden",
    # Never doubted: no word of three Latin letters, or letters of another script.
    "4711",
    "ab cd",
    "昨天下午",
    "обещал qwzxk",
    "Straße qwzxk",
)
GIBBERISH = (
    "qwzxk vrrblt snorfx",
    "xqzzt vlorp",
    "asdfgh qwertz yxcvbn",
    "fjdkslajf",
    "blorptang fizzlewump",
    "trglbtz pfffhm",
    "ngthrxx mpfzzk drtghw",
    "lkjhgfdsa poiuytrewq",
    "zorbnak tulvex",
    "flarnbuzz gweeblix",
    "plokmijnuhb",
    "qwzxk vrrblt snorfx house",
)


async def _makes_sense(cache: Path, text: str) -> bool:
    made = embedding.Embeddings(config.Embedding(provider="none"), cache=cache)
    try:
        return await made.makes_sense(text)
    finally:
        made.close()


@pytest.mark.parametrize("text", SENSE)
async def test_words_are_known(tmp_path: Path, text: str) -> None:
    assert await _makes_sense(tmp_path, text)


@pytest.mark.parametrize("text", GIBBERISH)
async def test_gibberish_is_not(tmp_path: Path, text: str) -> None:
    assert not await _makes_sense(tmp_path, text)


def test_few_others_are_taken_for_known() -> None:
    known = bloom_filter.opened(lexicon.KNOWN_WORDS)
    others = [f"xq{number:x}zw".translate(_LETTERS) for number in range(20_000)]
    assert sum(word in known for word in others) <= 0.005 * len(others)


_LETTERS = str.maketrans("0123456789", "ghjklmnpqv")


def test_the_first_question_unpacks_nothing(tmp_path: Path) -> None:
    stale = tmp_path / "de.dic"
    stale.write_bytes(b"what an earlier version wrote")
    (tmp_path / "model.onnx").write_bytes(b"somebody else's")
    script = """
        import sys
        from pathlib import Path
        from reverie.providers import lexicon
        words = lexicon.Lexicon(Path(sys.argv[1]))
        assert not words.makes_sense("qwzxk vrrblt")
        print([name for name in sys.modules if name.startswith(("simplemma", "marisa"))])
    """
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == "[]"
    assert [file.name for file in tmp_path.iterdir()] == ["model.onnx"]


def _without_its_end(file: bytes) -> bytes:
    return file[:-1000]


def _with_a_bit_turned(file: bytes) -> bytes:
    return file[:-1000] + bytes([file[-1000] ^ 1]) + file[-999:]


def _of_another_form(file: bytes) -> bytes:
    return file.replace(b"bloom filter 1", b"bloom filter 9", 1)


DAMAGES = (
    _without_its_end,
    _with_a_bit_turned,
    _of_another_form,
    lambda _: b"",
    lambda _: b"[1, 2]",
    lambda _: b"\xff" * 5000,
)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_told(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    file = tmp_path / "known_words.bloom"
    file.write_bytes(damage(lexicon.KNOWN_WORDS.read_bytes()))
    words = lexicon.Lexicon(tmp_path, file)
    with pytest.raises(errors.Damaged, match="known words"):
        words.makes_sense("qwzxk vrrblt")
    file.unlink()
    with pytest.raises(errors.Damaged, match="known words"):
        words.makes_sense("qwzxk vrrblt")


def test_the_file_is_the_same_for_the_same_words(tmp_path: Path) -> None:
    words = ["house", "garden", "niña", "straße"]
    made = bloom_filter.built(words, {"source": "a test"})
    assert made == bloom_filter.built(words[::-1], {"source": "a test"})
    file = tmp_path / "four.bloom"
    file.write_bytes(made)
    known = bloom_filter.opened(file)
    assert all(word in known for word in words)
    header = json.loads(lexicon.KNOWN_WORDS.read_bytes().split(b"\n")[0])
    assert "simplemma" in header["source"]
    assert header["languages"].split() == ["en", "es", "de", "fr", "pt", "it"]
