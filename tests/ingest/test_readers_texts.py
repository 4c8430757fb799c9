"""Notes, tables, chats, feeds and what reads what, from small inputs written here."""

import datetime as dt
import io
import json
import zipfile
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Any, cast

import pytest

from reverie.ingest import charsets, detect, drafts
from reverie.ingest.formats import chats, markdown, plain, table, table_values

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1)))


def every(items: Iterable[Any]) -> list[Any]:
    """What a reader yields, not yet told apart: each test says what it expects."""
    return list(items)


def source(
    data: str | bytes, path: str = "x.md", root: Path = Path("/x"), vault: bool = False
) -> drafts.SourceFile:
    raw = data if isinstance(data, bytes) else data.encode()
    return drafts.SourceFile(root / path, PurePosixPath(path), raw, vault, NOW)


# --- drafts and charsets ------------------------------------------------------------------------------------


def test_strings_are_cleaned() -> None:
    draft = drafts.Draft(
        "note",
        "a\x00",
        {
            "content": "x\x00\ud800y",
            "title": None,
            "custom": {"a": {"\x00b": ["\udfff", dt.date(2024, 1, 1)]}, "empty": []},
        },
        {"r": "\x00"},
    )
    assert (draft.key, draft.fields["content"], draft.refs["r"]) == (
        "a",
        "x\ufffdy",
        "",
    )
    assert "title" not in draft.fields
    assert draft.fields["custom"] == {"a": {"b": ["\ufffd", "2024-01-01"]}}
    assert drafts.clean("\ud83d\ude00") == "😀"
    assert drafts.jsonable(float("nan")) == "nan"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Grüße, señor", "utf-8"),
        ("Grüße, señor, ça va", "cp1252"),
        ("Grüße", "utf-16"),
        ("plain Grüße " * 9, "utf-16-le"),
        ("Здравствуйте, как поживаете сегодня вечером, дорогие друзья? " * 5, "cp1251"),
        ("日本語の文章をここに書きます。これはテストです。" * 5, "shift_jis"),
    ],
)
def test_encodings(text: str, encoding: str) -> None:
    (draft,) = every(plain.read(source(text.encode(encoding), "a.txt")))
    assert draft.fields["content"] == text


def test_a_wrong_declaration_and_no_codecs_that_are_no_text() -> None:
    assert charsets.decode("ü".encode(), "ascii")[0] == "ü"
    assert charsets.lookup("zlib") is None
    assert charsets.lookup("unicode_escape") is None


# --- Markdown -----------------------------------------------------------------------------------------------


def note(text: str, path: str = "Some note.md") -> Any:
    (draft,) = every(markdown.read(source(text, path)))
    return draft


def test_front_matter_and_tags() -> None:
    draft = note(
        "---\ntags: [one, Two]\ncreated: 2023-09-12\nrating: 7\ntime: 12:30\nup: '[[Home]]'\n---\n"
        "See [[Kyoto|there]] #three #one #2024 a#no `#code`\n```\n#fenced\n```\n# Title\n"
    )
    assert draft.fields["tags"] == ["one", "Two", "three"]
    assert "[[Kyoto|there]]" in draft.fields["content"]
    assert draft.fields["title"] == "Title"
    custom = draft.fields["custom"]
    assert custom["created"] == "2023-09-12"
    assert custom["properties"] == {
        "created": "2023-09-12",
        "rating": 7,
        "time": "12:30",
        "up": "[[Home]]",
    }


@pytest.mark.parametrize("value", ["a, b", "a b", "[a, b]", "\n  - a\n  - '#b'"])
def test_tags_as_list_or_string(value: str) -> None:
    assert note(f"---\ntags: {value}\n---\nx").fields["tags"] == ["a", "b"]


@pytest.mark.parametrize(
    "front",
    [
        "created: {{date}}",
        "a: [",
        "a: b: c",
        "\tx",
        "- just\n- a list",
        "d: 2023-02-31",
    ],
)
def test_broken_front_matter_stays_text(front: str) -> None:
    draft = note(f"---\n{front}\n---\nbody")
    assert draft.fields["content"].startswith("---")
    assert draft.fields["content"].endswith("body")


