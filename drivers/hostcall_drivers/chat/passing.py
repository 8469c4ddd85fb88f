"""Passes a request to an engine and its answer back, both untouched: the client's own tools are the client's affair."""

import httpcore
import trio

from hostcall.data import HttpRequest
from hostcall_drivers.chat.faults import ApiError
from hostcall_drivers.chat.replies import Reply
from hostcall_drivers.services import failure_of
from hostcall_drivers.trio import TrioDriver

KEPT = frozenset({"content-type", "content-encoding", "retry-after"})
"""Fields of an engine's answer that are about its body; the others are between the engine and this service. Its length
is told anew, by chunks: an engine's own may be wrong."""


async def pass_on(driver: TrioDriver, engine: str, body: bytes, reply: Reply, *, seconds: float) -> None:
    """Send `body` to an engine, and what it answers to the client.

    Raises:
        ApiError: The engine gave no answer, and nothing was sent.
    """
    # The client's own fields stay here, its key first of all.
    headers = (("Content-Type", "application/json"), ("Accept", "*/*"), ("Accept-Encoding", "identity"))
    request = HttpRequest("POST", "/v1/chat/completions", headers, body)
    try:
        with trio.fail_after(seconds):
            await _exchange(driver, engine, request, reply)
    except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, trio.TooSlowError) as error:
        if reply.started:
            raise BrokenOffError from error
        slow = isinstance(error, trio.TooSlowError) or failure_of(error)[0] in ("idle", "timeout")
        if slow:
            raise ApiError(504, "there was no answer in the time that an answer may take", code="deadline") from error
        raise ApiError(
            503, "the engine is not available; try again later", code="engine_failed", retry_after=5
        ) from error


class BrokenOffError(Exception):
    """An engine's answer broke off after its head was passed on: all that is left is to break off too."""


async def _exchange(driver: TrioDriver, engine: str, request: HttpRequest, reply: Reply) -> None:
    async with driver.exchange(request, engine) as response:
        if response.status < 200:
            raise ApiError(502, "the engine's reply could not be read", code="engine_failed")
        if response.status in (401, 403):
            raise ApiError(502, "the engine does not take the key of this service", code="engine_failed")
        fields = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers]
        kept = [(name, value) for name, value in fields if name.lower() in KEPT]
        await reply.start(
            response.status, [*kept, ("Cache-Control", "no-cache, no-transform"), ("X-Accel-Buffering", "no")]
        )
        async for data in response.aiter_stream():
            await reply.write(data)  # before the next read, so that a slow client slows the engine
        await reply.end()
