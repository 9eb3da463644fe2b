"""What a run tells of its endpoint once it has been ready."""

import asyncio
from collections.abc import Iterable, Iterator

import httpx
import pytest

from raygang.local import Event, session
from raygang.local.session import NodeSize, Request, Session
from raygang.spec import UserError


def watched(host: str = "127.0.0.1", start_timeout_s: float = 60) -> tuple[Session, list[Event]]:
    told: list[Event] = []
    request = Request("x", "x.yaml", (NodeSize(1, 1, 1),), {}, host, 8000, False, start_timeout_s)
    return Session(request, told.append), told


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "HEALTH_S", 0)


def answering(monkeypatch: pytest.MonkeyPatch, statuses: Iterable[int]) -> None:
    """An endpoint that answers /health with these, one after the other, then never again."""
    left: Iterator[int] = iter(statuses)

    async def get(_client: httpx.AsyncClient, url: str) -> httpx.Response:
        assert url == "http://127.0.0.1:8000/health"
        status = next(left, None)
        if status is None:
            raise asyncio.CancelledError
        if status == 0:
            raise httpx.ConnectError("refused")
        return httpx.Response(status)

    monkeypatch.setattr(httpx.AsyncClient, "get", get)


def follow(found: Session) -> None:
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(found._until_lost())


def test_a_lost_endpoint_is_told_once_and_that_it_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, [200, 503, 0, 503, 200, 200])
    found, told = watched()
    follow(found)
    assert [(e.part, e.stage) for e in told] == [("endpoint", "lost"), ("endpoint", "ready")]
    assert "HTTP 503" in told[0].detail
    assert "again, after" in told[1].detail


def test_an_endpoint_that_stays_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, [200, 200])
    found, told = watched()
    follow(found)
    assert told == []


def test_an_endpoint_that_does_not_come_back_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, [0, 0, 0])
    found, _ = watched(start_timeout_s=0)
    failure = UserError("gone")
    monkeypatch.setattr(found, "_failed", lambda cause: failure if "ConnectError" in cause else None)
    with pytest.raises(UserError, match="gone"):
        asyncio.run(found._until_lost())


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000/v1"),
        ("0.0.0.0", "http://127.0.0.1:8000/v1"),
        ("::1", "http://[::1]:8000/v1"),
        ("::", "http://[::1]:8000/v1"),
        ("localhost", "http://localhost:8000/v1"),
    ],
)
def test_the_url_is_one_that_works_when_pasted(host: str, url: str) -> None:
    assert watched(host)[0].url == url
