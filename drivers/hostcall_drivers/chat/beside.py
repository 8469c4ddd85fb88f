"""A nursery for what runs beside a block and ends with it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio


@asynccontextmanager
async def beside() -> AsyncIterator[trio.Nursery]:
    """Give a nursery that is cancelled at the end of the block. What the block raises comes out as it is, unwrapped."""
    inside: BaseException | None = None
    try:
        async with trio.open_nursery() as nursery:
            try:
                yield nursery
            except BaseException as error:
                inside = error
                raise
            nursery.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        if inside is not None and group.exceptions == (inside,):
            raise inside from None
        raise
