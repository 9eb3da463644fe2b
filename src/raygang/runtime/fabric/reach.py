"""Plain TCP between the pods of all pairs: who reaches whom, how fast, and how their clocks differ.

It comes before the collective, whose own words for an unreachable peer name no pair, after a long time.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from types import TracebackType

from raygang.runtime.fabric.report import Reach

TRIES = 5
_FORM = struct.Struct("!d")


class Listener:
    """Answers every byte with this node's time, until it is closed."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("", 0), backlog=128)
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Listener:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._socket.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                peer, _ = self._socket.accept()
            except OSError:  # closed
                return
            threading.Thread(target=_answer, args=(peer,), daemon=True).start()


def _answer(peer: socket.socket) -> None:
    with peer:
        peer.settimeout(60)
        try:
            while peer.recv(1):
                peer.sendall(_FORM.pack(time.time()))
        except OSError:  # its own end knows
            return


def reach(rank: int, host: str, port: int, timeout: float) -> Reach:
    """Connect to a rank's listener and ask for the time.

    Args:
        rank: whose listener it is.
        host: its address.
        port: its port.
        timeout: in seconds.
    """
    try:
        with socket.create_connection((host, port), timeout=timeout) as peer:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            seconds, clock = min(_ask(peer) for _ in range(TRIES))
    except TimeoutError:
        return Reach(rank=rank, address=host, error=f"no answer within {timeout:g} s")
    except OSError as e:
        return Reach(rank=rank, address=host, error=e.strerror or str(e))
    return Reach(rank=rank, address=host, seconds=seconds, clock=clock)


def _ask(peer: socket.socket) -> tuple[float, float]:
    """Round trip, and how far the other's clock is ahead: as if both ways took as long."""
    before, began = time.time(), time.monotonic()
    peer.sendall(b"?")
    answer = b""
    while len(answer) < _FORM.size:
        part = peer.recv(_FORM.size - len(answer))
        if not part:
            raise ConnectionResetError(104, "connection closed")
        answer += part
    seconds = time.monotonic() - began
    return seconds, _FORM.unpack(answer)[0] - (before + seconds / 2)
