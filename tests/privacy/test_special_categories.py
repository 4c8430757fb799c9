"""Special categories of personal data: what states one is critical in every language
that has word lists, what only looks like it is not, and the owner may add to them.
"""

import importlib
import sys
from pathlib import Path

import pytest

from reverie import errors
from reverie.privacy import languages, rules, sensitivity

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
_set = importlib.import_module("sets.special_categories")
SENTENCES = list(_set.sentences())
LANGUAGES = {"en", "es", "de", "fr", "it", "pt", "nl", "pl", "ca", "eu", "gl", "ru"}
CRITICAL = sensitivity.Level.CRITICAL


def is_critical(text: str) -> bool:
    return sensitivity.of_text(text) is CRITICAL


def test_the_set_has_every_language_and_category() -> None:
    assert {sentence.language for sentence in SENTENCES} == {*LANGUAGES, "zh"}
    cells = {(s.language, s.half, s.category) for s in SENTENCES}
    assert len(cells) == 13 * 2 * 9


@pytest.mark.parametrize("half", ["tune", "held"])
def test_what_states_one_is_critical(half: str) -> None:
    """At least 97 of 100 are, and 9 of 10 that are state one."""
    chosen = [sentence for sentence in SENTENCES if sentence.half == half]
    stated = [is_critical(s.text) for s in chosen if s.category != "none"]
    false = [is_critical(s.text) for s in chosen if s.category == "none"]
    assert sum(stated) / len(stated) >= 0.97
    assert sum(stated) / (sum(stated) + sum(false)) >= 0.9


@pytest.mark.parametrize(
    "text",
    [
        "we visited the church",
        "union of sets",
        "party on Friday",
        "a race condition in the scheduler",
        "the general election of a leader in Raft",
        "J'ai acheté du pain et du fromage.",
        "That cup is so cute, cut the cake.",
        "Welche Wahl hast du getroffen?",
        "教会了我很多东西",
    ],
)
def test_ordinary_words_are_not(text: str) -> None:
    assert not is_critical(text)


@pytest.mark.parametrize(
    "text",
    [
        "MY BROTHER IS A CATHOLIC",
        "ella es catо\u0301lica".replace("о", "o"),
        "Il a fait\nson coming\nout hier.",
        "ＨＩＶ positive",
        "她確診了糖尿病",
        "Lunch at two.\n\nОна приняла ислам.\n\nBring bread.",
        "HIV阳性",
        "Sie ist bei ver.di",
    ],
)
def test_case_accents_lines_and_scripts_do_not_matter(text: str) -> None:
    assert is_critical(text)


def test_a_pair_needs_both_in_one_sentence() -> None:
    assert is_critical("She sings at the church every Sunday.")
    assert not is_critical("The church is old. We play football every Sunday.")


def test_the_owner_adds_words_and_pairs(tmp_path: Path) -> None:
    own = tmp_path / "patterns.toml"
    own.write_text(
        "[words]\nmedical = ['zorbitis, zorb* fever']\nreligion = ['-catholic tastes']\n"
        "[[together]]\nabout = 'religion'\nwords = ['grove']\nnear = ['full moon']\n",
        "utf-8",
    )
    ours = rules.load([own])

    def critical(text: str) -> bool:
        return sensitivity.of_text(text, with_rules=ours) is CRITICAL

    assert critical("It is zorbitis.")
    assert critical("the Zorbian fever came back")
    assert critical("We meet in the grove at full moon.")
    assert not critical("We meet in the grove.")
    assert not critical("She has catholic tastes.")
    assert critical("She is catholic.")


@pytest.mark.parametrize(
    ("pair", "said"),
    [
        ("about = 'religion'\nwords = ['a']\n", "keys about, words and near"),
        ("about = 'x'\nwords = ['a']\nnear = ['b']\n", "about is one of"),
    ],
)
def test_a_bad_pair_is_named(tmp_path: Path, pair: str, said: str) -> None:
    own = tmp_path / "patterns.toml"
    own.write_text(f"[[together]]\n{pair}", "utf-8")
    with pytest.raises(errors.Misconfigured, match=said):
        rules.load([own])


@pytest.mark.parametrize(
    "text",
    [
        "Jag har fått veta att jag har sockersjuka.",
        "Jeg har fået konstateret sukkersyge og skal have insulin",
        "Minulla on sokeritauti ja otan lääkettä",
        "Mám cukrovku a beru na to léky.",
        "Cukorbeteg vagyok és inzulint kapok",
        "Am o boală de inimă și iau medicamente.",
        "Şeker hastasıyım ve ilaç kullanıyorum",
        "Έχω διαβήτη και παίρνω ινσουλίνη",
        "عندي سكري",
        "יש לי סוכרת",
        "मुझे मधुमेह है",
        "私は糖尿病です",
        "저는 당뇨병이 있습니다",
        "ฉันเป็นโรคเบาหวาน",
        "Tôi bị tiểu đường",
        "У мене цукровий діабет, і я приймаю ліки",
        "Lunch at two.\n\nJag har fått veta att jag har sockersjuka.\n\nBring bread.",
    ],
)
def test_other_languages_are_told(text: str) -> None:
    assert languages.unknown(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "42",
        "Anna Kowalska, Piotr Nowak, Jan Wiśniewski",
        "We met Γιώργος Παπαδόπουλος in Athens yesterday.",
        "kubectl get pods --namespace prod",
        "def foo(bar): return [x for x in bar if x.ok]",
        "sk-proj-abcdef1234567890",
        "Buy milk eggs bread butter cheese tomatoes",
        "leite, pão, queijo, manteiga, ovos",
        "молоко хлеб сыр масло яйца",
        "Meeting notes",
        "https://example.com/jag/har/inte/och",
    ],
)
def test_short_texts_names_and_code_are_in_no_unknown_language(text: str) -> None:
    assert not languages.unknown(text)


def test_known_languages_are_not_unknown() -> None:
    assert [s.text for s in SENTENCES if languages.unknown(s.text)] == []
