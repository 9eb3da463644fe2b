"""Plain TCP between two ends, on this machine's loopback."""

from __future__ import annotations

import socket

import pytest

from raygang.runtime.fabric import reach as module
from raygang.runtime.fabric.reach import Listener, reach


def test_a_listener_is_reached_and_tells_the_time() -> None:
    with Listener() as listener:
        found = reach(3, "127.0.0.1", listener.port, 5)
        again = reach(3, "127.0.0.1", listener.port, 5)
    assert (found.rank, found.error, found.address) == (3, "", "127.0.0.1")
    assert found.seconds is not None
    assert 0 < found.seconds < 5
    assert abs(found.clock) < 1
    assert again.error == ""


def test_a_clock_that_is_ahead_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with Listener() as listener:
        here = module.time.time
        calls = iter(range(10_000))
        # The asking end reads its clock first, the answering end second.
        monkeypatch.setattr(module.time, "time", lambda: here() + (100.0 if next(calls) % 2 else 0.0))
        found = reach(0, "127.0.0.1", listener.port, 5)
    assert found.clock == pytest.approx(100, abs=1)


def test_a_closed_listener_is_refused() -> None:
    with Listener() as listener:
        port = listener.port
    found = reach(1, "127.0.0.1", port, 5)
    assert (found.seconds, found.error) == (None, "Connection refused")


def test_one_that_never_answers_costs_no_more_than_its_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        found = reach(1, "127.0.0.1", silent.getsockname()[1], 0.2)
    assert found.error == "no answer within 0.2 s"
    assert found.seconds is None
