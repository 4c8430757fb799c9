"""Restoring: replies as models change them, and every way to cut a stream."""

import random
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reverie.privacy import forms, unmasking

ALPHABET = forms.ALPHABET
TOKENS = {
    "Person_7F3K9ABCDEFGH": "Ana García",
    "Person_7F3K9ABCDEFGHU42": "ana garcia",
    "Person_7F3K9ABCDEFGHJKMNPQRSTVWX2": "Long Collision",
    "Org_23456789ABCDE": "Müller & Söhne",
    "email_9F3K9ABCDEFGH@example.com": "ana@x.org",
    "+00-8F3K9ABCDEFGH": "+34 600 123 456",
    "https://example.com/url_6F3K9ABCDEFGH": "https://x.org/ana",
    "Text_5F3K9ABCDEFGH": "Person_7F3K9ABCDEFGH",
    "Data_01010101ABC22": "X 1",
}


@pytest.mark.parametrize(
    ("reply", "meant"),
    [
        ("**Person_7F3K9ABCDEFGH**", "**Ana García**"),
        ("Person\\_7F3K9ABCDEFGH's", "Ana García's"),
        ("person_7f3k9abcdefgh’s", "Ana García’s"),
        ("PERSON_7F3K9ABCDEFGHs Buch", "Ana Garcías Buch"),
        ("la casa de `Person_7F3K9ABCDEFGH`.", "la casa de `Ana García`."),
        ("Person_7F3K9\n  ABCDEFGH,", "Ana García,"),
        ("Per\nson_7F3K9ABCDEFGH", "Ana García"),
        ("Persona 7F3K9 ABCDEFGH!", "Ana García!"),
        ("Person7F3K9ABCDEFGH", "Ana García"),
        ("Person_7F3K9ABCDEFGHU42", "ana garcia"),
        ("Person_7F3K9ABCDEFGHu7", "Ana García"),
        ("Data_OIO1olO1ABC22", "X 1"),
        ("[a](mailto:EMAIL_9F3K9ABCDEFGH@EXAMPLE.COM)", "[a](mailto:ana@x.org)"),
        (
            "email\\_9F3K9ABCDEFGH\\@example.com and email_9F3K9ABCDEFGH",
            "ana@x.org and ana@x.org",
        ),
        ("+00 8F3K9ABCDEFGH", "+34 600 123 456"),
        ("<https://example.com/url_6F3K9ABCDEFGH>", "<https://x.org/ana>"),
        ("Text_5F3K9ABCDEFGH", "Person_7F3K9ABCDEFGH"),
        ("Person_7F3K9ABCDEFGHJKMNPQRSTVWX2", "Long Collision"),
        ("Person_7F3K9ABCDEFGH_2.pdf", "Ana García_2.pdf"),
        # What is no given token stays as it is.
        ("Person_7F3K9ABCDEFGHJKMNPQRSTVWX3", "Person_7F3K9ABCDEFGHJKMNPQRSTVWX3"),
        ("Person_7F3K9ABCDEFGH5", "Person_7F3K9ABCDEFGH5"),
        ("Person_7F3K9ABCDEFG", "Person_7F3K9ABCDEFG"),
        ("Person_7F3K9ABCDEFGJ", "Person_7F3K9ABCDEFGJ"),
        ("7F3K9ABCDEFGH", "7F3K9ABCDEFGH"),
        (
            "Person_" + "_" * 30 + "7F3K9ABCDEFGH",
            "Person_" + "_" * 30 + "7F3K9ABCDEFGH",
        ),
        ("", ""),
    ],
)
def test_what_a_reply_means(reply: str, meant: str) -> None:
    assert unmasking.restore(reply, TOKENS) == meant
    stream = unmasking.Stream(TOKENS)
    assert "".join(stream.feed(c) for c in reply) + stream.close() == meant


def test_without_tokens_nothing_is_touched() -> None:
    assert unmasking.restore("Person_7F3K9ABCDEFGH", {}) == "Person_7F3K9ABCDEFGH"
    assert (
        unmasking.restore("Person_1 Person_10", {"Person_1": "Ana"})
        == "Person_1 Person_10"
    )


FRAMES = [
    "{} called yesterday.", "I think {} and {} disagree.", "Ayer llamó {}.", "La casa de {} y la de {}.",
    "Das ist {}s Buch, nicht {}s.", "{} a appelé {} hier.", "Ответ {}: {}.", "{}说他认识{}。", "# {}\n\n- {}\n- {}\n",
    "| {} | {} |", "> {}\n> {}", "{}'s plan, {}’s idea", "\"{}\", «{}», ({})", "{}—{}", "Dear {},\nyours {}", "{}?!",
]  # fmt: skip


def edited(token: str, draw: random.Random) -> str:
    """A token as a model may write it back, in one or two ways at once."""
    edits = [
        lambda t: t, str.lower, str.upper, str.title, lambda t: f"**{t}**", lambda t: f"_{t}_", lambda t: f"`{t}`",
        lambda t: t.replace("_", "\\_"), lambda t: t.replace("_", " "), lambda t: t.replace("_", "-"),
        lambda t: t.replace("_", ""), lambda t: t.replace("_", "_\n"), lambda t: t.replace("_", "\\_**", 1) + "**",
        lambda t: t[: (at := draw.randrange(1, len(t)))] + draw.choice(["\n", " ", "\n  ", "\u200b"]) + t[at:],
        lambda t: t.replace("Person", draw.choice(["Persona", "Personne", "Pessoa", "persona"])),
        lambda t: t[:3] + t[3:].replace("0", "O").replace("1", "l"), lambda t: f"“{t}”", lambda t: f"[{t}](#x)",
        lambda t: f"{t}.",
    ]  # fmt: skip
    for edit in draw.sample(edits, draw.choice([1, 1, 2])):
        token = edit(token)
    return token


