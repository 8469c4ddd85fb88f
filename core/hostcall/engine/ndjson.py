"""Newline-delimited JSON, bytes in, lines out: the stream of Ollama's own interface."""

import attrs

from hostcall.engine.sse import OversizeEventError


@attrs.define
class NdjsonDecoder:
    """The decoder of one stream. `max_line` bounds a line in bytes."""

    max_line: int
    _carry: list[bytes] = attrs.Factory(list)
    _carried: int = 0

    def feed(self, data: bytes) -> list[bytes]:
        """Take the next bytes and return the lines that they complete, blank ones aside.

        Raises:
            OversizeEventError: A line passed `max_line`.
        """
        *lines, rest = data.split(b"\n")
        if lines and self._carry:
            lines[0] = b"".join(self._carry) + lines[0]
        if lines:
            self._carry.clear()
            self._carried = 0
        if rest:
            self._carry.append(rest)
            self._carried += len(rest)
            if self._carried > self.max_line:
                raise OversizeEventError(f"a line of the stream is larger than {self.max_line} bytes")
        return [line for line in lines if line.strip()]

    def end(self) -> list[bytes]:
        """Say that the body ended, and return the line that lacked its end."""
        line = b"".join(self._carry)
        self._carry.clear()
        return [line] if line.strip() else []
