"""The body of a response in chunks (RFC 9112 §7.1), as pure code: bytes in, the body's bytes out.

h11 gives each chunk as an event of its own, for a tenth of what a streamed token costs in all. An engine writes a token
a chunk, so this is read here, all chunks of a read at once. For services of the operator's: what comes from strangers
goes by h11, with its bounds counted.
"""

import re

import attrs

LONGEST_LINE = 16_384
"""Bytes of a size with its extensions, or of a trailer's field."""

_SIZE = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;[^\r\n]*)?").fullmatch


@attrs.define
class ChunkedBody:
    """Reads one body.

    Attributes:
        ended: The whole body was read.
        rest: What came behind its end, which belongs to no response.
        fault: What is wrong behind the bytes that were returned last; nothing is read from there on.
    """

    ended: bool = False
    rest: bytes = b""
    fault: str = ""
    _held: bytes = b""
    """The beginning of a line."""
    _left: int = 0
    """Bytes of the chunk in hand that are still to come."""
    _behind: bool = False
    """Whether the line end that follows a chunk is still to come."""
    _trailers: bool = False

    def feed(self, data: bytes) -> bytes:
        """Take what has come, and return what is in it of the body."""
        if self._held:
            data, self._held = self._held + data, b""
        out: list[bytes] = []
        at = 0
        while not (self.ended or self.fault):
            if self._left:
                piece = data[at : at + self._left]
                out.append(piece)
                at += len(piece)
                self._left -= len(piece)
                if self._left:
                    break
                self._behind = True
            # A trailer's line may end without a carriage return, as any field's may (RFC 9112 §2.2).
            line_end = b"\n" if self._trailers else b"\r\n"
            end = data.find(line_end, at, at + LONGEST_LINE)
            if end < 0:
                self._wait(data[at:])
                break
            self._line(data[at:end])
            at = end + len(line_end)
        if self.ended:
            self.rest += data[at:]
        return out[0] if len(out) == 1 else b"".join(out)

    def _wait(self, line: bytes) -> None:
        """Keep the beginning of a line, unless it is plain by now that it is none."""
        if len(line) >= LONGEST_LINE:
            self.fault = "a line between two chunks is too long"
        elif self._behind and line not in (b"", b"\r"):
            self.fault = "a chunk is longer than its size"
        else:
            self._held = line

    def _line(self, line: bytes) -> None:
        if self._behind:
            self._behind = False
            if line:
                self.fault = "a chunk is longer than its size"
        elif self._trailers:
            self.ended = line in (b"", b"\r")
        elif (size := _SIZE(line)) is None:
            self.fault = "the size of a chunk is none"
        else:
            self._left = int(size[1], 16)
            self._trailers = self._left == 0
