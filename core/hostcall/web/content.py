"""What the body of a page is: its type, its coding, and its bytes unpacked within a bound.

A few kilobytes can be packed so that they unpack to gigabytes, and a decoder that is asked for "all of it" obliges.
Here no call ever asks for more than what is still wanted, and one byte over, which tells a page that is exactly full
from one that goes on.
"""

import re
import zlib
from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

from hostcall.data import Headers, Refused

if TYPE_CHECKING:
    from zlib import _Decompress

Coding: TypeAlias = Literal["", "gzip", "deflate"]

ALLOWED_TYPES = ("text/html", "text/plain", "text/markdown")
_CODINGS: dict[str, Coding] = {"identity": "", "gzip": "gzip", "x-gzip": "gzip", "deflate": "deflate"}
_SHOWN_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+", re.ASCII)
_LONGEST_SHOWN_TYPE = 60
_GZIP_MAGIC = b"\x1f\x8b"
_MOST_MEMBERS = 1024
"""A file packed in blocks of 64 kB has a few dozen. Each member costs a fresh decoder, however little is in it."""


def values(headers: Headers, name: str) -> list[str]:
    """Return the values of all fields called `name`, in order, without blanks around them."""
    return [value.strip(" \t\r\n") for field, value in headers if field.lower() == name]


def content_type(headers: Headers) -> str | Refused:
    """Return the type of a page as its server gives it, parameters and all.

    Every value must name an allowed type; which of two would count is a question that clients answer differently. No
    type is guessed from the bytes.

    Security:
        Rule 5, limits on time, size and type. Threat: a binary file that fills the model's context with noise, and text
        that goes on to be read as another type than its server meant. The type is a stranger's text: it is shown only
        when it is plain and short.
    """
    best = ""
    for part in (part for value in values(headers, "content-type") for part in _split(value)):
        essence = part.partition(";")[0].strip().lower()
        if essence not in ALLOWED_TYPES:
            shown = f" ({essence})" if len(essence) <= _LONGEST_SHOWN_TYPE and _SHOWN_TYPE.fullmatch(essence) else ""
            return Refused(5, "type_refused", f"The page is not text{shown}.")
        if not best or "charset" in part.lower():
            best = part
    return best or Refused(5, "type_refused", "The page is not text.", "no Content-Type")


def content_coding(headers: Headers) -> Coding | Refused:
    """Return how a body is packed.

    Security:
        Rule 5, limits on size. Threat: hundreds of codings stacked, each of which would multiply the work of the one
        below. More than one is refused before a byte is unpacked, and so is what was not asked for.
    """
    codings = [part.strip().lower() for value in values(headers, "content-encoding") for part in value.split(",")]
    codings = [coding for coding in codings if coding]
    if not codings:
        return ""
    if len(codings) > 1 or codings[0] not in _CODINGS:
        reason = "The page is packed in a way that is not read here."
        return Refused(5, "coding_refused", reason, f"{len(codings)} codings, the first {codings[0][:40]!r}")
    return _CODINGS[codings[0]]


def _split(value: str) -> list[str]:
    """Return the parts of a list, split at commas outside quotes. Empty ones say nothing (RFC 9110 §5.6.1.2)."""
    if '"' not in value:
        return [part.strip() for part in value.split(",") if part.strip()] or [""]
    parts = [""]
    quoted = escaped = False
    for character in value:
        if character == "," and not quoted:
            parts.append("")
            continue
        parts[-1] += character
        if character == '"' and not escaped:
            quoted = not quoted
        escaped = quoted and character == "\\" and not escaped
    return [part.strip() for part in parts if part.strip()] or [""]


@attrs.define
class Body:
    """The bytes of one page, unpacked as they come, up to a limit.

    Security:
        Rule 5, limits on size. Threat: a small answer that unpacks to gigabytes (a bomb), in one member or in many.
    """

    _coding: Coding
    _limit: int
    full: bool = attrs.field(default=False, init=False)
    """More came than the limit lets in: there is nothing more to wait for."""
    broken: bool = attrs.field(default=False, init=False)
    """What came is not packed as it claims to be."""
    size: int = attrs.field(default=0, init=False)
    """How many bytes there are."""
    _pieces: list[bytes] = attrs.field(factory=list, init=False)
    _inflater: "_Decompress | None" = attrs.field(default=None, init=False)
    _held: bytes = attrs.field(default=b"", init=False)
    """Too few bytes to tell what comes next."""
    _members: int = attrs.field(default=0, init=False)
    _ended: bool = attrs.field(default=False, init=False)
    """The packed stream ended: whatever follows is dropped."""

    def feed(self, data: bytes) -> None:
        """Take the next bytes, however they were cut."""
        if not self._coding:
            self._take(data)
            return
        rest = self._held + data
        self._held = b""
        while rest and not (self.full or self.broken or self._ended):
            if self._inflater is None:
                if len(rest) < 2:
                    self._held = rest
                    return
                self._inflater = self._opened(rest)
                if self._inflater is None:
                    self._ended = True
                    return
            rest = self._inflate(self._inflater, rest)

    @property
    def complete(self) -> bool:
        """Whether what came so far is a whole body. One that is not packed always is: its end is the wire's affair."""
        nothing_came = not self._members and not self._held and not self.broken
        return self._inflater is None and (self._members > 0 or nothing_came)

    @property
    def data(self) -> bytes:
        """All that was let in."""
        return b"".join(self._pieces)

    def _opened(self, start: bytes) -> "_Decompress | None":
        """Return a decoder for a stream that begins with `start`, or None when what follows a stream is none."""
        if self._coding == "gzip":
            if self._members and not start.startswith(_GZIP_MAGIC):
                return None
            return zlib.decompressobj(wbits=31)
        # "deflate" means a zlib stream (RFC 9110 §8.4.1.2), and some servers send it without the wrapper. The two bytes
        # of a wrapper are a multiple of 31, and its first half says "deflate, window of at most 32 kB" (RFC 1950 §2.2).
        wrapped = start[0] & 0x8F == 8 and int.from_bytes(start[:2], "big") % 31 == 0
        return zlib.decompressobj(wbits=15 if wrapped else -15)

    def _inflate(self, inflater: "_Decompress", rest: bytes) -> bytes:
        """Unpack what is still wanted and return what comes after the stream, if it ended."""
        # Never 0, which would mean "no limit": as long as there is room up to the limit, one byte over is at least one.
        try:
            out = inflater.decompress(rest, self._limit + 1 - self.size)
        except zlib.error:
            self.broken = True
            return b""
        self._take(out)
        if not inflater.eof:
            return b""  # All of it was looked at, or there is more in it than is wanted.
        self._inflater = None
        self._members += 1
        self._ended = self._coding == "deflate" or self._members == _MOST_MEMBERS
        return inflater.unused_data

    def _take(self, data: bytes) -> None:
        room = self._limit - self.size
        self.full = self.full or len(data) > room
        data = data[:room]
        self._pieces.append(data)
        self.size += len(data)
