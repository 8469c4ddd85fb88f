"""Whether more of a body is at hand, or only the socket can give it.

An engine that writes fast puts many small HTTP chunks into one read, and httpcore hands them on one by one. The core
reads them four times as fast together; but what has come must not wait for what has not. The stream notes what it read,
and from the framing in it (RFC 9112 §7.1) it is plain whether the next chunk is there already. Where it is not plain,
nothing waits.
"""

import re

import attrs

_SIZE = re.compile(rb"\r\n([0-9a-fA-F]{1,8})\r\n").match
"""What stands before a chunk, with the end of the one before it or of the head. No extensions: none are in use."""
_LONGEST_SIZE = 12


@attrs.define
class Reads:
    """What a connection read of a body in chunks, and how far it was handed on."""

    _read: bytes = b""
    _at: int = 0
    _left: int = 0
    """Bytes of the chunk in hand that are still to come."""
    _known: bool = False
    """Whether it is plain where in the framing the body stands. Once lost, that is not found again."""

    def took(self, read: bytes) -> None:
        """Note what the socket gave."""
        rest = self._read[self._at :] if self._known else b""
        self._known = self._known and len(rest) <= _LONGEST_SIZE
        self._read, self._at = rest + read, 0

    def head_ended(self) -> None:
        """Note that the head was handed on; the body begins behind it."""
        end = self._read.find(b"\r\n\r\n")
        self._known = end >= 0
        self._at, self._left = end + 2, 0

    def more_behind(self, data: bytes) -> bool:
        """Say whether more than `data`, which was handed on, is certain to be there without a read."""
        if not self._known:
            return False
        read, at, left = self._read, self._at, self._left
        if left == 0:
            size = _SIZE(read, at)
            if size is not None:
                at, left = size.end(), int(size[1], 16)
        if len(data) > left or not read.startswith(data, at):
            self._known = False
            return False
        self._at = at = at + len(data)
        self._left = left = left - len(data)
        following = _SIZE(read, at) if left == 0 else None
        if following is not None and int(following[1], 16) > 0 and following.end() < len(read):
            return True
        # Nothing of it is needed any more but what begins the next chunk: connections are many, and reads are large.
        self._read, self._at = read[at:], 0
        return False


@attrs.define
class Together:
    """The pieces of one body, put together as far as more of it is at hand.

    Args:
        reads: The reads of its connection, after those that gave the head; None where they are not known.
    """

    reads: Reads | None
    _held: list[bytes] = attrs.Factory(list)

    def __attrs_post_init__(self) -> None:
        if self.reads is not None:
            self.reads.head_ended()

    def add(self, data: bytes) -> bytes:
        """Take a piece, and return what is to be handed on now: nothing, while more is certain to be at hand."""
        if self.reads is not None and self.reads.more_behind(data):
            self._held.append(data)
            return b""
        if not self._held:
            return data
        self._held.append(data)
        return self.rest()

    def rest(self) -> bytes:
        """Return what is held, because nothing more will come."""
        data = b"".join(self._held)
        self._held.clear()
        return data
