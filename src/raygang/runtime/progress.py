"""Where each part of the gang stands, kept in Ray's own key-value store.

The store lives in the GCS: it needs no process of its own, and whoever watches the cluster can read it. Keys are
`raygang/<part>`, values JSON: the last stage, since when (Unix seconds), the node's address, the pid, `stages` (all
that this process has reported, with their times) and what the reporter adds. Parts are "replica/<n>", "engine/<n>" and
"rank/<n>/<rank>", n being the replica's rank in Serve.
"""

from __future__ import annotations

import json
import os
import time
from typing import Any

PREFIX = "raygang/"
REPLICA_VARIABLE = "RAYGANG_REPLICA"  # set by the replica, inherited by its engine core, handed on to its ranks by vLLM


def part(kind: str, rank: int | None = None) -> str:
    """The name of a part of this process's replica: kind "replica" or "engine", or "rank" with its number."""
    replica = os.environ.get(REPLICA_VARIABLE, "0")
    return f"{kind}/{replica}" if rank is None else f"{kind}/{replica}/{rank}"


_stages: dict[str, list[tuple[str, float]]] = {}


def report(part: str, stage: str, **facts: Any) -> None:
    """Say that `part` has reached `stage`."""
    import ray
    from ray.experimental.internal_kv import _internal_kv_put

    now = time.time()
    stages = _stages.setdefault(part, [])
    stages.append((stage, now))
    node = ray.util.get_node_ip_address()
    entry = {"stage": stage, "since": now, "node": node, "pid": os.getpid(), "stages": stages, **facts}
    _internal_kv_put(PREFIX + part, json.dumps(entry), overwrite=True)


def read() -> dict[str, dict[str, Any]]:
    """All reports, by part. The caller is connected to the cluster."""
    from ray.experimental.internal_kv import _internal_kv_get, _internal_kv_list

    found = {}
    for key in _internal_kv_list(PREFIX):
        value = _internal_kv_get(key)
        if value:
            found[key.decode().removeprefix(PREFIX)] = json.loads(value)
    return found


def first_failure() -> str | None:
    """The cause that the first failing part gave, ranks before the engine core, which only sees their consequence."""
    failed = {part: entry for part, entry in read().items() if entry["stage"] == "failed"}
    ranks = [entry for part, entry in failed.items() if part.startswith("rank/")]
    candidates = ranks or list(failed.values())
    return str(min(candidates, key=lambda e: e["since"])["cause"]) if candidates else None
