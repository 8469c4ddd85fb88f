"""Server-sent events, bytes in, events out (WHATWG HTML §9.2.6, read for streams of JSON).

Lines are split as bytes, on CR, LF and CRLF only: a text's own line separators (U+2028, U+0085) are data, and no
character can be cut. What the standard says and what engines do differ in four places, each kept here:

- an event that the end of the body left unfinished is handed out (the standard drops it), because engines forget the
  last blank line;
- an unknown field ``error:``, and a line that is bare JSON, are handed out as events of the name ``error``: builds of
  llama-server and proxies send their errors so;
- data that is blank or starts with a colon is a keep-alive that a proxy wrapped as data, and is dropped;
- a comment is activity and no event.
"""

import attrs


@attrs.frozen
class ServerEvent:
    """One event: its name (empty for none) and its data lines, joined with LF."""

    name: str
    data: bytes


@attrs.define
class SseDecoder:
    """The decoder of one stream.

    Args:
        max_event: Bytes that one event may have, its line in progress included.
    """

    max_event: int
    oversize: bool = attrs.field(default=False, init=False)
    """An event was larger than `max_event`, however it was cut; nothing is read after it."""
    _carry: list[bytes] = attrs.Factory(list)
    _carried: int = 0
    _after_cr: bool = False
    _first: bool = True
    _name: str = ""
    _data: list[bytes] = attrs.Factory(list)
    _size: int = 0

    def feed(self, data: bytes) -> list[ServerEvent]:
        """Take the next bytes and return the events that they complete, up to one that is too large."""
        if not data or self.oversize:
            return []
        if self._after_cr and data.startswith(b"\n"):
            data = data[1:]
        self._after_cr = data.endswith(b"\r")
        if not data:
            return []
        if not (self._first or self._data or self._name) and b"\r" not in data:
            return self._blocks(data)
        # bytes.splitlines knows CR, LF and CRLF and nothing else; str.splitlines would also split at U+2028.
        lines = data.splitlines()
        rest = b"" if data.endswith((b"\n", b"\r")) else lines.pop()
        if lines and self._carry:
            lines[0] = b"".join(self._carry) + lines[0]
            self._carry.clear()
            self._carried = 0
        return self._rest([*lines, rest])

    def _blocks(self, data: bytes) -> list[ServerEvent]:
        """Read what holds no CR and begins between two events or in the first line of one: nearly all that comes.

        An event of one data line is then what stands between two blank lines, and needs no look at its lines.
        """
        if self._carry:
            if b"\n" not in data:
                return self._rest([data])
            data = b"".join((*self._carry, data))
            self._carry.clear()
            self._carried = 0
        events: list[ServerEvent] = []
        *blocks, rest = data.split(b"\n\n")
        for block in blocks:
            value = block[6:]
            if (
                block.startswith(b"data: ")
                and not self._data
                and len(block) <= self.max_event
                and b"\n" not in block
                and not value[:1].isspace()
                and value[:1] not in (b"", b":")
            ):
                events.append(ServerEvent(self._name, value))
                self._name = ""
                continue
            for line in (*block.split(b"\n"), b""):
                event = self._line(line)
                if event is not None:
                    events.append(event)
                if self.oversize:
                    return events
        return events + self._rest(rest.split(b"\n"))

    def _rest(self, lines: list[bytes]) -> list[ServerEvent]:
        """Read lines, the last of which has not ended yet."""
        events: list[ServerEvent] = []
        *whole, last = lines
        for line in whole:
            event = self._line(line)
            if event is not None:
                events.append(event)
            if self.oversize:
                return events
        if last:
            self._carry.append(last)
            self._carried += len(last)
            # As for a whole line: what was cut from it must not decide.
            self.oversize = self._carried + self._size > self.max_event
        return events

    def end(self) -> list[ServerEvent]:
        """Say that the body ended, and return what an unfinished event held."""
        events = []
        if self._carry:
            line = b"".join(self._carry)
            self._carry.clear()
            event = self._line(line)
            if event is not None:
                events.append(event)
        event = self._dispatch()
        if event is not None:
            events.append(event)
        return events

    def _line(self, line: bytes) -> ServerEvent | None:
        if len(line) + self._size > self.max_event:
            self.oversize = True
            return None
        if self._first:
            self._first = False
            if line.startswith(b"\xef\xbb\xbf"):
                line = line[3:]
        if line.startswith(b"data:"):
            value = line[6:] if line.startswith(b"data: ") else line[5:]
            self._size += len(value)
            self._data.append(value)
            return None
        if not line:
            return self._dispatch()
        if line.startswith(b":"):
            return None
        if line.startswith(b"{"):
            return ServerEvent("error", line)
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"event":
            self._name = value.decode("utf-8", "replace")
        elif field == b"data":
            self._data.append(b"")
        elif field == b"error":
            return ServerEvent("error", value)
        return None

    def _dispatch(self) -> ServerEvent | None:
        data = self._data
        name = self._name
        self._name = ""
        if not data:
            return None
        value = data[0] if len(data) == 1 else b"\n".join(data)
        self._data = []
        self._size = 0
        stripped = value.strip()
        if not stripped or stripped.startswith(b":"):
            return None
        return ServerEvent(name, value)
