"""Which addresses are refused, and which spellings of a host are numbers."""

import ipaddress
import random
import socket
import string

import pytest

from reverie import errors
from reverie.outbound import addresses

PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "93.184.215.14",
    "140.82.114.4",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "169.253.255.255",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "168.63.129.15",
    "2001:4860:4860::8888",
    "2606:4700:4700::1111",
    "2a00:1450:4001:81b::200e",
    "2001:200::1",
    "3ffe:ffff::1",
    "64:ff9b::8.8.8.8",
    "2606:4700::5eff:8.8.8.8",
]

REFUSED = [
    "0.0.0.0",
    "0.255.255.255",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "169.254.170.2",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.0.9",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::2",
    "::127.0.0.1",
    "::8.8.8.8",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::ffff:a9fe:a9fe",
    "::ffff:0:127.0.0.1",
    "64:ff9b::127.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b::10.0.0.1",
    "64:ff9b::168.63.129.16",
    "64:ff9b:1::192.168.1.1",
    "64:ff9b:1:c0a8:1:100::",
    "64:ff9b:2::8.8.8.8",
    "100::1",
    "100:0:0:1::1",
    "200::1",
    "2001::1",
    "2001::5601:5601",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:1::1",
    "2001:2::1",
    "2001:4:112::1",
    "2001:10::1",
    "2001:20::1",
    "2001:1ff:ffff::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::",
    "2002:808:808::1",
    "2606:4700::5efe:192.168.1.1",
    "2606:4700::200:5efe:169.254.169.254",
    "2606:4700::5efe:8.8.8.8",
    "2620:4f:8000::1",
    "3fff::1",
    "3fff:fff:ffff::1",
    "4000::1",
    "5f00::1",
    "8000::1",
    "fc00::1",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fe80::1",
    "fe80::1%eth0",
    "2606:4700:4700::1111%eth0",
    "fec0::1",
    "feff::1",
    "ff02::1",
    "ff0e::1",
]


@pytest.mark.parametrize("text", PUBLIC)
def test_a_public_address_passes(text: str):
    assert addresses.blocked(ipaddress.ip_address(text)) == ""


@pytest.mark.parametrize("text", REFUSED)
def test_an_address_that_is_not_public_is_refused_with_a_reason(text: str):
    reason = addresses.blocked(ipaddress.ip_address(text))
    assert 0 < len(reason.split()) <= 5


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("127.0.0.1", "this machine"),
        ("::1", "this machine"),
        ("::2", "a wrapped IPv4 address"),
        ("::ffff:8.8.8.8", "a wrapped IPv4 address"),
        ("::ffff:0:8.8.8.8", "a wrapped IPv4 address"),
        ("64:ff9b::127.0.0.1", "this machine"),
        ("64:ff9b:1::8.8.8.8", "a wrapped IPv4 address"),
        ("64:ff9b:2::8.8.8.8", "reserved"),
        ("100::1", "discarded"),
        ("100:0:0:1::1", "a dummy"),
        ("2001::1", "a tunnel"),
        ("2001:10::1", "no place"),
        ("2001:20::1", "no place"),
        ("5f00::1", "a provider's inner network"),
        ("fd00::1", "a private network"),
        ("fe80::1", "the local link"),
        ("fec0::1", "a private network"),
        ("ff02::1", "multicast"),
    ],
)
def test_the_reason_is_that_of_the_closest_block(text: str, reason: str):
    assert addresses.blocked(ipaddress.ip_address(text)) == reason


