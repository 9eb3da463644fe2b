"""One rank's part of the probe: a Ray task in the rank's own bundle of the placement group.

It tells its facts at once, waits for the word of who runs the probe, and leaves a letter before each step, so that a
rank that hangs or dies has said where.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from raygang.runtime.fabric import interfaces, nccl_log, verbs
from raygang.runtime.fabric.expected import Expected
from raygang.runtime.fabric.facts import gather
from raygang.runtime.fabric.mailbox import Mailbox
from raygang.runtime.fabric.reach import Listener, reach
from raygang.runtime.fabric.report import Facts, Used

REACH_S = 5.0
GO, STOP = "go", "stop"


def run(probe: str, rank: int, ranks: int, expected: dict[str, Any], root: str) -> None:
    """Take part in a probe. Everything that it has to say goes into the mailbox, its failure too."""
    mail = Mailbox(probe)

    def step(what: str) -> None:
        mail.put(f"step/{rank}", what)

    try:
        _take_part(mail, rank, ranks, Expected.model_validate(expected), Path(root), step)
    except Exception as e:  # noqa: BLE001  (whatever torch, NCCL and the network raise: the report names it)
        mail.put(f"error/{rank}", _first_line(e))


def _take_part(
    mail: Mailbox, rank: int, ranks: int, expected: Expected, root: Path, step: Callable[[str], None]
) -> None:
    import ray

    until = time.monotonic() + expected.timeout_s
    step("facts")
    facts = gather(root, ray.util.get_node_ip_address())
    with Listener() as listener:
        place = {"host": address(facts, expected), "port": listener.port}
        mail.put(f"facts/{rank}", {"facts": facts.model_dump(), **place, "id": ray.get_runtime_context().get_node_id()})
        places = mail.wait("places", until)
        if places == STOP:
            return
        step("reaching the others")
        found = [reach(other, p["host"], p["port"], REACH_S) for other, p in enumerate(places) if other != rank]
        mail.put(f"reached/{rank}", [one.model_dump() for one in found])
        word = mail.wait("traffic", until)
    if word != STOP:
        _measure(mail, rank, word, root, until, step)


def _measure(
    mail: Mailbox, rank: int, places: list[dict[str, Any]], root: Path, until: float, step: Callable[[str], None]
) -> None:
    """The collective; `places` has each rank's address and node."""
    step("importing torch")
    from raygang.runtime.fabric import traffic

    step("the store of rank 0")
    store = _store(mail, rank, places[0]["host"], len(places), until)
    step("connecting all ranks")
    with traffic.connected(rank, len(places), store, until - time.monotonic()) as group:
        before = counters(root)
        nodes = [place["id"] for place in places]
        links, total = traffic.measure(group, nodes, step)
        after = counters(root)
        moved = {name: more for name, count in after.items() if (more := count - before.get(name, 0))}
        used = _used(group, moved, nodes)
        step("the end")
    result = {
        "links": [link.model_dump() for link in links],
        "used": used.model_dump(),
        "all_reduce": total.model_dump() if total else None,
    }
    mail.put(f"result/{rank}", result)
    mail.wait("end", until)  # rank 0 keeps the store until all have closed their ends


def _store(mail: Mailbox, rank: int, host: str, ranks: int, until: float) -> Any:
    from datetime import timedelta

    from torch.distributed import TCPStore

    left = timedelta(seconds=max(1.0, until - time.monotonic()))
    if rank == 0:
        store = TCPStore(host, 0, ranks, is_master=True, timeout=left, wait_for_workers=False)
        mail.put("store", store.port)
        return store
    return TCPStore(host, mail.wait("store", until), ranks, is_master=False, timeout=left)


def _used(group: Any, moved: dict[str, int], nodes: list[str]) -> Used:
    """What the traffic went over: by NCCL's log; gloo knows sockets only, on the interface that sent most."""
    elsewhere = [size for size, node in zip(group.sent, nodes, strict=True) if node != nodes[group.rank]]
    common = {"backend": group.backend, "moved": moved, "sent": sum(elsewhere)}
    if group.log is None:
        busiest = max((name for name in moved if ":" not in name and name != "lo"), key=moved.__getitem__, default="")
        return Used(transport="Socket", devices=(busiest,) if busiest and elsewhere else (), **common)
    said = nccl_log.read(group.log.read_text(encoding="utf-8", errors="replace").splitlines())
    group.log.unlink()
    return Used(transport=said.transport, devices=said.devices, gpu_direct=said.gpu_direct, log=said.lines, **common)


def alone(root: Path, timeout: float) -> Used:
    """What NCCL says when this process is the only rank: which network it would use. Needs a GPU."""
    from torch.distributed import HashStore

    from raygang.runtime.fabric import traffic

    with traffic.connected(0, 1, HashStore(), timeout) as group:
        return _used(group, {}, ["here"])


def counters(root: Path) -> dict[str, int]:
    """Bytes sent so far, by HCA port ("mlx5_0:1") and interface ("eth0")."""
    return {**interfaces.sent(), **verbs.sent(root)}


def address(facts: Facts, expected: Expected) -> str:
    """Where the others find this rank: on the interface that is named, else where Ray finds its node."""
    named = expected.interface or facts.variables.get("GLOO_SOCKET_IFNAME", "").partition(",")[0]
    own = next((i.addresses for i in facts.interfaces if i.name == named), ())
    return next((a for a in own if ":" not in a), facts.node)


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
