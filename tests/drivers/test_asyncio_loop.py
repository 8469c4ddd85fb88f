"""asyncio as the drivers use it: which cancel is whose, who is woken, and what comes out of a block."""

import asyncio
import gc
import socket
import weakref
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from hostcall_drivers.asyncio_loop import LOOP, CancelledByItself, Lot, Scope, Tasks, beside
from tests.drivers.onloop import ASYNCIO, UVLOOP, On

pytestmark = pytest.mark.parametrize("on", [ASYNCIO, UVLOOP], ids=lambda on: on.name)


def now() -> float:
    return asyncio.get_running_loop().time()


async def forever() -> None:
    await asyncio.Event().wait()


# Scopes.


def test_a_scope_ends_at_its_deadline_and_not_before(on: On) -> None:
    async def main() -> None:
        for seconds in (-1.0, 0.0, 0.0004, 0.0301):
            deadline = now() + seconds
            with Scope(deadline) as scope:
                await forever()
            assert scope.cancelled_caught
            assert now() >= deadline
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0

    on.run(main)


def test_the_deadline_of_a_scope_may_be_moved_both_ways(on: On) -> None:
    async def main() -> list[bool]:
        caught = []
        with Scope(now() + 0.05) as later:
            later.deadline = now() + 3600
            await asyncio.sleep(0.1)
            later.deadline = float("inf")
            await asyncio.sleep(0.05)
            later.deadline = now() + 0.05
            await forever()
        caught.append(later.cancelled_caught)
        with Scope(now() + 3600) as sooner:
            sooner.deadline = now() + 0.02
            await forever()
        caught.append(sooner.cancelled_caught)
        with Scope(now() + 0.02) as never:
            never.deadline = float("inf")
            await asyncio.sleep(0.05)
        caught.append(never.cancelled_caught)
        return caught

    assert on.run(main) == [True, True, False]


def test_a_scope_that_is_cancelled_from_within_ends_where_it_waits_next_and_never_later(on: On) -> None:
    async def main() -> None:
        with Scope() as scope:
            scope.cancel()
            scope.cancel()
            await forever()
        assert scope.cancelled_caught
        with Scope() as left:
            left.cancel()
        assert not left.cancelled_caught
        await asyncio.sleep(0)
        await asyncio.sleep(0.01)  # and what comes after it is not cancelled
        left.cancel()
        await asyncio.sleep(0.01)

    on.run(main)


def test_a_scope_passes_on_what_another_cancelled(on: On) -> None:
    async def waits(scopes: list[Scope]) -> None:
        with Scope() as outer, Scope() as inner:
            scopes += [outer, inner]
            await forever()
        raise AssertionError("it goes on")

    async def main(also: int | None) -> list[bool]:
        scopes: list[Scope] = []
        task = asyncio.create_task(waits(scopes))
        await asyncio.sleep(0.01)
        if also is not None:
            scopes[also].cancel()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return [scope.cancelled_caught for scope in scopes]

    for also in (None, 0, 1):
        assert on.run(main, also) == [False, False]


def test_of_two_scopes_the_one_that_ended_catches(on: On) -> None:
    async def main(which: str) -> tuple[bool, bool]:
        with Scope() as outer:
            with Scope() as inner:
                if "o" in which:
                    outer.cancel()
                if "i" in which:
                    inner.cancel()
                await forever()
            await asyncio.sleep(0.01)
        return outer.cancelled_caught, inner.cancelled_caught

    assert on.run(main, "o") == (True, False)
    assert on.run(main, "i") == (False, True)
    assert on.run(main, "oi") == (True, False)


def test_what_is_raised_in_a_scope_that_has_ended_comes_out(on: On) -> None:
    async def fails_when_cancelled(scopes: list[Scope]) -> None:
        with Scope(now() - 1) as scope:
            scopes.append(scope)
            try:
                await forever()
            finally:
                raise ValueError("own")

    async def main() -> None:
        scopes: list[Scope] = []
        with pytest.raises(ValueError, match="own"):
            await fails_when_cancelled(scopes)
        assert not scopes[0].cancelled_caught
        await asyncio.sleep(0.01)

    on.run(main)