def test_a_line_is_no_front_matter() -> None:
    assert note("---\nno end").fields["content"] == "---\nno end"
    assert note("text\n\n---\nmore").fields["content"] == "text\n\n---\nmore"


@pytest.mark.parametrize(
    ("settings", "path", "day"),
    [
        ('{"folder": "Daily"}', "Daily/2023-09-12.md", dt.date(2023, 9, 12)),
        ('{"folder": "Daily"}', "Notes/2023-09-12.md", None),
        (
            '{"format": "YYYY/MM-MMMM/YYYY-MM-DD"}',
            "2023/09-September/2023-09-12.md",
            dt.date(2023, 9, 12),
        ),
        ('{"format": "D. MMM YY [log]"}', "1. Feb 24 log.md", dt.date(2024, 2, 1)),
        ("{}", "2023-09-12.md", dt.date(2023, 9, 12)),
        ("broken", "2023-09-12.md", dt.date(2023, 9, 12)),
        (None, "deep/2023-09-12.md", dt.date(2023, 9, 12)),
        (None, "2023-02-31.md", None),
    ],
)
def test_daily_notes(
    tmp_path: Path, settings: str | None, path: str, day: dt.date | None
) -> None:
    (tmp_path / ".obsidian").mkdir()
    if settings is not None:
        (tmp_path / ".obsidian" / "daily-notes.json").write_text(settings)
    (draft,) = every(
        markdown.read(source("---\nmood: good\n---\nwords", path, tmp_path, vault=True))
    )
    assert isinstance(draft, drafts.Draft)
    assert (draft.domain, draft.fields.get("date")) == ("diary" if day else "note", day)
    if day:
        assert (draft.fields["mood"], draft.fields["content"]) == ("good", "words")


def test_empty_notes_are_named() -> None:
    (skip,) = every(markdown.read(source("  \n")))
    assert isinstance(skip, drafts.Skip)


# --- tables -------------------------------------------------------------------------------------------------


def rows(text: str, encoding: str = "utf-8", name: str = "a.csv") -> list[Any]:
    return list(table.read(source(text.encode(encoding), name)))


def test_a_german_bank() -> None:
    one, total, same, last = rows(
        '"Girokonto";"DE12"\n"Kontostand:";"1.234,56 EUR"\n\n'
        "Buchungstag;Wertstellung;Begünstigter/Zahlungspflichtiger;Verwendungszweck;Betrag (EUR);Saldo\n"
        "05.01.2024;05.01.2024;Bäckerei;Brötchen;-1.234,50;10,00\nSumme;;;;;\n"
        "05.01.2024;05.01.2024;Bäckerei;Brötchen;-1.234,50;10,00\n"
        "31.12.23;31.12.23;Chef;Gehalt;2.000,00;20,00\n",
        "cp1252",
    )
    assert one.domain == "transaction"
    assert (one.fields["amount"], one.fields["currency"]) == (
        Decimal("-1234.50"),
        "EUR",
    )
    assert (one.fields["counterparty"], one.fields["date"]) == (
        "Bäckerei",
        dt.date(2024, 1, 5),
    )
    assert isinstance(total, drafts.Skip)
    assert one.key.endswith("|1")
    assert same.key == one.key[:-1] + "2"
    assert last.fields["date"] == dt.date(2023, 12, 31)


def test_an_english_and_a_spanish_bank() -> None:
    (one,) = rows(
        'Date,Description,Paid out,Paid in,Balance\n01/31/2024,Shop,"£1,234.50",,3.00\n'
    )
    assert (one.fields["date"], one.fields["amount"], one.fields["currency"]) == (
        dt.date(2024, 1, 31),
        Decimal("-1234.50"),
        "GBP",
    )
    (one,) = rows("Fecha;Concepto;Importe;Divisa\n01/02/2024;Café;-3,5;EUR\n")
    assert (one.fields["date"], one.fields["amount"]) == (
        dt.date(2024, 2, 1),
        Decimal("-3.5"),
    )


