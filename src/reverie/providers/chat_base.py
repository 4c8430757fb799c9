"""What a chat model offers: messages, prompts, completions, clients and endpoints."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from reverie.providers import places

if TYPE_CHECKING:
    from pydantic_ai.models import Model

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of what a model is told."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked: turns, and the JSON schema of the answer if it has one."""

    messages: Sequence[Message]
    max_tokens: int
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered, and the tokens that it counted (0: it did not say)."""

    text: str
    tokens_in: int = 0
    tokens_out: int = 0


class Client(Protocol):
    """A model that can be asked. Both raise ModelUnavailable, ModelBusy for passing
    trouble, Invalid if refused.
    """

    @property
    def model(self) -> "Model":
        """The model of pydantic-ai for agents, wrapped by the face of the gateway."""
        ...

    async def ask(self, prompt: Prompt) -> Completion:
        """The whole answer."""
        ...

    def stream(self, prompt: Prompt) -> AsyncGenerator[str | Completion]:
        """The answer in pieces; the last one is a Completion, with the counts and no text."""
        ...


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A provider as it is configured. `key` is never shown."""

    provider: str
    family: str
    model: str
    base_url: str
    place: places.Place

    @property
    def name(self) -> str:
        """As the log and the meter name it."""
        return f"{self.provider}:{self.model}"

    @property
    def toy(self) -> bool:
        """Whether it is there to try things out, and not to be believed."""
        return self.provider == "builtin"
