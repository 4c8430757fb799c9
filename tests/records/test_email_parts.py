"""The parts of a mail: what is a signature, and what only looks like one."""

import pytest

from reverie.records import email_parts


def _parsed(body: str) -> email_parts.EmailParts:
    return email_parts.parsed(body, subject="Re: boat", is_answer=True)


@pytest.mark.parametrize("rule", ["-- ", "--"])
def test_short_lines_below_a_rule_are_a_signature(rule: str) -> None:
    parts = _parsed(f"See you.\n{rule}\nXaver Holm\n+49 441 5550123")
    assert parts.own == "See you."
    assert "Xaver Holm" in parts.signature


def test_a_rule_between_paragraphs_is_none() -> None:
    """Programs strip the space of a signature's rule, and people draw rules."""
    plan = (
        "Plan B: we sell the boat in spring and rent one for the two weeks we need it."
    )
    assert plan in _parsed(f"Plan A: we keep it.\n--\n{plan}").own
    assert plan in _parsed(f"Plan A: we keep it.\n-- \n{plan}").signature
