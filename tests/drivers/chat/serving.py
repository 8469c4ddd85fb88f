"""The service on the loopback, in a thread with a loop of its own, so that real clients can ask it."""

import contextlib
import http.client
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import trio

from hostcall.limits import Limits
from hostcall_drivers.chat.allowed import Allowed, Bounds
from hostcall_drivers.chat.app import Chat
from hostcall_drivers.chat.run import address_of, open_listeners
from hostcall_drivers.chat.server import App, Server
from hostcall_drivers.demo.mapped import MappedTrioNetwork
from hostcall_drivers.engines import Engines
from hostcall_drivers.trio import TrioDriver

QUESTION = [{"role": "user", "content": "How do I start a thread?"}]


@attrs.define
class Service:
    """A running service."""

    chat: Any
    port: int
    _token: Any
    _stop: trio.Event

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        """Tell it to end gracefully."""
        trio.from_thread.run_sync(self._stop.set, trio_token=self._token)

    def call(self, function: Any, *arguments: Any) -> Any:
        """Call a function in the service's own thread."""
        return trio.from_thread.run_sync(function, *arguments, trio_token=self._token)

    def request(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None, *, seconds: float = 20
    ) -> tuple[int, dict[str, str], bytes]:
        """Send one request, and return status, fields and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        try:
            data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
            connection.request(method, path, data, {"Content-Type": "application/json", **(headers or {})})
            response = connection.getresponse()
            fields = {name.lower(): value for name, value in response.getheaders()}
            return response.status, fields, response.read()
        finally:
            connection.close()

    def complete(self, *, key: str | None = None, **body: Any) -> tuple[int, dict[str, str], Any]:
        """Ask for a completion, and return status, fields and the decoded body (the events, of a stream)."""
        body.setdefault("messages", QUESTION)
        headers = {"Authorization": f"Bearer {key}"} if key is not None else None
        status, fields, data = self.request("POST", "/v1/chat/completions", body, headers)
        if "event-stream" in fields["content-type"]:
            return status, fields, events(data)
        return status, fields, json.loads(data)


def events(data: bytes) -> list[dict[str, Any]]:
    """Return the events of a stream that ended as it should."""
    lines = [line for line in data.split(b"\n") if line.startswith(b"data: ")]
    assert lines[-1] == b"data: [DONE]"
    return [json.loads(line[6:]) for line in lines[:-1]]


def text_of(chunks: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of a stream."""
    return "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk.get("choices", ()))


def told(chunks: Sequence[Mapping[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Return the `hostcall` members of one type."""
    return [chunk["hostcall"] for chunk in chunks if chunk.get("hostcall", {}).get("type") == kind]


@contextlib.contextmanager
def running(app: App, bounds: Bounds = Bounds(), *, grace: float = 1.0) -> Iterator[Service]:
    """Serve an ASGI app."""
    with _thread(lambda: contextlib.nullcontext(app), bounds, grace) as service:
        yield service


@contextlib.contextmanager
def served(
    engines: str | Mapping[str, str],
    search: str | None = None,
    *,
    keys: Mapping[str, str] | None = None,
    allowed: Allowed = Allowed(),
    bounds: Bounds = Bounds(),
    limits: Limits = Limits(),
    grace: float = 1.0,
    rows: Path | None = None,
    ports: Mapping[tuple[str, int], tuple[str, int]] | None = None,
    names: Mapping[str, Sequence[str]] | None = None,
    **driver: Any,
) -> Iterator[Service]:
    """Run the chat service on engines and a search service."""
    table = dict(ports or {})

    async def resolve(host: str) -> Sequence[str]:
        if host not in (names or {}):
            raise OSError(f"no such name: {host}")
        return (names or {})[host]

    @contextlib.asynccontextmanager
    async def make() -> Any:
        named = (engines,) if isinstance(engines, str) else tuple(f"{name}={url}" for name, url in engines.items())
        async with TrioDriver(
            Engines.read(named),
            search,
            resolver=resolve,
            network=MappedTrioNetwork(lambda ip, port: table[ip, port]),
            deny_networks=(),
            **driver,
        ) as made:
            yield Chat(made, keys=keys, allowed=allowed, limits=limits, rows=rows)

    with _thread(make, bounds, grace) as service:
        yield service


@contextlib.contextmanager
def _thread(make: Any, bounds: Bounds, grace: float) -> Iterator[Service]:
    ready = threading.Event()
    made: list[Service] = []
    failed: list[BaseException] = []

    async def main() -> None:
        async with make() as app:
            (listener,) = await open_listeners("127.0.0.1", 0)
            stop = trio.Event()
            port = int(address_of(listener).rpartition(":")[2])
            made.append(Service(app, port, trio.lowlevel.current_trio_token(), stop))
            ready.set()
            server = Server(app, bounds)
            await server.serve([listener], stop, grace=grace, last_call=getattr(app, "last_call", lambda: None))

    def run() -> None:
        try:
            trio.run(main)
        except BaseException as error:  # noqa: BLE001 - told to the test below
            failed.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=run, name="service", daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        if failed:
            raise failed[0]
        yield made[0]
    finally:
        if thread.is_alive():
            with contextlib.suppress(trio.RunFinishedError):
                made[0].stop()
        thread.join(20)
        assert not thread.is_alive(), "the service did not end"
        if failed:
            raise failed[0]
