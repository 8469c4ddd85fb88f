"""What the async drivers are made from: `TrioDriver` and `AsyncioDriver` add what their libraries do differently."""

import contextlib
import secrets
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, ClassVar, Self, TypeAlias

from hostcall.commands import AskApproval
from hostcall.data import HttpRequest
from hostcall.events import ApprovalGiven
from hostcall_drivers import resolve
from hostcall_drivers.async_network import AsyncNetwork
from hostcall_drivers.async_run import Run
from hostcall_drivers.async_services import AsyncServices, Response
from hostcall_drivers.common import Recorder, Runnable, check_handlers, engine_at, engines_of, page_tls_context
from hostcall_drivers.engines import Engines
from hostcall_drivers.functions import Handlers, handlers_of
from hostcall_drivers.journal import Journal
from hostcall_drivers.loops import Loop, Tasks
from hostcall_drivers.services import Service

Resolver: TypeAlias = Callable[[str], Awaitable[Sequence[str]]]
Approver: TypeAlias = Callable[[AskApproval], bool | ApprovalGiven | Awaitable[bool | ApprovalGiven]]


class AsyncDriver:
    """Carries answers out; one driver serves any number of answers at once.

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

    loop: ClassVar[Loop]

    def __init__(
        self,
        engine: str | Engines,
        search_url: str | None = None,
        *,
        engine_key: str | None = None,
        handlers: Handlers | None = None,
        approve: Approver | None = None,
        resolver: Resolver | None = None,
        network: AsyncNetwork | None = None,
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
        self._prepare()
        self.network = network or self._real_network()
        self.journal = journal or Journal()
        self.record = record
        self.page_tls = page_tls
        self.deny_networks = tuple(resolve.own_networks() if deny_networks is None else deny_networks)
        self.capacity = capacity
        self._resolver = resolver or self._look_up
        self.services = AsyncServices(self._real_network(), services_tls)

    @contextlib.asynccontextmanager
    async def run(self, answer: Runnable, *, answer_id: str | None = None) -> AsyncIterator[Run]:
        """Carry an answer out: ``async with driver.run(answer) as notices: async for notice in notices: …``.

        Leaving the block early cancels the answer; so does whatever cancels the block. When the block is left, no task
        and no socket of the answer is.

        Raises:
            SettingsError: The answer has a tool without a handler, the web on and the driver no search service, or an
                engine that the driver does not have; or the loop that runs cannot wait for sockets.
        """
        self.loop.ready()
        check_handlers(answer, self.handlers, self.search)
        engine_at(answer, self.engines)
        # What the reader's own block raises is its own, and not wrapped for having been raised in here.
        async with self.loop.beside() as tasks:
            run = Run(self, answer, tasks)
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
            SettingsError: There is no engine of that name, or the loop that runs cannot wait for sockets.
        """
        self.loop.ready()
        async with self.services.sent(self.engines.named(engine).service, request) as response:
            yield response

    async def aclose(self) -> None:
        """Close the connections that are kept to the services."""
        await self.services.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def resolve(self, host: str) -> Sequence[str]:
        """Look a name up once."""
        return await self._resolver(host)

    @property
    def tls_for_pages(self) -> ssl.SSLContext:
        """The TLS settings for pages, made once: it costs 25 ms."""
        if self.page_tls is None:
            self.page_tls = page_tls_context()
        return self.page_tls

    # What each library does in its own way.

    async def call(self, function: Callable[[Any], Any], argument: Any, tasks: Tasks) -> Any:
        """Call what the host gave: async in this thread, else in a worker thread, so that nothing else stands still."""
        raise NotImplementedError

    async def looked_up(self, host: str, tasks: Tasks) -> Sequence[str]:
        """Look a name up for a run.

        Raises:
            OSError: The lookup failed.
        """
        return await self.resolve(host)

    def _prepare(self) -> None:
        """Make what the library needs to have before anything else."""
        raise NotImplementedError

    def _real_network(self) -> AsyncNetwork:
        raise NotImplementedError

    async def _look_up(self, host: str) -> Sequence[str]:
        """Look a name up by the system's resolver, in a thread that can be left behind."""
        raise NotImplementedError
