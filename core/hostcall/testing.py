"""A scripted driver: whole answers in virtual time, without a network, for the tests of hosts and our own.

`ScriptedDriver` asks a *world* what comes back for each request and feeds it, waiting in a clock of its own. A world is
any function from a request to timed events; `World` is one that is filled in by hand::

    world = World(engine=[reply_text("Hello.")])
    driver = ScriptedDriver(world)
    result = driver.run(Answer([{"role": "user", "content": "Hi"}], web=False))
    assert result.text == "Hello."
"""

import datetime as dt
import heapq
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from hostcall.answer.answer import Answer
from hostcall.commands import (
    AskApproval,
    CallEngine,
    CallSearch,
    Cancel,
    Command,
    Connect,
    Finish,
    Notice,
    Request,
    Resolve,
    RunTool,
    Wait,
)
from hostcall.data import Headers, Result
from hostcall.events import (
    ApprovalGiven,
    BodyReceived,
    Event,
    Failed,
    HostCancelled,
    RequestEvent,
    Resolved,
    ResponseEnded,
    ResponseStarted,
    ToolFinished,
    Woken,
)

Timed: TypeAlias = tuple[float, RequestEvent]
"""Seconds since the event before it (or since the request), and the event."""

WorldFunction: TypeAlias = Callable[[Request], Iterable[Timed]]

TODAY = dt.date(2026, 11, 30)


@attrs.define
class ScriptedDriver:
    """A driver over a scripted world.

    Args:
        world: What comes back for a request. Events after the request's deadline, or after its `idle`, never arrive.
        capacity: As a real driver's.
        cancel_when: Asked after every command and every event with the driver; True cancels the answer once.
    """

    world: WorldFunction
    capacity: int = 8
    today: dt.date = TODAY
    deny_networks: Sequence[str] = ()
    cancel_when: "Callable[[ScriptedDriver], bool] | None" = None
    now: float = 0.0
    log: list[tuple[float, Event]] = attrs.Factory(list)
    """Everything that was fed, for replay."""
    commands: list[Command] = attrs.Factory(list)
    aborted: list[Request] = attrs.Factory(list)
    """Requests that were stopped while events of theirs were still to come."""
    _queue: list[tuple[float, int, RequestEvent]] = attrs.Factory(list)
    _open: dict[str, Request] = attrs.Factory(dict)
    _order: Iterator[int] = attrs.Factory(itertools.count)
    _cancelled: bool = False

    @property
    def notices(self) -> list[Notice]:
        """What the host was told."""
        return [command for command in self.commands if not isinstance(command, Request | Cancel)]

    @property
    def requests(self) -> list[Request]:
        """What was asked of the world."""
        return [command for command in self.commands if isinstance(command, Request)]

    def run(self, answer: Answer, *, answer_id: str = "test") -> Result:
        """Carry an answer out to its end, and return its result."""
        self._carry_out(
            answer,
            answer.start(
                self.now,
                answer_id=answer_id,
                today=self.today,
                capacity=self.capacity,
                deny_networks=self.deny_networks,
            ),
        )
        while not answer.finished:
            if not self._queue:
                raise AssertionError(f"the answer waits for {answer.live} and nothing will come")
            at, _, event = heapq.heappop(self._queue)
            if event.id not in self._open:
                continue
            self.now = max(self.now, at)
            if isinstance(event, self._open[event.id].ends):
                del self._open[event.id]
            self._feed(answer, event)
        if self._open:
            raise AssertionError(f"requests are live after Finish: {sorted(self._open)}")
        if not isinstance(self.commands[-1], Finish):
            raise AssertionError("Finish is the last command")
        return self.commands[-1].result

    def _feed(self, answer: Answer, event: Event) -> None:
        self.log.append((self.now, event))
        self._carry_out(answer, answer.receive(event, self.now))

    def _carry_out(self, answer: Answer, commands: list[Command]) -> None:
        for command in commands:
            self.commands.append(command)
            if isinstance(command, Cancel):
                request = self._open.pop(command.id, None)
                if request is not None:
                    self.aborted.append(request)
            elif isinstance(command, Request):
                self._open[command.id] = command
                self._schedule(command)
        if self.cancel_when is not None and not self._cancelled and not answer.finished and self.cancel_when(self):
            self._cancelled = True
            self._feed(answer, HostCancelled())
            self._feed(answer, HostCancelled())

    def _schedule(self, request: Request) -> None:
        at = self.now
        if isinstance(request, Wait):
            self._push(max(request.until, at), Woken(request.id))
            return
        idle = request.idle if isinstance(request, CallEngine) else float("inf")
        for delay, event in self.world(request):
            late = at + min(delay, idle)
            if late > request.deadline or delay > idle:
                kind = "timeout" if late > request.deadline else "idle"
                self._push(min(late, request.deadline), Failed(request.id, kind, "scripted"))  # type: ignore[arg-type]  # one of two kinds
                return
            at += delay
            self._push(at, event)
            if isinstance(event, request.ends):
                return
        self._push(request.deadline, Failed(request.id, "timeout", "nothing came"))

    def _push(self, at: float, event: RequestEvent) -> None:
        heapq.heappush(self._queue, (at, next(self._order), event))


