"""Tricks that would have the fetcher ask this machine, with a listener that counts: not
one connection.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reverie import errors
from reverie.outbound import addresses, fetching, urls
from tests.outbound.stubs import HERE, Names, Stub, always, page, serving

QUICK = fetching.FetchLimits(seconds=3, silence=1)


def _own() -> list[str]:
    """This machine's own addresses: 127.0.0.2 is one on Linux alone, and IPv6 may be
    off.
    """
    hosts = ["127.0.0.1"]
    for host, family in (("127.0.0.2", socket.AF_INET), ("::1", socket.AF_INET6)):
        with contextlib.suppress(OSError), socket.socket(family) as probe:
            probe.bind((host, 0))
            hosts.append(host)
    return hosts


OWN = _own()


@pytest_asyncio.fixture(loop_scope="session")
async def secret() -> AsyncIterator[Stub]:
    """What nobody may reach: a listener on this machine, by both families."""
    async with serving(always(page(b"secret")), hosts=OWN) as stub:
        yield stub
        await asyncio.sleep(0)
        assert stub.connections == 0


# {port} is the listener's. Refused for what the address is.
ADDRESSES = [
    # the machine itself, spelled
    "http://127.0.0.1:{port}/",
    "http://127.0.0.1.:{port}/",
    "http://127.0.0.2:{port}/",
    "http://localhost:{port}/",
    "http://LOCALHOST:{port}/",
    "http://localhost.:{port}/",
    "http://ⓛocalhost:{port}/",
    "http://2130706433:{port}/",
    "http://127.1:{port}/",
    "http://127.0.1:{port}/",
    "http://0x7f.1:{port}/",
    "http://0x7f000001:{port}/",
    "http://0X7F.0.0.1:{port}/",
    "http://0177.0.0.1:{port}/",
    "http://017700000001:{port}/",
    "http://0:{port}/",
    "http://0.0.0.0:{port}/",
    "http://0x:{port}/",
    "http://\uff11\uff12\uff17.\uff10.\uff10.\uff11:{port}/",
    "http://127\uff0e0\uff0e0\uff0e1:{port}/",
    "http://①②⑦.0.0.1:{port}/",
    "http://𝟭𝟮𝟳.𝟬.𝟬.𝟭:{port}/",
    "http://127。0。0。1:{port}/",
    "http://127.0.0.\u00ad1:{port}/",
    "http://%31%32%37.0.0.1:{port}/",
    "http://127%2e0%2e0%2e1:{port}/",
    "http://4294967297:{port}/",
    "http://127.0.0.1.1:{port}/",
    # IPv6
    "http://[::1]:{port}/",
    "http://[::]:{port}/",
    "http://[0:0:0:0:0:0:0:1]:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/",
    "http://[::ffff:7f00:1]:{port}/",
    "http://[::127.0.0.1]:{port}/",
    "http://[64:ff9b::127.0.0.1]:{port}/",
    "http://[64:ff9b:1::7f00:1]:{port}/",
    "http://[2002:7f00:1::]:{port}/",
    "http://[2001::80ff:fffe]:{port}/",
    "http://[2606:4700::5efe:127.0.0.1]:{port}/",
    "http://[::1%25lo]:{port}/",
    "http://[::1%lo]:{port}/",
    "http://[fe80::1%25lo]:{port}/",
    "http://::1:{port}/",
    "http://[127.0.0.1]:{port}/",
    # other machines nobody may ask
    "http://169.254.169.254:{port}/latest/meta-data/",
    "http://2852039166:{port}/latest/meta-data/",
    "http://[fd00:ec2::254]:{port}/latest/meta-data/",
    "http://168.63.129.16:{port}/",
    "http://100.100.100.200:{port}/",
    "http://192.168.1.1:{port}/",
    "http://10.0.0.1:{port}/",
    "http://255.255.255.255:{port}/",
    "http://224.0.0.251:{port}/",
    "http://[ff02::1]:{port}/",
    "http://[fec0::1]:{port}/",
    # nothing in here is a user or a host
    "http://example.com#@127.0.0.1:{port}/",
    "http://example.com?@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}?.example.com/",
    "http://127.0.0.1:{port}#.example.com/",
]

# These are refused for their form, even when the address is one of the owner's own.
FORMS = [
    # other schemes
    "file:///etc/passwd",
    "file://127.0.0.1:{port}/etc/passwd",
    "ftp://127.0.0.1:{port}/",
    "gopher://127.0.0.1:{port}/_GET%20/",
    "dict://127.0.0.1:{port}/",
    "ldap://127.0.0.1:{port}/",
    "ws://127.0.0.1:{port}/",
    "unix:///var/run/docker.sock",
    "data:text/html,hello",
    "javascript:alert(1)",
    "view-source:http://127.0.0.1:{port}/",
    "jar:http://127.0.0.1:{port}/!/",
    "//127.0.0.1:{port}/",
    "127.0.0.1:{port}/",
    "/etc/passwd",
    "",
    "http:",
    "http://",
    "http:///",
    "http:///127.0.0.1:{port}/",
    "http:127.0.0.1:{port}/",
    "http://:{port}/",
    "http://?127.0.0.1:{port}/",
    # who is the host?
    "http://example.com@127.0.0.1:{port}/",
    "http://user:password@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}@example.com/",
    "http://@127.0.0.1:{port}/",
    "http://example.com%40127.0.0.1:{port}/",
    "http://example.com\\@127.0.0.1:{port}/",
    "http://127.0.0.1\\@example.com:{port}/",
    "http:\\\\127.0.0.1:{port}\\",
    "http://127.0.0.1:{port}\\.example.com/",
    "http://127.0.0.1 .example.com:{port}/",
    "http://127.0.0.1\t:{port}/",
    "http://127.0\n.0.1:{port}/",
    "ht\ntp://127.0.0.1:{port}/",
    "http://127.0.0.1\x00.example.com:{port}/",
    "http://127.0.0.1%00.example.com:{port}/",
    "http://127.0.0.1:{port}:80/",
    "http://127.0.0.1:80:{port}/",
    "http://127.0.0.1;example.com:{port}/",
    "http://127.0.0.1,example.com:{port}/",
    "http://{{127.0.0.1}}:{port}/",
    "http://127.0.0.1℀:{port}/",
    "http://127.0.0.1／example.com:{port}/",
    "http://127.0.0.1？example.com:{port}/",
    "http://127.0.0.1:{port}／",
    "http://127.0.0.1：{port}/",
    "http://[::1]example.com:{port}/",
    "http://example.com[::1]:{port}/",
    "http://[::1]@example.com:{port}/",
    "http://[[::1]]:{port}/",
    "http://\ud800:{port}/",
    # ports
    "http://127.0.0.1:-{port}/",
    "http://127.0.0.1:+{port}/",
    "http://127.0.0.1:0{port}/",
    "http://127.0.0.1:{port}.0/",
    "http://127.0.0.1:{port}a/",
    "http://127.0.0.1:99999999/",
]


@pytest.mark.parametrize("trick", ADDRESSES)
async def test_an_address_that_is_not_public_is_not_asked(trick: str, secret: Stub):
    ports = {secret.port, 80, 443}
    # A name that does get looked up leads to the listener as well.
    names = Names([["127.0.0.1"]])
    with pytest.raises(errors.Invalid):
        await fetching.fetch(
            trick.format(port=secret.port),
            limits=QUICK,
            allow_ports=ports,
            resolver=names,
        )


@pytest.mark.parametrize("trick", FORMS)
async def test_what_is_no_plain_address_is_not_asked_even_at_home(
    trick: str, secret: Stub
):
    names = Names([["127.0.0.1"]])
    with pytest.raises(errors.Invalid):
        await fetching.fetch(
            trick.format(port=secret.port),
            limits=QUICK,
            allow_ports={secret.port, 80},
            resolver=names,
            allowed=HERE,
        )
    assert names.asked == []


@pytest.mark.parametrize("host", ["localhost", "localhost.", "LocalHost"])
async def test_the_systems_own_resolver_is_not_believed_either(host: str, secret: Stub):
    with pytest.raises(errors.Invalid, match="this machine"):
        await fetching.fetch(
            f"http://{host}:{secret.port}/", limits=QUICK, allow_ports={secret.port}
        )


async def test_the_listener_would_have_counted():
    async with serving(always(page(b"secret"))) as stub:
        url = f"http://127.0.0.1:{stub.port}/"
        fetched = await fetching.fetch(url, allow_ports={stub.port}, allowed=HERE)
        assert (fetched.data, stub.connections) == (b"secret", 1)


@pytest.mark.parametrize("port", [0, 1, 22, 25, 5432, 6379, 8080, 8585, 65535, 65536])
async def test_other_ports_are_not_asked(port: int):
    with pytest.raises(errors.Invalid):
        await fetching.fetch(
            f"http://example.com:{port}/", resolver=Names([["127.0.0.1"]]), allowed=HERE
        )


@pytest.mark.parametrize(
    "answer",
    [
        ["127.0.0.1"],
        ["::1"],
        ["::ffff:127.0.0.1"],
        ["0.0.0.0"],
        ["93.184.215.14", "127.0.0.1"],
        ["127.0.0.1", "93.184.215.14"],
        ["2606:4700:4700::1111", "::1"],
        ["93.184.215.14", "2606:4700:4700::1111", "64:ff9b::7f00:1"],
        ["93.184.215.14"] * 50 + ["169.254.169.254"],
        ["fe80::1%lo"],
        ["2002:7f00:1::"],
    ],
)
async def test_one_bad_address_among_good_ones_is_enough(
    answer: list[str], secret: Stub
):
    url = f"http://mixed.example:{secret.port}/"
    with pytest.raises(errors.Invalid, match="not a public one") as refused:
        await fetching.fetch(
            url, limits=QUICK, allow_ports={secret.port}, resolver=Names([answer])
        )
    assert not any(address in str(refused.value) for address in answer), (
        "what the name leads to is not told"
    )


@pytest.mark.skipif("127.0.0.2" not in OWN, reason="this system has no 127.0.0.2")
async def test_a_name_that_changes_its_address_is_looked_up_once_and_held_to_it():
    async with (
        serving(always(page(b"good"))) as good,
        serving(always(page(b"bad")), hosts=["127.0.0.2"]) as bad,
    ):
        names = Names([["127.0.0.1"], ["127.0.0.2"]])
        url = f"http://rebinding.example:{good.port}/"
        fetched = await fetching.fetch(
            url, allow_ports={good.port}, allowed=HERE, resolver=names
        )
    assert (fetched.data, good.connections, bad.connections) == (b"good", 1, 0)
    assert names.asked == ["rebinding.example"]


async def test_a_name_that_changes_between_two_hops_is_checked_again(secret: Stub):
    async with serving(
        always(page(status="302 Found", headers="Location: /again\r\n"))
    ) as good:
        names = Names([["127.0.0.1"], ["::1"]])
        url = f"http://rebinding.example:{good.port}/"
        with pytest.raises(errors.Invalid, match="this machine"):
            await fetching.fetch(
                url, allow_ports={good.port, secret.port}, allowed=HERE, resolver=names
            )
    assert good.connections == 1
    assert len(names.asked) == 2


REDIRECTS = [
    "http://127.0.0.2:{port}/",
    "http://2130706434:{port}/",
    "http://127.2:{port}/",
    "http://0x7f.2:{port}/",
    "http://①②⑦.0.0.2:{port}/",
    "http://[::1]:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/",
    "//[::1]:{port}/",
    "http:/\\[::1]:{port}/",
    "\\\\[::1]:{port}\\",
    "http://user:pw@127.0.0.1:{port}/",
    "http://secret.example:{port}/",
    "file:///etc/passwd",
    "ftp://127.0.0.1:{port}/",
    "gopher://127.0.0.1:{port}/",
    "data:text/html,x",
    "javascript:alert(1)",
    "http://169.254.169.254:{port}/",
    "http://127.0.0.1:1/",
    "http://[",
    "http://127.0.0.1:x/",
]


@pytest.mark.parametrize("status", ["301", "302", "303", "307", "308"])
@pytest.mark.parametrize("location", REDIRECTS)
async def test_a_redirect_is_checked_like_an_address_of_its_own(
    status: str, location: str, secret: Stub
):
    header = f"Location: {location.format(port=secret.port)}\r\n"
    async with serving(always(page(status=f"{status} Moved", headers=header))) as good:
        with pytest.raises(errors.Invalid):
            await fetching.fetch(
                f"http://127.0.0.1:{good.port}/",
                limits=QUICK,
                allow_ports={good.port, secret.port},
                allowed=HERE,
                resolver=Names([["::1"]]),
            )
    assert good.connections == 1


async def test_five_redirects_are_followed_and_a_sixth_is_not():
    async def count(path: str, writer: asyncio.StreamWriter) -> None:
        left = int(path.strip("/"))
        writer.write(
            page(status="302 Found", headers=f"Location: /{left - 1}\r\n")
            if left
            else page(b"there")
        )

    async with serving(count) as stub:
        base = f"http://127.0.0.1:{stub.port}"
        fetched = await fetching.fetch(
            f"{base}/5", allow_ports={stub.port}, allowed=HERE
        )
        assert (fetched.url, fetched.final_url, fetched.data) == (
            f"{base}/5",
            f"{base}/0",
            b"there",
        )
        assert fetched.redirects == tuple(f"{base}/{left}" for left in (5, 4, 3, 2, 1))
        stub.connections = 0
        with pytest.raises(errors.Unreadable, match="more than 5 times"):
            await fetching.fetch(f"{base}/6", allow_ports={stub.port}, allowed=HERE)
        assert stub.connections == 6


async def test_a_user_in_an_address_is_named_as_the_reason(secret: Stub):
    with pytest.raises(errors.Invalid, match="user's name or password"):
        await fetching.fetch(
            f"http://owner:pw@127.0.0.1:{secret.port}/",
            allow_ports={secret.port},
            allowed=HERE,
        )


async def test_a_space_in_a_redirect_is_what_browsers_make_of_it():
    async def answer(path: str, writer: asyncio.StreamWriter) -> None:
        writer.write(
            page(path.encode())
            if path != "/"
            else page(status="302 Found", headers="Location:  /a page \r\n")
        )

    async with serving(answer) as stub:
        fetched = await fetching.fetch(
            f"http://127.0.0.1:{stub.port}/", allow_ports={stub.port}, allowed=HERE
        )
    assert fetched.data == b"/a%20page"


async def test_a_loop_ends():
    async with serving(
        always(page(status="301 Moved", headers="Location: /\r\n"))
    ) as stub:
        with pytest.raises(errors.Unreadable, match="redirects"):
            await fetching.fetch(
                f"http://127.0.0.1:{stub.port}/", allow_ports={stub.port}, allowed=HERE
            )
    assert stub.connections == 6


async def test_what_a_page_says_of_itself_is_not_followed(secret: Stub):
    body = f'<meta http-equiv="refresh" content="0;url=http://127.0.0.1:{secret.port}/">'.encode()
    headers = (
        f"Refresh: 0;url=http://127.0.0.1:{secret.port}/\r\n"
        f"Link: <http://127.0.0.1:{secret.port}/>; rel=preload\r\n"
    )
    async with serving(always(page(body, headers=headers))) as stub:
        ports = {stub.port, secret.port}
        fetched = await fetching.fetch(
            f"http://127.0.0.1:{stub.port}/", allow_ports=ports, allowed=HERE
        )
    assert fetched.data == body


async def test_the_environment_has_no_say(
    monkeypatch: pytest.MonkeyPatch, tmp_path, secret: Stub
):
    proxy = f"http://127.0.0.1:{secret.port}"
    for name in (
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "http_proxy",
        "https_proxy",
        "all_proxy",
    ):
        monkeypatch.setenv(name, proxy)
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login owner password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))

    async def redirect(path: str, writer: asyncio.StreamWriter) -> None:
        cookie = "Set-Cookie: a=b; Path=/\r\n"
        writer.write(
            page()
            if path == "/b?q=1"
            else page(status="302 Found", headers=f"Location: /b?q=1#top\r\n{cookie}")
        )

    async with serving(redirect) as stub:
        fetched = await fetching.fetch(
            f"http://127.0.0.1:{stub.port}/a", allow_ports={stub.port}, allowed=HERE
        )
    assert fetched.final_url.endswith("/b?q=1")
    for head in stub.requests:
        lines = head.rstrip().split("\r\n")
        names = [line.split(":")[0].lower() for line in lines[1:]]
        assert sorted(names) == [
            "accept",
            "accept-encoding",
            "connection",
            "host",
            "user-agent",
        ]
        assert "User-Agent: Reverie" in lines
        assert f"Host: 127.0.0.1:{stub.port}" in lines


@given(
    st.one_of(
        st.text(max_size=80),
        st.from_regex(r"https?://[ -~]{0,40}", fullmatch=True),
        st.text(
            alphabet="htps:/\\@#?%[].0123456789xabf①。-:;é\ud800\x00 ", max_size=60
        ).map(lambda rest: "http://" + rest),
    )
)
@settings(max_examples=400, deadline=None, database=None)
async def test_no_text_is_an_address_that_breaks_it(url: str):
    with contextlib.suppress(errors.Invalid):
        literal = urls.parsed(url, urls.PORTS).address
        assume(
            literal is None or addresses.blocked(literal)
        )  # a public one would really be asked
    with pytest.raises((errors.Invalid, errors.Unavailable)):
        await fetching.fetch(url, resolver=Names([[]]), limits=QUICK)
