"""One answer in the hands of an async driver.

One non-async method feeds the core, so nothing can come between an event and its commands. Each request is done in a
scope of its own; a notice waits for its reader, and so a slow reader slows the engine.
"""

import datetime as dt
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

import attrs
import httpcore

from hostcall.commands import (
    AskApproval,
    CallEngine,
    CallSearch,
    Cancel,
    Command,
    Connect,
    Finish,
    LogFetch,
    Notice,
    Request,
    Resolve,
    RunTool,
    Wait,
)
from hostcall.data import HttpRequest
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
from hostcall.record.recording import Started
from hostcall_drivers import resolve
from hostcall_drivers.async_network import AsyncStream
from hostcall_drivers.common import (
    NOTICES_WAITING,
    READ_BYTES,
    Runnable,
    approval_of,
    engine_at,
    learn,
    said,
    tool_content,
)
from hostcall_drivers.loops import Scope, Tasks
from hostcall_drivers.services import Service, failure_of, peer_of, read_headers
from hostcall_drivers.wire import Exchange

if TYPE_CHECKING:
    from hostcall_drivers.async_driver import AsyncDriver


class Run:
    """One answer in the hands of a driver, and the stream of its notices."""

    def __init__(self, driver: "AsyncDriver", answer: Runnable, tasks: Tasks) -> None:
        self.answer = answer
        self._driver = driver
        self._tasks = tasks
        self._loop = driver.loop
        self._now = driver.loop.now
        self._scopes: dict[str, Scope] = {}
        self._notices: deque[Notice] = deque()
        self._readers = driver.loop.lot()
        self._writers = driver.loop.lot()
        self.at_once: Callable[[list[Notice]], bool] | None = None
        """Given the notices while their reader waits in `batch`; what it returns True for, the reader does not get. For
        a host that can pass them on without waiting: no task is woken for them."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Notice:
        while not self._notices:
            if self.answer.finished:
                raise StopAsyncIteration
            await self._readers.park()
        notice = self._notices.popleft()
        if len(self._notices) < NOTICES_WAITING:
            self._writers.unpark_all()
        return notice

    async def batch(self) -> list[Notice]:
        """Wait for the next notices and return all that are there: a host that writes to a network writes them at once.

        Empty when the answer has ended and all of it was read, or when `wake` was called.
        """
        if not self._notices and not self.answer.finished:
            await self._readers.park()
        notices = list(self._notices)
        self._notices.clear()
        if self._writers:
            self._writers.unpark_all()
        return notices

    def wake(self) -> None:
        """Let `batch` return with what is there, be it nothing: its caller has something else to do."""
        self._readers.unpark_all()

    @property
    def ended(self) -> bool:
        """Whether the answer has ended and all its notices were read."""
        return self.answer.finished and not self._notices

    def begin(self, answer_id: str) -> None:
        """Start the answer."""
        driver = self._driver
        started = Started(
            now=self._now(),
            answer_id=answer_id,
            today=dt.datetime.now(tz=dt.UTC).astimezone().date(),
            capacity=driver.capacity,
            deny_networks=driver.deny_networks,
        )
        if driver.record is not None:
            driver.record.started(started)
        for request in self._carry_out(self.answer.start(**attrs.asdict(started))):
            self._tasks.start_soon(self._perform, request)

    def cancel(self) -> None:
        """Stop the answer. Its last notices can still be read."""
        if not self.answer.finished:
            self._tell(HostCancelled())

    # Between the core and the tasks.

    def _tell(self, event: Event) -> None:
        for request in self._told(event):
            self._tasks.start_soon(self._perform, request)

    def _told(self, event: Event) -> list[Request]:
        """Feed the core, carry out what needs no waiting, and return the requests that do."""
        if self.answer.finished:
            return []
        now = self._now()
        if self._driver.record is not None:
            self._driver.record.event(now, event)
        return self._carry_out(self.answer.receive(event, now))

    def _carry_out(self, commands: list[Command]) -> list[Request]:
        requests: list[Request] = []
        for command in commands:
            match command:
                case Cancel():
                    scope = self._scopes.pop(command.id, None)
                    if scope is not None:
                        scope.cancel()
                case LogFetch():
                    self._driver.journal.write(command.record, answer_id=self.answer.answer_id)
                case CallEngine() | CallSearch() | Resolve() | Connect() | RunTool() | AskApproval() | Wait():
                    self._scopes[command.id] = self._loop.scope(command.deadline)
                    requests.append(command)
                case _:
                    if isinstance(command, Finish):
                        learn(self.answer, command, self._driver.engines)
                        if self._driver.record is not None:
                            self._driver.record.finished(command)
                    self._notices.append(command)
        if self._notices or self.answer.finished:
            if self._readers and self.at_once is not None and self.at_once(list(self._notices)):
                self._notices.clear()
            else:
                self._readers.unpark_all()
        return requests

    async def _drained(self) -> None:
        """Wait until the reader has caught up, so that memory stays bounded and the engine is slowed."""
        while len(self._notices) >= NOTICES_WAITING:
            await self._writers.park()

    # The requests.

    async def _perform(self, request: Request) -> None:
        """Carry a request out, and then what its end leads to: that of a lookup is a connection."""
        todo: Request | None = request
        try:
            while todo is not None:
                todo = await self._performed(todo)
        except self._loop.cancelled:
            # Not by the core, whose cancels end in their scopes: who stops a task of an answer stops the answer.
            self.cancel()
            raise

    async def _performed(self, request: Request) -> Request | None:
        """Carry one request out and return one that its end led to; a task is spared for it."""
        last: Event | None = None
        scope = self._scopes.get(request.id)
        if scope is None:
            return None  # stopped before it began
        with scope:
            last = await self._request(request)
        if self._scopes.pop(request.id, None) is None:
            return None
        if scope.cancelled_caught:
            last = Woken(request.id) if isinstance(request, Wait) else Failed(request.id, "timeout", "deadline")
        if last is None:
            return None
        requests = self._told(last)
        for other in requests[1:]:
            self._tasks.start_soon(self._perform, other)
        return requests[0] if requests else None

    async def _request(self, request: Request) -> Event | None:
        """Carry a request out and return its last event; those before it are told as they come."""
        driver = self._driver
        match request:
            case CallEngine():
                engine = engine_at(self.answer, driver.engines).service
                return await self._call(engine, request.id, request.request, request.idle)
            case CallSearch():
                if driver.search is None:
                    raise AssertionError("an answer with the web on is refused without a search service")
                return await self._call(driver.search, request.id, request.request, None)
            case Resolve():
                try:
                    return Resolved(request.id, tuple(await driver.looked_up(request.host, self._tasks)))
                except OSError as error:
                    return Failed(request.id, resolve.failure_kind(error), str(error))
            case Connect():
                return await self._page(request)
            case RunTool():
                return await self._tool(request)
            case AskApproval():
                return await self._ask(request)
            case Wait():
                await self._loop.lot().park()  # until its deadline
        return None

    async def _call(self, service: Service, id_: str, request: HttpRequest, idle: float | None) -> Event:
        """Exchange one request with a service of the operator's."""
        try:
            async with self._driver.services.sent(service, request, idle) as response:
                peer = peer_of(response.stream.get_extra_info("server_addr"))
                self._tell(ResponseStarted(id_, response.status, read_headers(response.headers), peer))
                while data := await response.read():
                    self._tell(BodyReceived(id_, data))
                    if len(self._notices) >= NOTICES_WAITING:
                        response.pause()
                        await self._drained()
            return ResponseEnded(id_)
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException) as error:
            return Failed(id_, *failure_of(error))

    async def _page(self, command: Connect) -> Event:
        """Fetch from a stranger: a connection of its own to a checked address, bounded and never reused."""
        driver = self._driver
        stream: AsyncStream | None = None
        events: list[RequestEvent] = []
        try:
            bounds = command.bounds
            ips = [address.ip for address in command.addresses]
            stream = await driver.network.connect_first(ips, command.port, bounds.connect_seconds, bounds.stagger)
            await stream.start_tls(driver.tls_for_pages, command.server_name)
            peer = peer_of(stream.get_extra_info("server_addr"))
            if peer is None:
                raise httpcore.ReadError("the connection was reset")
            version = stream.get_extra_info("tls_version")
            exchange = Exchange(command.request, command.bounds, command.id, peer=peer, tls_version=version)
            await stream.write(exchange.to_send)
            while not exchange.done:
                for event in events:
                    self._tell(event)
                await self._drained()
                data = await stream.read(READ_BYTES)
                events = exchange.receive(data) if data else exchange.receive_eof()
        except (httpcore.NetworkError, httpcore.TimeoutException) as error:
            return Failed(command.id, *failure_of(error))
        finally:
            if stream is not None:
                stream.close()
        *events, last = events
        for event in events:
            self._tell(event)
        return last

    async def _tool(self, request: RunTool) -> Event:
        handler = self._driver.handlers[request.name]
        try:
            value = await self._driver.call(handler, dict(request.arguments), self._tasks)
            return ToolFinished(request.id, *tool_content(value))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a handler may raise anything, and the answer goes on
            return Failed(request.id, "handler", said(error))

    async def _ask(self, request: AskApproval) -> Event:
        approve = self._driver.approve
        if approve is None:
            return ApprovalGiven(request.id, allowed=False, reason="nobody can be asked here")
        try:
            given = await self._driver.call(approve, request, self._tasks)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - what cannot be asked is not allowed
            return Failed(request.id, "handler", said(error))
        return approval_of(request.id, given)
