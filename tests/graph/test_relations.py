"""Relations: what they allow, what they leave out and what they refuse, with what is
allowed.
"""

from typing import Any

import pytest

from reverie import errors
from reverie.graph import relations

FROM_TO: dict[str, tuple[relations.Kind, relations.Kind]] = {
    "thinks_about": ("person", "concept"),
    "has_relationship_with": ("person", "person"),
    "relates_to": ("entity", "entity"),
    "involves": ("concept", "person"),
    "produced": ("concept", "artifact"),
    "mentions": ("source", "concept"),
    "sourced_from": ("artifact", "source"),
    "attended_by": ("source", "person"),
    "located_in": ("person", "entity"),
    "works_at": ("person", "entity"),
    "collaborates_with": ("person", "entity"),
    "contradicts": ("source", "source"),
    "follows_up": ("source", "source"),
    "supersedes": ("source", "source"),
}


def test_every_relation_is_tried_here() -> None:
    assert FROM_TO.keys() == relations.RELATIONS.keys()


@pytest.mark.parametrize("relation", FROM_TO)
def test_what_a_relation_does_not_know_is_left_out(relation: str) -> None:
    begin, end = FROM_TO[relation]
    assert (
        relations.checked(
            relation, begin, end, {"colour": "blue", "weight": [1], "notes": None}
        )
        == {}
    )


@pytest.mark.parametrize(
    ("relation", "properties"),
    [
        ("thinks_about", {"mood": "curious", "frequency": "daily"}),
        (
            "has_relationship_with",
            {
                "attitude_towards_person": "loving",
                "closeness": 5,
                "relationship_type": "sister",
            },
        ),
        (
            "has_relationship_with",
            {"attitude_towards_person": "hostile", "closeness": 1, "notes": "x" * 4000},
        ),
        ("relates_to", {"relationship_type": "part of", "relevance": 10, "notes": "n"}),
        ("involves", {"relevance": 1, "notes": "n"}),
        ("produced", {"relevance": 7, "notes": "n"}),
        ("works_at", {"job_title": "Ingeniera"}),
    ],
)
def test_what_is_right_is_kept(relation: str, properties: dict[str, Any]) -> None:
    begin, end = FROM_TO[relation]
    assert (
        relations.checked(relation, begin, end, {**properties, "more": 1}) == properties
    )


@pytest.mark.parametrize(
    ("relation", "properties", "told"),
    [
        (
            "has_relationship_with",
            {"attitude_towards_person": "fond"},
            "hostile, cold, neutral, friendly, warm, loving",
        ),
        ("has_relationship_with", {"attitude_towards_person": ["loving"]}, "loving"),
        ("has_relationship_with", {"closeness": 0}, "from 1 to 5"),
        ("has_relationship_with", {"closeness": 6}, "from 1 to 5"),
        ("has_relationship_with", {"closeness": True}, "from 1 to 5"),
        ("has_relationship_with", {"closeness": 2.5}, "from 1 to 5"),
        ("relates_to", {"relevance": 11}, "from 1 to 10"),
        ("relates_to", {"relevance": "7"}, "from 1 to 10"),
        ("thinks_about", {"mood": 3}, "a text"),
        ("thinks_about", {"mood": "x" * 4001}, "4,000"),
    ],
)
def test_what_is_wrong_is_refused_with_what_is_allowed(
    relation: str, properties: dict[str, Any], told: str
) -> None:
    begin, end = FROM_TO[relation]
    with pytest.raises(errors.Invalid) as refused:
        relations.checked(relation, begin, end, properties)
    assert told in f"{refused.value.message} {refused.value.hint}"


def test_unknown_relations_and_wrong_ends_are_refused_with_the_list() -> None:
    with pytest.raises(errors.Invalid) as refused:
        relations.checked("likes", "person", "person", {})
    assert refused.value.hint
    assert all(name in refused.value.hint for name in relations.RELATIONS)
    with pytest.raises(errors.Invalid) as refused:
        relations.checked("thinks_about", "entity", "concept", {})
    assert refused.value.hint
    assert "relates_to" in refused.value.hint
    assert "thinks_about" not in refused.value.hint


@pytest.mark.parametrize(
    ("relation", "begin", "end"),
    [
        ("thinks_about", "person", "person"),
        ("has_relationship_with", "person", "entity"),
        ("involves", "person", "concept"),
        ("works_at", "entity", "person"),
        ("sourced_from", "source", "artifact"),
        ("mentions", "source", "artifact"),
        ("attended_by", "person", "source"),
        ("located_in", "person", "concept"),
    ],
)
def test_ends_that_do_not_fit(
    relation: str, begin: relations.Kind, end: relations.Kind
) -> None:
    with pytest.raises(errors.Invalid):
        relations.checked(relation, begin, end, {})
    assert relations.fitting(relation, begin, end, {}) is None


def test_a_reader_loses_the_wrong_property_and_not_the_link() -> None:
    told = relations.fitting(
        "has_relationship_with",
        "person",
        "person",
        {"closeness": 9, "notes": "n", "x": 1},
    )
    assert told == {"notes": "n"}
    assert relations.fitting("nonsense", "person", "person", {}) is None


def test_which_facts_replace_each_other() -> None:
    assert {name for name in relations.RELATIONS if relations.exclusive(name)} == {
        "located_in",
        "works_at",
    }
    assert not relations.exclusive("nonsense")
