"""`reverie connect`: the right file, the right change, and not a byte more."""

import json
import os
import stat
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer
from typer import testing

from reverie import errors
from reverie import home as home_folder
from reverie.cli import connect

FILES = {
    "claude-code": ".claude.json",
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "cursor": ".cursor/mcp.json",
    "codex": ".codex/config.toml",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, and a `reverie` to be found."""
    for name in list(os.environ):
        if name.startswith("REVERIE_") or name in (
            "XDG_DATA_HOME",
            "CODEX_HOME",
            "CLAUDE_CONFIG_DIR",
        ):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    program = tmp_path / "bin" / "reverie"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(program)])
    return tmp_path


def _run(*words: str, answer: str | None = None):
    app = typer.Typer()
    app.command("connect")(connect.connect)
    return testing.CliRunner().invoke(app, list(words), input=answer)


def _entry(home: Path, client: str) -> dict[str, object]:
    text = (home / FILES[client]).read_text(encoding="utf-8")
    return (
        tomllib.loads(text)["mcp_servers"]["reverie"]
        if client == "codex"
        else json.loads(text)["mcpServers"]["reverie"]
    )


@pytest.mark.parametrize("client", FILES)
def test_first_time(home: Path, client: str) -> None:
    done = _run(client, "--yes")
    assert done.exit_code == 0, done.output
    assert str(home / FILES[client]) in done.output
    entry = _entry(home, client)
    assert entry["command"] == str(home / "bin" / "reverie")
    assert entry["args"] == ["mcp", "--agent", "main"]
    assert not entry.get("env")
    assert entry.get("type") == ("stdio" if client == "claude-code" else None)
    assert stat.S_IMODE((home / FILES[client]).stat().st_mode) == 0o600


@pytest.mark.parametrize("client", FILES)
def test_second_time_changes_nothing(home: Path, client: str) -> None:
    _run(client, "--yes")
    file = home / FILES[client]
    before = (file.read_bytes(), file.stat().st_mtime_ns)
    done = _run(client, "--yes")
    assert done.exit_code == 0
    assert "already" in done.output
    assert (file.read_bytes(), file.stat().st_mtime_ns) == before
    assert sorted(
        one.name
        for one in file.parent.iterdir()
        if "reverie" not in one.name and one.name != "bin"
    ) == [file.name]


@pytest.mark.parametrize("client", FILES)
def test_print_and_no_write_nothing(home: Path, client: str) -> None:
    shown = _run(client, "--print")
    assert shown.exit_code == 0
    assert "+" in shown.output
    assert str(home / "bin" / "reverie") in shown.output
    refused = _run(client, answer="n\n")
    assert refused.exit_code == 1
    assert "Nothing was written" in refused.output
    nobody_there = _run(client, answer="")
    assert nobody_there.exit_code == 1
    assert not (home / FILES[client]).exists()


def test_yes_at_the_question(home: Path) -> None:
    assert _run("cursor", answer="y\n").exit_code == 0
    assert _entry(home, "cursor")["args"] == ["mcp", "--agent", "main"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "mcpServers": {\n    "reverie": @2\n  }\n}\n'),
        ("{}", '{\n  "mcpServers": {\n    "reverie": @2\n  }\n}'),
        ('{"a": 1.10}', '{"a": 1.10, "mcpServers": {"reverie": @}}'),
        (
            '{\n\t"a": 1.10,\n\t"z": [1,2]\n}\n',
            '{\n\t"a": 1.10,\n\t"z": [1,2],\n\t"mcpServers": {\n\t\t"reverie": @t\n\t}\n}\n',
        ),
        (
            '{\n  "mcpServers": {},\n  "emoji": "\\ud83d\\ude00 \u4f60"\n}',
            '{\n  "mcpServers": {\n    "reverie": @2\n  },\n  "emoji": "\\ud83d\\ude00 \u4f60"\n}',
        ),
        (
            '{\n  "mcpServers": {\n    "x": {"env": {"K": "}{"}}\n  },\n  "n": 1e2\n}\n',
            '{\n  "mcpServers": {\n    "x": {"env": {"K": "}{"}},\n    "reverie": @2\n  },\n  "n": 1e2\n}\n',
        ),
    ],
)
def test_json_keeps_every_other_byte(home: Path, before: str, after: str) -> None:
    file = home / FILES["cursor"]
    file.parent.mkdir()
    file.write_bytes(before.encode())
    done = _run("cursor", "--yes")
    assert done.exit_code == 0, done.output
    entry = {
        "command": str(home / "bin" / "reverie"),
        "args": ["mcp", "--agent", "main"],
        "env": {},
    }
    for mark, indent in (("@2", "  "), ("@t", "\t"), ("@", None)):
        laid_out = json.dumps(entry, indent=indent)
        after = after.replace(mark, laid_out.replace("\n", "\n" + (indent or "") * 2))
    assert file.read_bytes().decode() == after
    if before:
        assert file.with_name("mcp.json.bak").read_bytes().decode() == before


def test_json_with_windows_lines_and_a_mark(home: Path) -> None:
    file = home / FILES["cursor"]
    file.parent.mkdir()
    file.write_bytes('\ufeff{\r\n  "a": "ä"\r\n}\r\n'.encode())
    assert _run("cursor", "--yes").exit_code == 0
    text = file.read_bytes().decode()
    assert text.startswith('\ufeff{\r\n  "a": "ä",\r\n  "mcpServers"')
    assert text.count("\n") == text.count("\r\n")


def test_our_old_entry_is_brought_up_to_date_and_the_owners_keys_stay(
    home: Path,
) -> None:
    file = home / FILES["claude-code"]
    old: dict[str, Any] = {
        "numStartups": 7,
        "mcpServers": {
            "reverie": {
                "command": "/old",
                "args": [],
                "env": {"REVERIE_HOME": "/old", "TZ": "X"},
                "timeout": 9,
            },
            "other": {"url": "https://example.org"},
        },
    }
    file.write_text(json.dumps(old, indent=2))
    file.chmod(0o640)
    assert _run("claude-code", "--yes").exit_code == 0
    new = json.loads(file.read_text())
    assert new["mcpServers"].pop("reverie") == {
        "command": str(home / "bin" / "reverie"),
        "args": ["mcp", "--agent", "main"],
        "env": {"TZ": "X"},
        "timeout": 9,
        "type": "stdio",
    }
    del old["mcpServers"]["reverie"]
    assert new == old
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


TOML = '''# my settings
model = "gpt"   # the good one
note = """
[mcp_servers.reverie]
not a header
"""

[mcp_servers.other]
command = "x"
args = [
  "a",  # why
  ["b"],
]
'''


def test_toml_is_appended_to(home: Path) -> None:
    file = home / FILES["codex"]
    file.parent.mkdir()
    file.write_text(TOML)
    assert _run("codex", "--yes").exit_code == 0
    text = file.read_text()
    assert (
        text
        == f'{TOML}\n[mcp_servers.reverie]\ncommand = "{home}/bin/reverie"\nargs = ["mcp", "--agent", "main"]\n'
    )
    assert (
        tomllib.loads(text)["mcp_servers"]["other"]
        == tomllib.loads(TOML)["mcp_servers"]["other"]
    )
    assert file.with_name("config.toml.bak").read_text() == TOML


@pytest.mark.parametrize(
    "ours",
    [
        '[mcp_servers.reverie] # mine\n# why\ncommand = "/old"\nargs = [\n  "x",\n]\nslow_s = 20 # slow\n',
        '[mcp_servers.reverie]\nslow_s = 20\ncommand = "/old"\nenv = { REVERIE_HOME = "/old" }\n',
        '[mcp_servers.reverie]\nslow_s = 20\n[mcp_servers.reverie.env]\nREVERIE_HOME = "/old"\n"A B" = "c"\n',
    ],
)
def test_toml_table_of_ours_is_changed_key_by_key(home: Path, ours: str) -> None:
    file = home / FILES["codex"]
    file.parent.mkdir()
    after = '\n[mcp_servers.zzz]\ncommand = "z" # last\n'
    file.write_text(TOML + ours + after)
    done = _run("codex", "--yes")
    assert done.exit_code == 0, (done.output, done.exception)
    text = file.read_text()
    entry = tomllib.loads(text)["mcp_servers"]["reverie"]
    assert entry["command"] == str(home / "bin" / "reverie")
    assert entry["args"] == ["mcp", "--agent", "main"]
    assert entry["slow_s"] == 20
    assert "REVERIE_HOME" not in entry.get("env", {})
    assert text.startswith(TOML)
    assert text.endswith(after)
    for comment in ("# mine", "# why\n", "# slow"):
        assert text.count(comment) == (TOML + ours).count(comment)


def test_toml_that_cannot_be_changed_safely_is_left(home: Path) -> None:
    file = home / FILES["codex"]
    file.parent.mkdir()
    file.write_text('mcp_servers = { other = { command = "x" } }\n')
    done = _run("codex", "--yes")
    assert isinstance(done.exception, errors.Unreadable)
    assert "[mcp_servers.reverie]" in done.exception.hint
    assert file.read_text() == 'mcp_servers = { other = { command = "x" } }\n'


@pytest.mark.parametrize(
    ("client", "content"),
    [
        ("cursor", b'{"mcpServers": {'),
        ("cursor", b"// comment\n{}"),
        ("cursor", b"[]"),
        ("cursor", b'{"mcpServers": []}'),
        ("cursor", b'{"a": 1, "a": 2}'),
        ("cursor", b'{"mcpServers": {}, "mcpServers": {"x": {}}}'),
        ("cursor", b"\xff\xfe{"),
        ("codex", b"model = "),
        ("codex", b"mcp_servers = 3"),
        ("codex", b'a = "\xff"'),
    ],
)
def test_broken_files_are_refused_and_left(
    home: Path, client: str, content: bytes
) -> None:
    file = home / FILES[client]
    file.parent.mkdir()
    file.write_bytes(content)
    done = _run(client, "--yes")
    assert isinstance(done.exception, errors.Unreadable)
    assert str(file) in done.exception.message
    assert file.read_bytes() == content
    assert [one.name for one in file.parent.iterdir()] == [file.name]


def test_a_folder_in_the_files_place(home: Path) -> None:
    (home / FILES["claude-code"]).mkdir()
    assert isinstance(_run("claude-code", "--yes").exception, errors.Unreadable)


def test_a_link_stays_a_link(home: Path) -> None:
    real = home / "dotfiles" / "mcp.json"
    real.parent.mkdir()
    real.write_text("{}")
    link = home / FILES["cursor"]
    link.parent.mkdir()
    link.symlink_to(real)
    assert _run("cursor", "--yes").exit_code == 0
    assert link.is_symlink()
    assert "reverie" in real.read_text()


def test_a_file_that_changes_meanwhile_is_left(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = home / FILES["claude-code"]
    file.write_text("{}")

    def changing(*_: object, **__: object) -> bool:
        file.write_text('{"numStartups": 8}')
        return True

    monkeypatch.setattr(typer, "confirm", changing)
    assert isinstance(_run("claude-code").exception, errors.Conflict)
    assert file.read_text() == '{"numStartups": 8}'


def test_other_peoples_keys_are_not_shown(home: Path) -> None:
    file = home / FILES["cursor"]
    file.parent.mkdir()
    file.write_text(
        '{\n  "mcpServers": {\n    "x": {\n      "env": {\n        "KEY": "secret"\n      }\n    }\n  }\n}\n'
    )
    assert "secret" not in _run("cursor", "--print").output


def test_other_peoples_keys_on_the_same_line_are_not_shown(home: Path) -> None:
    """A file without line breaks: the line that changes is the whole file."""
    file = home / FILES["cursor"]
    file.parent.mkdir()
    others = '"x":{"command":"npx","env":{"KEY":"sk-secret"}}'
    for text in (
        f'{{"mcpServers":{{{others}}}}}',
        f'{{"mcpServers":{{"reverie":{{"command":"/old/reverie"}},{others}}}}}',
        f'{{"mcpServers":{{{others},"reverie":{{"command":"/old/reverie"}}}}}}',
        '{"token":"sk-secret","mcpServers":{}}',
    ):
        file.write_text(text)
        shown = _run("cursor", "--print").output
        assert "secret" not in shown
        assert "KEY" not in shown
        assert str(home / "bin" / "reverie") in shown


def test_home_is_told_when_it_is_not_the_usual_one(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REVERIE_HOME", str(home / 'my "memory" 记忆'))
    for client in FILES:
        assert _run(client, "--yes").exit_code == 0
        assert _entry(home, client)["env"] == {
            "REVERIE_HOME": str(home / 'my "memory" 记忆')
        }
    usual = home_folder.default(root=os.geteuid() == 0, environ={"HOME": str(home)})
    monkeypatch.setenv("REVERIE_HOME", str(usual))
    for client in FILES:
        assert _run(client, "--yes").exit_code == 0
        assert not _entry(home, client).get("env")


def test_the_database_address_is_never_written(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REVERIE_HOME", str(home / "memory"))
    monkeypatch.setenv("REVERIE_DATABASE_URL", "postgresql://me:hunter2@db/reverie")
    done = _run("cursor", "--yes")
    assert done.exit_code == 0
    assert "database_url" in done.output
    assert "hunter2" not in done.output + (home / FILES["cursor"]).read_text()
    (home / "memory").mkdir()
    (home / "memory" / "config.toml").write_text(
        'database_url = "postgresql://me:hunter2@db/reverie"\n'
    )
    assert "database_url" not in _run("cursor", "--yes").output


def test_unknown_client(home: Path) -> None:
    assert _run("emacs").exit_code == 2
