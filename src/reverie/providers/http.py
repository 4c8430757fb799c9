"""One POST to a model server over HTTP, and what its refusals mean."""

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reverie import errors
from reverie.providers import places

# Of the refusals these concern the key, the address or the moment; any other 4xx
# concerns what was sent.
_NOT_WHAT_WAS_SENT = frozenset({401, 403, 404, 408, 429})


@dataclass(frozen=True, slots=True)
class ModelServer:
    """A server of models. `what` names it in sentences; `away` is raised when it is not
    there or makes no sense.
    """

    base_url: str
    api_key: str = field(repr=False)
    timeout_s: float
    what: str
    away: type[errors.Unavailable]
    place: places.Place = "cloud"

    def __post_init__(self) -> None:
        places.checked(self.base_url)


class _Straight(urllib.request.HTTPRedirectHandler):
    """No redirect: what is sent goes where the owner said, or nowhere."""

    def redirect_request(self, *_: object, **__: object) -> None:
        return None


# A server of this machine's own is never asked through a proxy, whatever the
# environment says.
_OPENERS: Mapping[places.Place, urllib.request.OpenerDirector] = {
    "local": urllib.request.build_opener(urllib.request.ProxyHandler({}), _Straight()),
    "cloud": urllib.request.build_opener(_Straight()),
}


def post(
    server: ModelServer, path: str, body: Mapping[str, object], *, missing: str = ""
) -> Any:
    """The JSON that the server answers. `missing` is the hint for a 404.

    Raises Invalid when what was sent is refused, and the server's Unavailable
    otherwise.
    """
    headers = {"Content-Type": "application/json"}
    if server.api_key:
        headers["Authorization"] = f"Bearer {server.api_key}"
    url = server.base_url.rstrip("/") + path
    request = urllib.request.Request(  # noqa: S310 - checked above
        url, data=json.dumps(body).encode(), headers=headers
    )
    try:
        with _OPENERS[server.place].open(request, timeout=server.timeout_s) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refused:
        refused.close()
        if 400 <= refused.code < 500 and refused.code not in _NOT_WHAT_WAS_SENT:
            raise errors.Invalid(
                f"The {server.what} server refused this text: it answered {refused.code}."
            ) from None
        hint = missing if refused.code == 404 else ""
        raise server.away(
            f"The {server.what} server answered {refused.code}.", hint=hint
        ) from None
    except (OSError, http.client.HTTPException) as gone:
        raise server.away(
            f"The {server.what} server does not answer: {gone}."
        ) from None
    except ValueError as odd:
        raise senseless(server, odd) from None


def senseless(server: ModelServer, why: Exception) -> errors.Unavailable:
    """The error for an answer that is not what such a server answers."""
    return server.away(f"The {server.what} server's answer makes no sense: {why!r}.")
