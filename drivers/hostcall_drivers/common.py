"""What the drivers share, none of it I/O."""

import datetime as dt
import inspect
import ssl
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from hostcall.commands import Command, Finish
from hostcall.engine.settings import Engine
from hostcall.errors import SettingsError
from hostcall.events import ApprovalGiven, Event
from hostcall.record.recording import Started
from hostcall_drivers.engines import EngineAt, Engines
from hostcall_drivers.services import Service


class Runnable(Protocol):
    """What a driver carries out: an `Answer` or a `Reading`."""

    answer_id: str

    @property
    def engine(self) -> Engine | None: ...
    @property
    def finished(self) -> bool: ...
    @property
    def tool_names(self) -> tuple[str, ...]: ...
    @property
    def web_on(self) -> bool: ...
    def start(
        self, now: float, *, answer_id: str, today: dt.date, capacity: int, deny_networks: Sequence[str] = ()
    ) -> list[Command]: ...
    def receive(self, event: Event, now: float) -> list[Command]: ...


class Recorder(Protocol):
    """What a driver tells of a run, so that it can be replayed."""

    def started(self, started: Started) -> None: ...
    def event(self, now: float, event: Event) -> None: ...
    def finished(self, finish: Finish) -> None: ...


READ_BYTES = 65_536
WORKERS = 32
"""Blocking handlers that run at once. One that never returns keeps its thread, and must not use up the machine."""
LOOKUPS = 16
"""Lookups in threads at once: an abandoned one keeps its thread until the system gives up on it."""
NOTICES_WAITING = 64
"""Notices that wait for their reader before the engine is left waiting too."""


def engines_of(engines: str | Engines, key: str | None) -> Engines:
    """Return the engines that a driver was given: the address of one, or all of the operator's.

    Raises:
        SettingsError: The address is none, or a key came beside engines that have their own.
    """
    if isinstance(engines, str):
        return Engines([EngineAt(service=Service.at(engines, name="engine", key=key))])
    if key is not None:
        raise SettingsError("engine_key goes with one address; engines bring their own keys")
    return engines


def engine_at(answer: Runnable, engines: Engines) -> EngineAt:
    """Return the engine that an answer asks.

    Raises:
        SettingsError: The driver has none of that name.
    """
    return engines.named(answer.engine.name if answer.engine is not None else "")


def learn(answer: Runnable, finish: Finish, engines: Engines) -> None:
    """Keep what an answer learned of its engine."""
    if answer.engine is not None:
        engines.learn(answer.engine, finish.result.capabilities)


def check_handlers(answer: Runnable, handlers: Mapping[str, Any], search: Service | None) -> None:
    """Check that a driver has what an answer will ask for.

    Raises:
        SettingsError: A tool has no handler, or the web is on and there is no search service.
    """
    missing = [name for name in answer.tool_names if name not in handlers]
    if missing:
        raise SettingsError(f"the tool {missing[0]!r} has no handler; give the driver handlers={{{missing[0]!r}: …}}")
    if answer.web_on and search is None:
        raise SettingsError("the answer has the web on, and the driver has no search_url")


def check_plain(**functions: Callable[..., Any] | None) -> None:
    """Check that what a blocking driver calls is no async function, whose result would be taken for an answer.

    Raises:
        SettingsError: One is.
    """
    for name, function in functions.items():
        if inspect.iscoroutinefunction(function):
            raise SettingsError(f"{name} is async; SyncDriver needs a plain function")


def page_tls_context() -> ssl.SSLContext:
    """Return the TLS settings for strangers' pages: the system's authorities, TLS 1.2 or newer, HTTP/1.1 alone."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


def approval_of(id: str, given: Any) -> ApprovalGiven:
    """Return what an approver said of the request `id`. Only True allows: a text that says "no" is true."""
    if isinstance(given, ApprovalGiven):
        reason: Any = given.reason
        return ApprovalGiven(id, allowed=given.allowed is True, reason=reason if isinstance(reason, str) else "")
    return ApprovalGiven(id, allowed=given is True)


def said(error: BaseException) -> str:
    """Return what an exception of the host's code says of itself, which may raise in its turn."""
    try:
        return repr(error)
    except Exception:  # noqa: BLE001 - whatever its author wrote
        return type(error).__name__


def call_blocking(function: Callable[..., Any], argument: Any) -> Any:
    """Call a blocking function. What would end a thread (another library's cancel) ends only the call."""
    try:
        return function(argument)
    except BaseException as error:
        if isinstance(error, Exception):
            raise
        raise RuntimeError(said(error)) from error


Outcome: TypeAlias = list[tuple[Any, Exception | None]]
"""Where what comes of a call is put, a value or what was raised, to be popped by who waits for it. Not returned: an
exception holds the frames of the thread that it was raised in, and what they return would hold it."""


def call_into(outcome: Outcome, function: Callable[..., Any], argument: Any) -> None:
    """Call a blocking function and put into `outcome` what came of it."""
    try:
        outcome.append((call_blocking(function, argument), None))
    except Exception as error:  # noqa: BLE001 - it is raised again where the value is waited for
        outcome.append((None, error))


def tool_content(value: Any) -> tuple[str, bool]:
    """Return what a handler gave as content and whether it tells of a failure: a text, or a pair of the two."""
    if isinstance(value, tuple) and len(value) == 2:
        content, is_error = value
        return str(content), bool(is_error)
    return ("" if value is None else str(value)), False
