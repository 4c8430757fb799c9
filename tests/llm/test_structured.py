"""JSON as models write it: twelve ways to get it wrong, and what is still read."""

import time

import pydantic
import pytest

from reverie.providers import structured


class Person(pydantic.BaseModel):
    name: str
    age: int


ANA, BO = Person(name="Ana", age=31), Person(name="Bo", age=7)
A, B = '{"name": "Ana", "age": 31}', '{"name": "Bo", "age": 7}'
MALFORMED = {
    "a fence": (f"```json\n[{A}, {B}]\n```", [ANA, BO], 0),
    "a fence that is never closed": (f"Sure!\n```\n[{A}, {B}]", [ANA, BO], 0),
    "words around": (f"Here you are: [{A}, {B}] I hope it helps.", [ANA, BO], 0),
    "commas too many": (
        '{"items": [{"name": "Ana", "age": 31,}, {"name": "Bo", "age": 7},],}',
        [ANA, BO],
        0,
    ),
    "one item and no list": (A, [ANA], 0),
    "under another name": (f'{{"people": [{A}, {B}]}}', [ANA, BO], 0),
    "one a line": (f"{A}\n{B}\n", [ANA, BO], 0),
    "cut off": (f'{{"items": [{A}, {B}, {{"name": "C', [ANA, BO], 0),
    "thoughts before": (f"<think>maybe {{}} or [1]</think>[{A}]", [ANA], 0),
    "one of two does not fit": (f'[{A}, {{"name": "Bo", "age": "old"}}]', [ANA], 1),
    "remarks and Python's words": (
        '[{"name": "Ana", "age": 31, "x": None}, // her\n {"name": "Bo", "age": 7}]',
        [ANA, BO],
        0,
    ),
    "a line break inside a text": (
        '[{"name": "A\nna", "age": 1}]',
        [Person(name="A\nna", age=1)],
        0,
    ),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_what_is_still_read(case: str) -> None:
    text, good, refused = MALFORMED[case]
    found = structured.items(text, Person)
    assert list(found.items) == good
    assert (found.refused, found.read) == (refused, True)


@pytest.mark.parametrize(
    "text",
    ["", "no", "42", '"x"', "{", "[", "{]", "}{", "```json\n```", "{'name': 'Ana'}"],
)
def test_what_is_none(text: str) -> None:
    assert structured.items(text, Person).items == ()


def test_an_empty_list_is_an_answer() -> None:
    for text in ("[]", '{"items": []}', "```json\n[]\n```"):
        assert structured.items(text, Person) == structured.ParsedItems(
            (), 0, read=True
        )


def test_strings_keep_their_commas_and_slashes() -> None:
    text = '[{"name": "a,] // b,}", "age": 1,}]'
    assert structured.items(text, Person).items == (Person(name="a,] // b,}", age=1),)


@pytest.mark.parametrize(
    "text",
    ["[" * 200_000, "{" * 200_000, '{"a":' * 50_000, '"' * 200_000, "[{" * 100_000],
)
def test_brackets_without_end_end(text: str) -> None:
    begun = time.process_time()
    assert structured.items(text, Person).items == ()
    assert time.process_time() - begun < 20


def test_the_schema_has_an_object_at_the_top_and_its_parts_beside() -> None:
    class Family(pydantic.BaseModel):
        people: list[Person]

    whole = structured.schema_of(Family)
    assert whole["type"] == "object"
    assert "Person" in whole["$defs"]
    assert "$defs" not in whole["properties"]["items"]["items"]
