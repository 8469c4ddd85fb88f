"""What the async drivers need of the library whose loop they run on, and nothing more of it.

`trio_loop` and `asyncio_loop` have it. Everything above (streams, services, runs) is written once, against this; where
a token passes, the call goes straight to the library.
"""

import socket
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Protocol


class Scope(Protocol):
    """What is done inside it ends at its deadline, or when it is cancelled. It is entered once, by one task."""

    deadline: float
    """May be moved."""

    @property
    def cancelled_caught(self) -> bool:
        """Whether it ended what was done in it."""
        ...

    def cancel(self) -> None:
        """End what is done in it."""
        ...

    def __enter__(self) -> Any: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> bool | None: ...


class Lot(Protocol):
    """Where tasks wait for one another."""

    def __bool__(self) -> bool: ...
    async def park(self) -> None: ...
    def unpark_all(self) -> Any: ...


class Tasks(Protocol):
    """What runs beside a block."""

    def start_soon(self, function: Callable[..., Coroutine[Any, Any, Any]], /, *arguments: Any) -> None: ...


class Loop(Protocol):
    """The library."""

    faults: tuple[type[Exception], ...]
    """What a wait for a socket raises when the network is at fault, or the socket was closed."""
    cancelled: type[BaseException]
    """What is raised where a task is cancelled."""

    def ready(self) -> None:
        """Check that what runs can wait for sockets.

        Raises:
            SettingsError: It cannot.
        """
        ...

    def now(self) -> float:
        """Return its time, which deadlines are of."""
        ...

    def scope(self, deadline: float = ...) -> Scope: ...
    def lot(self) -> Lot: ...

    def beside(self) -> AbstractAsyncContextManager[Tasks]:
        """Give tasks that are cancelled at the end of the block. What the block raises comes out unwrapped."""
        ...

    async def sleep(self, seconds: float) -> None: ...
    async def wait_readable(self, sock: socket.socket) -> None: ...
    async def wait_writable(self, sock: socket.socket) -> None: ...

    async def check(self) -> None:
        """Stand before what may wait for nothing: a cancelled task may end here."""
        ...

    async def before_read(self) -> None:
        """Stand before a read that waits for nothing: here a cancelled task ends, and loses nothing."""
        ...

    async def after_read(self) -> None:
        """Stand after a read that waited for nothing: the others have had their turn. It is not cancelled here."""
        ...

    def closing(self, sock: socket.socket) -> None:
        """Wake who waits for a socket that is closed now."""
        ...
