"""Runs the service: opens the port, waits for a signal, and lets what runs come to its end."""

import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import trio

from hostcall.errors import SettingsError
from hostcall_drivers.chat.app import Chat
from hostcall_drivers.chat.server import Server
from hostcall_drivers.chat.settings import Settings
from hostcall_drivers.journal import LOGGER, SystemdHandler
from hostcall_drivers.services import service_tls_context
from hostcall_drivers.trio import TrioDriver

DONE, INTERRUPTED = 0, 130
BACKLOG = 1024
COLLECT = (10_000, 200, 100)
"""When the collector of cycles looks: new objects, and rounds over the young and the middle generation."""


async def run_service(settings: Settings, announce: Callable[[str], None]) -> int:
    """Run the service on its engines until a signal comes, and return the exit code.

    Args:
        settings: The settings.
        announce: Told the address once it is open.

    Raises:
        SettingsError: An address is none, or cannot be opened.
    """
    tls = service_tls_context(settings.ca) if settings.ca is not None else None
    async with TrioDriver(settings.engines, settings.search, services_tls=tls) as driver:
        return await serve(driver, settings, announce)


async def serve(driver: TrioDriver, settings: Settings, announce: Callable[[str], None]) -> int:
    """Serve with a driver that is there already, until a signal comes.

    The first signal ends the service gracefully: no new connection, and `grace_seconds` for what runs. The second ends
    it at once.

    Raises:
        SettingsError: The address cannot be opened.
    """
    chat = Chat(
        driver,
        keys=settings.keys,
        allowed=settings.allowed,
        web=settings.web,
        limits=settings.limits,
        rows=settings.rows,
    )
    stop = trio.Event()
    code = DONE
    listeners = await open_listeners(settings.host, settings.port)
    with logging_to(settings.log), trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with trio.open_nursery() as nursery:

            async def wait() -> None:
                nonlocal code
                async for number in signals:
                    if stop.is_set():
                        nursery.cancel_scope.cancel()
                        return
                    code = INTERRUPTED if number == signal.SIGINT else DONE
                    chat.health.ending = True
                    stop.set()

            nursery.start_soon(wait)
            announce(address_of(listeners[0]))
            server = Server(chat, settings.bounds)
            with collecting_rarely():
                await server.serve(listeners, stop, grace=settings.grace_seconds, last_call=chat.last_call)
            nursery.cancel_scope.cancel()
    return code


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Have the collector of cycles look less, and never at what was there before the first request.

    Hundreds of answers are a million objects. To look through all of them stops every stream for a fifth of a second,
    and Python's own settings do so whenever a quarter of them is new. An answer that has ended leaves no cycles: a test
    counts what the collector finds.
    """
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


async def open_listeners(host: str, port: int) -> list[trio.SocketListener]:
    """Open a port.

    Raises:
        SettingsError: It cannot be.
    """
    try:
        return list(await trio.open_tcp_listeners(port, host=host, backlog=BACKLOG))
    except socket.gaierror as error:
        raise SettingsError(f"host: {host!r} is no address of this machine ({error.strerror})") from error
    except OSError as error:
        raise SettingsError(f"port: {host} port {port} cannot be opened: {os.strerror(error.errno or 0)}") from error


def address_of(listener: trio.SocketListener) -> str:
    """Return where a listener is reached."""
    host, port = listener.socket.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


@contextmanager
def logging_to(log: str) -> Iterator[None]:
    """Send the lines of the service, and of the journal, where the setting says, while the block runs."""
    handler: logging.Handler = logging.NullHandler()
    if log == "stderr":
        handler = logging.StreamHandler(sys.stderr)
    elif log == "systemd":
        handler = SystemdHandler()
    names = ("hostcall.chat", LOGGER)
    before = {name: (logging.getLogger(name).level, logging.getLogger(name).propagate) for name in names}
    for name in names:
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False
    try:
        yield
    finally:
        for name in names:
            logger = logging.getLogger(name)
            logger.removeHandler(handler)
            level, logger.propagate = before[name]
            logger.setLevel(level)
        handler.close()
