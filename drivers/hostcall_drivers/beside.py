"""A nursery for what runs beside a block and ends with it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio


@asynccontextmanager
async def beside() -> AsyncIterator[trio.Nursery]:
    """Give a nursery that is cancelled at the end of the block. What the block raises comes out as it is, unwrapped."""
    inside: BaseException | None = None
    try:
        try:
            async with trio.open_nursery() as nursery:
                try:
                    yield nursery
                except BaseException as error:
                    inside = error
                    if not isinstance(error, Exception):
                        raise
                    # Raised again below. Raised here, it would come out in a group, whose own frames hold it.
                nursery.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            more = [one for one in group.exceptions if one is not inside and not isinstance(one, trio.Cancelled)]
            if inside is None or (more and not isinstance(inside, Exception)):
                raise
            if more:
                raise BaseExceptionGroup(group.message, [inside, *more]) from None
            # What is raised in the block while a scope around it is cancelled is still the block's own.
        else:
            if not isinstance(inside, Exception):
                return
        raise inside  # not above, where the group would be its context
    finally:
        # By its traceback it holds this frame: held by it in turn, it would wait for the collector of cycles, and with
        # it all that the frames of the caller hold.
        inside = None
