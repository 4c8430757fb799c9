"""Who is who: keys, likeness of names in many spellings and scripts, verdicts on
profiles, and the labelled sets.
"""

import importlib.util
import os
import random
import sys
import time
from pathlib import Path
from types import ModuleType
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reverie.graph.resolution import keys, matching
from reverie.graph.resolution.matching import Profile

DATA = Path(
    os.environ.get("TEST_DATA", Path(__file__).resolve().parents[3] / "shared" / "data")
)
BENCH = Path(__file__).resolve().parents[2] / "bench" / "names.py"
ANN, BEN = UUID(int=1), UUID(int=2)
TEXTS = st.one_of(
    st.text(max_size=40),
    st.text("aábcdeé xyz.-'ОбамаАльянс山田王偉김정은محمد IV12", max_size=30),
)


# ---------------------------------------------------------------------------------------------------------------- keys


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("  José   GARCÍA ", "jose garcia"),
        ("Straße", "strasse"),
        ("ＡＢＣ　Ltd", "abc ltd"),
        ("Zo\u200bë", "zoe"),
        ("İstanbul", "istanbul"),
        ("Γιώργος", "γιωργοσ"),
        ("Андрей", "андрей"),  # й is a letter, not an и with an accent
        ("ガス", "ガス"),
        ("", ""),
    ],
)
def test_a_name_is_normalised(written: str, normal: str) -> None:
    assert keys.normalised(written) == normal


def test_letters_that_only_look_accented_stay_apart() -> None:
    assert keys.normalised("Андреи") != keys.normalised("Андрей")
    assert keys.normalised("カス") != keys.normalised("ガス")


def test_a_key_is_stable_and_of_one_user_and_kind() -> None:
    key = keys.key(ANN, "person", "José García")
    assert (
        key
        == keys.key(ANN, "person", " jose  GARCIA")
        == "649840b8906e1f485d3b2ca7b3ba102f"
    )
    others = {
        keys.key(BEN, "person", "José García"),
        keys.key(ANN, "company", "José García"),
    }
    assert len(others | {key, keys.key(ANN, "person", "Pepe García")}) == 4


def test_a_key_does_not_run_its_parts_together() -> None:
    assert keys.key(ANN, "a", "b c") != keys.key(ANN, "a b", "c")


@given(TEXTS)
def test_normalising_twice_changes_nothing(name: str) -> None:
    assert keys.normalised(keys.normalised(name)) == keys.normalised(name)


# ------------------------------------------------------------------------------------------------------------ likeness


@given(TEXTS, TEXTS, st.sampled_from(["person", "company", "anything"]))
@settings(max_examples=300, deadline=None)
def test_likeness_is_a_symmetric_share_of_any_text(a: str, b: str, kind: str) -> None:
    score = keys.similarity(a, b, kind=kind)
    assert 0 <= score <= 1
    assert score == keys.similarity(b, a, kind=kind)
    assert keys.similarity(a, a, kind=kind) == 1


@given(TEXTS, TEXTS)
@settings(max_examples=200, deadline=None)
def test_only_one_normal_form_is_wholly_alike(a: str, b: str) -> None:
    assert (keys.similarity(a, b) == 1) == (keys.normalised(a) == keys.normalised(b))


