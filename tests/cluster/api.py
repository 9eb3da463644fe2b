"""An API server's answers to GET, as JSON over HTTP: for what a real one cannot be made to say in a test."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

FORBIDDEN = object()


@contextmanager
def api_server(answers: dict[str, Any]) -> Iterator[str]:
    """Serves lists of objects, or any JSON, by path; 404 for others, 403 for FORBIDDEN. A list's pages have two items."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            where = urlsplit(self.path)
            found = answers.get(where.path)
            if found is None:
                self._send(404, {"message": "the server could not find the requested resource"})
            elif found is FORBIDDEN:
                self._send(403, {"message": f'User "eve" cannot list {where.path}'})
            elif isinstance(found, list):
                start = int(parse_qs(where.query).get("continue", ["0"])[0])
                more = {"continue": str(start + 2)} if start + 2 < len(found) else {}
                version = where.path.removeprefix("/apis/").removeprefix("/api/").rpartition("/")[0]
                self._send(200, {"apiVersion": version, "metadata": more, "items": found[start : start + 2]})
            else:
                self._send(200, found)

        def _send(self, status: int, body: Any) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=10)


def kubeconfig(path: Path, server: str) -> Path:
    """A kubeconfig with the context `here`."""
    path.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "here",
                "clusters": [{"name": "c", "cluster": {"server": server}}],
                "users": [{"name": "u", "user": {"token": "secret-token"}}],
                "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "llm"}}],
            }
        )
    )
    return path
