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
                    raise
                nursery.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            others = [one for one in group.exceptions if one is not inside]
            if inside is None or not all(isinstance(one, trio.Cancelled) for one in others):
                raise
            # What is raised in the block while a scope around it is cancelled is still the block's own.
            for one in others:
                one.__traceback__ = None
        else:
            return
        if inside is not None:
            raise inside  # not above, where the group would be its context
    finally:
        # By its traceback it holds this frame: held by it in turn, it would wait for the collector of cycles, and with
        # it all that the frames of the caller hold.
        inside = None
