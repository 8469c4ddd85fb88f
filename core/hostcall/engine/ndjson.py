"""Newline-delimited JSON, bytes in, lines out: the stream of Ollama's own interface."""

import attrs


@attrs.define
class NdjsonDecoder:
    """The decoder of one stream. `max_line` bounds a line in bytes."""

    max_line: int
    oversize: bool = attrs.field(default=False, init=False)
    """A line was longer than `max_line`, however it was cut; nothing is read after it."""
    _carry: list[bytes] = attrs.Factory(list)
    _carried: int = 0

    def feed(self, data: bytes) -> list[bytes]:
        """Take the next bytes and return the lines that they complete, blank ones aside, up to one that is too long."""
        if self.oversize:
            return []
        *lines, rest = data.split(b"\n")
        if lines and self._carry:
            lines[0] = b"".join(self._carry) + lines[0]
        if lines:
            self._carry.clear()
            self._carried = 0
        whole: list[bytes] = []
        for line in lines:
            if len(line) > self.max_line:
                self.oversize = True
                return whole
            if line.strip():
                whole.append(line)
        if rest:
            self._carry.append(rest)
            self._carried += len(rest)
            self.oversize = self._carried > self.max_line
        return whole

    def end(self) -> list[bytes]:
        """Say that the body ended, and return the line that lacked its end."""
        line = b"".join(self._carry)
        self._carry.clear()
        return [line] if line.strip() else []
