"""A huge text never starves the rest: a note that is written after it has its vector
within seconds, by the built-in model of the running service.
"""

import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.cli.conftest import Home, make_home, wait_until
from tests.cli.test_up import Service

# Wanted on a machine of its own. Beside other work the same note takes longer without
# the text, too.
_WANTED_S = 5.0
_BUSY = 10
_NOTES = (
    "The piano tuner comes on Thursday",
    "Grandmother's recipe needs three lemons",
    "The roof over the boathouse leaks again",
)
_AFTER = "Wendeline has the key of the summer house"


@pytest.fixture
def service() -> Iterator[Service]:
    home = make_home(settings="")
    yield Service(home)
    home.end()


def report(characters: int) -> str:
    """Paragraphs that are all different."""
    said = "was discussed for a while, until somebody asked what it would cost. " * 3
    count = characters // (len(said) + 20)
    lines = (f"Point {i}, item {i * 7919 % 1000}: {said}" for i in range(count))
    return "\n\n".join(lines)


def vector_after(service: Service, text: str) -> float:
    """Seconds until a new note can be found by its meaning."""
    status, made = service.get("/notes", {"content": text})
    assert status == 201
    began = time.monotonic()
    wait_until(lambda: is_meant(service, made["id"], text), 300)
    return time.monotonic() - began


def is_meant(service: Service, note: str, text: str) -> bool:
    """Whether the note's own passage, its only one, is found by its meaning."""
    asked = text.replace(" ", "+")
    results = service.get(f"/search?q={asked}")[1]["results"]
    raw = [
        result["provenance"]["signals"]["semantic"]["raw"]
        for result in results
        if result["id"] == note and "semantic" in result["provenance"]["signals"]
    ]
    return bool(raw) and raw[0] > 0


def by_note(service: Service, text: str) -> None:
    assert service.get("/notes", {"title": "Report", "content": text})[0] == 201


def by_file(service: Service, text: str) -> None:
    """What is longer than a note may be; the command would wait for all vectors."""
    service.home.start("import", service.home.file("given/report.txt", text))

    def is_found() -> Any:
        return service.get("/search?q=Point+17&words_only=true")[1]["results"]

    wait_until(is_found, 600)


@pytest.mark.parametrize(
    ("characters", "kept"),
    [
        (300_000, by_note),
        pytest.param(5_000_000, by_file, marks=pytest.mark.soak),
    ],
    ids=["a long note", "5 MB"],
)
def test_a_note_after_a_huge_text_has_its_vector_in_seconds(
    service: Service, characters: int, kept: Callable[[Service, str], None]
) -> None:
    vector_after(service, "the model is loaded")
    alone = max(vector_after(service, text) for text in _NOTES)
    kept(service, report(characters))
    after = vector_after(service, _AFTER)
    assert waiting(service.home) > 200
    assert after < _WANTED_S + _BUSY * alone


def waiting(home: Home) -> int:
    """How many texts have no vector yet, as `reverie doctor` says."""
    shown = home.run("doctor").stdout
    found = re.search(r"([\d,]+) of ([\d,]+) texts can be found by meaning", shown)
    assert found, shown
    vectors, texts = (int(number.replace(",", "")) for number in found.groups())
    return texts - vectors
