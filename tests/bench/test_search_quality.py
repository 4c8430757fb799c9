"""The quality benchmark: its measures by hand, its readers on five documents each, and
one run through the product.
"""

import csv
import importlib
import io
import json
import math
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("bm25s", reason="the bench dependency group is not installed")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
quality = importlib.import_module("search_quality")
conversations = importlib.import_module("sets.conversations")
documents = importlib.import_module("sets.documents")
floors = importlib.import_module("sets.floors")
kept = importlib.import_module("sets.kept")
measures = importlib.import_module("sets.measures")
shapes = importlib.import_module("sets.shapes")

TEXTS = {
    "a": "The lighthouse keeper repaired the broken lamp before the storm.",
    "b": "Our tomato plants need calcium and steady watering.",
    "c": "The train to Lisbon leaves from platform seven at noon.",
    "d": "Grandmother's recipe for saffron rice needs patience.",
    "e": "The violin was tuned a little flat for the rehearsal.",
}
ASKED = {
    "a": "who repaired the lighthouse lamp",
    "b": "calcium for tomato plants",
    "c": "platform of the Lisbon train",
    "d": "saffron rice recipe",
    "e": "violin tuned flat",
}


def _turns(session: int, said: list[tuple[str, str]]) -> list[dict[str, str]]:
    return [
        {"speaker": who, "dia_id": f"D{session}:{at}", "text": text}
        for at, (who, text) in enumerate(said, 1)
    ]


def _locomo(folder: Path) -> Path:
    conversation: dict[str, Any] = {
        "speaker_a": "Ann",
        "speaker_b": "Ben",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": _turns(
            1, [("Ann", TEXTS["a"]), ("Ben", TEXTS["b"]), ("Ann", TEXTS["c"])]
        ),
        "session_2_date_time": "9:05 am on 25 May, 2023",
        "session_2": _turns(2, [("Ben", TEXTS["d"]), ("Ann", TEXTS["e"])]),
        "session_3_date_time": "9:05 am on 26 May, 2023",
    }
    conversation["session_1"][2] |= {
        "blip_caption": "a photo of a train",
        "img_url": [],
    }
    qa = [
        {"question": ASKED["a"], "answer": "x", "evidence": ["D1:1"], "category": 4},
        {"question": ASKED["d"], "answer": "x", "evidence": ["D1:2"], "category": 1},
        {
            "question": ASKED["c"],
            "answer": "x",
            "evidence": ["D1:3; D2:2"],
            "category": 1,
        },
        {"question": "no evidence", "answer": "x", "evidence": [], "category": 3},
        {
            "question": "evidence that is not there",
            "answer": "x",
            "evidence": ["D9:9"],
            "category": 3,
        },
    ]
    audit = [
        {"sample_id": "conv-1", "question": ASKED["d"], "correct_evidence": ["D2:1"]}
    ]
    (folder / "audit_errors_mini.json").write_text(json.dumps(audit))
    (folder / "mini.json").write_text(
        json.dumps([{"sample_id": "conv-1", "conversation": conversation, "qa": qa}])
    )
    return folder / "mini.json"


def _xquad(folder: Path) -> Path:
    for language, mark in (("en", ""), ("de", " (deutsch)")):
        paragraphs = [
            {
                "context": text + mark,
                "qas": [{"question": ASKED[key] + mark, "id": key}],
            }
            for key, text in TEXTS.items()
        ]
        data = {
            "data": [
                {"title": "T", "paragraphs": paragraphs[:2]},
                {"title": "U", "paragraphs": paragraphs[2:]},
            ]
        }
        (folder / f"mini.{language}.json").write_text(json.dumps(data))
    return folder / "mini.en.json"