PEOPLE_ALIKE = [
    ("José García", "Pepe García"),
    ("José", "Pepe"),
    ("Bob Smith", "Robert Smith"),
    ("Hans Müller", "Johannes Müller"),
    ("Sasha Popov", "Alexander Popov"),
    ("Anna Müller", "Anna Mueller"),
    ("Jon Snow", "John Snow"),
    ("Catherine Lee", "Katherine Lee"),
    ("Thomas Meyer", "Thomas Maier"),
    ("Maria Huber", "Maria Hubner"),
    ("J. Smith", "John Smith"),
    ("J.-L. Picard", "Jean-Luc Picard"),
    ("John Smith", "John A. Smith"),
    ("Smith, John", "John Smith"),
    ("JohnSmith", "John Smith"),
    ("Dr. Huber", "Maria Huber"),
    ("Prof. Maria Huber", "Maria Huber"),
    ("Huber, Dr. Maria", "Maria Huber"),
    ("Maria Huber, PhD", "Maria Huber"),
    ("Mar1a Hub3r", "Maria Huber"),
    ("Jean Luc Picard", "Jean-Luc Picard"),
    ("Vincent van Gogh", "Vincent Gogh"),
    ("Carmen López García", "Carmen López"),
    ("Иван Петров", "Ivan Petrov"),
    ("Γιώργος Παπαδόπουλος", "Giorgos Papadopoulos"),
    ("محمد بن سلمان", "Mohammed bin Salman"),
    ("محمد علي", "Muhammad Ali"),
    ("习近平", "Xi Jinping"),
    ("김정은", "Kim Jong-un"),
]
PEOPLE_APART = [
    ("Paolo Ferri", "Paola Ferri"),
    ("Robert Smith", "Roberta Smith"),
    ("Maria Huber", "Mario Huber"),
    ("John Smith", "Jane Smith"),
    ("Peter Jones", "Paul Jones"),
    ("Peter Jones", "Peter Johnson"),
    ("John A. Smith", "John B. Smith"),
    ("John Smith Jr.", "John Smith Sr."),
    ("A. Huber", "Maria Huber"),
    ("Stephen King", "Stephen Fry"),
    ("M. H.", "Maria Huber"),
    ("Oskar Emil", "Emil Oskar"),
    ("Carmen López García", "Carmen López Ruiz"),
    ("Marie Curie", "Pierre Curie"),
    ("Wei Zhang", "Wei Zhao"),
    ("the accountant", "Maria Huber"),
    ("", "Maria Huber"),
]
THINGS_ALIKE = [
    ("Google", "Google LLC"),
    ("Nordlicht AG", "Nordlicht Aktiengesellschaft"),
    ("Nordlicht Aktiengeselschaft", "Nordlicht AG"),
    ("Telefónica S.A.", "Telefonica SA"),
    ("Müller G.m.b.H.", "Mueller GmbH"),
    ("The Blue Kettle Company", "Blue Kettle Co."),
    ("Marks & Vane", "Marks and Vane"),
    ("University of Oxford", "Oxford University"),
    ("Second Rowing Club Int'l", "2nd International Rowing Club"),
    ("Platform Thirty-Two", "Platform 32"),
    ("St. Mary's Hospital", "Saint Marys Hospital"),
    ("IBM", "International Business Machines"),
    ("Fire Fly Company", "Firefly Company"),
    ("ООО Газпром", "Gazprom LLC"),
    ("トヨタ", "Toyota"),
]
THINGS_APART = [
    ("ASR1603", "ASR1605"),
    ("ASR1403", "ASR1405"),
    ("A1B2", "A2B1"),
    ("Project 2024-1", "Project 2024-2"),
    ("iPhone 12", "iPhone 13"),
    ("Fund Four", "Fund V"),
    ("Arkady II", "Arkady"),
    ("Nordlicht AG", "Nordlicht GmbH"),
    ("Project Alpha", "Project Beta"),
    ("University of Oxford", "University of Cambridge"),
    ("Google", "Google Germany GmbH"),
    ("Embassy of Austria", "Embassy of Australia"),
    ("Garden Furniture Fair", "Garden Fixture Fair"),
]


@pytest.mark.parametrize(("a", "b"), PEOPLE_ALIKE)
def test_one_person_in_two_spellings_is_suggested_only(a: str, b: str) -> None:
    assert keys.same(a, b)
    assert keys.similarity(a, b) < 1
    verdict = matching.compare(Profile("person", (a,)), Profile("person", (b,)))
    assert verdict.suggested
    assert not verdict.certain


@pytest.mark.parametrize(("a", "b"), PEOPLE_APART)
def test_two_people_are_not_suggested(a: str, b: str) -> None:
    assert not keys.same(a, b)


@pytest.mark.parametrize(("a", "b"), THINGS_ALIKE)
def test_one_thing_in_two_spellings_is_suggested_only(a: str, b: str) -> None:
    assert keys.same(a, b, kind="company")
    assert not matching.compare(
        Profile("company", (a,)), Profile("company", (b,))
    ).certain


@pytest.mark.parametrize(("a", "b"), THINGS_APART)
def test_two_things_are_not_suggested(a: str, b: str) -> None:
    assert not keys.same(a, b, kind="company")
    assert not keys.same(a, b, kind="project")


def test_numbers_must_agree_in_every_kind_and_length() -> None:
    for a, b in [
        ("ASR1603", "ASR1605"),
        ("ASR1403", "ASR1405"),
        (
            "Section 9 of the Great Northern Line",
            "Section 8 of the Great Northern Line",
        ),
    ]:
        for kind in ("product", "project", "person", "object"):
            assert not keys.same(a, b, kind=kind)
            assert keys.key(ANN, kind, a) != keys.key(ANN, kind, b)
            verdict = matching.compare(Profile(kind, (a,)), Profile(kind, (b,)))
            assert not verdict.certain
            assert not verdict.suggested


def test_a_very_long_name_is_compared_quickly() -> None:
    started = time.process_time()
    assert 0 <= keys.similarity("ab " * 20_000, "ba " * 20_000) <= 1
    assert 0 <= keys.similarity("x" * 20_000, "y" * 20_000, kind="place") <= 1
    assert time.process_time() - started < 5


