"""Where a model server is: this machine or its own network, or a cloud."""

import ipaddress
import re
import urllib.parse
from typing import Literal

from reverie import errors

Place = Literal["local", "cloud"]

# By list, and not by `is_private`, which takes much for private that is nobody's own.
_OWN = tuple(
    ipaddress.ip_network(net)
    for net in (
        "127.0.0.0/8",
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "::1/128",
        "fc00::/7",
    )
)
_ODD = re.compile(r"[\x00-\x20\\\x7f]")


def of(base_url: str, model: str = "", *, local: bool = True) -> Place:
    """Where a server is. A name that is not this machine's could be anywhere, and
    counts as a cloud.

    Ollama runs models whose tag says `cloud` elsewhere. `local` False: the owner says
    it passes on what it is asked.
    """
    host = urllib.parse.urlsplit(checked(base_url)).hostname or ""
    if not local or model.rpartition(":")[2].lower().endswith("cloud"):
        return "cloud"
    if host == "localhost":
        return "local"
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "cloud"
    return (
        "local"
        if any(address in net for net in _OWN if net.version == address.version)
        else "cloud"
    )


def checked(base_url: str) -> str:
    """The address itself. Raises Misconfigured for what two readers could take for two
    servers.
    """
    if not base_url.startswith(("http://", "https://")):
        raise errors.Misconfigured(
            f"`base_url` must begin with http:// or https://, not be {base_url}."
        )
    try:
        parts = urllib.parse.urlsplit(base_url)
        clear = (
            bool(parts.hostname)
            and "@" not in parts.netloc
            and not _ODD.search(base_url)
        )
        clear = clear and (parts.port is None or parts.port > 0)
    except ValueError:
        clear = False
    if not clear:
        raise errors.Misconfigured(
            "`base_url` must be a plain address: no user, no spaces, no backslash."
        )
    return base_url
