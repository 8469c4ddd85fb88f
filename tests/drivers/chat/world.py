"""An engine, a search and a site on the loopback for the service's tests, and what they saw."""

import contextlib
import json
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from hostcall.testing import reply_calls, reply_text
from tests.drivers.chat.serving import Service, served
from tests.drivers.servers import (
    PUBLIC_V4,
    Authority,
    Connection,
    Handler,
    ScriptedEngine,
    Server,
    page,
    searxng,
    site,
)

RESULTS = [{"url": "https://docs.example.org/guide", "title": "The guide", "content": "How it begins."}]
HTML = "<title>The guide</title><h1>The guide</h1><p>The kettle boils at ninety-four degrees on that hill.</p>"
SEARCH = reply_calls(("web_search", {"query": "kettle boil"}))
FETCH = reply_calls(("fetch_page_content_recursive", {"url": "https://docs.example.org/guide"}))
ANSWER = reply_text("It boils ", "at 94 degrees [1].")
NAMES = {"docs.example.org": [PUBLIC_V4]}


@attrs.define
class World:
    """The service and what is around it."""

    service: Service
    engine: Server
    scripted: ScriptedEngine
    search: Server
    site: Server

    @property
    def sent_away(self) -> list[bytes]:
        """Everything that went to search and site."""
        return [seen.head + seen.body for server in (self.search, self.site) for seen in server.requests]


@contextlib.contextmanager
def world(
    *replies: bytes | Handler,
    authority: Authority,
    results: Sequence[dict[str, Any]] = RESULTS,
    html: str = HTML,
    searching: Handler | None = None,
    reading: Handler | None = None,
    **settings: Any,
) -> Iterator[World]:
    """Run the service in a world of its own."""
    scripted = ScriptedEngine(replies or (SEARCH, FETCH, ANSWER))
    with (
        Server(scripted) as engine,
        Server(searching or searxng(list(results))) as search,
        site(authority, reading or page(html)) as pages,
        served(
            engine.url,
            search.url,
            names=NAMES,
            ports={(PUBLIC_V4, 443): ("127.0.0.1", pages.port)},
            page_tls=authority.client(),
            **settings,
        ) as service,
    ):
        yield World(service, engine, scripted, search, pages)


def whole_reply(text: str = "It boils.", **message: Any) -> Handler:
    """Return an engine's reply that is one JSON body."""

    def handle(connection: Connection) -> None:
        value = {
            "id": "engine-1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text, **message}}
            ],
            "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
        }
        connection.answer(200, json.dumps(value).encode(), ("Content-Type", "application/json"))

    return handle


@attrs.define
class Held:
    """A handler that begins something and goes on when it is let; knows when its client has gone."""

    began: threading.Event = attrs.Factory(threading.Event)
    gone: threading.Event = attrs.Factory(threading.Event)
    before: bytes = b""

    def __call__(self, connection: Connection) -> None:
        if self.before:
            connection.send(self.before)
        self.began.set()
        with contextlib.suppress(OSError):
            while connection.sock.recv(1024):
                continue
        self.gone.set()
        raise OSError("the client closed the connection")
