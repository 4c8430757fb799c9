"""Models behind the gateway, as the tests of the gateway open them."""

from tests.llm.conftest import opened as opened
