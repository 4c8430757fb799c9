"""In a network of the test's own, where public addresses can be had: what a public page
may not do to the owner's.
"""

import subprocess
import sys
import textwrap

import pytest

ISOLATED = ["unshare", "--map-root-user", "--net", "sh", "-ec"]
SETUP = """
ip link set lo up
for address in 93.184.215.14/32 192.168.7.7/32 2606:4700:4700::1111/128; do ip address add $address dev lo nodad; done
exec "$0" -c "$1"
"""


def _run(program: str) -> str:
    ready = subprocess.run(
        [*ISOLATED, "ip link set lo up"], capture_output=True, check=False
    )
    if ready.returncode:
        pytest.skip("this system gives no network of one's own")
    done = subprocess.run(
        [*ISOLATED, SETUP, sys.executable, textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_public_page_does_not_lead_into_a_network_the_owner_allows():
    out = _run("""
        import asyncio, ipaddress
        from reverie import errors
        from reverie.outbound import connections, fetching
        from tests.outbound.stubs import Names, always, page, serving

        HOME = [ipaddress.ip_network("192.168.7.0/24")]

        async def main():
            into = page(status="302 Found", headers="Location: http://192.168.7.7:8000/\\r\\n")
            async with serving(always(into), hosts=["93.184.215.14", "2606:4700:4700::1111"]) as public:
                home = await asyncio.start_server(lambda r, w: print("CONNECTED"), "192.168.7.7", 8000)
                ports = {public.port, 8000}
                for host in ("93.184.215.14", "[2606:4700:4700::1111]", "public.example"):
                    try:
                        await fetching.fetch(
                            f"http://{host}:{public.port}/", allow_ports=ports, allowed=HOME,
                            resolver=Names([["93.184.215.14"]]),
                        )
                    except errors.Invalid as refused:
                        print(refused)
                home.close()
            print(public.connections)

        asyncio.run(main())
    """)
    refusal = "The host 192.168.7.7 is not a public one (a private network), so it is not asked."
    assert out.splitlines() == [refusal, refusal, refusal, "3"]


def test_a_page_of_the_owners_own_may_lead_on_and_public_addresses_are_asked():
    out = _run("""
        import asyncio, ipaddress
        from reverie.outbound import fetching
        from tests.outbound.stubs import always, page, serving

        async def main():
            async with serving(always(page(b"public")), hosts=["93.184.215.14"]) as public:
                on = page(status="302 Found", headers=f"Location: http://93.184.215.14:{public.port}/\\r\\n")
                async with serving(always(on), hosts=["192.168.7.7"]) as home:
                    fetched = await fetching.fetch(
                        f"http://192.168.7.7:{home.port}/", allow_ports={public.port, home.port},
                        allowed=[ipaddress.ip_network("192.168.7.0/24")],
                    )
                    print(fetched.data.decode())

        asyncio.run(main())
    """)
    assert out == "public\n"


def test_what_came_in_is_not_counted_as_going_out():
    out = _run("""
        import socket
        from reverie.outbound import connections

        with socket.create_server(("93.184.215.14", 8000)) as server:
            with socket.create_connection(("93.184.215.14", 8000), source_address=("192.168.7.7", 0)):
                taken, _ = server.accept()
                print(connections.open_connections().connections)
    """)
    assert out == "(Connection(destination='93.184.215.14', port=8000, count=1),)\n"


def test_the_machines_own_address_is_no_destination():
    out = _run("""
        import socket
        from reverie.outbound import connections

        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.connect(("192.168.7.7", 4443))
            print(one.getsockname()[0], connections.open_connections().connections)
    """)
    assert out == "192.168.7.7 ()\n"