def drawn_tokens(draw: random.Random, count: int) -> dict[str, str]:
    kinds = ["person"] * 6 + [
        "organisation",
        "location",
        "email",
        "phone",
        "iban",
        "card",
    ]
    made: dict[str, str] = {}
    while len(made) < count:
        core = "".join(draw.choices(ALPHABET, k=13))
        if not forms.SURE_DIGITS.isdisjoint(core):
            made[forms.shown(draw.choice(kinds), core)] = f"⟨{len(made)}⟩"
    return made


def test_a_thousand_edited_replies(
    record_property: Callable[[str, object], None],
) -> None:
    draw = random.Random(11)
    tokens = drawn_tokens(draw, 300)
    right = wrong = replies = 0
    for _ in range(1000):
        frame = draw.choice(FRAMES)
        used = [draw.choice(list(tokens)) for _ in range(frame.count("{}"))]
        reply = frame.format(*(edited(one, draw) for one in used))
        restored = unmasking.restore(reply, tokens)
        found = [piece.partition("⟩")[0] for piece in restored.split("⟨")[1:]]
        meant = [tokens[one][1:-1] for one in used]
        right += found == meant
        wrong += any(one not in meant for one in found)
        replies += 1
    record_property("restored", right / replies)
    assert wrong == 0
    assert right / replies >= 0.995


@st.composite
def streams(draw: st.DrawFn) -> tuple[str, list[int]]:
    """A text of tokens whole, cut, changed and half, and the places where it is cut."""
    pieces = draw(
        st.lists(
            st.one_of(
                st.sampled_from(sorted(TOKENS)),
                st.sampled_from(sorted(TOKENS)).map(str.lower),
                st.sampled_from(sorted(TOKENS)).map(
                    lambda one: one.replace("_", "\\_")
                ),
                st.sampled_from(sorted(TOKENS)).map(lambda one: f"**{one}**'s"),
                st.tuples(st.sampled_from(sorted(TOKENS)), st.integers(1, 40)).map(
                    lambda one: one[0][: one[1]]
                ),
                st.tuples(st.sampled_from(sorted(TOKENS)), st.integers(1, 20)).map(
                    lambda one: one[0][: one[1]] + "\n " + one[0][one[1] :]
                ),
                st.sampled_from(
                    [
                        "Person",
                        "Org",
                        "e",
                        "E-",
                        " ",
                        "\n",
                        "s",
                        "U",
                        "U4",
                        "9",
                        "https://",
                        "@example.com",
                        "é",
                    ]
                ),
                st.text(alphabet="Pperson_\\ \n*U42sAé王", max_size=8),
            ),
            max_size=12,
        )
    )
    text = "".join(pieces)
    return text, sorted(draw(st.lists(st.integers(0, len(text)), max_size=30)))


@settings(max_examples=1500, deadline=None)
@given(streams())
def test_every_chunking_gives_the_whole(case: tuple[str, list[int]]) -> None:
    text, cuts = case
    whole = unmasking.restore(text, TOKENS)
    for places in (cuts, list(range(len(text)))):
        stream = unmasking.Stream(TOKENS)
        given_out = "".join(
            stream.feed(text[a:b])
            for a, b in zip([0, *places], [*places, len(text)], strict=True)
        )
        assert given_out + stream.close() == whole


@pytest.mark.parametrize("size", [1, 4, 64, 4096, 1 << 20])
@pytest.mark.parametrize(
    "piece",
    [
        "Hola Person_7F3K9ABCDEFGH y email_9F3K9ABCDEFGH@example.com, ¿qué tal? Un texto de lo más normal. ",
        "Person_7F3K9ABCDEFG ", "pe ", "Person_ ", "o", "+0", " ", "Person_7F3K9ABCDEFGHs",
    ],
)  # fmt: skip
def test_long_streams_take_little_time_and_memory(piece: str, size: int) -> None:
    length = 1 << 20 if size >= 64 else 1 << 17
    text = (piece * (length // len(piece) + 1))[:length]
    stream = unmasking.Stream(TOKENS)
    begun = time.perf_counter()
    out: list[str] = []
    most = 0
    for at in range(0, length, size):
        out.append(stream.feed(text[at : at + size]))
        most = max(most, stream.pending_length)
    out.append(stream.close())
    taken = time.perf_counter() - begun
    assert "".join(out) == unmasking.restore(text, TOKENS)
    assert most <= 120
    assert (
        taken < 10
    )  # a second on an idle core; this guards against quadratic time, not against a busy machine


def test_what_is_no_token_does_not_wait() -> None:
    stream = unmasking.Stream(TOKENS)
    assert (
        stream.feed("An important location, a person: ")
        == "An important location, a person: "
    )
    assert stream.feed("Org_23456789ABCDE") == ""
    assert stream.feed(" ") == "Müller & Söhne "
