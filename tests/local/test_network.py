import os
import socket

import pytest

from raygang.local import _network
from raygang.spec import UserError


def test_each_node_has_an_address_of_its_own() -> None:
    assert _network.node_addresses(0, 3) == ["127.0.0.2", "127.0.0.3", "127.0.0.4"]


def test_runs_side_by_side_have_networks_of_their_own() -> None:
    assert not set(_network.node_addresses(0, 20)) & set(_network.node_addresses(1, 20))


def test_more_nodes_than_addresses_are_refused() -> None:
    with pytest.raises(UserError, match="253"):
        _network.node_addresses(0, 254)


def test_free_ports_are_all_different() -> None:
    ports = _network.free_ports(20)
    assert len(set(ports)) == 20


def test_a_free_port_passes() -> None:
    _network.check_port("127.0.0.1", _network.free_ports(1)[0])


def test_a_taken_port_names_who_has_it_and_what_to_do() -> None:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        port = s.getsockname()[1]
        with pytest.raises(UserError, match=rf"port {port} on 127.0.0.1 is taken by process \d+") as e:
            _network.check_port("127.0.0.1", port)
    assert e.value.hint is not None
    assert "--port" in e.value.hint


def test_a_host_that_is_no_address_is_named() -> None:
    with pytest.raises(UserError, match=r"--host no\.such\.host\.invalid"):
        _network.check_port("no.such.host.invalid", 8000)


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(UserError, match=r"192\.0\.2\.1"):
        _network.check_port("192.0.2.1", 8000)


def test_a_port_of_another_names_its_owner() -> None:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        owner = _network.listener(s.getsockname()[1])
    assert owner is not None
    assert owner.pid == os.getpid()
    assert _network.listener(_network.free_ports(1)[0]) is None
