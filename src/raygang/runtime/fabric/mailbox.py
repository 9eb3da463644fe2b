"""Letters between the ranks of a probe and who runs it, kept in Ray's own key-value store.

The store lives in the GCS, which every node reaches or it would be no node: also a rank that reaches no other rank can
say so. Keys are `raygang-fabric/<probe>/<letter>`, values JSON.
"""

from __future__ import annotations

import json
import time
from typing import Any

PREFIX = "raygang-fabric/"  # not below `progress.PREFIX`: its reader expects stages
_PAUSE_S = 0.02


class Mailbox:
    """The letters of one probe. The caller is connected to the cluster."""

    def __init__(self, probe: str) -> None:
        self.probe = probe
        self._prefix = f"{PREFIX}{probe}/"

    def put(self, letter: str, content: Any) -> None:
        """Leave a letter; a later one of the same name takes its place."""
        from ray.experimental.internal_kv import _internal_kv_put

        _internal_kv_put(self._prefix + letter, json.dumps(content), overwrite=True)

    def get(self, letter: str) -> Any:
        """A letter's content, None where it is not there."""
        from ray.experimental.internal_kv import _internal_kv_get

        value = _internal_kv_get(self._prefix + letter)
        return None if value is None else json.loads(value)

    def wait(self, letter: str, until: float) -> Any:
        """A letter's content. Raises TimeoutError when it is not there at a time of `time.monotonic`."""
        while (content := self.get(letter)) is None:
            if time.monotonic() > until:
                raise TimeoutError(f"{letter} did not come in time")
            time.sleep(_PAUSE_S)
        return content

    def letters(self) -> list[str]:
        """The names of all letters."""
        from ray.experimental.internal_kv import _internal_kv_list

        return sorted(key.decode().removeprefix(self._prefix) for key in _internal_kv_list(self._prefix))

    def clear(self) -> None:
        """Remove all letters."""
        from ray.experimental.internal_kv import _internal_kv_del

        for letter in self.letters():
            _internal_kv_del(self._prefix + letter)
