"""Addresses and ports of a run on this machine."""

from __future__ import annotations

import contextlib
import errno
import socket
import sys

import psutil

from raygang.spec import UserError


def node_addresses(network: int, count: int) -> list[str]:
    """A loopback address per node: 127.0.<network>.2, .3, ...

    Not .1 of network 0: Ray takes 127.0.0.1 as "no address given" and puts the machine's own in its place.

    Raises:
        UserError: the platform has only 127.0.0.1, or there are more nodes than addresses.
    """
    if count > 253:
        raise UserError(f"{count} nodes on one machine: at most 253 have an address of their own")
    addresses = [f"127.0.{network}.{2 + i}" for i in range(count)]
    for address in addresses:
        _check_bindable(address)
    return addresses


def _check_bindable(address: str) -> None:
    with socket.socket() as s:
        try:
            s.bind((address, 0))
        except OSError as e:
            hint = "other loopback addresses must be made first"
            if sys.platform == "darwin":
                hint = f"macOS has only 127.0.0.1: run `sudo ifconfig lo0 alias {address} up` for each node"
            raise UserError(f"this machine has no address {address}: {e.strerror}", hint=hint) from None


def free_ports(count: int, address: str = "") -> list[int]:
    """Ports that nobody uses now; all different."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for s in sockets:
            s.bind((address, 0))
        return [int(s.getsockname()[1]) for s in sockets]


def check_port(host: str, port: int) -> None:
    """Raise UserError when the endpoint's port cannot be had, and say who has it."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror as e:
        raise UserError(f"--host {host}: {e.strerror}", hint="use an address of this machine") from None
    with socket.socket(family) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(address)
        except PermissionError:
            raise UserError(f"port {port} needs root", hint="choose a port above 1023 with --port") from None
        except OSError as e:
            if e.errno != errno.EADDRINUSE:
                raise UserError(f"--host {host}: {e.strerror}", hint="use an address of this machine") from None
            owner = listener(port)
            by = f" by process {owner.pid} ({owner.info['name']})" if owner else ""
            taken = f"port {port} on {host} is taken{by}"
            raise UserError(taken, hint=f"choose another with --port, for example --port {port + 1}") from None


def listener(port: int) -> psutil.Process | None:
    """The process that listens there, where we may see it."""
    for process in psutil.process_iter(["pid", "name"]):
        try:
            if any(c.laddr.port == port for c in process.net_connections("tcp") if c.status == psutil.CONN_LISTEN):
                return process
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue
    return None
