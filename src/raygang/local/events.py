"""What a run tells while it goes on; the terminal, the log of a detached run and the tests all read these."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Event:
    """Something reached a stage.

    Attributes:
        at: seconds since the run began.
        part: "node/0"; "replica/0", "engine/0", "rank/0/1" of a replica; "app" or "endpoint".
        stage: the stage that it reached, for example "joined", "weights", "ready", "failed".
        detail: what goes with it: an address, a cause.
    """

    at: float
    part: str
    stage: str
    detail: str = ""

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(line: str) -> Event:
        """The event of a line that `to_json` wrote."""
        return Event(**json.loads(line))
