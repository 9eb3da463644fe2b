"""The options of `ray start` that rayStartParams can name (Ray 2.60, ray/scripts/scripts.py:458-800)."""

from __future__ import annotations

WHOLE_NUMBERS = frozenset({
    "port", "object-manager-port", "node-manager-port", "min-worker-port", "max-worker-port", "ray-client-server-port",
    "memory", "object-store-memory", "num-cpus", "num-gpus", "dashboard-port", "dashboard-agent-listen-port",
    "dashboard-agent-grpc-port", "runtime-env-agent-port", "metrics-export-port", "system-reserved-memory",
})  # fmt: skip
BYTES = frozenset({"memory", "object-store-memory", "system-reserved-memory"})
FLAGS = frozenset({
    "head", "block", "no-redirect-output", "enable-object-reconstruction", "no-monitor", "ray-debugger-external",
    "disable-usage-stats", "enable-resource-isolation", "verbose",
})  # fmt: skip
YES_OR_NO = frozenset({"include-dashboard", "include-log-monitor", "log-color"})
TEXTS = frozenset({
    "node-ip-address", "address", "node-name", "redis-username", "redis-password", "redis-shard-ports",
    "worker-port-list", "resources", "dashboard-host", "plasma-directory", "object-spilling-directory",
    "autoscaling-config", "temp-dir", "system-config", "tracing-startup-hook", "labels", "labels-file",
    "system-reserved-cpu", "cgroup-path", "proxy-server-url", "log-style",
})  # fmt: skip
GONE = frozenset({  # of earlier versions of Ray 1 and 2
    "gcs-server-port", "redis-port", "redis-address", "num-redis-shards", "redis-max-clients", "dashboard-grpc-port",
    "java-worker-options", "load-code-from-local", "code-search-path", "lru-evict", "raylet-socket-name",
    "plasma-store-socket-name", "temp_dir", "storage", "ray-client-server-host", "worker-register-timeout",
    "metrics-agent-port", "logging-level", "logging-format",
})  # fmt: skip
OPTIONS = WHOLE_NUMBERS | FLAGS | YES_OR_NO | TEXTS
HEAD_ONLY = ("port", "redis-shard-ports", "include-dashboard")  # Ray 2.60, scripts.py:1197-1215
