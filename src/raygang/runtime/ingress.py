"""Lets HAProxy reach a replica of a run that listens on loopback only.

Ray 2.60: a replica binds its own port to the host of Serve's HTTP options. HAProxy, on the head's node, connects to
127.0.0.1 for a replica on its own node and to the node's address for any other. With the host 127.0.0.1 and nodes at
127.0.0.2, 127.0.0.3, ... it misses every other replica, takes it for dead and sends everything through Serve's Python
proxy, at several times the latency.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any


def listen_on_node() -> None:
    """Bind the port of a replica off the head's node to its node's address; called in the replica's process."""
    import ray
    from ray.serve._private import replica

    node, head = ray.util.get_node_ip_address(), ray.get_runtime_context().gcs_address.rpartition(":")[0]
    if node == head:
        return
    start = replica.start_asgi_http_server

    async def start_on_node(app: Any, options: Any, **rest: Any) -> Any:
        if is_loopback(options.host):
            options = options.model_copy(update={"host": node})
        return await start(app, options, **rest)

    replica.start_asgi_http_server = start_on_node


def is_loopback(host: str) -> bool:
    """Whether a host means this machine only."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
