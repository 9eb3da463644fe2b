"""What the live table shows."""

import io

from rich.console import Console

from raygang.cli._progress import LiveTable
from raygang.local import Event
from raygang.local.session import NodeSize, Request


def shown(events: list[Event], *, nodes: int = 2, replicas: int = 1) -> list[str]:
    request = Request("x", "x.yaml", (NodeSize(1, 1, 1),) * nodes, {"replicas": replicas}, "127.0.0.1", 8000, False, 60)
    table = LiveTable(request)
    for event in events:
        table.tell(event)
    console = Console(file=io.StringIO(), width=100)
    console.print(table._render())
    assert isinstance(console.file, io.StringIO)
    return [" ".join(line.split()) for line in console.file.getvalue().splitlines()]


def test_each_node_has_a_row_with_its_rank_and_stage() -> None:
    rows = shown(
        [
            Event(0.1, "node/0", "starting", "127.0.0.2"),
            Event(3.2, "node/0", "joined", "127.0.0.2"),
            Event(30.5, "rank/0/0", "weights", "127.0.0.2"),
            Event(30.5, "replica/0", "engine", "127.0.0.2"),
        ]
    )
    assert rows[1] == "node 0 127.0.0.2 joined 0 weights 30.5 s"
    assert rows[2] == "node 1 1 -"
    assert rows[3].endswith("engine starting")


def test_ranks_are_counted_within_their_replica() -> None:
    rows = shown([Event(1, "rank/1/0", "loaded")], nodes=4, replicas=2)
    assert [row.split()[-4:] for row in rows[1:5]][2] == ["0", "loaded", "1.0", "s"]
    assert [row.split()[2] for row in rows[1:5]] == ["0", "1", "0", "1"]
