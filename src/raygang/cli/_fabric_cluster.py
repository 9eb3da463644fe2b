"""A connection to a running Ray cluster, within a time.

Ray 2.60, _private/node.py and ray_constants.py: `ray.init` tries twenty times, and each try takes 40 s where nothing
answers; both variables are read by the process that connects.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from raygang.spec import UserError

UNREACHABLE = 3
CONNECT_S = 5.0
_ONCE = {"RAY_NUM_REDIS_GET_RETRIES": "1", "RAY_gcs_server_port_wait_time_s": "1"}
_QUIET = {"RAY_BACKEND_LOG_LEVEL": "fatal"}  # each try to connect would be told on standard error
_HINT = "run it on a node of the cluster, or name its head: --address HOST:6379"


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Ray, connected to a cluster.

    Raises:
        UserError: Ray is not here, or no cluster answers; exit code 3.
    """
    for name, value in {**_ONCE, **_QUIET}.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError:
        message = "Ray is not installed here, and a cluster is checked from one of its nodes"
        raise UserError(message, hint="--local needs no Ray", exit_code=UNREACHABLE) from None
    _answers(address)
    try:
        ray.init(address, log_to_driver=False, configure_logging=False)
    except (ConnectionError, RuntimeError, ValueError) as e:  # Ray raises all of them
        raise _unreachable(address, e) from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _answers(address: str) -> None:
    """Whether anybody listens at an address that names one."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_S).close()
    except (OSError, OverflowError) as e:
        raise _unreachable(address, e) from None


def _unreachable(address: str, error: Exception) -> UserError:
    said = (getattr(error, "strerror", None) or str(error)).strip().splitlines()
    why = said[0] if said else type(error).__name__
    return UserError(f"no Ray cluster at {address}: {why}", hint=_HINT, exit_code=UNREACHABLE)
