"""Deploys the Serve application and tells what becomes of it; a process of its own.

Apart from the supervisor, because Ray ends a driver's process without notice when it loses the cluster, and because
it takes 200 MB that nobody needs once the application is up. Reads one JSON line (a `Job`) from standard input,
writes `Event`s as JSON lines to standard output; exit code 0 when the application is up, 1 when it failed.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from dataclasses import asdict, dataclass
from typing import Any, TextIO

from raygang.local.events import Event

APP = "raygang"
POLL_S = 0.25


@dataclass(frozen=True)
class Job:
    """What to deploy where. Times in seconds; `began` is the supervisor's monotonic start."""

    address: str
    node_ip: str
    host: str
    port: int
    app: dict[str, Any]
    began: float
    deadline_s: float

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def main() -> int:
    # Ray and its libraries write to standard output what they please; events have a descriptor of their own.
    with os.fdopen(os.dup(1), "w", buffering=1) as events:
        os.dup2(2, 1)
        return deploy(events)


def deploy(events: TextIO) -> int:
    # Imported while the head node starts: the job comes when it is up.
    import ray
    from ray import serve
    from ray.serve.config import HTTPOptions

    from raygang.runtime.app import build

    job = Job(**json.loads(sys.stdin.readline()))
    ray.init(address=job.address, _node_ip_address=job.node_ip, log_to_driver=False, logging_level="ERROR")
    watcher = Watcher(job, events)
    watching = threading.Thread(target=watcher.run, daemon=True)
    watching.start()
    timeout = job.app["request_timeout_s"]
    http = HTTPOptions(host=job.host, port=job.port, location="HeadOnly", request_timeout_s=timeout)
    serve.start(http_options=http)
    watcher.say("app", "deploying")
    try:
        target = serve.RunTarget(build(job.app), name=APP, route_prefix="/")
        serve.run_many([target], wait_for_applications_running=False)
        cause = wait_until_up(job)
    except Exception as e:  # noqa: BLE001  (whatever Ray raises ends this process; its message is the event)
        cause = f"{type(e).__name__}: {e}"
    watcher.ended.set()
    watching.join()
    watcher.poll()
    watcher.say("app", "failed" if cause else "ready", cause or "")
    return 1 if cause else 0


def wait_until_up(job: Job) -> str | None:
    """None when the application runs, else why not."""
    from ray import serve

    from raygang.runtime import progress

    while time.monotonic() - job.began < job.deadline_s:
        status = serve.status().applications[APP]
        if status.status == "RUNNING":
            return None
        # Serve would start a failed replica again, twice; what a user wants here is the cause of the first.
        if status.status in ("DEPLOY_FAILED", "UNHEALTHY") or failed():
            return progress.first_failure() or status.message
        time.sleep(POLL_S)
    return f"not ready after {job.deadline_s:.0f} s (limits.start_timeout)"


def failed() -> bool:
    """Whether a replica has reported that its engine did not start."""
    from raygang.runtime import progress

    return any(e["stage"] == "failed" for part, e in progress.read().items() if part.startswith("replica/"))


class Watcher:
    """Turns changes in the cluster's node list and in the runtime's reports into events."""

    def __init__(self, job: Job, events: TextIO) -> None:
        self._began = time.time() - (time.monotonic() - job.began)  # Unix time of the supervisor's start
        self._events = events
        self._seen: set[tuple[object, ...]] = set()
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(POLL_S):
            self.poll()

    def poll(self) -> None:
        """Tell what is new. Stages carry the time at which they were reached, not the time of this look."""
        import ray

        from raygang.runtime import progress

        for node in ray.nodes():
            if node["Alive"]:
                self._once(node["NodeManagerAddress"], "joined", node["NodeManagerAddress"], time.time())
        for part, entry in progress.read().items():
            for stage, since in entry["stages"]:
                cause = entry.get("cause") if stage == "failed" else None
                self._once(part, stage, cause or entry["node"], since, entry["pid"])

    def _once(self, part: str, stage: str, detail: str, since: float, *process: int) -> None:
        key = (part, stage, *process)
        if key not in self._seen:
            self._seen.add(key)
            self.say(part, stage, detail, since)

    def say(self, part: str, stage: str, detail: str = "", since: float | None = None) -> None:
        at = (time.time() if since is None else since) - self._began
        self._events.write(Event(at, part, stage, detail).to_json() + "\n")


if __name__ == "__main__":
    sys.exit(main())
