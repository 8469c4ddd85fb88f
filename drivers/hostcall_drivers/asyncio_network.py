"""The network under the asyncio driver."""

import asyncio
import contextvars
import functools
import socket
from collections.abc import Callable
from typing import TypeVar

from hostcall_drivers.async_network import AsyncNetwork, AsyncStream
from hostcall_drivers.asyncio_loop import LOOP
from hostcall_drivers.common import LOOKUPS, Outcome
from hostcall_drivers.threads import Threads

Value = TypeVar("Value")

STAGGER_SECONDS = 0.25
"""The head start of an address of a service before the next is tried (RFC 8305 §5)."""
CONNECT_SECONDS = 60.0
"""How long one of them is tried when nothing else bounds it."""


class AsyncioStream(AsyncStream):
    """One connection."""

    loop = LOOP


class AsyncioNetwork(AsyncNetwork):
    """The real network.

    Args:
        lookups: Threads for lookups of services' names.
    """

    loop = LOOP
    stream = AsyncioStream

    def __init__(self, lookups: Threads | None = None) -> None:
        self._lookups = lookups or Threads("lookup", LOOKUPS)

    async def _connect_named(self, host: str, port: int) -> AsyncStream:
        look_up = functools.partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        infos = await in_thread(self._lookups, look_up)
        ips = list(dict.fromkeys(str(info[4][0]) for info in infos))
        return await self.connect_first(ips, port, CONNECT_SECONDS, STAGGER_SECONDS)


async def in_thread(threads: Threads, work: Callable[[], Value]) -> Value:
    """Do something that blocks, with the caller's context. Cancelled, it is left behind.

    Not by the loop's own executor: `asyncio.run` waits for its threads at the end, and the process does too.
    """
    loop = asyncio.get_running_loop()
    done = loop.create_future()
    outcome: Outcome = []

    def settle(value: Value, fault: Exception | None) -> None:
        if not done.done():
            outcome.append((value, fault))
            done.set_result(None)

    def tell(value: Value, fault: Exception | None) -> None:
        try:
            loop.call_soon_threadsafe(settle, value, fault)
        except RuntimeError:
            return  # the loop has ended, and whoever waited with it

    job = threads.start(functools.partial(contextvars.copy_context().run, work), tell)
    try:
        await done
    finally:
        job.given_up = True
    value: Value
    value, fault = outcome.pop()
    try:
        if fault is not None:
            raise fault
    finally:
        del fault  # by its traceback it would hold this frame, and be held by it
    return value
