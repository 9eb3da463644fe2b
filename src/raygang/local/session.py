"""One run on this machine: nodes, application, endpoint."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import httpx

from raygang.local import _network, _nodes, state
from raygang.local._driver import Job
from raygang.local._supervisor import Supervisor
from raygang.local.events import Event
from raygang.spec import UserError

HEAD_DEADLINE_S = 90
DRIVER_GRACE_S = 15  # the driver keeps the deadline itself; this much later it is taken as hung
POLL_S = 0.1
HEALTH_S = 5.0  # between looks at the endpoint, and for an answer


@dataclass(frozen=True)
class NodeSize:
    """What one node of the gang gets of this machine. `devices`: CUDA device numbers, empty for CPU ranks."""

    ranks: int
    cpus: int
    threads: int
    devices: tuple[int, ...] = ()


@dataclass(frozen=True)
class Request:
    """What to run: all decisions are made.

    Attributes:
        app: the arguments of `raygang.runtime.app:build`.
        start_timeout_s: the endpoint must be ready this long after the start.
    """

    name: str
    spec: str
    nodes: tuple[NodeSize, ...]
    app: dict[str, Any]
    host: str
    port: int
    dashboard: bool
    start_timeout_s: float


class Session:
    """Starts the nodes and the application, tells what happens, and ends everything.

    An asynchronous context manager: leaving it ends what it started, whatever happened.
    """

    def __init__(self, request: Request, tell: Callable[[Event], None]) -> None:
        self._request = request
        self._tell = tell
        self._began = time.monotonic()
        self._nodes: list[asyncio.subprocess.Process] = []
        self._supervisor: Supervisor
        self._cluster: _nodes.Cluster

    @property
    def run(self) -> state.Run:
        """The run as others see it."""
        return self._supervisor.run

    @property
    def url(self) -> str:
        """The OpenAI API's base URL."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self._request.host, self._request.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{self._request.port}/v1"

    async def __aenter__(self) -> Session:
        _network.check_port(self._request.host, self._request.port)
        self._supervisor = Supervisor(self._request.name, self._request.spec)
        try:
            self._cluster = self._make_cluster()
            await self._supervisor.open()
        except BaseException:
            await self._supervisor.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.shield(self._supervisor.close())

    async def start(self) -> None:
        """Bring the endpoint up.

        Raises:
            UserError: it did not come up; the message has the first cause and where the logs are.
        """
        driver = await self._supervisor.spawn(
            [sys.executable, "-m", "raygang.local._driver"],
            env=self._cluster.environment(),
            log=self._cluster.paths.logs / "driver.log",
            piped=True,
        )
        head, *others = self._cluster.nodes
        await self._start_node(head)
        await self._until_listening(head)
        for node in others:
            await self._start_node(node)
        await self._deploy(driver)
        await self._until_answering()
        self._supervisor.publish_url(self.url)
        if self._cluster.dashboard_port:
            self.say("dashboard", "ready", f"http://127.0.0.1:{self._cluster.dashboard_port}")
        self.say("endpoint", "ready", self.url)

    async def watch(self) -> None:
        """Tell when the endpoint is lost and when it is back. Returns only by raising.

        Raises:
            UserError: a node's process ended, or the endpoint was lost for as long as a start may take.
        """
        watches = {asyncio.ensure_future(self._until_node_ends()), asyncio.ensure_future(self._until_lost())}
        try:
            done, _ = await asyncio.wait(watches, return_when=asyncio.FIRST_COMPLETED)
            done.pop().result()
        finally:
            for watch in watches:
                watch.cancel()

    async def _until_lost(self) -> None:
        """Serve starts a gang anew whose rank died; that takes as long as a start, or never comes to an end."""
        lost: float | None = None
        async with httpx.AsyncClient(timeout=HEALTH_S, trust_env=False) as client:
            while True:
                await asyncio.sleep(HEALTH_S)
                trouble = await self._trouble(client)
                now = time.monotonic()
                if trouble is None and lost is not None:
                    self.say("endpoint", "ready", f"again, after {now - lost:.0f} s")
                    lost = None
                elif trouble and lost is None:
                    lost = now
                    self.say("endpoint", "lost", f"/health: {trouble}; Ray starts the gang anew")
                elif lost is not None and now - lost > self._request.start_timeout_s:
                    limit = f"{self._request.start_timeout_s:.0f} s (limits.start_timeout)"
                    raise self._failed(f"the gang did not come back in {limit}; /health: {trouble}")

    async def _trouble(self, client: httpx.AsyncClient) -> str | None:
        try:
            answer = await client.get(f"{self.url.removesuffix('/v1')}/health")
        except httpx.TransportError as e:
            return type(e).__name__
        return None if answer.status_code == httpx.codes.OK else f"HTTP {answer.status_code}"

    async def _until_node_ends(self) -> None:
        ended = {asyncio.ensure_future(p.wait()): i for i, p in enumerate(self._nodes)}
        try:
            done, _ = await asyncio.wait(ended, return_when=asyncio.FIRST_COMPLETED)
            raise self._node_died(ended[done.pop()])
        finally:
            for future in ended:
                future.cancel()

    def say(self, part: str, stage: str, detail: str = "") -> None:
        """Tell an event that happens now."""
        self._tell(Event(time.monotonic() - self._began, part, stage, detail))

    def _make_cluster(self) -> _nodes.Cluster:
        run, sizes = self.run, self._request.nodes
        addresses = _network.node_addresses(run.network, len(sizes))
        nodes = tuple(
            _nodes.Node(i, address, size.ranks, size.cpus, size.threads, size.devices)
            for i, (address, size) in enumerate(zip(addresses, sizes, strict=True))
        )
        dashboard = _network.free_ports(1)[0] if self._request.dashboard else None
        cluster = _nodes.Cluster(run.mark, nodes, self._supervisor.paths, dashboard)
        cluster.write_token()
        return cluster

    async def _start_node(self, node: _nodes.Node) -> None:
        cluster = self._cluster
        self.say(f"node/{node.index}", "starting", node.address)
        log = cluster.paths.node_log(node.index)
        self._nodes.append(await self._supervisor.spawn(cluster.command(node), env=cluster.environment(node), log=log))

    async def _until_listening(self, head: _nodes.Node) -> None:
        until = time.monotonic() + HEAD_DEADLINE_S
        while time.monotonic() < until:
            if self._nodes[0].returncode is not None:
                raise self._node_died(0)
            with contextlib.suppress(OSError), socket.create_connection((head.address, self._cluster.gcs_port), 1):
                return
            await asyncio.sleep(POLL_S)
        raise self._failed(f"Ray's head node did not come up in {HEAD_DEADLINE_S} s")

    async def _deploy(self, driver: asyncio.subprocess.Process) -> None:
        """Hand the driver its job and follow it; a node that dies meanwhile ends the wait."""
        request = self._request
        job = Job(
            address=self._cluster.address,
            node_ip=self._cluster.nodes[0].address,
            host=request.host,
            port=request.port,
            app=request.app,
            began=self._began,
            deadline_s=request.start_timeout_s,
        )
        assert driver.stdin is not None
        driver.stdin.write(job.to_json().encode() + b"\n")
        waits = {asyncio.ensure_future(self._follow(driver)), asyncio.ensure_future(self._until_node_ends())}
        left = request.start_timeout_s - (time.monotonic() - self._began) + DRIVER_GRACE_S
        try:
            done, _ = await asyncio.wait(waits, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                raise self._failed(f"not ready after {request.start_timeout_s:.0f} s (limits.start_timeout)")
            done.pop().result()
        finally:
            for wait in waits:
                wait.cancel()

    async def _follow(self, driver: asyncio.subprocess.Process) -> None:
        """Pass the driver's events on until it ends; raise when it says that the application failed."""
        assert driver.stdout is not None
        cause = None
        while line := await driver.stdout.readline():
            event = self._by_node(Event.from_json(line.decode()))
            if event.part == "app" and event.stage == "failed":
                cause = event.detail
            else:
                self._tell(event)
        if await driver.wait() != 0:
            raise self._failed(
                self._port_trouble() or cause or _nodes.last_cause(self._cluster.paths.logs / "driver.log")
            )

    def _port_trouble(self) -> str | None:
        """Somebody else took the endpoint's port while the gang was starting."""
        owner = _network.listener(self._request.port)
        if owner in self.run.processes():
            return None
        try:
            _network.check_port(self._request.host, self._request.port)
        except UserError as e:
            return e.message
        return None

    def _by_node(self, event: Event) -> Event:
        """Ray names nodes by address, people by number."""
        for node in self._cluster.nodes:
            if event.part == node.address:
                return replace(event, part=f"node/{node.index}")
        return event

    async def _until_answering(self) -> None:
        """The proxy learns of the replica a moment after Serve calls the application running."""
        async with httpx.AsyncClient(timeout=5, trust_env=False) as client:
            answer = "nothing"
            for _ in range(150):
                with contextlib.suppress(httpx.TransportError):
                    status = (await client.get(f"{self.url}/models")).status_code
                    if status in (httpx.codes.OK, httpx.codes.UNAUTHORIZED):  # 401: the engine wants a key
                        return
                    answer = f"HTTP {status}"
                await asyncio.sleep(POLL_S)
        raise self._failed(f"the application runs, but {self.url}/models answers {answer}")

    def _node_died(self, index: int) -> UserError:
        cause = _nodes.last_cause(self._cluster.paths.node_log(index))
        return self._failed(f"Ray's node {index} ended by itself: {cause}")

    def _failed(self, cause: str) -> UserError:
        self.say("app", "failed", cause)
        return UserError(cause, hint=f"all logs: {self.run.logs}", exit_code=1)