def test_contacts() -> None:
    google = (
        "First Name,Last Name,Organization Name,E-mail 1 - Label,E-mail 1 - Value,Phone 1 - Value,"
        "Birthday,Labels\n"
        "Ana,Gil,ACME,* Work,a@x.org ::: b@x.org,+34 1,--04-15,* myContacts\n,,,,,,,\n"
    )
    (one,) = rows(google)[:1]
    assert (one.domain, one.fields["display_name"], one.fields["company"]) == (
        "contact",
        "Ana Gil",
        "ACME",
    )
    assert one.fields["emails"] == ["a@x.org", "b@x.org"]
    assert one.fields["custom"]["birthday"] == "--04-15"
    (outlook,) = rows(
        "First Name,Last Name,Company,Job Title,Home Street,Home City,Mobile Phone,Business Phone,"
        "E-mail Address,E-mail Type\n"
        "Jo,Doe,X,CEO,Road 1,Town,+1,+2,jo@x.org,SMTP\n"
    )
    assert outlook.fields["phones"] == ["+1", "+2"]
    assert outlook.fields["emails"] == ["jo@x.org"]
    (german,) = rows(
        "Vorname;Nachname;E-Mail-Adresse;Telefon (privat);Firma;Geburtstag\nJörg;Ü;j@x.de;0170;Y;05.01.1980\n"
    )
    assert (german.fields["phones"], german.fields["birthday"]) == (
        ["0170"],
        dt.date(1980, 1, 5),
    )
    (spanish,) = rows(
        "Nombre,Apellidos,Correo electrónico,Teléfono móvil\nAna,Gil,a@x.org,600\n"
    )
    assert (spanish.fields["given"], spanish.fields["phones"]) == ("Ana", ["600"])


def test_health() -> None:
    weight, pulse, later = rows(
        "Datum;Uhrzeit;Gewicht (kg);Puls\n05.01.2024;07:30;72,5;60\n06.01.2024;07:30;;61\n"
    )
    assert (weight.fields["kind"], weight.fields["value"], weight.fields["unit"]) == (
        "weight",
        72.5,
        "kg",
    )
    assert weight.fields["at"].isoformat() == "2024-01-05T07:30:00+01:00"
    assert (pulse.fields["kind"], pulse.fields["unit"]) == ("heart_rate", "bpm")
    assert later.fields["value"] == 61.0
    (long,) = rows("type,value,unit,startDate\nx,1,,\n")[:1]
    assert isinstance(
        long, drafts.Draft
    )  # startDate is no column of ours: the table is kept as it is
    (long,) = rows(
        "Type,Value,Unit,Start Date\nHKQuantityTypeIdentifierStepCount,12,count,2024-01-05 07:30:00 +0000\n"
    )
    assert (long.fields["kind"], long.fields["unit"]) == ("steps", "count")


def test_another_table_is_a_file() -> None:
    (one,) = rows("city;size\nBerlin;3\n")
    assert (one.domain, one.fields["text"], one.fields["category"]) == (
        "file",
        "city | size\nBerlin | 3",
        "table",
    )
    assert one.key == ""


def test_a_long_table_is_cut_by_rows_under_its_header() -> None:
    (one,) = rows(
        "plant,month,height in cm\n"
        + "".join(f"plant {n},2026-01,{n}\n" for n in range(50))
    )
    parts = cast("list[dict[str, Any]]", one.fields["parts"])
    assert [part["place"]["rows"] for part in parts] == [[1, 21], [22, 41], [42, 51]]
    text = str(one.fields["text"])
    assert text[parts[1]["start"] : parts[1]["end"]].startswith(
        "plant 20 | 2026-01 | 20"
    )
    assert parts[1]["head"] == "plant | month | height in cm"
    assert parts[-1]["end"] == len(text)


