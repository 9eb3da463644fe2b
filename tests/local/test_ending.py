"""However a run goes, nothing that it started stays, and nothing else is touched."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing import shared_memory
from pathlib import Path

import psutil
import pytest

from raygang.local import _processes, state
from raygang.local._supervisor import Supervisor
from raygang.spec import UserError

# A run in miniature: a supervisor that starts a child, which starts a grandchild that changes its title as Ray's
# processes do (the environment is overwritten), maps shared memory and is orphaned.
RUN = """
import asyncio, sys
from raygang.local._supervisor import Supervisor
from raygang.local._processes import MARK

async def main():
    supervisor = Supervisor("mini", "mini.yaml")
    await supervisor.open()
    env = {MARK: supervisor.run.mark, "PATH": "/usr/bin"}
    await supervisor.spawn([sys.executable, sys.argv[1]], env=env, log=supervisor.paths.logs / "child.log")
    print(supervisor.run.path, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""
CHILD = """
import os, sys, time
from multiprocessing import shared_memory, resource_tracker
memory = shared_memory.SharedMemory(create=True, size=4096)
resource_tracker.unregister(memory._name, "shared_memory")
if os.fork() == 0:
    if os.fork() == 0:
        import setproctitle
        setproctitle.setproctitle("ray::orphan " + "x" * 4000)
        open(sys.argv[0] + ".up", "w").write(f"{os.getpid()} {memory.name}")
        time.sleep(600)
    os._exit(0)
time.sleep(600)
"""


def until(condition: Callable[[], object], deadline_s: float = 20) -> None:
    end = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < end, "deadline"
        time.sleep(0.02)


class Mini:
    """The run in miniature, seen from outside."""

    def __init__(self, directory: Path) -> None:
        child = directory / "child.py"
        child.write_text(CHILD)
        self.up = Path(f"{child}.up")
        self.process = subprocess.Popen([sys.executable, "-c", RUN, str(child)], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.run = state.Run.read(Path(self.process.stdout.readline().strip()))
        until(lambda: self.up.exists() and self.up.read_text())
        orphan, self.segment = self.up.read_text().split()
        self.orphan = psutil.Process(int(orphan))
        self.run = state.Run.read(self.run.path)

    @property
    def gone(self) -> bool:
        orphan = self.orphan.is_running() and self.orphan.status() != psutil.STATUS_ZOMBIE
        return not orphan and not self.run.processes() and not self.run.path.exists()

    def assert_nothing_left(self) -> None:
        until(lambda: self.gone)
        assert not Path(self.run.root).exists()
        assert not Path(f"/dev/shm/{self.segment}").exists()
        assert Path(self.run.logs).exists()


@pytest.fixture
def mini(tmp_path: Path) -> Iterator[Mini]:
    found = Mini(tmp_path)
    yield found
    found.process.kill()
    found.process.wait()
    assert found.process.stdout is not None
    found.process.stdout.close()
    until(lambda: found.gone)


def test_all_of_a_run_is_found_though_orphaned_and_renamed(mini: Mini) -> None:
    assert mini.orphan.environ() == {} or "RAYGANG_SESSION" not in mini.orphan.environ()
    assert mini.orphan.pid in [p.pid for p in mini.run.processes()]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_nothing_stays_when_the_supervisor_is_killed(mini: Mini, number: signal.Signals) -> None:
    mini.process.send_signal(number)
    mini.process.wait(timeout=20)
    mini.assert_nothing_left()


@pytest.fixture
def sleeper() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts processes that sleep, in POSIX sessions of their own; they end with the test, however it goes."""
    started: list[subprocess.Popen[bytes]] = []

    def start(**env: str) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(["/bin/sleep", "600"], env=env, start_new_session=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_another_process_is_left_alone(mini: Mini, sleeper: Callable[..., subprocess.Popen[bytes]]) -> None:
    other = sleeper(PATH="/usr/bin")
    mini.process.kill()
    mini.process.wait()
    mini.assert_nothing_left()
    assert other.poll() is None


def test_a_process_that_took_the_number_of_an_old_session_is_left_alone(
    sleeper: Callable[..., subprocess.Popen[bytes]],
) -> None:
    other = sleeper(PATH="/usr/bin")
    until(lambda: psutil.Process(other.pid).environ())  # empty until its program is loaded
    assert other.pid not in [p.pid for p in _processes.of_run("mark", [other.pid], since=time.time() - 100)]


def test_an_older_process_is_never_ours(sleeper: Callable[..., subprocess.Popen[bytes]]) -> None:
    other = sleeper(**{_processes.MARK: "m"})
    until(lambda: [p.pid for p in _processes.of_run("m", [], since=time.time() - 100)] == [other.pid])
    assert _processes.of_run("m", [], since=time.time() + 60) == []


def test_what_a_killed_guard_left_is_swept(mini: Mini) -> None:
    guards = [p for p in psutil.Process(mini.process.pid).children() if "raygang.local._guard" in p.cmdline()]
    assert len(guards) == 1
    guards[0].kill()
    mini.process.kill()
    mini.process.wait()
    assert mini.run.processes()
    assert [r.name for r in state.sweep()] == ["mini"]
    mini.assert_nothing_left()


def test_the_guard_needs_no_state_file(mini: Mini, cache: Path) -> None:
    shutil.rmtree(cache)
    mini.process.kill()
    mini.process.wait()
    until(lambda: not any(p.exists() for p in (Path(mini.run.root), Path(f"/dev/shm/{mini.segment}"))))


def test_shared_memory_of_a_process_that_was_killed_before_is_taken_too(mini: Mini) -> None:
    segments = _processes.shared_memory(mini.run.processes())
    assert Path(f"/dev/shm/{mini.segment}") in segments
    mini.orphan.kill()
    for process in mini.run.processes():
        process.kill()
    until(lambda: not mini.run.processes())
    assert Path(f"/dev/shm/{mini.segment}").exists()
    assert state.remove(mini.run, segments) == []
    assert not Path(f"/dev/shm/{mini.segment}").exists()


def test_a_supervisor_that_nobody_reaps_is_over(mini: Mini) -> None:
    with subprocess.Popen([sys.executable, "-c", "pass"]) as child:
        run = replace(mini.run, pid=child.pid, created=psutil.Process(child.pid).create_time())
        until(lambda: psutil.Process(child.pid).status() == psutil.STATUS_ZOMBIE)
        assert not run.alive
    assert mini.run.alive


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"name": "x"}', "\x00"])
def test_a_state_file_of_something_else_is_a_message(mini: Mini, text: str) -> None:
    mini.run.path.with_name("999.json").write_text(text)
    with pytest.raises(UserError, match=r"999\.json: is not the state of a run") as e:
        state.runs()
    assert e.value.exit_code == 1
    mini.run.path.with_name("999.json").unlink()


def test_stop_ends_a_run_from_outside(mini: Mini) -> None:
    assert state.find(None).name == "mini"
    state.stop(mini.run)
    mini.process.wait(timeout=5)
    mini.assert_nothing_left()


def test_closing_waits_until_all_is_gone(tmp_path: Path) -> None:
    async def scenario() -> state.Run:
        supervisor = Supervisor("closing", "x.yaml")
        await supervisor.open()
        env = {_processes.MARK: supervisor.run.mark}
        await supervisor.spawn(["sleep", "600"], env=env, log=tmp_path / "log")
        assert len(supervisor.run.processes()) == 1
        await supervisor.close()
        return supervisor.run

    run = asyncio.run(scenario())
    assert run.processes() == []
    assert not run.path.exists()
    assert not Path(run.root).exists()


def test_runs_of_the_same_name_get_names_and_networks_of_their_own(mini: Mini) -> None:
    async def second() -> state.Run:
        supervisor = Supervisor("mini", "x.yaml")
        await supervisor.open()
        await supervisor.close()
        return supervisor.run

    run = asyncio.run(second())
    assert run.name == "mini-2"
    assert run.network != mini.run.network


def test_only_the_logs_of_the_last_runs_stay(cache: Path) -> None:
    async def one(index: int) -> None:
        supervisor = Supervisor(f"run{index}", "x.yaml")
        os.utime(supervisor.run.logs, (index, index))
        await supervisor.close()

    for index in range(state.KEPT_LOGS + 3):
        asyncio.run(one(index))
    kept = sorted(p.name.split("-")[0] for p in (cache / "logs").iterdir())
    assert kept == [f"run{i}" for i in range(3, state.KEPT_LOGS + 3)]


def test_shared_memory_of_others_is_not_listed() -> None:
    memory = shared_memory.SharedMemory(create=True, size=4096)
    try:
        assert _processes.shared_memory([]) == set()
        assert Path(f"/dev/shm/{memory.name}") in _processes.shared_memory([psutil.Process()])
    finally:
        memory.close()
        memory.unlink()


def test_a_state_file_survives_a_round_trip(mini: Mini) -> None:
    mini.run.write()
    assert state.Run.read(mini.run.path) == mini.run
    assert json.loads(mini.run.path.read_text())["name"] == "mini"
