"""`SyncDriver`: carries an answer out with blocking sockets, one request after the other.

The twin of the async drivers: same methods, same order. What runs beside each other there runs one after the other
here, because the core is told of a capacity of one. `cancel` may be called from any thread.
"""

import contextlib
import datetime as dt
import functools
import inspect
import queue
import secrets
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, TypeVar

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
from hostcall.errors import SettingsError
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
from hostcall_drivers.common import (
    LOOKUPS,
    READ_BYTES,
    WORKERS,
    Recorder,
    Runnable,
    approval_of,
    check_handlers,
    check_plain,
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
from hostcall_drivers.reads import Together
from hostcall_drivers.services import (
    Service,
    failure_of,
    peer_of,
    read_headers,
)
from hostcall_drivers.sync_network import SyncNetwork, SyncStream, Wakeable
from hostcall_drivers.sync_services import SyncServices
from hostcall_drivers.threads import Threads
from hostcall_drivers.wire import Exchange

Resolver: TypeAlias = Callable[[str], Sequence[str]]
Approver: TypeAlias = Callable[[AskApproval], bool | ApprovalGiven]
Result = TypeVar("Result")

WAKE_SECONDS = 0.05
"""How often a wait for a lookup or a tool looks whether the run was cancelled."""


class SyncDriver:
    """Carries answers out with blocking calls; threads may share one driver, an answer a thread.

    Args:
        engine: Where the engine is: ``http://127.0.0.1:8080``, or ``unix:/run/engine.sock``; or several, as `Engines`.
        search_url: Where SearXNG is; an answer with the web on needs it.
        engine_key: Sent to the one engine as a bearer token, and nowhere else.
        handlers: Name to function of each host tool: takes the arguments, returns the content.
        approve: Asked before a tool with side effects runs. Only True allows; without it,
            and when it raises, the call is refused.
        resolver: Name to addresses, both families.
        network: What connects; the default is the real network.
        journal: What writes the line of each page request (rule 8).
        record: Told the start, every event and the end, for a recording.
        services_tls: TLS for engine and search, for a CA of the operator's own.
        page_tls: TLS for pages. There is no setting that leaves certificates unchecked.
        deny_networks: Networks that no page is read from, beside the table; by default the machine's own and their
            neighbours.

    Raises:
        SettingsError: An address is none, a key cannot be sent, or what must be a plain function is async.
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
        network: SyncNetwork | None = None,
        journal: Journal | None = None,
        record: Recorder | None = None,
        services_tls: ssl.SSLContext | None = None,
        page_tls: ssl.SSLContext | None = None,
        deny_networks: Sequence[str] | None = None,
    ) -> None:
        check_plain(approve=approve, resolver=resolver)
        self.engines = engines_of(engine, engine_key)
        self.search = Service.at(search_url, name="search") if search_url is not None else None
        self.handlers = handlers_of(handlers)
        self.approve = approve
        self.network = network or SyncNetwork()
        self.journal = journal or Journal()
        self.record = record
        self.page_tls = page_tls
        self.deny_networks = tuple(resolve.own_networks() if deny_networks is None else deny_networks)
        self.workers = threading.BoundedSemaphore(WORKERS)
        self.resolver = resolver or resolve.look_up
        self.lookups = Threads("lookup", LOOKUPS)
        self.services = SyncServices(services_tls)

    @contextlib.contextmanager
    def run(self, answer: Runnable, *, answer_id: str | None = None) -> Iterator["Run"]:
        """Carry an answer out: ``with driver.run(answer) as notices: for notice in notices: …``.

        The work is done in the reader's own thread, while it waits for the next notice. Leaving the block early cancels
        the answer.

        Raises:
            SettingsError: The answer has a tool without a handler, the web on and the driver no search service, or an
                engine that the driver does not have; or a tool's handler is async.
        """
        check_handlers(answer, self.handlers, self.search)
        for name in answer.tool_names:
            if inspect.iscoroutinefunction(self.handlers[name]):
                raise SettingsError(f"the tool {name!r} has an async handler; SyncDriver needs a plain function")
        engine_at(answer, self.engines)
        run = Run(self, answer)
        run.begin(answer_id or secrets.token_hex(8))
        try:
            yield run
        finally:
            run.close()

    @contextlib.contextmanager
    def exchange(self, request: HttpRequest, engine: str = "") -> Iterator[httpcore.Response]:
        """Send one request to an engine as it is, for a host that passes requests through.

        Gives status, headers and, by `iter_stream`, the body. What fails is one of httpcore's own exceptions.

        Raises:
            SettingsError: There is no engine of that name.
        """
        with self.services.sent(self.engines.named(engine).service, request) as response:
            yield response

    def close(self) -> None:
        """Close the connections that are kept to the services, and let the threads of lookups go."""
        self.lookups.close()
        self.services.close()

    def __enter__(self) -> "SyncDriver":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def tls_for_pages(self) -> ssl.SSLContext:
        """The TLS settings for pages, made once: it costs 25 ms."""
        if self.page_tls is None:
            self.page_tls = page_tls_context()
        return self.page_tls


class Run:
    """One answer in the hands of a driver, and the stream of its notices."""

    def __init__(self, driver: SyncDriver, answer: Runnable) -> None:
        self.answer = answer
        self._driver = driver
        self._waiting: deque[Request] = deque()
        self._current: str | None = None
        self._deadline = 0.0
        self._events: Iterator[RequestEvent] | None = None
        self._notices: deque[Notice] = deque()
        self._wakeable = Wakeable()

    def __iter__(self) -> "Run":
        return self

    def __next__(self) -> Notice:
        while not self._notices:
            if self.answer.finished:
                raise StopIteration
            self._step()
        return self._notices.popleft()

    def begin(self, answer_id: str) -> None:
        """Start the answer."""
        driver = self._driver
        started = Started(
            now=time.monotonic(),
            answer_id=answer_id,
            today=dt.datetime.now(tz=dt.UTC).astimezone().date(),
            capacity=1,
            deny_networks=driver.deny_networks,
        )
        if driver.record is not None:
            driver.record.started(started)
        self._carry_out(self.answer.start(**attrs.asdict(started)))

    def cancel(self) -> None:
        """Stop the answer, from any thread: what blocks is woken. Its last notices can still be read."""
        self._wakeable.wake()

    def close(self) -> None:
        """Stop the answer if it has not ended, and close what it has open."""
        self._wakeable.wake()
        if not self.answer.finished:
            self._tell(HostCancelled())
        self._stop_current()

    # Between the core and the requests.

    def _step(self) -> None:
        """Bring the request in hand one event further."""
        if self._wakeable.woken.is_set():
            self._tell(HostCancelled())
            return
        if self._events is None:
            request = self._waiting.popleft()
            self._current, self._deadline = request.id, request.deadline
            self._events = self._perform(request)
        for network in (self._driver.network, self._driver.services.network):
            # Set anew for each step: two answers may take turns in one thread.
            network.clock.deadline = self._deadline
            network.begin(self._wakeable)
        event = next(self._events, None)
        if event is None:
            self._stop_current()
        elif not self._wakeable.woken.is_set():
            self._tell(event)

    def _tell(self, event: Event) -> None:
        if self.answer.finished:
            return
        now = time.monotonic()
        if self._driver.record is not None:
            self._driver.record.event(now, event)
        self._carry_out(self.answer.receive(event, now))

    def _carry_out(self, commands: list[Command]) -> None:
        for command in commands:
            match command:
                case Cancel():
                    if command.id == self._current:
                        self._stop_current()
                    self._waiting = deque(request for request in self._waiting if request.id != command.id)
                case LogFetch():
                    self._driver.journal.write(command.record, answer_id=self.answer.answer_id)
                case CallEngine() | CallSearch() | Resolve() | Connect() | RunTool() | AskApproval() | Wait():
                    self._waiting.append(command)
                case _:
                    if isinstance(command, Finish):
                        learn(self.answer, command, self._driver.engines)
                        if self._driver.record is not None:
                            self._driver.record.finished(command)
                    self._notices.append(command)

    def _stop_current(self) -> None:
        events, self._events, self._current = self._events, None, None
        if events is not None:
            events.close()  # type: ignore[attr-defined]  # it is a generator: closing it closes the connection

    # The requests.

    def _perform(self, request: Request) -> Iterator[RequestEvent]:
        driver = self._driver
        match request:
            case CallEngine():
                engine = engine_at(self.answer, driver.engines).service
                yield from self._call(engine, request.id, request.request, request.deadline, request.idle)
            case CallSearch():
                if driver.search is None:
                    raise AssertionError("an answer with the web on is refused without a search service")
                yield from self._call(driver.search, request.id, request.request, request.deadline, None)
            case Resolve():
                yield self._resolve(request)
            case Connect():
                yield from self._page(request)
            case RunTool():
                yield self._tool(request)
            case AskApproval():
                yield self._ask(request)
            case Wait():
                self._wakeable.woken.wait(max(request.until - time.monotonic(), 0.0))
                yield Woken(request.id)

    def _call(
        self, service: Service, id_: str, request: HttpRequest, deadline: float, idle: float | None
    ) -> Iterator[RequestEvent]:
        """Exchange one request with a service of the operator's."""
        body = Together(None)
        try:
            with self._driver.services.sent(service, request, idle) as response:
                stream = response.extensions["network_stream"]
                peer = peer_of(stream.get_extra_info("server_addr"))
                yield ResponseStarted(id_, response.status, read_headers(response.headers), peer)
                body = Together(stream.get_extra_info("reads"))
                for piece in response.iter_stream():
                    if data := body.add(piece):
                        yield BodyReceived(id_, data)
            yield ResponseEnded(id_)
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException) as error:
            if data := body.rest():
                yield BodyReceived(id_, data)
            kind, detail = failure_of(error)
            yield Failed(id_, "timeout" if time.monotonic() >= deadline else kind, detail)

    def _resolve(self, request: Resolve) -> RequestEvent:
        """Look a name up in a thread, which is left behind when it takes too long."""
        answers: queue.SimpleQueue[Sequence[str] | Exception] = queue.SimpleQueue()
        lookup = self._driver.lookups.start(
            functools.partial(self._driver.resolver, request.host),
            lambda found, error: answers.put(error or found),
        )
        try:
            answer = self._wait_for(answers, request.deadline)
        except queue.Empty:
            lookup.given_up = True
            return Failed(request.id, "timeout", "the lookup did not return")
        if isinstance(answer, OSError):
            return Failed(request.id, resolve.failure_kind(answer), str(answer))
        if isinstance(answer, Exception):
            raise answer
        return Resolved(request.id, tuple(answer))

    def _page(self, command: Connect) -> Iterator[RequestEvent]:
        """Fetch from a stranger: a connection of its own to a checked address, bounded and never reused."""
        stream: SyncStream | None = None
        try:
            stream = self._connect(command)
            stream = stream.start_tls(self._driver.tls_for_pages, command.server_name)
            peer = peer_of(stream.get_extra_info("server_addr"))
            if peer is None:
                raise httpcore.ReadError("the connection was reset")
            version = stream.get_extra_info("tls_version")
            exchange = Exchange(command.request, command.bounds, command.id, peer=peer, tls_version=version)
            stream.write(exchange.to_send)
            while not exchange.done:
                data = stream.read(READ_BYTES)
                yield from exchange.receive(data) if data else exchange.receive_eof()
        except (httpcore.NetworkError, httpcore.TimeoutException) as error:
            kind, detail = failure_of(error)
            yield Failed(command.id, "timeout" if time.monotonic() >= command.deadline else kind, detail)
        finally:
            if stream is not None:
                stream.close()

    def _connect(self, command: Connect) -> SyncStream:
        """Return the first connection to stand, with a new attempt each `stagger` seconds (RFC 8305 §5)."""
        bounds = command.bounds
        ips = [address.ip for address in command.addresses]
        return self._driver.network.connect_first(ips, command.port, bounds.connect_seconds, bounds.stagger)

    def _tool(self, request: RunTool) -> RequestEvent:
        """Run a handler in a thread of its own, which is left behind when it takes too long."""
        handler = self._driver.handlers[request.name]
        results: queue.SimpleQueue[RequestEvent] = queue.SimpleQueue()
        workers = self._driver.workers

        def run() -> None:
            try:
                value = handler(dict(request.arguments))
                if inspect.isawaitable(value):
                    if inspect.iscoroutine(value):
                        value.close()
                    raise TypeError(f"the handler of {request.name!r} is async; SyncDriver needs a plain function")
                results.put(ToolFinished(request.id, *tool_content(value)))
            except BaseException as error:  # noqa: BLE001 - a handler may raise anything, and here nobody else sees it
                results.put(Failed(request.id, "handler", said(error)))
            finally:
                workers.release()

        while not workers.acquire(timeout=WAKE_SECONDS):
            if self._wakeable.woken.is_set() or time.monotonic() >= request.deadline:
                return Failed(request.id, "timeout", "too many handlers are running")
        threading.Thread(target=run, name=f"tool {request.id}", daemon=True).start()
        try:
            return self._wait_for(results, request.deadline)
        except queue.Empty:
            return Failed(request.id, "timeout", "the tool did not return")

    def _wait_for(self, results: "queue.SimpleQueue[Result]", deadline: float) -> Result:
        """Return what a thread puts into a queue.

        Raises:
            queue.Empty: The deadline passed, or the run was cancelled.
        """
        while not self._wakeable.woken.is_set():
            left = deadline - time.monotonic()
            try:
                return results.get(timeout=max(min(left, WAKE_SECONDS), 0.0))
            except queue.Empty:
                if left <= WAKE_SECONDS:
                    raise
        raise queue.Empty

    def _ask(self, request: AskApproval) -> RequestEvent:
        approve = self._driver.approve
        if approve is None:
            return ApprovalGiven(request.id, allowed=False, reason="nobody can be asked here")
        try:
            given = approve(request)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - what cannot be asked is not allowed
            return Failed(request.id, "handler", said(error))
        if inspect.iscoroutine(given):
            given.close()
            return Failed(request.id, "handler", "approve is async; SyncDriver needs a plain function")
        return approval_of(request.id, given)


__all__ = ["Approver", "Resolver", "Run", "SyncDriver"]
