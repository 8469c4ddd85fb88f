"""`AsyncioDriver`: carries an answer out on asyncio, on the loops of unix and on uvloop."""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from hostcall_drivers import asyncio_loop, resolve
from hostcall_drivers.async_driver import Approver, AsyncDriver, Resolver
from hostcall_drivers.async_network import AsyncNetwork
from hostcall_drivers.async_run import Run
from hostcall_drivers.asyncio_loop import CancelledByItself
from hostcall_drivers.asyncio_network import AsyncioNetwork, in_thread
from hostcall_drivers.common import LOOKUPS, WORKERS, call_blocking
from hostcall_drivers.loops import Tasks
from hostcall_drivers.threads import Threads


class AsyncioDriver(AsyncDriver):
    """Carries answers out on asyncio; one driver serves any number of them at once. `AsyncDriver` has the arguments."""

    loop = asyncio_loop.LOOP

    def _prepare(self) -> None:
        self._lookups = Threads("lookup", LOOKUPS)
        self._workers = Threads("tool", WORKERS)

    async def call(self, function: Callable[[Any], Any], argument: Any, tasks: Tasks) -> Any:
        """Call what the host gave: async in this thread, else in a worker thread, so that nothing else stands still."""
        if inspect.iscoroutinefunction(function):
            return await _of_asyncio(tasks).apart(function(argument))
        value = await in_thread(self._workers, functools.partial(call_blocking, function, argument))
        return await _of_asyncio(tasks).apart(value) if inspect.isawaitable(value) else value

    async def looked_up(self, host: str, tasks: Tasks) -> Sequence[str]:
        """Look a name up for a run: a resolver of the host's may not end when it is told to.

        Raises:
            OSError: The lookup failed.
        """
        try:
            return await _of_asyncio(tasks).apart(self.resolve(host))
        except CancelledByItself as error:
            raise OSError(str(error)) from error

    async def aclose(self) -> None:
        """Close the connections that are kept to the services, and let the threads go."""
        await super().aclose()
        self._lookups.close()
        self._workers.close()

    def _real_network(self) -> AsyncNetwork:
        return AsyncioNetwork(self._lookups)

    async def _look_up(self, host: str) -> Sequence[str]:
        return await in_thread(self._lookups, functools.partial(resolve.look_up, host))


def _of_asyncio(tasks: Tasks) -> asyncio_loop.Tasks:
    if not isinstance(tasks, asyncio_loop.Tasks):
        raise AssertionError("a run on asyncio has asyncio's tasks")
    return tasks


__all__ = ["Approver", "AsyncioDriver", "Resolver", "Run"]
