"""A connection to an API server, as kubectl would make it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import yaml
from lightkube.config.client_adapter import Client, ConnectionParams
from lightkube.config.kubeconfig import DEFAULT_KUBECONFIG, KubeConfig
from lightkube.core.exceptions import ConfigError

from raygang.spec import UserError

TIMEOUT = 10.0  # seconds for each answer
UNREACHABLE = 3
PAGE = 500  # objects of one answer


class RefusedError(Exception):
    """The API server does not let us; the message says what it did not allow."""


@dataclass(frozen=True)
class Connection:
    """Reads from one API server."""

    context: str
    _client: httpx2.Client

    def get(self, path: str, **parameters: str | int) -> Any:
        """The JSON at a path; None where there is nothing of that name.

        Raises:
            RefusedError: it is not allowed.
            UserError: the server does not answer, or answers with something else; exit code 3.
        """
        try:
            answer = self._client.get(path, params=parameters)
        except httpx2.HTTPError as e:
            raise self._unreachable(f"{type(e).__name__}: {e}" if str(e) else type(e).__name__) from None
        if answer.status_code == httpx2.codes.NOT_FOUND:
            return None
        if answer.status_code in (httpx2.codes.UNAUTHORIZED, httpx2.codes.FORBIDDEN):
            raise RefusedError(_message(answer))
        if answer.is_error:
            raise self._unreachable(_message(answer))
        try:
            return answer.json()
        except ValueError:
            raise self._unreachable(f"no JSON at {path}") from None

    def objects(self, path: str, kind: str, **parameters: str) -> Iterator[dict[str, Any]]:
        """All objects of a list, with the kind and the API version that items of a list lack. Raises as `get`."""
        more = ""
        while True:
            page = self.get(path, limit=PAGE, **parameters, **({"continue": more} if more else {}))
            for item in (page or {}).get("items") or ():
                yield {"apiVersion": page["apiVersion"], "kind": kind, **item}
            more = ((page or {}).get("metadata") or {}).get("continue") or ""
            if not more:
                return

    def _unreachable(self, why: str) -> UserError:
        what = f"context {self.context}: the API server at {self._client.base_url} does not answer as one: {why}"
        return UserError(what, hint="see `kubectl --context ... version`", exit_code=UNREACHABLE)


@contextmanager
def connect(context: str | None = None) -> Iterator[Connection]:
    """A connection by a context of the kubeconfig (KUBECONFIG or ~/.kube/config); None for its current one.

    Raises:
        UserError: there is no such file or context, or it cannot be used.
    """
    path = Path(os.environ.get("KUBECONFIG") or DEFAULT_KUBECONFIG).expanduser()
    try:
        config = KubeConfig.from_file(path)
    except (ConfigError, OSError, yaml.YAMLError, KeyError, TypeError, AttributeError, ValueError) as e:
        why = "its parts are missing" if isinstance(e, KeyError | TypeError | AttributeError) else str(e)
        raise UserError(f"{path}: is no kubeconfig: {why}", hint="set KUBECONFIG to one file") from None
    try:
        chosen = config.get(context)
        client = Client(chosen, ConnectionParams(timeout=httpx2.Timeout(TIMEOUT)))  # type: ignore[arg-type]  # no default
    except (ConfigError, OSError, KeyError, ValueError, AssertionError) as e:
        known = ", ".join(sorted(config.contexts)) or "none"
        raise UserError(f"{path}: {e}", hint=f"contexts there: {known}") from None
    with client:
        yield Connection(context or config.current_context or "", client)


def _message(answer: httpx2.Response) -> str:
    try:
        return str(answer.json()["message"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP status {answer.status_code}"
