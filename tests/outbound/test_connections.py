"""The live connections outwards: what a process really holds, by destination, and
nothing that stays on the machine.
"""

import socket
import subprocess
import sys

import psutil
import pytest

from reverie.outbound import connections

# A documentation address: a UDP socket that is bound to it sends nothing.
FAR = "198.51.100.7"

HOLD = """
import socket, sys
held = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
[one.connect(("198.51.100.7", 4443)) for one in held]
print("held", flush=True)
sys.stdin.read()
"""


def _bound() -> socket.socket:
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        one.connect((FAR, 4443))
    except OSError:
        one.close()
        pytest.skip("this machine has no way out, so no socket can be bound to one")
    return one


def _to_far(measured: connections.OpenConnections) -> list[connections.Connection]:
    return [one for one in measured.connections if one.destination == FAR]


def test_what_stays_on_this_machine_is_no_connection_outwards():
    before = connections.open_connections()
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()),
    ):
        taken, _ = server.accept()
        with taken:
            during = connections.open_connections()
    assert during.connections == before.connections
    assert during.complete
    assert during.processes >= 1


def test_another_address_of_the_loopback_is_this_machine_too():
    before = connections.open_connections()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        one.connect(("127.0.0.3", 4443))
        assert connections.open_connections().connections == before.connections


def test_what_this_process_and_its_children_hold_is_counted_by_destination():
    with _bound():
        assert _to_far(connections.open_connections()) == [
            connections.Connection(FAR, 4443, 1)
        ]
        child = subprocess.Popen(
            [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        with child:
            assert child.stdout
            assert child.stdout.readline() == b"held\n"
            assert _to_far(connections.open_connections()) == [
                connections.Connection(FAR, 4443, 3)
            ]
            child.communicate()
    assert _to_far(connections.open_connections()) == []


def test_a_socket_that_a_child_inherited_is_one_connection():
    with _bound() as one:
        child = subprocess.Popen(
            [sys.executable, "-c", "print('up', flush=True); input()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=[one.fileno()],
        )
        with child:
            assert child.stdout
            assert child.stdout.readline() == b"up\n"
            assert _to_far(connections.open_connections()) == [
                connections.Connection(FAR, 4443, 1)
            ]
            child.communicate(b"\n")


def test_what_the_system_will_not_tell_is_marked(monkeypatch: pytest.MonkeyPatch):
    def refuse(_process: psutil.Process, kind: str = "inet") -> list[object]:
        raise psutil.AccessDenied

    monkeypatch.setattr(psutil.Process, "net_connections", refuse)
    measured = connections.open_connections()
    assert (measured.connections, measured.processes, measured.complete) == (
        (),
        0,
        False,
    )
    assert measured.refused >= 1
