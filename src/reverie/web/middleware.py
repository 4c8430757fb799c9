"""ASGI middleware: bearer token or session cookie, CSRF, host and origin checks.

It also says what leaves when something breaks, and what each answer costs in tokens.
"""

import hmac
import logging
import urllib.parse
from collections.abc import Iterable
from typing import Any

from starlette import requests, types

from reverie import app, compact, errors
from reverie.access import callers, logins, tokens
from reverie.web import envelope

PREFIX = "/api/v1"
# What wants no token and no login; routes.check keeps it equal to the table of
# operations.
OPEN = frozenset({("GET", f"{PREFIX}/health"), ("POST", f"{PREFIX}/session")})
COOKIE = "reverie_login"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_TOKEN_NAMES = frozenset(
    {"token", "access_token", "api_key", "apikey", "authorization", "auth"}
)
_CODED_SLASH = (b"%2f", b"%5c", b"%00")
_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})
_TEXT = (b"application/json", b"application/x-ndjson", b"text/")
_ALWAYS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))

_log = logging.getLogger("reverie.web")


def edge(inner: types.ASGIApp, *, reverie: app.App) -> types.ASGIApp:
    """Everything passes here: a route cannot forget to ask who calls, and no fault
    shows the inside.
    """

    async def pass_on(
        scope: types.Scope, receive: types.Receive, send: types.Send
    ) -> None:
        if scope["type"] == "lifespan":
            await inner(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        counted = _CountingSend(send)
        try:
            scope.setdefault("state", {})["caller"] = await _authenticate(
                reverie, scope
            )
            await inner(scope, receive, counted)
        except requests.ClientDisconnect:
            return
        except errors.ReverieError as refused:
            # The root of the tree is a fault that no part of ours has a sentence for.
            if type(refused) is errors.ReverieError:
                _log.exception("%s %s failed", scope["method"], scope["path"])
                await envelope.unexpected()(scope, receive, counted)
            else:
                await envelope.refusal(refused)(scope, receive, counted)
        except Exception:
            # The last place that can: whoever asked gets a plain sentence, the log gets
            # the rest. An answer that has begun cannot be taken back, so the server has
            # to cut the connection.
            _log.exception("%s %s failed", scope["method"], scope["path"])
            if counted.begun:
                raise
            await envelope.unexpected()(scope, receive, counted)

    return pass_on


def caller_of(request: requests.Request) -> callers.Caller:
    """Who sent this request. Raises Unauthorized."""
    caller = request.scope["state"]["caller"]
    if not isinstance(caller, callers.Caller):
        raise errors.Unauthorized("A token is needed.")
    return caller


async def _authenticate(reverie: app.App, scope: types.Scope) -> callers.Caller | None:
    """The caller, or None where nobody has to say who they are. Raises Forbidden,
    Unauthorized.
    """
    host = _check_host(scope["headers"])
    _check_origin(scope["headers"], host)
    _refuse_token_in_url(scope)
    if (scope["method"], scope["path"]) in OPEN:
        return None
    secret = session_cookie(scope)
    if secret and _header_values(scope["headers"], b"authorization"):
        raise errors.Unauthorized(
            "A token and a login at once are one too many.", hint="Send either of them."
        )
    token = "" if secret else _bearer_token(scope["headers"])
    try:
        if not secret:
            return await app.caller_of_token(reverie, token)
        caller = await logins.caller(reverie.database, secret)
        if scope["method"] not in _SAFE:
            _check_csrf(scope["headers"], secret)
        return caller
    except errors.DatabaseUnavailable:
        # The database's own words name sockets and roles; nobody has said yet who they
        # are.
        raise errors.DatabaseUnavailable(
            "PostgreSQL does not answer.", hint="Try again in a moment."
        ) from None


def session_cookie(scope: types.Scope) -> str:
    """The secret of the login that the browser keeps, or ""; two of them are none.
    Raises Unauthorized.
    """
    pairs = [
        pair.strip().partition("=")
        for line in _header_values(scope["headers"], b"cookie")
        for pair in line.split(";")
    ]
    cookies = [value for name, _, value in pairs if name == COOKIE]
    if len(cookies) > 1:
        raise errors.Unauthorized(
            "Two logins at once are one too many.", hint="Log in again."
        )
    return cookies[0] if cookies else ""


def is_encrypted(scope: types.Scope) -> bool:
    """Whether the browser speaks TLS, with us or with something of the owner's in front
    of us.
    """
    return scope["scheme"] == "https" or any(
        origin.lower().startswith("https://")
        for origin in _header_values(scope["headers"], b"origin")
    )


def _check_csrf(headers: Iterable[tuple[bytes, bytes]], secret: str) -> None:
    """A cookie is sent by whatever page asks; this header only by one that was told it
    (CSRF).
    """
    sent = _header_values(headers, b"x-csrf-token")
    if len(sent) != 1 or not hmac.compare_digest(
        sent[0].encode(), logins.csrf_token(secret).encode()
    ):
        raise errors.Forbidden(
            "This login needs the header X-CSRF-Token.",
            hint="GET /api/v1/session tells it as `csrf`.",
        )


def _refuse_token_in_url(scope: types.Scope) -> None:
    """Addresses are kept in logs and histories: a token there is refused, even beside a
    good one.
    """
    raw = bytes(scope.get("raw_path") or b"")
    query = bytes(scope["query_string"]).decode("latin-1")
    names = {
        name.lower()
        for name, _ in urllib.parse.parse_qsl(query, keep_blank_values=True)
    }
    if names & _TOKEN_NAMES or tokens.SHAPE.search(
        urllib.parse.unquote(query) + scope["path"]
    ):
        raise errors.Unauthorized(
            "A token never goes into an address.",
            hint="Send it as `Authorization: Bearer <token>`, and revoke this one: addresses are kept in logs.",
        )
    if any(coded in raw.lower() for coded in _CODED_SLASH):
        raise errors.Invalid(
            "This address holds a coded slash.",
            hint="Write addresses as GET /openapi.json has them.",
        )


def _header_values(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in headers if key.lower() == name]


def _check_host(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """Only a name of this machine: a page whose own name points here (DNS rebinding)
    gets nothing.
    """
    sent = _header_values(headers, b"host")
    host = sent[0].lower() if len(sent) == 1 else ""
    name, _, port = (
        host.partition("]")[2].rpartition(":")
        if host.startswith("[")
        else host.partition(":")
    )
    if host.startswith("["):
        name = host.partition("]")[0] + "]"
    if name not in _HOSTS or (port and not port.isdigit()):
        raise errors.Forbidden(
            "Reverie answers only under a name of this machine.",
            hint="Use http://127.0.0.1 or http://localhost.",
        )
    return host


def _check_origin(headers: Iterable[tuple[bytes, bytes]], host: str) -> None:
    for origin in _header_values(headers, b"origin"):
        if origin.lower() not in (f"http://{host}", f"https://{host}"):
            raise errors.Forbidden("Pages of other sites may not talk to Reverie.")


def _bearer_token(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """The one token of a request; several are as bad as none, since two readers could
    pick different ones.
    """
    sent = _header_values(headers, b"authorization")
    scheme, _, token = sent[0].partition(" ") if len(sent) == 1 else ("", "", "")
    if (
        scheme.lower() != "bearer"
        or not token
        or token != token.strip()
        or " " in token
    ):
        raise errors.Unauthorized(
            "A token is needed.",
            hint="Send one header `Authorization: Bearer <token>`.",
        )
    return token


class _CountingSend:
    """Sends one response: a text in one piece with the number of its tokens, a stream
    as it comes.
    """

    def __init__(self, send: types.Send) -> None:
        self._send = send
        self._start: dict[str, Any] | None = None
        self.begun = False

    async def __call__(self, message: types.Message) -> None:
        if message["type"] == "http.response.start":
            self._start = {
                **message,
                "headers": [*message.get("headers", ()), *_ALWAYS],
            }
            return
        if self._start is not None:
            start, self._start, self.begun = self._start, None, True
            body: bytes = message.get("body", b"")
            if (
                body
                and not message.get("more_body", False)
                and _is_text(start["headers"])
            ):
                count = compact.tokens(body.decode("utf-8", "replace"))
                start["headers"].append((b"x-token-count", str(count).encode("ascii")))
            await self._send(start)
        await self._send(message)


def _is_text(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    return any(
        key.lower() == b"content-type" and value.startswith(_TEXT)
        for key, value in headers
    )