def _csv(rows: list[dict[str, str]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _scifact(folder: Path) -> Path:
    corpus = [
        {
            "doc_id": str(at),
            "title": f"Title {key}",
            "abstract": f"['{text.replace(chr(39), '')}'\n \"It's 5 %.\"]",
        }
        for at, (key, text) in enumerate(TEXTS.items(), 1)
    ]
    claims = [
        {
            "id": "7",
            "claim": ASKED["a"],
            "evidence_doc_id": "1",
            "cited_doc_ids": "[1 2]",
        },
        {
            "id": "7",
            "claim": ASKED["a"],
            "evidence_doc_id": "2",
            "cited_doc_ids": "[1 2]",
        },
        {"id": "8", "claim": ASKED["e"], "evidence_doc_id": "", "cited_doc_ids": "[5]"},
    ]
    with zipfile.ZipFile(folder / "mini.zip", "w") as archive:
        archive.writestr("corpus_mini.csv", _csv(corpus))
        archive.writestr("claims_mini.csv", _csv(claims))
    return folder / "mini.zip"


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder for --keep that PostgreSQL can reach."""
    folder = Path(tempfile.mkdtemp(prefix="rev-quality-", dir="/tmp"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def test_measures_by_hand() -> None:
    ranked, gold = ["x", "a", "y", "b", "z"], {"a", "b", "c"}
    assert [measures.any_at(k, ranked, gold) for k in (1, 2, 5)] == [0, 1, 1]
    assert [measures.share_at(k, ranked, gold) for k in (1, 2, 5)] == pytest.approx(
        [0, 1 / 3, 2 / 3]
    )
    assert [measures.capped_at(k, ranked, gold) for k in (1, 2, 5)] == pytest.approx(
        [0, 1 / 2, 2 / 3]
    )
    gained, best = 1 / math.log2(3) + 1 / math.log2(5), 1 + 1 / math.log2(3) + 1 / 2
    assert measures.ndcg_at(10, ranked, gold) == pytest.approx(gained / best)
    assert measures.ndcg_at(10, ["a", "b", "c"], gold) == pytest.approx(1)
    both = measures.figures([(ranked, gold), ([], {"a"})])
    assert both["any@5"] == pytest.approx(50)
    assert both["share@5"] == pytest.approx(100 / 3)
    assert both["empty"] == pytest.approx(50)


def test_worst_is_the_largest_loss_at_any_k() -> None:
    names = [f"{kind}@{k}" for kind in ("any", "share") for k in measures.KS]
    product = dict.fromkeys(names, 50.0)
    words, vectors = (
        dict.fromkeys(names, 40.0),
        dict.fromkeys(names, 45.0) | {"share@5": 53.0},
    )
    assert measures.worst(product, (words, vectors)) == (-3.0, "share@5")


def test_locomo_corrects_labels_and_keeps_what_was_published(tmp_path: Path) -> None:
    (task,) = conversations.locomo(_locomo(tmp_path))
    assert [len(chat.turns) for chat in task.corpus.chats] == [3, 2]
    assert task.corpus.chats[0].started == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert task.corpus.units()["conv-1/D1:3"] == (
        f"Ann: {TEXTS['c']} [a photo of a train]",
        "en",
    )
    assert [set(one.gold) for one in task.questions] == [
        {"conv-1/D1:1"},
        {"conv-1/D2:1"},
        {"conv-1/D1:3", "conv-1/D2:2"},
    ]
    assert task.questions[1].published == {"conv-1/D1:2"}
    assert conversations.locomo(tmp_path / "mini.json", only=["conv-9"]) == []
    pooled = conversations.locomo(tmp_path / "mini.json", pooled=True)[-1]
    assert (pooled.row, pooled.questions) == ("locomo pooled", task.questions)


def test_temporal_answers_are_turns_by_number(tmp_path: Path) -> None:
    (tmp_path / "ConversationData").mkdir()
    (tmp_path / "time_qs").mkdir()
    conversation = json.loads(_locomo(tmp_path).read_text())[0]["conversation"] | {
        "session_3": []
    }
    (tmp_path / "ConversationData" / "1.json").write_text(json.dumps(conversation))
    group = {
        "questions": ["What did we discuss 17 days ago?", "17 days ago?"],
        "relevant_docs": [0, 1, 2],
    }
    (tmp_path / "time_qs" / "test_rel_day.json").write_text(
        json.dumps({"file_1": [group], "file_2": [group]})
    )
    (task,) = conversations.temporal(tmp_path)
    assert [one.text for one in task.questions] == group["questions"]
    assert task.questions[0].gold == {"1/D1:1", "1/D1:2", "1/D1:3"}
    assert task.questions[0].now == datetime(2023, 5, 25, 9, 5, tzinfo=UTC)


def test_xquad_asks_in_every_direction(tmp_path: Path) -> None:
    tasks = {task.row: task for task in documents.xquad(_xquad(tmp_path))}
    assert list(tasks) == [
        "xquad en->en",
        "xquad en->de",
        "xquad de->en",
        "xquad de->de",
        "xquad mixed",
    ]
    assert [set(one.gold) for one in tasks["xquad en->de"].questions][:3] == [
        {"de/0"},
        {"de/1"},
        {"de/2"},
    ]
    assert len(tasks["xquad mixed"].questions) == 10
    assert tasks["xquad mixed"].questions[0].gold == {"en/0", "de/0"}


def test_scifact_reads_claims_once_and_cuts_the_corpus(tmp_path: Path) -> None:
    (task,) = documents.scifact(_scifact(tmp_path))
    assert [set(one.gold) for one in task.questions] == [{"1", "2"}, {"5"}]
    assert task.corpus.units()["1"][0] == f"Title a\n{TEXTS['a']} It's 5 %."
    (small,) = documents.scifact(tmp_path / "mini.zip", documents=4)
    assert [note.unit for note in small.corpus.notes] == ["1", "2", "5", "3"]


def test_repliqa_and_vault(tmp_path: Path) -> None:
    rows = [
        {"document_id": key, "document_extracted": text, "question": ASKED[key]}
        for key, text in TEXTS.items()
    ]
    (tmp_path / "mini.json").write_text(
        json.dumps([*rows, rows[0] | {"question": "lamp?"}])
    )
    (task,) = documents.repliqa(tmp_path / "mini.json")
    assert (len(task.corpus.notes), len(task.questions)) == (5, 6)
    (tmp_path / "vault" / "Notes").mkdir(parents=True)
    (tmp_path / "vault" / "Saffron rice.md").write_text(
        "Slow. See [[Notes/Lamp|the lighthouse]] and [[Nowhere]]."
    )
    (tmp_path / "vault" / "Notes" / "Lamp.md").write_text(
        "Oil and glass. [[saffron rice]]"
    )
    (task,) = documents.vault(tmp_path / "vault")
    found = {one.text: (set(one.gold), one.category) for one in task.questions}
    assert found == {
        "Lamp": ({"Notes/Lamp.md"}, "title"),
        "Saffron rice": ({"Saffron rice.md"}, "title"),
        "the lighthouse": ({"Notes/Lamp.md"}, "link"),
    }


def test_a_limit_is_spread_over_the_tasks_of_a_row() -> None:
    questions = tuple(shapes.Question(str(at), frozenset("a")) for at in range(10))
    tasks = [shapes.Task("row", shapes.Corpus(name), questions) for name in "xy"]
    assert [len(task.questions) for task in shapes.spread(tasks, 5)] == [3, 2]
    assert shapes.spread(tasks, 0) == tasks
    assert sum(len(task.questions) for task in shapes.spread(tasks, 100)) == 20


def test_words_alone_stem_and_leave_out_stop_words() -> None:
    words = floors.Words({key: (text, "en") for key, text in TEXTS.items()})
    assert words.rank("repairing lamps", "en") == ["a"]
    assert words.rank("who is the", "en") == []


def test_turns_rank_by_the_score_of_their_passage_where_search_tells_it() -> None:
    def passage(turn: str, **more: float) -> SimpleNamespace:
        return SimpleNamespace(place={"turn": turn}, **more)

    held = SimpleNamespace(unit=lambda record, place: f"{record}/{place['turn']}")
    hits = [
        SimpleNamespace(
            record_id="r", passages=[passage("1", score=0.9), passage("2", score=0.1)]
        ),
        SimpleNamespace(
            record_id="s", passages=[passage("3", score=0.5), passage("3", score=0.4)]
        ),
    ]
    assert quality.ranking(SimpleNamespace(hits=hits), held) == ["r/1", "s/3", "r/2"]
    del hits[0].passages[0].score
    assert quality.ranking(SimpleNamespace(hits=hits), held) == ["r/1", "r/2", "s/3"]


def test_a_run_through_the_product(
    tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [
        "--set",
        "locomo",
        "--data",
        str(_locomo(tmp_path)),
        "--pooled",
        "--keep",
        str(home),
    ]
    assert quality.main(given) == 0
    lines = capsys.readouterr().out.splitlines()
    at = next(
        number
        for number, line in enumerate(lines)
        if line.startswith("locomo: 3 questions,")
    )
    # Of three questions all find a turn first; one has two turns, of which one place
    # holds half: 100 * 2.5 / 3.
    for system, line in zip(quality.SYSTEMS, lines[at + 1 : at + 4], strict=True):
        name, any_1, *others = line.split()
        assert (name, any_1) == (system, "100.0")
        assert others[3] == "83.3"
    assert any("labels as published" in line for line in lines)
    assert any(
        line.startswith("locomo: any@10 ") and line.endswith("90.0  yes")
        for line in lines
    )
    assert any(line.startswith("locomo pooled: any@10 over isolated") for line in lines)

    assert quality.main([*given, "--json"]) == 0
    printed = capsys.readouterr()
    assert "0 texts embedded" in printed.err
    assert "imported" not in printed.err
    (row, pooled) = json.loads(printed.out)["rows"]
    assert row["figures"]["reverie"]["any@1"] == pytest.approx(100)
    assert row["figures"]["reverie"] == pooled["figures"]["reverie"]
    assert row["published"]["any@1"] == pytest.approx(200 / 3)


def test_a_run_over_documents(
    tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        quality.main(
            [
                "--set",
                "scifact",
                "--data",
                str(_scifact(tmp_path)),
                "--keep",
                str(home),
                "--json",
            ]
        )
        == 0
    )
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert (row["name"], row["questions"]) == ("scifact (5 abstracts)", 2)
    # Both claims find their first abstract; the other of claim 7 shares no word with
    # it.
    assert row["figures"]["bm25"]["share@1"] == pytest.approx(75)
    assert row["figures"]["bm25"]["ndcg@10"] == pytest.approx(
        100 * (1 + 1 / (1 + 1 / math.log2(3))) / 2
    )
    for system in quality.SYSTEMS:
        assert row["figures"][system]["any@1"] == pytest.approx(100)
