"""`TrioDriver`: carries an answer out on trio."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import trio

from hostcall_drivers import resolve
from hostcall_drivers.async_driver import Approver, AsyncDriver, Resolver
from hostcall_drivers.async_network import AsyncNetwork
from hostcall_drivers.async_run import Run
from hostcall_drivers.common import LOOKUPS, WORKERS, Outcome, call_into
from hostcall_drivers.loops import Tasks
from hostcall_drivers.trio_loop import LOOP
from hostcall_drivers.trio_network import TrioNetwork


class TrioDriver(AsyncDriver):
    """Carries answers out on trio; one driver serves any number of answers at once. `AsyncDriver` has the arguments."""

    loop = LOOP

    def _prepare(self) -> None:
        self._lookups = trio.CapacityLimiter(LOOKUPS)
        self._workers = trio.CapacityLimiter(WORKERS)

    async def call(self, function: Callable[[Any], Any], argument: Any, tasks: Tasks) -> Any:
        """Call what the host gave: async in this thread, else in a worker thread, so that nothing else stands still."""
        if inspect.iscoroutinefunction(function):
            return await function(argument)
        outcome: Outcome = []
        await trio.to_thread.run_sync(
            call_into, outcome, function, argument, abandon_on_cancel=True, limiter=self._workers
        )
        value, fault = outcome.pop()
        try:
            if fault is not None:
                raise fault
        finally:
            del fault  # by its traceback it would hold this frame, and be held by it
        return await value if inspect.isawaitable(value) else value

    def _real_network(self) -> AsyncNetwork:
        return TrioNetwork()

    async def _look_up(self, host: str) -> Sequence[str]:
        return await trio.to_thread.run_sync(resolve.look_up, host, abandon_on_cancel=True, limiter=self._lookups)


__all__ = ["Approver", "Resolver", "Run", "TrioDriver"]
