"""`reverie models` and `reverie privacy`, as their user sees them."""

import socket

from tests.cli.conftest import WORDS_ALONE, Home
from tests.llm import model_server, vendors


def test_without_a_model(home: Home) -> None:
    (home.path / "config.toml").write_text(WORDS_ALONE)
    said = " ".join(home.run("models", "--test").stdout.split())
    assert "No language model is configured, and everything that needs none works" in said
    assert "A model would add answers in whole sentences" in said
    assert home.run("privacy").stdout.strip() == "this week: 0 processed, 0 plain, 0 pseudonymised, 0 blocked"


def test_one_that_answers_and_one_that_does_not(home: Home) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = free.getsockname()[1]
    with model_server.serving(vendors.saying("ready")) as server:
        home.path.joinpath("config.toml").write_text(
            WORDS_ALONE
            + f'[model]\nprovider = "openai"\nmodel = "m"\nbase_url = "{server.url}/v1"\n'
            + f'[[model.fallback]]\nprovider = "ollama"\nbase_url = "http://127.0.0.1:{closed}/v1"\n'
        )
        assert [one.get("works") for one in home.json("models")["models"]] == [None, None]
        assert not server.asked
        found = home.json("models", "--test")["models"]
        assert [(one["model"], one["place"], one["works"]) for one in found] == [
            ("openai:m", "local", True),
            ("ollama:qwen3:4b", "local", False),
        ]
        assert "ollama serve" in found[1]["hint"]
        summary = home.json("privacy")
        assert (summary["processed"], summary["local"], len(server.asked)) == (2, 2, 1)
