"""Where a server is: what is not surely here is a cloud."""

import pytest

from reverie import errors
from reverie.providers import places

HERE = [
    "http://localhost:11434",
    "http://127.0.0.1:8080/v1",
    "http://127.8.9.1",
    "http://[::1]:8080",
    "http://10.1.2.3",
    "http://172.16.0.1",
    "http://172.31.255.255",
    "http://192.168.1.20:1234/v1",
    "http://[fd12:3456::1]",
    "https://LOCALHOST",
]
ELSEWHERE = [
    "https://api.openai.com/v1",
    "http://8.8.8.8",
    "http://172.32.0.1",
    "http://169.254.169.254",
    "http://100.64.0.1",
    "http://0.0.0.0",
    "http://127.1",
    "http://2130706433",
    "http://0x7f.1",
    "http://0177.0.0.1",
    "http://127.0.0.1.example.com",
    "http://localhost.example.com",
    "http://localhost.",
    "http://nas.local",
    "http://[::ffff:8.8.8.8]",
    "http://[::127.0.0.1]",
    "http://[64:ff9b::7f00:1]",
    "http://１２７.0.0.1",
    "http://[fe80::1]",
]
NEVER = [
    "",
    "ftp://127.0.0.1",
    "127.0.0.1:11434",
    "http://",
    "http://127.0.0.1@evil.example",
    "http://evil.example\\@127.0.0.1",
    "http://127.0.0.1 .evil.example",
    "http://127.0.0.1\n.evil.example",
    "http://127.0.0.1:99999",
    "http://[::1",
]


@pytest.mark.parametrize("url", HERE)
def test_here(url: str) -> None:
    assert places.of(url) == "local"
    assert places.of(url, local=False) == "cloud"


@pytest.mark.parametrize("url", ELSEWHERE)
def test_elsewhere(url: str) -> None:
    assert places.of(url) == "cloud"
    assert places.of(url, local=True) == "cloud"


@pytest.mark.parametrize("url", NEVER)
def test_never(url: str) -> None:
    with pytest.raises(errors.Misconfigured):
        places.of(url)


def test_a_model_that_a_server_here_runs_elsewhere() -> None:
    for model in (
        "gpt-oss:120b-cloud",
        "qwen3-coder:480b-Cloud",
        "kimi:cloud",
        "minimax-cloud",
    ):
        assert places.of("http://127.0.0.1:11434/v1", model) == "cloud"
    assert places.of("http://127.0.0.1:11434/v1", "qwen3:4b") == "local"
