"""`TrioDriver`: carries an answer out on trio.

One non-async method feeds the core, so nothing can come between an event and its commands. Each request is a task in a
cancel scope of its own; a notice waits for its reader, and so a slow reader slows the engine.
"""

import contextlib
import datetime as dt
import inspect
import secrets
import ssl
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, TypeAlias

import attrs
import httpcore
import trio

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
from hostcall_drivers.beside import beside
from hostcall_drivers.common import (
    LOOKUPS,
    NOTICES_WAITING,
    READ_BYTES,
    WORKERS,
    Recorder,
    Runnable,
    approval_of,
    check_handlers,
    engine_at,
    engines_of,
    learn,
    page_tls_context,
    said,
    tool_content,
)
from hostcall_drivers.engines import Engines
from hostcall_drivers.functions import Handlers, handlers_of
from hostcall_drivers.journal import Journal
from hostcall_drivers.services import (
    Service,
    failure_of,
    peer_of,
    read_headers,
)
from hostcall_drivers.trio_network import TrioNetwork, TrioStream
from hostcall_drivers.trio_services import Response, TrioServices
from hostcall_drivers.wire import Exchange

Resolver: TypeAlias = Callable[[str], Awaitable[Sequence[str]]]
Approver: TypeAlias = Callable[[AskApproval], bool | ApprovalGiven | Awaitable[bool | ApprovalGiven]]


class TrioDriver:
    """Carries answers out on trio; one driver serves any number of answers at once.

    Args:
        engine: Where the engine is: ``http://127.0.0.1:8080``, or ``unix:/run/engine.sock``; or several, as `Engines`.
        search_url: Where SearXNG is; an answer with the web on needs it.
        engine_key: Sent to the one engine as a bearer token, and nowhere else.
        handlers: Name to function of each host tool: takes the arguments, returns the content. Async, or blocking,
            which then runs in a worker thread.
        approve: Asked before a tool with side effects runs, async or in a worker thread. Only True allows; without it,
            and when it raises, the call is refused.
        resolver: Name to addresses, both families.
        network: What connects; the default is the real network.
        journal: What writes the line of each page request (rule 8).
        record: Told the start, every event and the end, for a recording.
        services_tls: TLS for engine and search, for a CA of the operator's own.
        page_tls: TLS for pages. There is no setting that leaves certificates unchecked.
        deny_networks: Networks that no page is read from, beside the table; by default the machine's own and their
            neighbours.
        capacity: Requests open at once beside the engine's.

    Raises:
        SettingsError: An address is none, or a key cannot be sent.
    """

    def __init__(
        self,
        engine: str | Engines,
        search_url: str | None = None,
        *,
        engine_key: str | None = None,
        handlers: Handlers | None = None,
        approve: Approver | None = None,
        resolver: Resolver | None = None,
        network: TrioNetwork | None = None,
        journal: Journal | None = None,
        record: Recorder | None = None,
        services_tls: ssl.SSLContext | None = None,
        page_tls: ssl.SSLContext | None = None,
        deny_networks: Sequence[str] | None = None,
        capacity: int = 8,
    ) -> None:
        self.engines = engines_of(engine, engine_key)
        self.search = Service.at(search_url, name="search") if search_url is not None else None
        self.handlers = handlers_of(handlers)
        self.approve = approve
        self.network = network or TrioNetwork()
        self.journal = journal or Journal()
        self.record = record
        self.page_tls = page_tls
        self.deny_networks = tuple(resolve.own_networks() if deny_networks is None else deny_networks)
        self.capacity = capacity
        self._lookups = trio.CapacityLimiter(LOOKUPS)
        self.workers = trio.CapacityLimiter(WORKERS)
        self._resolver = resolver or self._look_up
        self.services = TrioServices(services_tls)

    @contextlib.asynccontextmanager
    async def run(self, answer: Runnable, *, answer_id: str | None = None) -> AsyncIterator["Run"]:
        """Carry an answer out: ``async with driver.run(answer) as notices: async for notice in notices: …``.

        Leaving the block early cancels the answer; so does a cancelled scope around it. When the block is left, no task
        and no socket of the answer is.

        Raises:
            SettingsError: The answer has a tool without a handler, the web on and the driver no search service, or an
                engine that the driver does not have.
        """
        check_handlers(answer, self.handlers, self.search)
        engine_at(answer, self.engines)
        # What the reader's own block raises is its own, and not wrapped for having been raised in here.
        async with beside() as nursery:
            run = Run(self, answer, nursery)
            run.begin(answer_id or secrets.token_hex(8))
            try:
                yield run
            finally:
                run.cancel()

    @contextlib.asynccontextmanager
    async def exchange(self, request: HttpRequest, engine: str = "") -> AsyncIterator[Response]:
        """Send one request to an engine as it is, for a host that passes requests through.

        Gives status, headers and, by `aiter_stream`, the body. What fails is one of httpcore's own exceptions.

        Raises:
            SettingsError: There is no engine of that name.
        """
        async with self.services.sent(self.engines.named(engine).service, request) as response:
            yield response

    async def aclose(self) -> None:
        """Close the connections that are kept to the services."""
        await self.services.aclose()

    async def __aenter__(self) -> "TrioDriver":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def resolve(self, host: str) -> Sequence[str]:
        """Look a name up once."""
        return await self._resolver(host)

    async def _look_up(self, host: str) -> Sequence[str]:
        return await trio.to_thread.run_sync(resolve.look_up, host, abandon_on_cancel=True, limiter=self._lookups)

    @property
    def tls_for_pages(self) -> ssl.SSLContext:
        """The TLS settings for pages, made once: it costs 25 ms."""
        if self.page_tls is None:
            self.page_tls = page_tls_context()
        return self.page_tls


