"""asyncio, as the drivers use it: scopes and lots as trio has them, and waits for sockets that a close ends.

Streams wait for their sockets by `add_reader` and `add_writer`, which the loops of unix and uvloop have.
"""

import asyncio
import errno
import inspect
import socket
import types
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeVar

from hostcall.errors import SettingsError

Value = TypeVar("Value")


class CancelledByItself(Exception):  # noqa: N818 - it says what happened
    """What was waited for was cancelled by its own code."""


class Scope:
    """What is done inside it ends at its deadline, or when it is cancelled: `asyncio.timeout` that can do both.

    Cancels of other origin pass through, and are told apart as there: by the count that a task keeps of them.
    """

    def __init__(self, deadline: float = float("inf")) -> None:
        self.cancelled_caught = False
        self._deadline = deadline
        self._task: asyncio.Task[Any] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._soon: asyncio.Handle | None = None
        self._fired = False
        self._cancels_before = 0

    @property
    def deadline(self) -> float:
        """When it ends."""
        return self._deadline

    @deadline.setter
    def deadline(self, deadline: float) -> None:
        # One that moves away is moved when its timer comes: for each token of a stream it would cost too much.
        self._deadline = deadline
        if self._task is not None and (self._timer is None or deadline < self._timer.when()):
            self._set_timer()

    def cancel(self) -> None:
        """End what is done in it."""
        if self._task is not None and not self._fired and self._soon is None:
            # Not at once: a task that cancels itself would be cancelled where it waits next, be it outside.
            self._soon = self._task.get_loop().call_soon(self._fire)

    def __enter__(self) -> "Scope":
        self._task = task = asyncio.current_task()
        if task is None:
            raise AssertionError("a scope is entered in a task")
        self._cancels_before = task.cancelling()
        self._set_timer()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: types.TracebackType | None
    ) -> bool:
        task, self._task = self._task, None
        for handle in (self._timer, self._soon):
            if handle is not None:
                handle.cancel()
        self._timer = self._soon = None
        if task is not None and self._fired and task.uncancel() <= self._cancels_before:
            self.cancelled_caught = kind is not None and issubclass(kind, asyncio.CancelledError)
        return self.cancelled_caught

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._task is not None and self._deadline < float("inf"):
            self._timer = self._task.get_loop().call_at(self._deadline, self._ring)

    def _ring(self) -> None:
        self._timer = None
        if self._task is not None and self._task.get_loop().time() < self._deadline:
            self._set_timer()  # it was moved, or the loop counts in milliseconds and came early
        else:
            self._fire()

    def _fire(self) -> None:
        self._soon = None
        if self._task is not None and not self._fired:
            self._fired = True
            self._task.cancel()


class Lot:
    """Where tasks wait for one another."""

    def __init__(self) -> None:
        self._parked: list[asyncio.Future[None]] = []

    def __bool__(self) -> bool:
        return any(not future.done() for future in self._parked)

    async def park(self) -> None:
        """Wait to be unparked."""
        future = asyncio.get_running_loop().create_future()
        self._parked.append(future)
        try:
            await future
        finally:
            if future in self._parked:
                self._parked.remove(future)

    def unpark_all(self) -> None:
        """Wake all who wait."""
        parked, self._parked = self._parked, []
        for future in parked:
            if not future.done():
                future.set_result(None)