# ------------------------------------------------------------------------------------------------------------ profiles


def test_two_of_one_name_with_different_addresses_stay_two() -> None:
    a = Profile("person", ("John Smith",), emails=("john@one.org",))
    b = Profile("person", ("John Smith",), emails=("john@two.org",))
    assert not matching.compare(a, b).certain
    found = matching.candidates([a, b])
    assert [verdict.certain for _, _, verdict in found] == [False]
    assert "other email" in found[0][2].reasons


def test_two_of_one_name_of_whom_all_else_differs_are_not_even_suggested() -> None:
    a = Profile(
        "person",
        ("John Smith",),
        emails=("john@one.org",),
        birthday="1970-01-02",
        address="1 High Street, Ely",
    )
    b = Profile(
        "person",
        ("John Smith",),
        emails=("john@two.org",),
        birthday="1981-12-24",
        address="Ring 7, Wien",
    )
    assert not matching.compare(a, b).suggested


def test_the_same_email_wins_over_the_name() -> None:
    a = Profile(
        "person", ("José García",), emails=("jose@example.org", "j@example.org")
    )
    b = Profile("person", ("Pepe",), emails=("JOSE@example.org",))
    verdict = matching.compare(a, b)
    assert verdict.certain
    assert "same email" in verdict.reasons
    assert matching.compare(
        a, Profile("person", (), emails=("jose@example.org",))
    ).certain


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (("Anna Huber", "us@example.org"), ("Peter Huber", "us@example.org")),
        (("Anna Huber", "info@example.org"), ("Anna Hubert", "info@example.org")),
    ],
)
def test_an_address_of_several_people_merges_nobody(
    a: tuple[str, str], b: tuple[str, str]
) -> None:
    one, other = (Profile("person", (name,), emails=(email,)) for name, email in (a, b))
    assert not matching.compare(one, other).certain


def test_the_same_email_with_another_birthday_is_not_automatic() -> None:
    a = Profile(
        "person", ("Hans Huber",), emails=("hans@example.org",), birthday="1950-05-05"
    )
    b = Profile(
        "person", ("Hans Huber",), emails=("hans@example.org",), birthday="1980-07-09"
    )
    assert not matching.compare(a, b).certain


def test_a_bare_name_is_the_one_of_that_name_but_not_one_of_two() -> None:
    bare = Profile("person", ("Ana López",))
    one = Profile("person", ("ana lopez",), emails=("ana@one.org",))
    two = Profile("person", ("Ana López",), emails=("ana@two.org",))
    assert [found[2].certain for found in matching.candidates([bare, one])] == [True]
    assert not any(
        verdict.certain for _, _, verdict in matching.candidates([bare, one, two])
    )


def test_an_identifier_merges_with_the_name_and_a_slip_in_it_suggests() -> None:
    a = Profile(
        "person", ("Ana López",), birthday="1990-01-31", identifiers=("6988048",)
    )
    b = Profile(
        "person", ("ana lopez",), birthday="19900131", identifiers=("698-8048",)
    )
    c = Profile(
        "person", ("Ana Lopes",), birthday="1990-01-13", identifiers=("6988084",)
    )
    assert matching.compare(a, b).certain
    verdict = matching.compare(a, c)
    assert verdict.suggested
    assert not verdict.certain
    assert set(verdict.reasons) == {
        "names alike",
        "identifier a slip apart",
        "birthday a slip apart",
    }


def test_kinds_are_never_mixed() -> None:
    assert (
        matching.compare(Profile("person", ("Paris",)), Profile("place", ("Paris",)))
        == matching.NOTHING
    )
    assert (
        matching.candidates(
            [Profile("person", ("Paris",)), Profile("place", ("Paris",))]
        )
        == []
    )


def test_a_thing_of_the_same_name_and_kind_is_one() -> None:
    verdict = matching.compare(
        Profile("company", ("Acme",)), Profile("company", (" ACME ",))
    )
    assert verdict.certain
    assert verdict.score == 1


def test_things_that_share_a_short_name_only_are_not_merged() -> None:
    a, b = (
        Profile("company", ("Deutsche Bahn", "DB")),
        Profile("company", ("Deutsche Bank", "DB")),
    )
    verdict = matching.compare(a, b)
    assert verdict.suggested
    assert not verdict.certain


def test_things_of_one_name_with_other_numbers_are_not_merged() -> None:
    a, b = (
        Profile("company", ("Acme",), identifiers=(number,))
        for number in ("DE136695976", "ATU12345675")
    )
    assert not matching.compare(a, b).certain


