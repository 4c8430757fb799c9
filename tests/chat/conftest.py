"""Models behind the door, as the tests of the door open them."""

from tests.llm.conftest import opened as opened