@pytest.mark.parametrize(
    ("text", "mark", "value"),
    [
        ("1.234,56 €", ",", "1234.56"),
        ("$1,234.56", ".", "1234.56"),
        ("(12.50)", ".", "-12.50"),
        ("12,50-", ",", "-12.50"),
        ("−3", ".", "-3"),
        ("1'000.5", ".", "1000.5"),
        ("1 234,5", ",", "1234.5"),
        ("-€ 5", ".", "-5"),
        ("none", ".", None),
    ],
)
def test_numbers(text: str, mark: str, value: str | None) -> None:
    assert table_values.number(text, mark) == (Decimal(value) if value else None)


# --- chats --------------------------------------------------------------------------------------------------

TREE = {
    "root": {"id": "root", "children": ["u"]},
    "u": {
        "parent": "root",
        "message": {
            "id": "u",
            "author": {"role": "user"},
            "create_time": 1700000000.5,
            "content": {"parts": ["hi"]},
        },
    },
    "old": {
        "parent": "u",
        "message": {
            "id": "old",
            "author": {"role": "assistant"},
            "content": {"parts": ["no"]},
        },
    },
    "new": {
        "parent": "u",
        "message": {
            "id": "new",
            "author": {"role": "assistant"},
            "content": {"parts": ["yes", {"content_type": "image_asset_pointer"}]},
        },
    },
}
CHATGPT = [
    {
        "id": "c1",
        "title": "T",
        "create_time": 1700000000,
        "mapping": TREE,
        "current_node": "new",
    }
]


def chat(data: object) -> list[Any]:
    return list(chats.read(source(json.dumps(data), "conversations.json")))


def test_chatgpt_takes_the_branch_last_seen() -> None:
    (draft,) = chat(CHATGPT)
    assert draft.key == "chat:c1"
    assert [(turn["speaker"], turn["text"]) for turn in draft.fields["turns"]] == [
        ("user", "hi"),
        ("assistant", "yes\n[image]"),
    ]
    assert draft.fields["turns"][0]["at"] == "2023-11-14T22:13:20.500000+00:00"
    assert draft.fields["started"] == dt.datetime(
        2023, 11, 14, 22, 13, 20, tzinfo=dt.UTC
    )


def test_claude() -> None:
    messages = [
        {
            "uuid": "m",
            "sender": "human",
            "text": "",
            "content": [{"type": "text", "text": "hi"}],
            "files": [{"file_name": "a.pdf"}],
            "created_at": "2024-01-05T09:00:00Z",
        },
        {
            "uuid": "n",
            "sender": "assistant",
            "text": "hello",
            "created_at": "2024-01-05T09:00:01Z",
        },
    ]
    draft, empty = chat(
        [
            {"uuid": "c", "name": "N", "chat_messages": messages},
            {"uuid": "e", "chat_messages": []},
        ]
    )
    assert draft.fields["turns"][0]["text"] == "hi\n[file: a.pdf]"
    assert draft.fields["turns"][1] == {
        "id": "n",
        "speaker": "assistant",
        "at": "2024-01-05T09:00:01+00:00",
        "text": "hello",
    }
    assert isinstance(empty, drafts.Skip)


def test_history_by_day() -> None:
    (draft,) = chat(
        {"Ana": {"history": {"2023-04-27": [{"query": "q", "response": "r"}]}}}
    )
    assert (draft.key, draft.fields["title"]) == (
        "chat:Ana/2023-04-27",
        "Ana, 2023-04-27",
    )
    assert [turn["speaker"] for turn in draft.fields["turns"]] == ["Ana", "assistant"]


def test_other_json_is_kept_as_text() -> None:
    _, unit = chat({"a": 1})
    assert [block.text for block in unit.blocks] == ['{"a": 1}']


def zipped(name: str, data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
    return buffer.getvalue()


def test_zips() -> None:
    good = zipped("export/conversations.json", json.dumps(CHATGPT).encode())
    assert detect.look(good[:4096], PurePosixPath("export.zip")) is chats.read_zip
    assert len(list(chats.read_zip(source(good, "a.zip")))) == 1
    (skip,) = every(chats.read_zip(source(zipped("a.txt", b"x"), "a.zip")))
    assert isinstance(skip, drafts.Skip)