def test_empty_facts_are_no_evidence() -> None:
    a = Profile(
        "person", ("Ana López",), phones=("-",), birthday="?", identifiers=("-",)
    )
    b = Profile(
        "person", ("Eva Ruiz",), phones=("n/a",), birthday="unknown", identifiers=("/",)
    )
    assert not matching.compare(a, b).suggested


def test_a_birthday_may_lack_its_year_and_a_phone_its_country() -> None:
    a = Profile(
        "person", ("Ana López",), birthday="--01-31", phones=("+34 612 345 678",)
    )
    b = Profile("person", ("A. López",), birthday="1990-01-31", phones=("612345678",))
    assert {"same birthday without a year", "same phone"} < set(
        matching.compare(a, b).reasons
    )


def test_one_of_several_names_is_enough() -> None:
    a = Profile("person", ("Maria Huber", "Maria Bauer"))
    assert matching.compare(a, Profile("person", ("Maria Bauer",))).suggested


PROFILES = st.builds(
    Profile,
    kind=st.sampled_from(["person", "company"]),
    names=st.lists(
        st.sampled_from(
            ["Ana López", "ana lopez", "A. López", "Pepe", "José", "", "ASR1603"]
        ),
        max_size=2,
    ).map(tuple),
    emails=st.lists(
        st.sampled_from(["a@x.org", "A@x.org", "b@x.org", "info@x.org"]), max_size=2
    ).map(tuple),
    phones=st.lists(st.sampled_from(["+34 612 345 678", "612345678"]), max_size=1).map(
        tuple
    ),
    birthday=st.sampled_from(["", "1990-01-31", "1990-01-13", "?"]),
    address=st.sampled_from(["", "1 High Street", "High Street 1", "Ring 7"]),
    identifiers=st.lists(st.sampled_from(["6988048", "6988084", "-"]), max_size=1).map(
        tuple
    ),
)


@given(PROFILES, PROFILES)
@settings(max_examples=300, deadline=None)
def test_a_verdict_does_not_depend_on_the_order(a: Profile, b: Profile) -> None:
    assert matching.compare(a, b) == matching.compare(b, a)
    assert 0 <= matching.compare(a, b).score <= 1


def test_candidates_find_slips_nicknames_and_short_forms_among_many() -> None:
    rnd = random.Random(5)
    made = [
        Profile("person", (f"{_word(rnd)} {_word(rnd)}",), emails=(f"{n}@example.org",))
        for n in range(4_000)
    ]
    planted = [
        ("José Garrido", "Pepe Garrido"),
        ("Katherine Voss", "Catherine Vos"),
        ("IBM", "International Business Machines"),
    ]
    kinds = ("person", "person", "company")
    for kind, pair in zip(kinds, planted, strict=True):
        made += [Profile(kind, (name,)) for name in pair]
    started = time.process_time()
    found = {(i, j) for i, j, _ in matching.candidates(made)}
    assert {(4_000, 4_001), (4_002, 4_003), (4_004, 4_005)} <= found
    assert (
        time.process_time() - started < 25
    )  # seconds, not hours: 8 million pairs are not looked at


def _word(rnd: random.Random) -> str:
    return "".join(
        rnd.choice("bdfgklmnprstv") + rnd.choice("aeiou")
        for _ in range(rnd.randint(2, 4))
    ).capitalize()


# ------------------------------------------------------------------------------------------------------- labelled sets


def _bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_names", BENCH)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench_names"] = module
    spec.loader.exec_module(module)
    return module


def test_the_bench_counts_as_it_should() -> None:
    bench = _bench()
    assert bench.auc([0.9, 0.8, 0.3], [True, False, False]) == 1
    assert bench.auc([0.5, 0.5], [True, False]) == 0.5
    assert bench.counted([0.9, 0.6, 0.2], [True, False, True], 0.5) == {
        "f1": 0.5,
        "precision": 0.5,
        "recall": 0.5,
    }


@pytest.mark.skipif(
    not (DATA / "er-nomenklatura").exists(), reason="the labelled sets are not here"
)
def test_the_labelled_sets_reach_their_targets() -> None:
    report = _bench().run(DATA / "er-nomenklatura" / "cases_dev.csv", DATA / "er-febrl")
    assert report["f1"] >= 0.88
    assert report["auc"] >= 0.91
    assert all(
        report["auc"] > baseline["auc"] for baseline in report["baselines"].values()
    )
    assert len(report["febrl"]) == 2
    for row in report["febrl"].values():
        assert row["wrong_automatic"] == 0
        assert row["suggested_recall"] >= 0.95
        assert row["suggested_precision"] >= 0.95
        assert row["automatic_recall"] > 0.2
