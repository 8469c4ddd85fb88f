"""The head of an answer as nearly every server writes it, read at once; any other is left to h11.

What is read here, h11 reads alike, at a third of the cost: the tests and the fuzzer compare the two. It is a head that
came whole and is within its bounds, with plain line ends and fields, of a final answer whose body is as long as one
`Content-Length` says or goes on until the connection closes. A head with anything doubtful in it is not refused here
but returned as None: whether that is a mistake, and which, is for h11 to say.
"""

import re

import attrs

from hostcall.data import Bounds, Headers

_START = re.compile(r"HTTP/1\.[01] ([2-9][0-9][0-9])(?: [\t -~\x80-\xff]*)?", re.ASCII).fullmatch
_NAME = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+", re.ASCII).fullmatch
_VALUE = re.compile(r"[\t -~\x80-\xff]*", re.ASCII).fullmatch
_LENGTH = re.compile(r"[0-9]{1,18}", re.ASCII).fullmatch
_BODILESS = frozenset({204, 304})


@attrs.frozen
class PlainHead:
    """A head, and how its body ends."""

    size: int
    """Bytes of the head, with the empty line."""
    status: int
    fields: Headers
    length: int | None
    """Bytes of the body; None when it goes on until the connection closes."""


def read_plain_head(data: bytes, bounds: Bounds) -> PlainHead | None:
    """Return the head that `data`, all that came so far, begins with; None when it is none of the plain kind.

    Security:
        Rule 5, limits on size. Threat: an answer that two readers understand differently, and so a body of which one
        sees another part than the other. There is no leniency here that h11 does not have: no bare line feed, no folded
        line, no coding of the transfer, no second length.
    """
    head, end, _ = data[: bounds.head_bytes].partition(b"\r\n\r\n")
    if not end:
        return None
    start, *lines = head.decode("latin-1").split("\r\n")
    status = _START(start)
    if status is None or len(lines) > bounds.headers or int(status[1]) in _BODILESS:
        return None
    fields = []
    length: str | None = None
    for line in lines:
        name, colon, value = line.partition(":")
        value = value.strip(" \t")
        if not (colon and _NAME(name) and _VALUE(value)):
            return None
        match name.lower():
            case "transfer-encoding":
                return None
            case "content-length":
                if length is not None or not _LENGTH(value):
                    return None
                length = value
        fields.append((name, value))
    return PlainHead(len(head + end), int(status[1]), tuple(fields), None if length is None else int(length))
