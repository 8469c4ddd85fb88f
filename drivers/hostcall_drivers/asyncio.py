"""`AsyncioDriver`: carries an answer out on asyncio, on the loops of unix and on uvloop."""

import functools
import inspect
from asyncio import CancelledError, current_task
from collections.abc import Callable, Sequence
from typing import Any

from hostcall_drivers import asyncio_loop, resolve
from hostcall_drivers.async_driver import Approver, AsyncDriver, Resolver
from hostcall_drivers.async_network import AsyncNetwork
from hostcall_drivers.async_run import Run
from hostcall_drivers.asyncio_network import AsyncioNetwork, in_thread
from hostcall_drivers.common import LOOKUPS, WORKERS, call_blocking
from hostcall_drivers.loops import Tasks
from hostcall_drivers.threads import Threads


class AsyncioDriver(AsyncDriver):
    __doc__ = AsyncDriver.__doc__

    loop = asyncio_loop.LOOP

    def _prepare(self) -> None:
        self._lookups = Threads("lookup", LOOKUPS)
        self._workers = Threads("tool", WORKERS)

    async def call(self, function: Callable[[Any], Any], argument: Any, tasks: Tasks) -> Any:
        """Call what the host gave: async in this thread, else in a worker thread, so that nothing else stands still."""
        if not isinstance(tasks, asyncio_loop.Tasks):
            raise AssertionError("a run on asyncio has asyncio's tasks")
        if inspect.iscoroutinefunction(function):
            return await tasks.apart(function(argument))
        value = await in_thread(self._workers, functools.partial(call_blocking, function, argument))
        return await tasks.apart(value) if inspect.isawaitable(value) else value

    async def resolve(self, host: str) -> Sequence[str]:
        """Look a name up once."""
        try:
            return await super().resolve(host)
        except CancelledError as error:
            task = current_task()
            if task is not None and task.cancelling():
                raise
            # By the resolver's own code: a failure like any other, and no cancel of the answer.
            raise OSError("the lookup was cancelled") from error

    async def aclose(self) -> None:
        """Close the connections that are kept to the services, and let the threads go."""
        await super().aclose()
        self._lookups.close()
        self._workers.close()

    def _real_network(self) -> AsyncNetwork:
        return AsyncioNetwork(self._lookups)

    async def _look_up(self, host: str) -> Sequence[str]:
        return await in_thread(self._lookups, functools.partial(resolve.look_up, host))


__all__ = ["Approver", "AsyncioDriver", "Resolver", "Run"]