# Lots.


def test_a_lot_wakes_all_who_wait_and_knows_whether_there_are_any(on: On) -> None:
    woken: list[int] = []

    async def waits(lot: Lot, number: int) -> None:
        await lot.park()
        woken.append(number)

    async def main() -> None:
        lot = Lot()
        assert not lot
        lot.unpark_all()
        tasks = [asyncio.create_task(waits(lot, number)) for number in range(3)]
        await asyncio.sleep(0.01)
        assert lot
        tasks[1].cancel()
        await asyncio.sleep(0.01)
        assert lot
        tasks[0].cancel()
        lot.unpark_all()
        assert not lot
        await asyncio.wait(tasks)
        gone = asyncio.create_task(waits(lot, 9))
        await asyncio.sleep(0.01)
        gone.cancel()
        await asyncio.wait([gone])
        assert not lot

    on.run(main)
    # One was cancelled before it was woken, one at the same time.
    assert woken == [2]


# What runs beside a block.


async def fails() -> None:
    raise LookupError("the task")


def test_what_runs_beside_ends_with_the_block_and_nothing_begins_after(on: On) -> None:
    ended: list[str] = []

    async def waits(name: str) -> None:
        try:
            await forever()
        finally:
            ended.append(name)

    async def main() -> None:
        async with beside() as tasks:
            tasks.start_soon(waits, "beside")
            await asyncio.sleep(0.01)
        assert ended == ["beside"]
        tasks.start_soon(waits, "after")
        await asyncio.sleep(0.01)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    on.run(main)
    assert ended == ["beside"]


@pytest.mark.parametrize("error", [ValueError("the block"), KeyboardInterrupt(), GeneratorExit()])
def test_what_the_block_raises_comes_out_as_it_is(on: On, error: BaseException) -> None:
    async def main() -> BaseException | None:
        try:
            async with beside() as tasks:
                tasks.start_soon(forever)
                await asyncio.sleep(0.01)
                raise error
        except BaseException as raised:  # noqa: BLE001 - a KeyboardInterrupt is one of them
            return raised
        return None

    caught = on.run(main)
    assert caught is error
    assert caught.__context__ is None


def test_a_cancel_after_the_block_failed_is_not_lost_and_neither_is_the_failure(on: On) -> None:
    async def block() -> None:
        async with beside() as tasks:
            tasks.start_soon(forever)
            await asyncio.sleep(0.01)
            task = asyncio.current_task()
            assert task is not None
            task.get_loop().call_soon(task.cancel)
            raise ValueError("the block")

    async def main() -> BaseException:
        task = asyncio.create_task(block())
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        return caught.value

    causes = [on.run(main)]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None:
        causes.append(cause)
    assert any(isinstance(cause, ValueError) for cause in causes)


def test_what_a_task_raises_comes_in_a_group_and_beside_the_blocks_own_too(on: On) -> None:
    started: list[str] = []

    async def begins() -> None:
        started.append("late")

    async def one() -> None:
        async with beside() as tasks:
            tasks.start_soon(fails)
            try:
                await forever()
            finally:
                tasks.start_soon(begins)  # the group takes no more, and nobody is told off for it

    async def fails_at_the_end() -> None:
        try:
            await forever()
        finally:
            await fails()

    async def both() -> None:
        async with beside() as tasks:
            tasks.start_soon(fails_at_the_end)
            await asyncio.sleep(0.01)
            raise ValueError("the block")

    async def main() -> None:
        with pytest.RaisesGroup(LookupError):
            await one()
        with pytest.RaisesGroup(ValueError, LookupError):
            await both()
        await asyncio.sleep(0.01)

    on.run(main)
    assert started == []


