"""A real collective between the ranks: torch.distributed with NCCL on GPUs and gloo on CPUs, as vLLM uses them.

Importing this imports torch (seconds). Read in torch 2.13; `batch_isend_irecv` uses the group's own communicator, so
that a pair costs no new one.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from raygang.runtime.fabric.report import AllReduce, Link
from raygang.runtime.fabric.rounds import partner, rounds

ROUNDS_S = 12.0  # for the bandwidths of all pairs, both ways; at most _LONGEST_S for each
_LONGEST_S = 0.5
_CALIBRATE_S = 0.02
_PINGS = 30
_SMALLEST, _LARGEST = 256 << 10, {"gloo": 16 << 20, "nccl": 256 << 20}  # bytes of a message
_IN_FLIGHT = 3
_ALL_REDUCE = {"gloo": 16 << 20, "nccl": 256 << 20}


@dataclass
class Group:
    """All ranks, connected. `log` has what NCCL says of it."""

    rank: int
    ranks: int
    backend: str
    log: Path | None
    sent: list[int]  # bytes to each rank

    @property
    def device(self) -> Any:
        """Where tensors are."""
        return torch.device("cuda" if self.backend == "nccl" else "cpu")

    def wait(self) -> None:
        """Until what was started is done."""
        if self.backend == "nccl":
            torch.cuda.synchronize()


@contextlib.contextmanager
def connected(rank: int, ranks: int, store: Any, timeout: float) -> Iterator[Group]:
    """The group of all ranks. `store` is a torch.distributed store that all share, `timeout` in seconds."""
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    log = _log_to_file() if backend == "nccl" else None
    deadline = timedelta(seconds=timeout)
    dist.init_process_group(backend, store=store, rank=rank, world_size=ranks, timeout=deadline)
    try:
        group = Group(rank, ranks, backend, log, [0] * ranks)
        dist.all_reduce(torch.ones(1, device=group.device))  # connects them
        group.wait()
        yield group
    finally:
        dist.destroy_process_group()


def measure(group: Group, nodes: Sequence[str], step: Callable[[str], None]) -> tuple[list[Link], AllReduce | None]:
    """Latency and bandwidth of every pair, and of the all-reduce; links are told by the smaller rank of the pair.

    Args:
        group: all ranks.
        nodes: the node of each.
        step: told what comes next, so that one who waits knows where it stands.
    """
    links: list[Link] = []
    plan = rounds(nodes)
    seconds = min(_LONGEST_S, ROUNDS_S / (2 * max(1, len(plan))))
    for pairs in plan:
        other = partner(pairs, group.rank)
        if other is not None:
            step(f"the link to rank {other}")
            links += _pair(group, other, seconds)
    step("the all-reduce")
    return links, _all_reduce(group) if group.ranks > 1 else None


def _pair(group: Group, other: int, seconds: float) -> list[Link]:
    low, high = sorted((group.rank, other))
    latency = _latency(group, other)
    found = []
    for source, target in ((low, high), (high, low)):
        rate = _bandwidth(group, other, sending=source == group.rank, seconds=seconds)
        found.append(Link(source=source, target=target, latency=latency, bandwidth=rate))
    return found if group.rank == low else []


def _latency(group: Group, other: int) -> float:
    """Half of the median round trip of a small message."""
    token = torch.zeros(1, device=group.device)
    times = []
    for _ in range(_PINGS):
        began = time.perf_counter()
        for sending in (group.rank < other, group.rank > other):
            _exchange(group, other, [token], sending)
        times.append(time.perf_counter() - began)
    return sorted(times)[len(times) // 2] / 2


def _bandwidth(group: Group, other: int, *, sending: bool, seconds: float) -> float:
    """Gbit/s one way: messages grow until one takes long enough to time, then as many as fill the time."""
    size = _SMALLEST
    while True:
        data = torch.zeros(size, dtype=torch.uint8, device=group.device)
        taken = _timed(group, other, [data], sending)
        taken = min(taken, _timed(group, other, [data], sending))  # the first of a size also makes its buffers
        if taken >= _CALIBRATE_S or size >= _LARGEST[group.backend]:
            break
        size *= 4
    count = max(1, round(seconds / taken)) if taken < seconds else 0
    if count:
        best = _timed(group, other, [data] * min(count, _IN_FLIGHT), sending, repeat=-(-count // _IN_FLIGHT))
        return 8 * size * min(count, _IN_FLIGHT) * -(-count // _IN_FLIGHT) / best / 1e9
    return 8 * size / taken / 1e9


def _timed(group: Group, other: int, tensors: list[Any], sending: bool, repeat: int = 1) -> float:
    """Seconds of messages one way and a word of thanks; the sender's time, which both know in the end."""
    began = time.perf_counter()
    for _ in range(repeat):
        _exchange(group, other, tensors, sending)
    done = torch.zeros(1, dtype=torch.float64, device=group.device)
    _exchange(group, other, [done], not sending)
    taken = torch.full_like(done, time.perf_counter() - began)
    _exchange(group, other, [taken], sending)
    return float(taken.item())


def _exchange(group: Group, other: int, tensors: list[Any], sending: bool) -> None:
    way = dist.isend if sending else dist.irecv
    for work in dist.batch_isend_irecv([dist.P2POp(way, tensor, other) for tensor in tensors]):
        work.wait()
    group.wait()
    if sending:
        group.sent[other] += sum(tensor.nbytes for tensor in tensors)


def _all_reduce(group: Group) -> AllReduce:
    """The best of three, after one that makes the buffers."""
    size = _ALL_REDUCE[group.backend]
    data = torch.zeros(size // 4, device=group.device)
    times = []
    for _ in range(4):
        dist.barrier()
        began = time.perf_counter()
        dist.all_reduce(data)
        group.wait()
        times.append(time.perf_counter() - began)
    seconds = min(times[1:])
    bus = 2 * (group.ranks - 1) / group.ranks * size * 8 / seconds / 1e9
    return AllReduce(ranks=group.ranks, size=size, seconds=seconds, bus_bandwidth=bus)


def _log_to_file() -> Path:
    """Let NCCL write what it does to a file of this process; called before its first communicator."""
    handle, name = tempfile.mkstemp(prefix="raygang-nccl-")
    os.close(handle)
    os.environ["NCCL_DEBUG"] = "INFO"
    os.environ["NCCL_DEBUG_SUBSYS"] = "INIT,ENV,NET,P2P,SHM"
    os.environ["NCCL_DEBUG_FILE"] = name
    return Path(name)
