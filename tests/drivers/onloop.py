"""The loops that the async drivers run on, for tests that hold on all of them."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import attrs
import trio
import uvloop

from hostcall_drivers import asyncio_loop, trio_loop
from hostcall_drivers.async_driver import AsyncDriver
from hostcall_drivers.async_network import AsyncNetwork
from hostcall_drivers.asyncio import AsyncioDriver
from hostcall_drivers.asyncio_network import AsyncioNetwork
from hostcall_drivers.demo.mapped import MappedAsyncioNetwork, MappedTrioNetwork
from hostcall_drivers.loops import Loop
from hostcall_drivers.trio import TrioDriver
from hostcall_drivers.trio_network import TrioNetwork

Value = TypeVar("Value")


@attrs.frozen
class On:
    """One loop, and what is for it."""

    name: str
    loop: Loop
    driver: type[AsyncDriver]
    network: Callable[[], AsyncNetwork]
    mapped: Callable[[Callable[[str, int], tuple[str, int]]], AsyncNetwork]
    _run: Callable[..., Any]

    def run(self, function: Callable[..., Coroutine[Any, Any, Value]], *arguments: Any) -> Value:
        """Run a function to its end."""
        value: Value = self._run(function, *arguments)
        return value

    async def until(self, is_so: Callable[[], object], seconds: float = 10.0) -> None:
        """Wait until something is so."""
        with self.loop.scope(self.loop.now() + seconds):
            while not is_so():
                await self.loop.sleep(0.005)
        assert is_so()


def on_asyncio(function: Callable[..., Coroutine[Any, Any, Value]], *arguments: Any) -> Value:
    """Run on the standard library's loop."""
    return asyncio.run(function(*arguments))


def on_uvloop(function: Callable[..., Coroutine[Any, Any, Value]], *arguments: Any) -> Value:
    """Run on uvloop."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(function(*arguments))


TRIO = On("trio", trio_loop.LOOP, TrioDriver, TrioNetwork, MappedTrioNetwork, trio.run)
ASYNCIO = On("asyncio", asyncio_loop.LOOP, AsyncioDriver, AsyncioNetwork, MappedAsyncioNetwork, on_asyncio)
UVLOOP = On("uvloop", asyncio_loop.LOOP, AsyncioDriver, AsyncioNetwork, MappedAsyncioNetwork, on_uvloop)
ALL = (TRIO, ASYNCIO, UVLOOP)