def test_a_cancel_stays_a_cancel(on: On) -> None:
    async def block() -> None:
        async with beside() as tasks:
            tasks.start_soon(forever)
            await forever()
        raise AssertionError("it goes on")

    async def main() -> None:
        with Scope(now() + 0.02) as scope:
            await block()
        assert scope.cancelled_caught
        task = asyncio.create_task(block())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    on.run(main)


def test_a_block_that_failed_is_held_by_nothing(on: On) -> None:
    class Held:
        """Something large."""

    async def block() -> "weakref.ref[Held]":
        held = Held()
        seen = weakref.ref(held)
        try:
            async with beside() as tasks:
                tasks.start_soon(forever)
                raise ValueError
        except ValueError:
            return seen

    async def main() -> None:
        seen = await block()
        await asyncio.sleep(0)
        assert seen() is None

    gc.collect()
    gc.disable()
    try:
        on.run(main)
    finally:
        gc.enable()


@pytest.mark.parametrize("begun", [False, True])
def test_what_is_done_apart_holds_only_the_end_of_the_block(on: On, *, begun: bool) -> None:
    over: list[str] = []

    async def stubborn() -> None:
        try:
            await forever()
        finally:
            await asyncio.sleep(0.1)
            over.append("stubborn")

    async def main() -> None:
        async with beside() as tasks:
            with Scope(now() + (0.02 if begun else -1)) as scope:
                await tasks.apart(stubborn())
            assert scope.cancelled_caught
            assert over == []
        assert over == (["stubborn"] if begun else over)

    on.run(main)


def test_what_is_done_apart_gives_its_value_or_raises(on: On) -> None:
    async def gives() -> int:
        return 7

    async def cancels() -> None:
        raise asyncio.CancelledError

    async def exits() -> None:
        raise SystemExit(3)

    async def apart(work: Callable[[], Awaitable[Any]]) -> Any:
        async with beside() as tasks:
            return await tasks.apart(work())

    async def main() -> None:
        assert await apart(gives) == 7
        with pytest.raises(LookupError):
            await apart(fails)
        with pytest.raises(CancelledByItself):
            await apart(cancels)
        with pytest.raises(SystemExit):
            await apart(exits)

    on.run(main)


# Sockets.


def test_a_wait_that_is_cancelled_leaves_no_reader(on: On) -> None:
    async def main() -> None:
        one, other = socket.socketpair()
        with one, other:
            for wait in (LOOP.wait_readable, LOOP.wait_writable):
                if wait == LOOP.wait_writable:
                    one.setblocking(False)
                    while True:
                        try:
                            one.send(b"x" * 65_536)
                        except BlockingIOError:
                            break
                with Scope(now() + 0.02) as scope:
                    await wait(one)
                assert scope.cancelled_caught
                remove = asyncio.get_running_loop().remove_reader
                assert not remove(one.fileno())
            assert not asyncio.get_running_loop().remove_writer(one.fileno())
            other.send(b"x")
            await LOOP.wait_readable(one)
        with pytest.raises(OSError, match="closed"):
            await LOOP.wait_readable(one)
        assert not LOOP._reading
        assert not LOOP._writing

    on.run(main)


def test_a_group_that_is_cancelled_cancels_each_task_once(on: On) -> None:
    counts: list[int] = []

    async def cleans_up() -> None:
        try:
            await forever()
        except asyncio.CancelledError:
            await asyncio.sleep(0.02)
            task = asyncio.current_task()
            counts.append(task.cancelling() if task is not None else 0)
            raise

    async def main() -> None:
        async with beside() as tasks:
            assert isinstance(tasks, Tasks)
            tasks.start_soon(cleans_up)
            await asyncio.sleep(0.01)
            tasks.cancel()
            tasks.cancel()

    on.run(main)
    assert counts == [1]
