"""A stand-in for the Hugging Face hub: there is no network to the real one where tests run. It speaks the part of the
hub's HTTP that huggingface_hub 1.x and 2.x use to fetch a snapshot, and its errors as the hub sends them."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

COMMIT = "a" * 40
TOKEN = "hf_right"
ERRORS = {  # what the hub answers for a repository, with the header that huggingface_hub goes by
    "org/gated": (403, "GatedRepo", "Access to model org/gated is restricted"),
    "org/missing": (401, "RepoNotFound", "Repository not found"),
    "org/other-revision": (404, "RevisionNotFound", "Invalid rev id"),
    "org/broken": (503, "", "Service Unavailable"),
}


@contextmanager
def hub(model: Path) -> Iterator[str]:
    """Serves `model` as org/model, and as org/private to who has `TOKEN`; yields the endpoint."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"model": model}))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=10)


class _Handler(BaseHTTPRequestHandler):
    model: Path

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def _answer(self, *, body: bool) -> None:
        parts = self.path.split("?")[0].strip("/").split("/")
        api = parts[:2] == ["api", "models"]
        name = "/".join(parts[2:4] if api else parts[:2])
        if name in ERRORS:
            status, code, text = ERRORS[name]
            self._send(status, json.dumps({"error": text}).encode(), {"X-Error-Code": code} if code else {}, body)
        elif name == "org/private" and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._send(401, b'{"error": "Invalid username or password."}', {"X-Error-Code": "RepoNotFound"}, body)
        elif api and "tree" in parts:
            self._send(200, json.dumps([self._entry(file) for file in self._files()]).encode(), {}, body)
        elif api:
            siblings = [{"rfilename": file.name} for file in self._files()]
            self._send(200, json.dumps({"id": name, "sha": COMMIT, "siblings": siblings}).encode(), {}, body)
        else:
            content = (self.model / parts[-1]).read_bytes()
            etag = hashlib.sha1(content).hexdigest()
            self._send(200, content, {"ETag": f'"{etag}"', "X-Repo-Commit": COMMIT}, body)

    def _files(self) -> list[Path]:
        return sorted(p for p in self.model.iterdir() if p.is_file())

    def _entry(self, file: Path) -> dict[str, Any]:
        oid = hashlib.sha1(file.read_bytes()).hexdigest()
        return {"type": "file", "path": file.name, "size": file.stat().st_size, "oid": oid}

    def _send(self, status: int, content: bytes, headers: dict[str, str], body: bool) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(content)