class Tasks:
    """What runs beside a block."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._running: set[asyncio.Task[Any]] = set()
        self._over = False

    def start_soon(self, function: Callable[..., Coroutine[Any, Any, Any]], /, *arguments: Any) -> None:
        """Run a function beside the block, unless that has ended."""
        if not self._over:
            self._start(function(*arguments))

    async def apart(self, work: Awaitable[Value]) -> Value:
        """Wait for something in a task of its own, and for no longer than may be waited.

        What does not end when it is cancelled holds nobody but the end of the block. A cancel that comes out of it
        without having been asked for is its own fault, and no cancel of who waits.
        """
        outcome: list[tuple[Value | None, BaseException | None]] = []

        async def run() -> None:
            try:
                outcome.append((await work, None))
            except (Exception, SystemExit, asyncio.CancelledError) as error:  # noqa: BLE001 - raised again below
                outcome.append((None, error))

        task = self._start(run())
        if inspect.iscoroutine(work):
            # A task that is cancelled before its first step leaves it as it is, and Python would complain.
            task.add_done_callback(lambda _: work.close())
        try:
            await asyncio.wait([task])
        finally:
            task.cancel()
        if not outcome:
            raise CancelledByItself("it was cancelled before it began")
        value, error = outcome.pop()
        try:
            if isinstance(error, asyncio.CancelledError):
                raise CancelledByItself("it was cancelled by its own code") from error
            if error is not None:
                raise error
        finally:
            del error  # by its traceback it would hold this frame, and be held by it
        return value  # type: ignore[return-value]  # without an error there is one

    def cancel(self) -> None:
        """Cancel all that runs, once, and start nothing more."""
        self._over = True
        for task in tuple(self._running):
            if not task.cancelling():
                task.cancel()

    def _start(self, work: Coroutine[Any, Any, Value]) -> asyncio.Task[Value]:
        task = self._group.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._over = True  # the group ends all others, and takes no more


@asynccontextmanager
async def beside() -> AsyncIterator[Tasks]:
    """Give tasks that are cancelled at the end of the block. What the block raises comes out as it is, unwrapped."""
    inside: BaseException | None = None
    try:
        try:
            async with asyncio.TaskGroup() as group:
                tasks = Tasks(group)
                try:
                    yield tasks
                except (asyncio.CancelledError, KeyboardInterrupt, SystemExit):
                    raise  # which a group lets out as they are
                except BaseException as error:  # noqa: BLE001 - raised again below; here it would come out in a group
                    inside = error
                finally:
                    tasks.cancel()
        except BaseExceptionGroup as group_error:
            if inside is None:
                raise
            raise BaseExceptionGroup(group_error.message, [inside, *group_error.exceptions]) from None
        except asyncio.CancelledError as cancel:
            if inside is None:
                raise
            raise cancel from inside  # asyncio says it once: who caught the block's error would never hear of it
        if inside is not None:
            raise inside  # not above, where the group would be its context
    finally:
        # By its traceback it holds this frame: held by it in turn, it would wait for the collector of cycles, and with
        # it all that the frames of the caller hold.
        inside = None


@types.coroutine
def _turn() -> Generator[None, None, None]:
    """Let every other task have its turn."""
    yield


class AsyncioLoop:
    """What the drivers need of asyncio; each call is about the loop that runs."""

    faults: tuple[type[Exception], ...] = (OSError,)
    cancelled: type[BaseException] = asyncio.CancelledError
    scope = staticmethod(Scope)
    lot = staticmethod(Lot)

    def __init__(self) -> None:
        self._reading: dict[int, asyncio.Future[None]] = {}
        self._writing: dict[int, asyncio.Future[None]] = {}
        """Descriptor to who waits for it. A descriptor is open once in a process, so its loop is plain too."""

    def ready(self) -> None:
        """Check that the loop can wait for sockets.

        Raises:
            SettingsError: It cannot.
        """
        loop = type(asyncio.get_running_loop())
        if getattr(loop, "add_reader", None) in (None, asyncio.AbstractEventLoop.add_reader):
            raise SettingsError(f"{loop.__name__} cannot wait for sockets; use asyncio.SelectorEventLoop, or uvloop")

    def now(self) -> float:
        """Return the loop's time."""
        return asyncio.get_running_loop().time()

    def beside(self) -> AbstractAsyncContextManager[Tasks]:
        """Give tasks that end with the block."""
        return beside()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    async def check(self) -> None:
        """Go on: asyncio cancels a task where it waits."""

    async def before_read(self) -> None:
        """Let the others have their turn, and be cancelled here: nothing was read that could be lost."""
        await _turn()

    async def after_read(self) -> None:
        """Go on: the others had their turn before."""

    async def wait_readable(self, sock: socket.socket) -> None:
        """Wait until something has come.

        Raises:
            OSError: The socket is closed, or is closed meanwhile.
        """
        loop, number = asyncio.get_running_loop(), _number(sock)
        self._reading[number] = future = loop.create_future()
        loop.add_reader(number, _found, loop.remove_reader, number, future)
        try:
            await future
        finally:
            if self._reading.get(number) is future:
                del self._reading[number]
                if future.cancelled():
                    loop.remove_reader(number)

    async def wait_writable(self, sock: socket.socket) -> None:
        """Wait until there is room.

        Raises:
            OSError: The socket is closed, or is closed meanwhile.
        """
        loop, number = asyncio.get_running_loop(), _number(sock)
        self._writing[number] = future = loop.create_future()
        loop.add_writer(number, _found, loop.remove_writer, number, future)
        try:
            await future
        finally:
            if self._writing.get(number) is future:
                del self._writing[number]
                if future.cancelled():
                    loop.remove_writer(number)

    def closing(self, sock: socket.socket) -> None:
        """Wake who waits for a socket that is closed now: its number may be another's at once."""
        for waiting in (self._reading, self._writing):
            future = waiting.pop(sock.fileno(), None)
            if future is not None:
                loop = future.get_loop()
                (loop.remove_reader if waiting is self._reading else loop.remove_writer)(sock.fileno())
                if not future.done():
                    future.set_exception(OSError(errno.EBADF, "the connection was closed"))


def _found(remove: Callable[[int], object], number: int, future: "asyncio.Future[None]") -> None:
    remove(number)
    if not future.done():
        future.set_result(None)


def _number(sock: socket.socket) -> int:
    number = sock.fileno()
    if number < 0:
        raise OSError(errno.EBADF, "the connection is closed")
    return number


LOOP = AsyncioLoop()