@attrs.define
class World:
    """A world that is filled in by hand.

    Args:
        engine: Bodies of the engine's replies in order (see `reply_text`, `reply_calls`), the last one repeating; an
            int is an error status.
        search: SearXNG's results for a query, each a mapping of `url`, `title`, `content`, …; None for any query.
        pages: Address to HTML text.
        dns: Name to addresses; any other name has one public address.
        tools: Name to a function of the arguments, as a driver takes handlers: it returns the content, or a pair of it
            and whether it tells of a failure, or raises.
        approve: Answers every approval; None leaves it unanswered.
    """

    engine: Sequence[bytes | int] = ()
    search: Mapping[str | None, Sequence[Mapping[str, Any]]] = attrs.Factory(dict)
    pages: Mapping[str, str] = attrs.Factory(dict)
    dns: Mapping[str, Sequence[str]] = attrs.Factory(dict)
    tools: Mapping[str, Callable[[Any], Any]] = attrs.Factory(dict)
    approve: bool | None = True
    asked: list[dict[str, Any]] = attrs.Factory(list)
    """The bodies of the engine requests."""

    def __call__(self, request: Request) -> Iterator[Timed]:
        """Return what comes back."""
        match request:
            case CallEngine():
                yield from self._engine(request)
            case CallSearch():
                yield from self._search(request)
            case Resolve():
                yield 0.0, Resolved(request.id, tuple(self.dns.get(request.host, ("93.184.215.14",))))
            case Connect():
                yield from self._page(request)
            case RunTool():
                yield 0.0, self._tool(request)
            case AskApproval():
                if self.approve is not None:
                    yield 0.0, ApprovalGiven(request.id, self.approve is True)

    def _engine(self, request: CallEngine) -> Iterator[Timed]:
        body = self.engine[min(len(self.asked), len(self.engine) - 1)]
        self.asked.append(json.loads(request.request.body))
        if isinstance(body, int):
            text = json.dumps({"error": {"code": body, "message": "scripted", "type": "server_error"}})
            yield from response(request.id, body, text.encode(), "application/json")
        else:
            yield from response(request.id, 200, body, "text/event-stream")

    def _search(self, request: CallSearch) -> Iterator[Timed]:
        query = query_of(request)
        results = self.search.get(query, self.search.get(None, ()))
        body = json.dumps({"query": query, "results": list(results), "unresponsive_engines": []})
        yield from response(request.id, 200, body.encode(), "application/json")

    def _page(self, request: Connect) -> Iterator[Timed]:
        html = self.pages.get(address_of(request))
        peer = request.addresses[0].ip
        if html is None:
            yield from response(request.id, 404, b"", "text/html", peer=peer)
        else:
            yield from response(request.id, 200, html.encode(), "text/html; charset=utf-8", peer=peer)

    def _tool(self, request: RunTool) -> ToolFinished | Failed:
        try:
            content = self.tools[request.name](request.arguments)
            if isinstance(content, tuple):
                return ToolFinished(request.id, str(content[0]), bool(content[1]))
            return ToolFinished(request.id, "" if content is None else str(content))
        except Exception as error:  # noqa: BLE001 - a handler may raise anything, and a driver must survive it
            return Failed(request.id, "handler", repr(error))


def response(
    id: str, status: int, body: bytes, content_type: str, *, headers: Headers = (), peer: str | None = None
) -> Iterator[Timed]:
    """Return the events of a whole response."""
    yield 0.0, ResponseStarted(id, status, (("Content-Type", content_type), *headers), peer)
    if body:
        yield 0.0, BodyReceived(id, body)
    yield 0.0, ResponseEnded(id)


def reply_text(*pieces: str, finish: str = "stop") -> bytes:
    """Return the stream of a reply that is text, a chunk a piece."""
    return stream(*({"content": piece} for piece in pieces), finish=finish)


def reply_calls(*calls: tuple[str, Mapping[str, Any]]) -> bytes:
    """Return the stream of a reply that calls tools: name and arguments of each."""
    members = [
        {
            "index": index,
            "id": f"call_{index}_{name}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for index, (name, arguments) in enumerate(calls)
    ]
    return stream({"tool_calls": members}, finish="tool_calls")


def stream(*deltas: Mapping[str, Any], finish: str | None = "stop", done: bool = True) -> bytes:
    """Return a stream of server-sent events from deltas, as an OpenAI-compatible engine sends it."""
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    if finish is not None:
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    body = "".join(f"data: {json.dumps({'object': 'chat.completion.chunk', **chunk})}\n\n" for chunk in chunks)
    return (body + ("data: [DONE]\n\n" if done else "")).encode()


def query_of(request: CallSearch) -> str:
    """Return the query of a search request."""
    return fields_of(request).get("q", "")


def fields_of(request: CallSearch) -> dict[str, str]:
    """Return all fields of a search request."""
    from urllib.parse import parse_qsl

    return dict(parse_qsl(request.request.target.partition("?")[2], keep_blank_values=True))


def address_of(request: Connect) -> str:
    """Return the address that a page request asks for."""
    headers = {name.lower(): value for name, value in request.request.headers}
    return f"https://{headers['host']}{request.request.target}"
