"""Ports of hosts without a network of their own."""

import socket
import threading

import pytest

from slotmark.benches.cluster.live import ports
from slotmark.benches.cluster.live.ports import own_ports
from slotmark.errors import TargetError

HERE, OTHER = "127.0.0.1", "127.0.0.2"


def free(address: str) -> int:
    """A port that nobody has."""
    with socket.create_server((address, 0)) as server:
        return server.getsockname()[1]


@pytest.mark.parametrize(("address", "advised"), [(HERE, True), (OTHER, False)])
def test_the_network_wan_is_advised_only_where_none_was_asked_for(
    address: str, advised: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hosts on several machines have the addresses of these, and --network wan is what they were asked for."""
    monkeypatch.setattr(ports, "_ENDING_S", 0.0)
    with socket.create_server((address, 0)) as server:
        places = {"node-0": (address, server.getsockname()[1])}
        with pytest.raises(TargetError, match="another program listens on") as listening, own_ports(places):
            pass
    with own_ports(places), pytest.raises(TargetError, match="another live cluster's") as cluster, own_ports(places):
        pass
    assert [("--network wan" in str(refused.value)) for refused in (listening, cluster)] == [advised] * 2


def test_a_process_that_is_ending_is_waited_for() -> None:
    with socket.create_server((HERE, 0)) as server:
        places = {"node-0": (HERE, free(HERE)), "node-1": (HERE, server.getsockname()[1])}
        ending = threading.Timer(0.3, server.close)
        ending.start()
        with own_ports(places):
            assert server.fileno() == -1
        ending.join()


def test_an_address_that_is_not_of_this_machine_is_left_to_the_node() -> None:
    with own_ports({"node-0": ("192.0.2.1", 30_000), "node-1": ("::1", 30_000)}):
        pass
