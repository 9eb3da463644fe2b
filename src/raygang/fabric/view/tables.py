"""What the ranks have and used, as rows of text; the same for all forms of a report."""

from __future__ import annotations

from collections.abc import Callable

from raygang.fabric.view import words
from raygang.fabric.view.words import NOTHING, visible
from raygang.runtime.fabric.expected import Expected
from raygang.runtime.fabric.report import Facts, Interface, Port, Rank, Reach, Report

_YES: dict[bool | None, str] = {True: "yes", False: "no"}
_NCCL = ("nccl", "nvidia-nccl-cu13", "nvidia-nccl-cu12")  # distributions of PyPI, as facts name them
Device = tuple[str, str, float | None]  # name, state, Gbit/s


def rank_table(report: Report) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The head and the rows of the table of ranks; a column in which nothing stands is left out."""
    columns: dict[str, Callable[[Rank], str]] = {
        "rank": lambda rank: str(rank.rank),
        "node": words.node,
        "device": lambda rank: words.some([name for name, _, _ in devices(rank, report.expected)]),
        "state": lambda rank: _states(devices(rank, report.expected)),
        "Gbit/s": lambda rank: words.some(_rates(devices(rank, report.expected))),
        "transport": _transport,
        "GPUDirect": lambda rank: _YES.get(rank.used.gpu_direct, NOTHING) if rank.used else NOTHING,
        "NCCL": _nccl,
        "memlock": lambda rank: words.size(rank.facts.memlock) if rank.facts else NOTHING,
        "/dev/shm": lambda rank: words.size(rank.facts.shm_size) if rank.facts else NOTHING,
        "to rank 0": lambda rank: words.seconds(reach.seconds if (reach := _reach(rank, report)) else None),
        "clock": lambda rank: _clock(rank, report),
    }
    rows = {name: [tell(rank) for rank in report.ranks] for name, tell in columns.items()}
    kept = [name for name, column in rows.items() if set(column) - {NOTHING} or name == "rank"]
    return tuple(kept), list(zip(*(rows[name] for name in kept), strict=True))


def moved(report: Report) -> list[tuple[str, str, str]]:
    """Rank and node, the bytes that each of its ports and interfaces sent, and how much of it was payload."""
    found = []
    for rank in report.ranks:
        if rank.used and (rank.used.moved or rank.used.sent):
            ports = ", ".join(f"{visible(name)} {words.size(count)}" for name, count in rank.used.moved.items())
            found.append((f"{rank.rank} {words.node(rank)}", ports or NOTHING, words.size(rank.used.sent)))
    return found


def devices(rank: Rank, expected: Expected) -> list[Device]:
    """What the rank used; before that what it has of the kind that is expected."""
    facts = rank.facts
    if facts is None:
        return [(name, "", None) for name in rank.used.devices] if rank.used else []
    known = {**_ports(facts), **{one.name: _interface(one) for one in facts.interfaces}}
    if rank.used and rank.used.devices:
        return [known.get(name) or known.get(f"{name}:1") or (name, "", None) for name in rank.used.devices]
    if expected.transport != "Socket" and facts.hcas:
        wanted = set(expected.hcas)
        return [port for name, port in _ports(facts).items() if not wanted or {name, name.split(":")[0]} & wanted]
    named = [one for one in facts.interfaces if one.name == expected.interface]
    return [_interface(one) for one in named or facts.interfaces if one.name != "lo"]


def _ports(facts: Facts) -> dict[str, Device]:
    return {f"{hca.name}:{port.number}": _port(hca.name, port) for hca in facts.hcas for port in hca.ports}


def _port(name: str, port: Port) -> Device:
    return f"{name}:{port.number}", port.state or "silent", port.rate


def _interface(one: Interface) -> Device:
    return one.name, "up" if one.up else "down", one.speed


def _states(found: list[Device]) -> str:
    return words.some(list(dict.fromkeys(state for _, state, _ in found if state)))


def _rates(found: list[Device]) -> list[str]:
    return list(dict.fromkeys(words.rate(speed) for _, _, speed in found if speed is not None))


def _transport(rank: Rank) -> str:
    if rank.used is None:
        return NOTHING
    return f"{rank.used.transport or 'unknown'} ({visible(rank.used.backend)})"


def _nccl(rank: Rank) -> str:
    found = rank.facts.versions if rank.facts else {}
    return next((visible(found[name]) for name in _NCCL if name in found), NOTHING)


def _reach(rank: Rank, report: Report) -> Reach | None:
    """How the rank reached rank 0, or rank 0 the rank."""
    own = next((one for one in rank.reached if one.rank == 0), None)
    if own is None and report.ranks:
        own = next((one for one in report.ranks[0].reached if one.rank == rank.rank), None)
        own = own.model_copy(update={"clock": -own.clock}) if own else None
    return own


def _clock(rank: Rank, report: Report) -> str:
    """How far the rank's clock is ahead of rank 0's."""
    reach = _reach(rank, report)
    if reach is None or reach.seconds is None or rank.rank == 0:
        return NOTHING
    return ("+" if reach.clock <= 0 else "") + words.seconds(-reach.clock)
