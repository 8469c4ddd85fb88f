"""The world of an answer case behind real sockets: engine, search, and pages behind TLS, on the loopback.

A `CaseWorld` says what comes back and when; this file only puts it on the wire, its seconds scaled. One set of servers
serves one case after the other.
"""

import contextlib
import json
import re
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import attrs

from hostcall.answer.answer import Answer
from hostcall.commands import (
    AskApproval,
    CallEngine,
    CallSearch,
    Cancel,
    Command,
    Connect,
    Notice,
    Request,
    Resolve,
    RunTool,
)
from hostcall.data import Bounds, HttpRequest, Result
from hostcall.events import (
    ApprovalGiven,
    BodyReceived,
    Event,
    Failed,
    Resolved,
    ResponseStarted,
    ToolFinished,
)
from hostcall.limits import Limits
from hostcall.testing import TODAY, address_of, fields_of
from hostcall.web.address import checked_addresses
from hostcall.web.networks import Networks
from hostcall.web.settings import Web
from tests.cases.answers import CHAT_PATHS, CaseWorld, Watch
from tests.drivers.servers import PUBLIC_V4, Authority, Connection, Server, send_chunk

Entry = TypeVar("Entry")

HOLD_SECONDS = 10.0


def scale_of(case: dict[str, Any]) -> float | None:
    """Return the real seconds for each second of a case; None where none of it takes time."""
    waits = [float(found) for found in re.findall(r'"(?:wait|delay)": ([\d.]+)', json.dumps(case))]
    silent = any(approval.get("allow") is None for approval in case.get("approvals", ()))
    if not waits and not silent:
        return None
    return 0.05 if sum(waits) <= 20 else 0.02 if sum(waits) <= 300 else 0.01


class Watched:
    """An answer in the hands of a driver, and the book of what passed between the two."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.notices: list[Notice] = []
        self.requests: list[Request] = []
        self.aborted: list[Request] = []
        self.log: list[tuple[float, Event]] = []
        self._open: dict[str, Request] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.answer, name)

    def start(self, now: float, **given: Any) -> list[Command]:
        """Start, on the day of the cases."""
        return self._note(self.answer.start(now, **{**given, "today": TODAY}))

    def receive(self, event: Event, now: float) -> list[Command]:
        """Take an event."""
        self.log.append((now, event))
        request = self._open.get(getattr(event, "id", ""))
        if request is not None and isinstance(event, request.ends):
            del self._open[request.id]
        return self._note(self.answer.receive(event, now))

    def _note(self, commands: list[Command]) -> list[Command]:
        for command in commands:
            if isinstance(command, Cancel):
                stopped = self._open.pop(command.id, None)
                if stopped is not None:
                    self.aborted.append(stopped)
            elif isinstance(command, Request):
                self._open[command.id] = command
                self.requests.append(command)
            else:
                self.notices.append(command)
        return commands


@attrs.define
class Playing:
    """The case that is played, and where its scripted cancel stands."""

    case: dict[str, Any]
    world: CaseWorld
    watched: Watched
    scale: float
    stopped: threading.Event = attrs.Factory(threading.Event)
    """The cancel was made."""
    sent: dict[int, tuple[int, int]] = attrs.Factory(dict)
    """Of each engine answer: pieces and bytes that were sent."""
    lock: threading.Lock = attrs.Factory(threading.Lock)

    @property
    def after(self) -> str:
        """Where the case is cancelled; empty for none."""
        events = self.case.get("events", ())
        return str(events[0]["after"]) if events and events[0]["after"] != "finish" else ""

    def due(self) -> bool:
        """Whether the cancel is due."""
        word, _, place = self.after.partition(" ")
        if word == "engine_chunk":
            number, _, piece = place.partition(".")
            pieces, size = self.sent.get(int(number), (0, 0))
            given = sum(len(event.data) for _, event in self.watched.log if isinstance(event, BodyReceived))
            return pieces >= int(piece) and given >= size
        return Watch(self.after, self.world)(self.watched)  # type: ignore[arg-type]  # it has what is looked at

    def hold(self, word: str, count: int) -> None:
        """Wait at the place where the case is cancelled."""
        if self.after == f"{word} {count}":
            self.stopped.wait(HOLD_SECONDS)

    def wait(self, seconds: float) -> None:
        """Let scripted seconds pass."""
        time.sleep(seconds * self.scale)

    def as_asked(self) -> None:
        """Put the world's book in the order in which the core asked: requests side by side arrive in any."""
        world, requests = self.world, self.watched.requests
        searches = [fields_of(request) for request in requests if isinstance(request, CallSearch)]
        pages = [address_of(request) for request in requests if isinstance(request, Connect)]
        runs = [(request.name, dict(request.arguments)) for request in requests if isinstance(request, RunTool)]
        world.searches[:] = in_order(world.searches, searches)
        world.fetched[:] = in_order(world.fetched, pages)
        world.tool_runs[:] = in_order(world.tool_runs, runs)

    def as_scripted(self, result: Result) -> Result:
        """Return a result whose texts name the seconds of the script."""
        if not self.scale:
            return result
        short, whole = (
            f"{seconds:g} seconds" for seconds in (Limits().page_seconds * self.scale, Limits().page_seconds)
        )
        return attrs.evolve(result, transcript=json.loads(json.dumps(result.transcript).replace(short, whole)))

    def play(self, request: Request) -> Iterator[tuple[float, Event]]:
        """Return what comes back for a request; the world keeps its book one request at a time."""
        with self.lock:
            return iter(list(self.world(request)))