class Run:
    """One answer in the hands of a driver, and the stream of its notices."""

    def __init__(self, driver: TrioDriver, answer: Runnable, nursery: trio.Nursery) -> None:
        self.answer = answer
        self._driver = driver
        self._nursery = nursery
        self._scopes: dict[str, trio.CancelScope] = {}
        self._notices: deque[Notice] = deque()
        self._readers = trio.lowlevel.ParkingLot()
        self._writers = trio.lowlevel.ParkingLot()
        self.at_once: Callable[[list[Notice]], bool] | None = None
        """Given the notices while their reader waits in `batch`; what it returns True for, the reader does not get. For
        a host that can pass them on without waiting: no task is woken for them."""

    def __aiter__(self) -> "Run":
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
            now=trio.current_time(),
            answer_id=answer_id,
            today=dt.datetime.now(tz=dt.UTC).astimezone().date(),
            capacity=driver.capacity,
            deny_networks=driver.deny_networks,
        )
        if driver.record is not None:
            driver.record.started(started)
        for request in self._carry_out(self.answer.start(**attrs.asdict(started))):
            self._nursery.start_soon(self._perform, request)

    def cancel(self) -> None:
        """Stop the answer. Its last notices can still be read."""
        if not self.answer.finished:
            self._tell(HostCancelled())

    # Between the core and the tasks.

    def _tell(self, event: Event) -> None:
        for request in self._told(event):
            self._nursery.start_soon(self._perform, request)

    def _told(self, event: Event) -> list[Request]:
        """Feed the core, carry out what needs no waiting, and return the requests that do."""
        if self.answer.finished:
            return []
        now = trio.current_time()
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
                    self._scopes[command.id] = trio.CancelScope(deadline=command.deadline)
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
        while todo is not None:
            todo = await self._performed(todo)

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
            self._nursery.start_soon(self._perform, other)
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
                    return Resolved(request.id, tuple(await driver.resolve(request.host)))
                except OSError as error:
                    return Failed(request.id, resolve.failure_kind(error), str(error))
            case Connect():
                return await self._page(request)
            case RunTool():
                return await self._tool(request)
            case AskApproval():
                return await self._ask(request)
            case Wait():
                await trio.sleep_forever()
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
        stream: TrioStream | None = None
        events: list[RequestEvent] = []
        try:
            stream = await self._connect(command)
            await stream.start_tls(self._driver.tls_for_pages, command.server_name)
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

    async def _connect(self, command: Connect) -> TrioStream:
        """Return the first connection to stand, with a new attempt each `stagger` seconds (RFC 8305 §5)."""
        if len(command.addresses) == 1:
            ip = command.addresses[0].ip  # nothing to race with
            return await self._driver.network.connect_tcp(ip, command.port, command.bounds.connect_seconds)
        connected: list[TrioStream] = []
        errors: list[Exception] = []
        bounds = command.bounds

        async def attempt(ip: str, failed: trio.Event, scope: trio.CancelScope) -> None:
            try:
                stream = await self._driver.network.connect_tcp(ip, command.port, bounds.connect_seconds)
            except (httpcore.NetworkError, httpcore.TimeoutException) as error:
                errors.append(error)
                failed.set()
                return
            if connected:
                stream.close()
                return
            connected.append(stream)
            scope.cancel()

        try:
            async with trio.open_nursery() as attempts:
                for address in command.addresses:
                    failed = trio.Event()
                    attempts.start_soon(attempt, address.ip, failed, attempts.cancel_scope)
                    with trio.move_on_after(bounds.stagger):
                        await failed.wait()
        except BaseException:
            for stream in connected:
                stream.close()
            raise
        if not connected:
            raise errors[-1]
        return connected[0]

    async def _tool(self, request: RunTool) -> Event:
        handler = self._driver.handlers[request.name]
        try:
            value = await _called(handler, dict(request.arguments), self._driver.workers)
            return ToolFinished(request.id, *tool_content(value))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a handler may raise anything, and the answer goes on
            return Failed(request.id, "handler", said(error))

    async def _ask(self, request: AskApproval) -> Event:
        approve = self._driver.approve
        if approve is None:
            return ApprovalGiven(request.id, allowed=False, reason="nobody can be asked here")
        try:
            given = await _called(approve, request, self._driver.workers)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - what cannot be asked is not allowed
            return Failed(request.id, "handler", said(error))
        return approval_of(request.id, given)


def _run(function: Callable[..., Any], argument: Any) -> Any:
    """Call a blocking function. What would end a thread (another library's cancel) ends only the call."""
    try:
        return function(argument)
    except BaseException as error:
        if isinstance(error, Exception):
            raise
        raise RuntimeError(said(error)) from error


async def _called(function: Callable[..., Any], argument: Any, workers: trio.CapacityLimiter) -> Any:
    """Call what the host gave: async in this thread, else in a worker thread, so that nothing else stands still."""
    if inspect.iscoroutinefunction(function):
        return await function(argument)
    # In a tuple: trio takes a coroutine that comes out of a thread for a mistake.
    (value,) = await trio.to_thread.run_sync(
        lambda: (_run(function, argument),), abandon_on_cancel=True, limiter=workers
    )
    return await value if inspect.isawaitable(value) else value


__all__ = ["Approver", "Resolver", "Run", "TrioDriver"]
