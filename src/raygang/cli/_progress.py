"""How the progress of a run looks: a live table on a terminal, lines elsewhere, JSON for programs."""

from __future__ import annotations

import json
import shlex
import sys
import time
from types import TracebackType
from typing import Any, Protocol, Self

from rich.console import Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from raygang.cli._console import err, out
from raygang.local import Event
from raygang.local.session import Request

WORDS = {
    "importing": "replica placed, loading its libraries",
    "fabric": "checking the network between the ranks",
    "engine": "engine starting",
    "first token": "sending a token through all ranks",
    "deploying": "Serve is up, application deployed",
}


class View(Protocol):
    """What `run` tells the user."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: Any) -> None: ...
    def tell(self, event: Event) -> None: ...
    def ready(self, url: str, model: str, name: str) -> None: ...


def choose_view(request: Request, *, as_json: bool) -> View:
    if as_json:
        return Json()
    return LiveTable(request) if err.is_terminal else Lines()


class Json:
    """One JSON object per line on standard output."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        return None

    @staticmethod
    def print(**fields: Any) -> None:
        sys.stdout.write(json.dumps(fields) + "\n")
        sys.stdout.flush()

    def tell(self, event: Event) -> None:
        self.print(at=round(event.at, 2), part=event.part, stage=event.stage, detail=event.detail)

    def ready(self, url: str, model: str, name: str) -> None:
        self.print(name=name, url=url, model=model)


class Lines:
    """One line per event, for logs."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        return None

    def tell(self, event: Event) -> None:
        detail = f"  {event.detail}" if event.detail and event.stage != "failed" else ""
        err.print(f"{event.at:6.1f} s  {event.part:<9} {escape(event.stage + detail)}")

    def ready(self, url: str, model: str, name: str) -> None:
        print_ready(url, model, name)


class LiveTable:
    """A row per node with its ranks, a row for the application; redrawn four times a second."""

    def __init__(self, request: Request) -> None:
        self._began = time.monotonic()
        self._stages: dict[str, Event] = {}
        self._nodes = [size.ranks for size in request.nodes]
        self._world = sum(self._nodes) // request.app["replicas"]
        self._live = Live(get_renderable=self._render, console=err, refresh_per_second=4)
        self._done = False

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: BaseException | TracebackType | None) -> None:
        self._stop()

    def _stop(self) -> None:
        if not self._done:
            self._done = True
            self._live.stop()

    def tell(self, event: Event) -> None:
        self._stages[event.part] = event

    def ready(self, url: str, model: str, name: str) -> None:
        self._stop()
        if dashboard := self._stages.get("dashboard"):
            err.print(f"Ray's dashboard: {dashboard.detail}")
        print_ready(url, model, name)

    def _render(self) -> RenderableType:
        table = Table(box=None, pad_edge=False, header_style="dim")
        for column in ("", "address", "Ray", "rank", "engine", "since"):
            table.add_column(column)
        rank = 0
        for index, ranks in enumerate(self._nodes):
            node = self._stages.get(f"node/{index}")
            for first in range(ranks):
                self._row(table, f"node {index}" if first == 0 else "", node, rank)
                rank += 1
        return Group(table, self._line())

    def _row(self, table: Table, name: str, node: Event | None, rank: int) -> None:
        state = self._stages.get(f"rank/{rank // self._world}/{rank % self._world}")
        last = state or node
        table.add_row(
            name,
            node.detail if node else "",
            _colored(node.stage) if node else "",
            str(rank % self._world),
            _colored(state.stage) if state else "-",
            f"{last.at:.1f} s" if last else "",
        )

    def _line(self) -> Text:
        event = self._stages.get("replica/0") or self._stages.get("app")
        words = WORDS.get(event.stage, f"{event.part} {event.stage}") if event else "starting Ray"
        return Text(f"{time.monotonic() - self._began:5.1f} s  {words}", style="bold")


def _colored(stage: str) -> str:
    color = {"ready": "green", "joined": "green", "failed": "red"}.get(stage, "yellow")
    return f"[{color}]{stage}[/]"


def print_ready(url: str, model: str, name: str) -> None:
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": "What is the capital of France?"}]})
    end = f"end it with Ctrl-C or `raygang local stop {name}`"
    out.print(f"\n[bold green]ready[/]  {url}  {escape(f'(model {model}; {end})')}\n")
    curl = f"curl {shlex.quote(f'{url}/chat/completions')} -H 'Content-Type: application/json'"
    out.print(escape(f"{curl} \\\n  -d {shlex.quote(body)}\n"))
    out.print(
        escape(
            "from openai import OpenAI\n"
            f'client = OpenAI(base_url="{url}", api_key="none")\n'
            f"answer = client.chat.completions.create(model={json.dumps(model)},\n"
            '    messages=[{"role": "user", "content": "What is the capital of France?"}])\n'
            "print(answer.choices[0].message.content)"
        )
    )
