"""`raygang run`: from a specification to an endpoint that stays until it is ended."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass

from rich.markup import escape

from raygang.cli._console import err, out
from raygang.cli._plan import summary
from raygang.cli._prepare import make_plan, read_spec
from raygang.cli._progress import Json, View, choose_view
from raygang.hardware import this_machine
from raygang.local import lifetime
from raygang.local.prepare import check_place, prepare
from raygang.local.session import Request, Session
from raygang.plan import fits_machine


@dataclass(frozen=True)
class Options:
    spec: str
    host: str
    port: int
    ask: tuple[str, ...]
    once: bool
    dashboard: bool
    json: bool


def run(options: Options, *, detach: bool) -> int:
    if detach:
        from raygang.cli._detach import run_detached

        return run_detached(options)
    lifetime.follow_parent()
    request = prepare_request(options)
    return asyncio.run(_until_ended(request, options, choose_view(request, as_json=options.json)))


def prepare_request(options: Options) -> Request:
    """All that can be known to be wrong is found here, before anything is started."""
    spec, machine = read_spec(options.spec), this_machine()
    check_place(spec, machine, options.host, options.port)
    plan, model = make_plan(spec)
    fits_machine(plan, machine)
    request = prepare(plan, model, machine, host=options.host, port=options.port, dashboard=options.dashboard)
    if not options.json:
        err.print(f"[bold]{plan.spec.name}[/]: {summary(plan)}")
    return request


async def _until_ended(request: Request, options: Options, view: View) -> int:
    """Serve until a signal comes or something breaks. Returns the exit code."""
    task = asyncio.current_task()
    received: list[int] = []
    assert task is not None
    for number in lifetime.ending_signals():
        asyncio.get_running_loop().add_signal_handler(number, _end, task, received, number)
    ready = False
    try:
        with view:
            async with Session(request, view.tell) as session:
                await session.start()
                ready = True
                view.ready(session.url, request.app["served_name"], session.run.name)
                await _beside(session, _answer(session.url, request.app["served_name"], options))
                if not options.once:
                    await session.watch()
    except asyncio.CancelledError:
        if not received:
            raise
        err.print(f"\n{signal.Signals(received[0]).name}: ended, nothing is left running")
    return 0 if ready else 128 + received[0]


async def _beside(session: Session, work: Coroutine[None, None, None]) -> None:
    """Do something while the session is watched: what ends the session ends it too."""
    tasks = {asyncio.ensure_future(work), asyncio.ensure_future(session.watch())}
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        done.pop().result()
    finally:
        for task in tasks:
            task.cancel()


def _end(task: asyncio.Task[int], received: list[int], number: int) -> None:
    if not received:  # the second Ctrl-C must not interrupt the cleaning up
        received.append(number)
        task.cancel()


async def _answer(url: str, model: str, options: Options) -> None:
    from raygang.cli._ask import ask

    for question in options.ask:
        answer = ask(url, model, question)
        if options.json:
            text = "".join([part async for part in answer])
            Json.print(question=question, answer=text)
            continue
        out.print(f"\n[bold]{escape(question)}[/]")
        async for part in answer:
            with suppress(BrokenPipeError):
                sys.stdout.write(part)
                sys.stdout.flush()
        out.print()
