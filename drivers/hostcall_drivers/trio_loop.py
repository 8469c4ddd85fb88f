"""trio, as the drivers use it."""

from contextlib import AbstractAsyncContextManager

import trio

from hostcall_drivers.beside import beside


class TrioLoop:
    """What the drivers need of trio."""

    faults: tuple[type[Exception], ...] = (OSError, trio.ClosedResourceError)
    cancelled: type[BaseException] = trio.Cancelled
    now = staticmethod(trio.current_time)
    sleep = staticmethod(trio.sleep)
    wait_readable = staticmethod(trio.lowlevel.wait_readable)
    wait_writable = staticmethod(trio.lowlevel.wait_writable)
    check = staticmethod(trio.lowlevel.checkpoint_if_cancelled)
    before_read = staticmethod(trio.lowlevel.checkpoint_if_cancelled)
    after_read = staticmethod(trio.lowlevel.cancel_shielded_checkpoint)
    closing = staticmethod(trio.lowlevel.notify_closing)

    def ready(self) -> None:
        """Go on: trio waits for sockets everywhere."""

    def scope(self, deadline: float = float("inf")) -> trio.CancelScope:
        """Return a scope."""
        return trio.CancelScope(deadline=deadline)

    def lot(self) -> trio.lowlevel.ParkingLot:
        """Return a lot."""
        return trio.lowlevel.ParkingLot()

    def beside(self) -> AbstractAsyncContextManager[trio.Nursery]:
        """Give a nursery that ends with the block."""
        return beside()


LOOP = TrioLoop()
