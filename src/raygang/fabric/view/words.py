"""Numbers and names as people read them; what comes from pods is anybody's, and a terminal obeys it."""

from __future__ import annotations

from raygang.runtime.fabric.report import Link, Rank, Report

NOTHING = "-"
SOME = 2  # names of a list; the rest is counted


def visible(text: str) -> str:
    """A text in one line and without control characters."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text)


def rate(gigabits: float | None) -> str:
    """Gbit/s with three digits, without the unit."""
    if gigabits is None:
        return NOTHING
    return f"{gigabits:.0f}" if gigabits >= 100 else f"{gigabits:.3g}"


def size(number: float | None) -> str:
    """Bytes with a binary unit; None: no limit."""
    if number is None:
        return "unlimited"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1024:
            return f"{number:.3g} {unit}" if number < 1000 else f"{number:.0f} {unit}"
        number /= 1024
    return f"{number:.3g} TiB"


def seconds(number: float | None) -> str:
    """A time in the unit that reads well."""
    if number is None:
        return NOTHING
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if abs(number) * factor >= 1:
            return f"{number * factor:.3g} {unit}"
    return f"{number * 1e6:.2g} us"


def some(names: list[str]) -> str:
    """The first of some names, and how many more there are."""
    more = f" +{len(names) - SOME}" if len(names) > SOME else ""
    return visible(", ".join(names[:SOME])) + more if names else NOTHING


def node(rank: Rank) -> str:
    """The node of a rank; "?" where nothing was heard of it."""
    return visible(rank.facts.node or rank.facts.host) if rank.facts else "?"


def nodes(report: Report) -> dict[int, str]:
    """The node of each rank."""
    return {rank.rank: node(rank) for rank in report.ranks}


def link(report: Report, one: Link) -> str:
    """A link by its ranks and their nodes."""
    on = nodes(report)
    ends = (f"rank {number} on {on.get(number, '?')}" for number in (one.source, one.target))
    return " to ".join(ends)
