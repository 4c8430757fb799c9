"""Feature weights of named entity typing: the points that each feature adds to a type.

All were set by hand against bench/extraction_entities.py.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Weights:
    """Points by feature; where the feature is tested, its docstring says what it is."""

    # The words beside a candidate, whatever its length.
    noun_before: float = 2
    compound_end: float = 2
    noun_after: float = 2
    noun_later: float = 1.5
    in_place: float = 2.0
    in_place_modifier: float = 1.0
    to_place: float = 0.8

    # Several words.
    listed_town: float = 3
    place_beginning: float = 2
    spanish_noun: float = 3
    head: float = 3
    head_or_surname: float = 2
    company_beginning: float = 2.5

    # How several words look together.
    listed_name: float = 2.5
    half_listed_name: float = 2
    unlisted_name: float = 1.7
    long_name: float = 0
    title: float = 1.7
    title_with_head: float = 0.5
    long_title: float = -1
    german_title: float = -1
    name_and_words: float = 1.6

    # One word.
    acronym: float = 0.5
    technology: float = 2
    technology_is_person: float = -2
    company: float = 2.5
    country: float = 3.5
    town: float = 2
    ordinary_town_of_motion: float = 3
    plural: float = 1.6
    plural_modifier: float = 0.6
    ordinary_word: float = -1.5

    # A person.
    role: float = 2
    preposition: float = 0.9
    preposition_of_several: float = 0.5
    article: float = -2
    article_of_several: float = -0.6
    deed_of_several: float = 0.7
    german_word: float = -3
    no_word: float = 0.6
    usual_name: float = 2
    rare_name: float = 1.5
    usual_name_and_word: float = 1
    common_name_and_word: float = 1.6
    greeting: float = 2
    also_small: float = -3

    # One word that acts.
    owning: float = 1.2
    owning_first: float = 2
    deed: float = 2.0
    weak_deed: float = 1.2
    weak_deed_of_word: float = 0.7
    addressed: float = 1.7
    addressed_word: float = 1.0


WEIGHTS = Weights()
