"""`reverie models` and `reverie privacy`, as their user sees them."""

import socket

from tests.cli.conftest import WORDS_ALONE, Home
from tests.llm import model_server, vendors


def test_without_a_model(home: Home) -> None:
    (home.path / "config.toml").write_text(WORDS_ALONE)
    said = " ".join(home.run("models", "--test").stdout.split())
    assert (
        "No language model is configured, and everything that needs none works" in said
    )
    assert "A model would add answers in whole sentences" in said
    assert (
        home.run("privacy").stdout.strip()
        == "this week: 0 processed, 0 plain, 0 pseudonymised, 0 blocked"
    )


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
        assert [one.get("works") for one in home.json("models")["models"]] == [
            None,
            None,
        ]
        assert not server.asked
        found = home.json("models", "--test")["models"]
        assert [(one["model"], one["place"], one["works"]) for one in found] == [
            ("openai:m", "local", True),
            ("ollama:qwen3:4b", "local", False),
        ]
        assert "ollama serve" in found[1]["hint"]
        summary = home.json("privacy")
        assert (summary["processed"], summary["local"], len(server.asked)) == (2, 2, 1)


def test_doctor_tells_of_models_and_a_lost_key(home: Home) -> None:
    (home.path / "config.toml").write_text(WORDS_ALONE)
    (home.path / "config.toml").chmod(0o600)
    assert "language model: none: answers are quotations" in home.run("doctor").stdout
    (home.path / "config.toml").write_text(
        WORDS_ALONE + '[model]\nprovider = "openai"\napi_key = "k"\n'
    )
    assert "language model: openai:" in home.run("doctor").stdout
    (home.path / "pseudonym.key").write_text("broken")
    done = home.run("doctor", code=1)
    assert "language model: the key of the pseudonyms is not usable" in done.stdout
    assert "nothing private is sent to a cloud" in done.stdout


def test_patterns_of_the_owners(home: Home) -> None:
    """They count at the door, and a broken file is named with its line."""
    with model_server.serving(vendors.echo) as server:
        home.path.joinpath("config.toml").write_text(
            WORDS_ALONE
            + f'[model]\nprovider = "openai"\nmodel = "m"\nbase_url = "{server.url}/v1"\nlocal = false\n'
        )
        pattern = '[[pattern]]\nname = "project"\nkind = "secret"\nmatch = \'project (?P<value>[a-z]{4,12})\'\n'
        home.path.joinpath("patterns.toml").write_text(pattern)
        plan = home.file("n.md", "# Plan\n\nWe start project zinnia in May.\n")
        home.run("import", plan)
        done = home.run("ask", "when does the plan start")
        assert "zinnia" in done.stdout
        assert b"zinnia" not in server.asked[0].raw
        assert "with pseudonyms" in done.stderr
        home.path.joinpath("patterns.toml").write_text(
            pattern.replace("match", "metch")
        )
        assert (
            "patterns.toml:1: pattern project: unknown key metch"
            in home.run("ask", "plan", code=1).stderr
        )
