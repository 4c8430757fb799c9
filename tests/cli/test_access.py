"""`reverie token`, `reverie user`, `reverie agent`: what they print, and that no secret
is printed twice.
"""

import re

from reverie.access import tokens
from tests.cli.conftest import Home


def test_a_token_from_beginning_to_end(warm_home: Home) -> None:
    minted = warm_home.run(
        "token",
        "mint",
        "phone",
        "--kind",
        "machine",
        "--scope",
        "notes:*",
        "--days",
        "0",
    )
    secret = minted.stdout.strip()
    assert tokens.SHAPE.fullmatch(secret)
    assert "until you revoke it: notes:*" in minted.stderr
    listed = warm_home.run("token", "list")
    assert secret not in listed.stdout
    assert re.search(r"machine phone  no end  notes:\*", listed.stdout)
    assert "this command line's own" in listed.stdout
    assert {one["name"] for one in warm_home.json("token", "list")} == {
        "owner",
        "phone",
    }
    assert warm_home.run("token", "revoke", "phone").stdout == "Revoked.\n"
    assert "phone" not in warm_home.run("token", "list").stdout
    assert "phone" in warm_home.run("token", "list", "--ended").stdout
    own = warm_home.run("token", "revoke", "owner", code=1)
    assert "Move" in own.stderr
    for words in (
        ("phone", "--scope", "dreams:read"),
        ("phone",),
        ("x", "--scope", "notes"),
    ):
        assert warm_home.run("token", "mint", *words, code=1).stdout == ""


def test_people_and_agents(warm_home: Home) -> None:
    assert (
        warm_home.run("user", "add", "Ana", "--no-password").stdout
        == "Ana is a member of this household.\n"
    )
    assert (
        "called ANA already"
        in warm_home.run("user", "add", "ANA", "--no-password", code=1).stderr
    )
    assert (
        "10 to 1000" in warm_home.run("user", "add", "Eva", code=1).stderr
    )  # nothing on standard input
    warm_home.run("user", "rename", "ana", "Anna")
    assert [(one["name"], one["role"]) for one in warm_home.json("user", "list")] == [
        ("owner", "owner"),
        ("Anna", "member"),
    ]
    assert "main" in warm_home.run("agent", "list").stdout
    assert (
        warm_home.run("agent", "scopes", "research", "notes:read").stdout
        == "notes:read\n"
    )
    assert warm_home.run("agent", "scopes", "research").stdout == "notes:read\n"
    assert (
        warm_home.run("agent", "scopes", "research", "--nothing").stdout == "nothing\n"
    )
    assert (
        "no agent `nobody`" in warm_home.run("mcp", "--agent", "nobody", code=1).stderr
    )
