"""What is sent to a client: one JSON value, a stream, or an error. Thin, over ASGI's two messages."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from hostcall_drivers.chat.faults import ApiError
from hostcall_drivers.chat.server import Send

STREAM_HEADERS = (
    ("Content-Type", "text/event-stream; charset=utf-8"),
    # Proxies that hold a stream back until it is complete are asked not to: nginx by its own field.
    ("Cache-Control", "no-cache, no-transform"),
    ("X-Accel-Buffering", "no"),
)


@attrs.define
class Reply:
    """The reply to one request."""

    _send: Send
    answer_id: str
    write_now: Callable[[bytes], bool] | None = None
    """Writes a piece of a stream without waiting, where the server can. False: not all of it is out, and the next is
    to be a `write`."""
    started: bool = False
    status: int = 0

    async def start(self, status: int, headers: Sequence[tuple[str, str]]) -> None:
        """Send the head. It goes out at once, with whatever is written next."""
        fields = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        fields.append((b"x-request-id", self.answer_id.encode()))
        self.started = True
        self.status = status
        await self._send({"type": "http.response.start", "status": status, "headers": fields})

    async def start_stream(self) -> None:
        """Send the head of a stream of events."""
        await self.start(200, STREAM_HEADERS)

    async def write(self, data: bytes) -> None:
        """Send a piece of the body."""
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self) -> None:
        """End the body."""
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def json(self, value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        """Send one JSON value."""
        await self.body(json.dumps(value).encode(), "application/json", status=status, headers=headers)

    async def body(
        self, body: bytes, content_type: str, *, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        """Send one whole body."""
        fields = [("Content-Type", content_type), ("Content-Length", str(len(body))), *(headers or {}).items()]
        await self.start(status, fields)
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def error(self, error: ApiError) -> None:
        """Send an error."""
        await self.body(error.body, "application/json", status=error.status, headers=error.headers)
