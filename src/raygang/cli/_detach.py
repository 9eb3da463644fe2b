"""`raygang run --detach`: the same run, in a process of its own."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

from raygang.cli._console import err
from raygang.cli._progress import choose_view
from raygang.cli._run import Options, prepare_request
from raygang.local import Event, cache_dir
from raygang.spec import UserError

POLL_S = 0.1


def run_detached(options: Options) -> int:
    """Start it, follow it until it is ready, leave it alone. Ctrl-C before that ends it."""
    if options.spec == "-" or options.once or options.ask:
        what = "a specification from standard input" if options.spec == "-" else "--once and --ask"
        raise UserError(
            f"--detach does not go with {what}", hint="the run goes on without you: name a file, ask it then"
        )
    request = prepare_request(options)
    logs = cache_dir() / "logs"
    logs.mkdir(mode=0o700, parents=True, exist_ok=True)
    log = logs / f"detached-{secrets.token_hex(4)}.jsonl"
    process = _start(options, log)
    view = choose_view(request, as_json=options.json)
    try:
        with view, log.open() as lines:
            while process.poll() is None:
                for line in lines:
                    entry = json.loads(line)
                    if "url" in entry:
                        view.ready(entry["url"], entry["model"], entry["name"])
                        return 0
                    view.tell(Event(**entry))
                time.sleep(POLL_S)
    except KeyboardInterrupt:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
        err.print("ended, nothing is left running")
        return 130
    told = log.with_suffix(".err").read_text().strip().removeprefix("error: ")
    raise UserError(told or "it ended without a message", exit_code=max(process.returncode, 1))


def _start(options: Options, log: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "raygang.cli", "run", str(Path(options.spec).absolute()), "-o", "json"]
    command += ["--host", options.host, "--port", str(options.port)]
    command += ["--dashboard"] if options.dashboard else []
    with log.open("wb") as out, log.with_suffix(".err").open("wb") as errors:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, start_new_session=True, env=dict(os.environ)
        )
