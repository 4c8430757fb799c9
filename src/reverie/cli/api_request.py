"""HTTP request and response of the API, as commands send and get them."""

from dataclasses import dataclass

PREFIX = "/api/v1"


@dataclass(frozen=True, slots=True)
class Request:
    """One request: `path` lies below the API's prefix, `query` is encoded,
    `body` is JSON or bytes.
    """

    method: str
    path: str
    query: str
    body: bytes | None
    content_type: str

    @property
    def address(self) -> str:
        """Path and query string, from the root."""
        return f"{PREFIX}{self.path}" + (f"?{self.query}" if self.query else "")

    def headers(self, token: str) -> dict[str, str]:
        """What is sent beside it."""
        content = {"Content-Type": self.content_type} if self.content_type else {}
        return {"Authorization": f"Bearer {token}", **content}


@dataclass(frozen=True, slots=True)
class Response:
    """What came back."""

    status: int
    content_type: str
    body: bytes
