"""Disguised values at the egress: what a model could decode does not leave either."""

import base64
import html
import urllib.parse
from collections.abc import Iterator
from uuid import uuid4

import pytest

from reverie import config, db, errors
from reverie.access import callers
from reverie.llm import chat, gateway
from tests.llm import model_server, vendors
from tests.llm.conftest import KEY, rows, settings_of

EMAIL = "ines.okafor@mailbox.example.org"
CARD = "4111111111111111"
DNI = "12345678Z"
IBAN = "ES9121000418450200051332"
PHONE = "612345678"


def _hex(text: str) -> str:
    return text.encode().hex()


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


DISGUISED = {
    "entities": "Write to ines&#46;okafor&#x40;mailbox&period;example.org please",
    "percent": f"Write to {urllib.parse.quote(EMAIL, safe='')} please",
    "percent of every sign": "Pay with "
    + "".join(f"%{ord(char):02x}" for char in CARD),
    "unicode escapes": r"Write to ines.okafor\u0040mailbox.example\u002eorg please",
    "quoted-printable": "Write to ines.okafor=40mailbox.example=2Eorg please",
    "base64": f"Note: {_base64('pay with ' + CARD)}",
    "base64 twice": f"Note: {_base64(_base64(f'my DNI is {DNI}'))}",
    "hex": f"Note: {_hex(EMAIL)}",
    "hex in pairs": "Note: " + " ".join(f"{byte:02x}" for byte in IBAN.encode()),
    "binary": "Note: " + " ".join(f"{byte:08b}" for byte in DNI.encode()),
    "codes": "Note: " + ", ".join(str(byte) for byte in EMAIL.encode()),
    "base32": f"Note: {base64.b32encode(IBAN.encode()).decode()}",
    "cells": "| number |\n|---|\n| 4111 | 1111 | 1111 | 1111 |",
    "lines": "The card:\n4111\n1111\n1111\n1111",
    "a list": "The card:\n1. 4111\n2. 1111\n3. 1111\n4. 1111",
    "marks": "The card **4111** *1111* `1111` **1111**, IBAN ES91**2100**0418**4502**0005**1332**",
    "letter by letter": f"Write to {' '.join(EMAIL)} please",
    "a broken line": "Write to ines.okafor@mail\nbox.example.org please",
    "a name of a file": f"dni_{DNI}_front.jpg",
    "a tag": f"#dni{DNI}",
    "words": "Call six one two three four five six seven eight",
    "palabras": "Llama al seis uno dos, treinta y cuatro, cincuenta y seis, setenta y ocho",
    "Wörter": "Ruf an: sechs eins zwei drei vier fünf sechs sieben acht",
    "rings": "DNI ①②③④⑤⑥⑦⑧Z",
    "another script": "Pay ЕS9121000418450200051332",
    "tag characters": "Hello" + "".join(chr(0xE0000 + ord(char)) for char in EMAIL),
}
VALUES = (EMAIL, CARD, DNI, IBAN, PHONE)


@pytest.fixture
def stub() -> Iterator[model_server.Server]:
    with model_server.serving(vendors.echo) as server:
        yield server


@pytest.fixture
def models(database: db.Database, stub: model_server.Server) -> chat.Models:
    settings = config.Model.model_validate(
        settings_of(stub.url, local=False, timeout_s=60)
    )
    door = gateway.Gateway(database, gateway.GatewaySettings(KEY))
    return chat.Models(settings, door)


async def _sent(
    models: chat.Models,
    owner: callers.Caller,
    stub: model_server.Server,
    *texts: str,
) -> str:
    """What the cloud got of a conversation; "" when it was held back."""
    messages = tuple(chat.Message("user", text) for text in texts)
    request = chat.ChatRequest(messages, "disguises", conversation=uuid4())
    before = len(stub.asked)
    try:
        answer = await models.ask(owner, request)
    except errors.Confined:
        assert len(stub.asked) == before
        return ""
    assert answer.text == texts[-1]  # an echo, restored
    return "".join(call.raw.decode() for call in stub.asked[before:])


def _core(disguise: str) -> str:
    """The part of a disguised text that says the value."""
    return DISGUISED[disguise].split(": ")[-1].split()[-1]


@pytest.mark.parametrize("disguise", DISGUISED)
async def test_what_can_be_decoded_does_not_leave(
    database: db.Database,
    owner: callers.Caller,
    models: chat.Models,
    stub: model_server.Server,
    disguise: str,
) -> None:
    """By hand: nothing of the original spelling is in what was sent, nor the value."""
    text = DISGUISED[disguise]
    sent = await _sent(models, owner, stub, text)
    bare = "".join(char for char in html.unescape(sent) if char.isalnum()).lower()
    said = [value for value in VALUES if value.lower() in bare]
    assert not said
    (row,) = await rows(database, owner)
    assert row["action"] in ("sent_pseudonymised", "blocked")
    masked = {"entities": "okafor", "cells": "4111 |", "lines": r"4111\n", "rings": "②"}
    assert masked.get(disguise, "okafor") not in sent


@pytest.mark.parametrize("disguise", ["base64", "hex", "base32", "base64 twice"])
async def test_an_encoded_run_is_masked_whole(
    owner: callers.Caller,
    models: chat.Models,
    stub: model_server.Server,
    disguise: str,
) -> None:
    sent = await _sent(models, owner, stub, DISGUISED[disguise])
    assert sent
    assert _core(disguise)[:12] not in sent


async def test_ordinary_text_is_sent_as_it_is(
    owner: callers.Caller, models: chat.Models, stub: model_server.Server
) -> None:
    text = "The garden has 12 roses, 3 of them red; on page 45 it says 100% **sun**."
    assert "12 roses, 3 of them red; on page 45" in await _sent(
        models, owner, stub, text
    )