class CaseServers:
    """The servers of all cases. `playing` is the one that they serve."""

    def __init__(self, names: Iterable[str]) -> None:
        self.playing: Playing | None = None
        self.authority = Authority()
        self._engine = Server(self._serve_engine)
        self._search = Server(self._serve_search)
        self._pages = Server(self._serve_page, self.authority.server(*names))

    def __enter__(self) -> "CaseServers":
        with contextlib.ExitStack() as stack:
            for server in (self._engine, self._search, self._pages):
                stack.enter_context(server)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def engine_url(self) -> str:
        """Where the engine is."""
        return self._engine.url

    @property
    def search_url(self) -> str:
        """Where the search service is."""
        return self._search.url

    def lead(self, ip: str, port: int) -> tuple[str, int]:
        """Return where a page is fetched from: whatever passed the check leads here."""
        return "127.0.0.1", self._pages.port

    # What a driver is given beside the servers.

    def resolve(self, host: str) -> list[str]:
        """Look a scripted name up."""
        playing = self._now
        request = Resolve(id="x", deadline=0.0, host=host)
        ((delay, event),) = playing.play(request)
        playing.hold("lookup", len(playing.world.looked_up))
        playing.wait(delay)
        if isinstance(event, Failed):
            raise socket.gaierror(socket.EAI_NONAME if event.kind == "not_found" else socket.EAI_AGAIN, "scripted")
        assert isinstance(event, Resolved)
        return list(event.addresses)

    def handler(self, name: str) -> Any:
        """Return the handler of a scripted tool."""

        def handle(arguments: dict[str, Any]) -> tuple[str, bool]:
            playing = self._now
            request = RunTool(id="x", deadline=0.0, name=name, arguments=arguments, call_id="x")
            ((delay, event),) = playing.play(request)
            playing.hold("tool", len(playing.world.tool_runs))
            playing.wait(delay)
            if isinstance(event, Failed):
                raise RuntimeError(event.detail)
            assert isinstance(event, ToolFinished)
            return event.content, event.is_error

        return handle

    def approve(self, asked: AskApproval) -> bool | ApprovalGiven:
        """Answer a question, or never."""
        playing = self._now
        events = list(playing.play(asked))
        playing.hold("approval", len(playing.world.asked))
        if not events:
            playing.stopped.wait(HOLD_SECONDS)
            return False
        ((delay, event),) = events
        playing.wait(delay)
        assert isinstance(event, ApprovalGiven)
        return event

    @property
    def _now(self) -> Playing:
        assert self.playing is not None
        return self.playing

    # The servers.

    def _serve_engine(self, connection: Connection) -> None:
        playing = self._now
        if playing.after == "start":
            playing.stopped.wait(HOLD_SECONDS)
        events = playing.play(CallEngine(id="x", deadline=0.0, request=asked_of(connection), idle=0.0))
        if connection.target in CHAT_PATHS:
            number = len(playing.world.bodies)
            playing.hold("engine_request", number)
        else:
            number = 0
        self._answer(connection, events, playing, number)

    def _serve_search(self, connection: Connection) -> None:
        playing = self._now
        events = playing.play(CallSearch(id="x", deadline=0.0, request=asked_of(connection)))
        playing.hold("search", len(playing.world.searches))
        self._answer(connection, events, playing)

    def _serve_page(self, connection: Connection) -> None:
        playing = self._now
        addresses = checked_addresses("x.example.org", [PUBLIC_V4], Networks.of(Web()), Limits())
        assert isinstance(addresses, tuple)
        request = Connect(
            id="x",
            deadline=0.0,
            addresses=addresses,
            port=443,
            server_name="x",
            request=asked_of(connection),
            bounds=Bounds(head_bytes=1, headers=1, wire_bytes=1, data_events=1, chunk_line_bytes=1, connect_seconds=1),
        )
        events = playing.play(request)
        playing.hold("fetch", len(playing.world.fetched))
        self._answer(connection, events, playing)

    def _answer(
        self, connection: Connection, events: Iterator[tuple[float, Event]], playing: Playing, number: int = 0
    ) -> None:
        for delay, event in events:
            playing.wait(delay)
            match event:
                case ResponseStarted():
                    lines = [f"HTTP/1.1 {event.status} x", "Transfer-Encoding: chunked"]
                    lines += [f"{name}: {value}" for name, value in event.headers]
                    connection.send("\r\n".join([*lines, "", ""]).encode())
                case BodyReceived():
                    if event.data:
                        send_chunk(connection, event.data)
                    pieces, size = playing.sent.get(number, (0, 0))
                    playing.sent[number] = (pieces + 1, size + len(event.data))
                    playing.hold("engine_chunk", f"{number}.{pieces + 1}")  # type: ignore[arg-type]  # a place in words
                case Failed():
                    # Without its last chunk the body broke off, and without a head there was no answer.
                    raise OSError("the scripted end")
                case _:
                    connection.send(b"0\r\n\r\n")


def in_order(arrived: list[Entry], issued: list[Entry]) -> list[Entry]:
    """Return what arrived in the order in which it was issued; what nobody issued stands last."""
    left, ordered = list(arrived), []
    for entry in issued:
        if entry in left:
            left.remove(entry)
            ordered.append(entry)
    return ordered + left


def asked_of(connection: Connection) -> HttpRequest:
    """Return a request as the core wrote it."""
    lines = connection.head.decode("latin-1").split("\r\n")
    fields = [line.partition(":") for line in lines[1:] if line]
    headers = tuple((name, value.strip()) for name, _, value in fields)
    return HttpRequest(lines[0].split(" ", 1)[0], connection.target, headers, connection.body)
