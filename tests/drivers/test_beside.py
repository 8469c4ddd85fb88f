"""What comes out of a block with a nursery beside it, whoever raises and whoever cancels."""

import pytest
import trio

from hostcall_drivers.beside import beside


async def fails() -> None:
    raise LookupError("the task")


async def test_what_runs_beside_ends_with_the_block() -> None:
    ended = trio.Event()

    async def waits() -> None:
        try:
            await trio.sleep_forever()
        finally:
            ended.set()

    async with beside() as nursery:
        nursery.start_soon(waits)
        await trio.testing.wait_all_tasks_blocked()
    assert ended.is_set()


@pytest.mark.parametrize("error", [ValueError("the block"), KeyboardInterrupt()])
@pytest.mark.parametrize("cancelled", [False, True])
async def test_what_the_block_raises_comes_out_as_it_is(error: BaseException, *, cancelled: bool) -> None:
    caught: BaseException | None = None
    with trio.CancelScope() as scope:
        try:
            async with beside() as nursery:
                nursery.start_soon(trio.sleep_forever)
                await trio.testing.wait_all_tasks_blocked()
                if cancelled:
                    scope.cancel()
                raise error
        except BaseException as raised:  # noqa: BLE001 - a KeyboardInterrupt is one of them
            caught = raised
    assert caught is error
    assert caught.__context__ is None


async def test_what_a_task_raises_comes_in_a_group_and_beside_the_blocks_own_too() -> None:
    with pytest.RaisesGroup(LookupError):
        async with beside() as nursery:
            nursery.start_soon(fails)
            await trio.sleep_forever()

    async def fails_at_the_end() -> None:
        try:
            await trio.sleep_forever()
        finally:
            await fails()

    with pytest.RaisesGroup(ValueError, LookupError):
        async with beside() as nursery:
            nursery.start_soon(fails_at_the_end)
            await trio.testing.wait_all_tasks_blocked()
            raise ValueError("the block")


@pytest.mark.parametrize("own", [False, True])
async def test_a_cancel_stays_a_cancel(*, own: bool) -> None:
    went_on = False
    with trio.CancelScope() as around:
        async with beside() as nursery:
            (nursery.cancel_scope if own else around).cancel()
            await trio.sleep_forever()
        went_on = True
    assert went_on is own
    assert around.cancelled_caught is not own