# What a host says, and the number that it is.
SPELLINGS = {
    "127.0.0.1": "127.0.0.1",
    "127.0.0.1.": "127.0.0.1",
    "2130706433": "127.0.0.1",
    "2130706433.": "127.0.0.1",
    "127.1": "127.0.0.1",
    "127.0.1": "127.0.0.1",
    "127.65535": "127.0.255.255",
    "0x7f.1": "127.0.0.1",
    "0X7F.0x0.0X0.0x1": "127.0.0.1",
    "0x7f000001": "127.0.0.1",
    "0x7F000001": "127.0.0.1",
    "017700000001": "127.0.0.1",
    "0177.0.0.1": "127.0.0.1",
    "0177.0.0.01": "127.0.0.1",
    "0000000177.0.0.1": "127.0.0.1",
    "0x0000000000007f.1": "127.0.0.1",
    "0177.0x0.0.1": "127.0.0.1",
    "0": "0.0.0.0",
    "0.0": "0.0.0.0",
    "0x": "0.0.0.0",
    "00": "0.0.0.0",
    "4294967295": "255.255.255.255",
    "0xa9fea9fe": "169.254.169.254",
    "2852039166": "169.254.169.254",
    "169.16689662": "169.254.169.254",
    "0251.0376.0251.0376": "169.254.169.254",
    "１２７.０.０.１": "127.0.0.1",
    "①②⑦.0.0.1": "127.0.0.1",
    "⑫⑦.⓪.⓪.①": "127.0.0.1",
    "𝟏𝟐𝟕.𝟎.𝟎.𝟏": "127.0.0.1",
    "¹²⁷.0.0.1": "127.0.0.1",
    "127。0。0。1": "127.0.0.1",
    "127．0．0．1": "127.0.0.1",
    "127｡0｡0｡1": "127.0.0.1",
    "127.0.0.\u00ad1": "127.0.0.1",
    "127.0.0\u200b.1": "127.0.0.1",
    "0ⓧ7f.1": "127.0.0.1",
    "8.8.8.8": "8.8.8.8",
    "010.8.8.8": "8.8.8.8",
    "[::1]": "::1",
    "::1": "::1",
    "[0:0:0:0:0:0:0:1]": "::1",
    "[::ffff:127.0.0.1]": "::ffff:7f00:1",
    "[::FFFF:7F00:1]": "::ffff:7f00:1",
    "[0000:0000:0000:0000:0000:ffff:7f00:0001]": "::ffff:7f00:1",
    "[::]": "::",
}


@pytest.mark.parametrize(("host", "number"), SPELLINGS.items())
def test_a_number_in_any_spelling_is_that_number(host: str, number: str):
    assert addresses.literal(host) == ipaddress.ip_address(number)


@pytest.mark.parametrize(
    "host",
    [
        "example.com",
        "EXAMPLE.com.",
        "localhost",
        "1.example",
        "127.0.0.1.nip.io",
        "0x7f.example",
        "deadbeef",
        "a.b-c.de",
        "_dmarc.example.org",
        "bücher.example",
        "例え.テスト",
        "xn--bcher-kva.example",
    ],
)
def test_a_name_is_a_name(host: str):
    assert addresses.literal(host) is None


@pytest.mark.parametrize(
    "host",
    [
        "",
        ".",
        "..",
        "a..b",
        ".example.com",
        "1270.0.1",
        "256.0.0.1",
        "127.0.0.256",
        "127.0.0.1.1",
        "1.2.3.4.5",
        "4294967296",
        "4294967297",
        "0x17f000001",
        "127.16777216",
        "08.0.0.1",
        "0o177.0.0.1",
        "0b1.1",
        "127.0.0.0x7g.1",
        "example.1",
        "a" * 64 + ".example",
        ".".join(["a" * 60] * 5),
        "exa mple.com",
        "example.com\n",
        "example.com\x00",
        "%31%32%37.0.0.1",
        "127.0.0.1%00",
        "127.0.0.1%2f@example.com",
        "example.com/evil",
        "example.com?evil",
        "a@b",
        "a\\b",
        "[127.0.0.1]",
        "[::1",
        "[]",
        "[::1%25eth0]",
        "[fe80::1%eth0]",
        "[fe80::1%1]",
        "::1%lo",
        "[::g]",
        "[v1.x]",
        "[1:2:3:4:5:6:7:8:9]",
        "١٢٧.٠.٠.١",
        "ex\u2044ample.com",
        "a℀b.com",
        "\ud800.com",
        "1" * 5000,
        "0x" + "f" * 200,
    ],
)
def test_what_is_neither_a_name_nor_a_number_is_refused(host: str):
    with pytest.raises(errors.Invalid):
        addresses.literal(host)


def test_a_name_goes_on_the_wire_in_ascii():
    assert addresses.plain("BÜCHER.Example.") == "xn--bcher-kva.example"
    assert (
        addresses.plain("straße.example") == "xn--strae-oqa.example"
    )  # and not strasse, which is another's
    assert addresses.plain("[::FFFF:7F00:1]") == "::ffff:7f00:1"


def test_what_the_c_library_reads_as_a_number_is_never_taken_for_a_name():
    rng = random.Random(127)
    parts = [
        "0",
        "1",
        "127",
        "0x7f",
        "0177",
        "256",
        "65536",
        "0x",
        "08",
        "4294967295",
        "0xffffffff",
        "00",
        "0x7F",
        "9",
    ]
    read = 0
    for _ in range(20_000):
        text = ".".join(rng.choice(parts) for _ in range(rng.randint(1, 5)))
        if rng.random() < 0.3:
            text = "".join(
                rng.choice(string.digits + "xabcdef.X")
                for _ in range(rng.randint(1, 12))
            )
        try:
            packed = socket.inet_aton(text)
        except OSError:
            continue
        read += 1
        assert addresses.literal(text) == ipaddress.IPv4Address(packed), text
    assert read > 3_000
