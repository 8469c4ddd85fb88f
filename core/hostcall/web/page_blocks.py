"""A page as one flat list of blocks: what was read so far, and what the handlers of elements do to it.

The text of the open block is a list of pieces; a block ends where a browser would begin a new line. Containers are
pairs of indexes into the list of blocks. What an element does stands in `page_elements` and its neighbours: a handler
for each tag, which returns what is to be done at the element's end.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import attrs

from hostcall.web.defuse import defuse
from hostcall.web.page_style import WHITE

MAX_PREFIX = 40
"""Columns that nesting may indent. Deeper lists keep their markers but go no further to the right."""
GOOD_CHARS = 50
MAX_GOOD = 2000
BREAK = "\0"
"""Stands for a ``<br>`` until white space is collapsed. No page can hold it: libxml2 never passes a NUL on."""

# Flags of a block.
BOILERPLATE, SHELL, CODE, TABLE, HEADING = 1, 2, 4, 8, 16


class Block(NamedTuple):
    """One paragraph, heading, list item, table or code block."""

    separator: str
    """What parts it from the block before: one newline in a list, two elsewhere."""
    first: str
    """What stands before its first line: a list marker, the signs of a heading, the prefix of a quotation."""
    prefix: str
    """What stands before its other lines."""
    text: str
    links: int
    """How many of its characters are text of links."""
    flags: int

    @property
    def good(self) -> int:
        """How much it counts as content: prose that is not mostly links, and code."""
        size = len(self.text)
        if self.flags & CODE:
            return min(size, MAX_GOOD)
        plain = size - self.links
        return min(plain, MAX_GOOD) if plain >= GOOD_CHARS and self.links * 2 <= size else 0


class Link(NamedTuple):
    """A link as it was met, unresolved."""

    href: str
    block: int
    boilerplate: bool
    size: int
    """Characters of its text."""
    rel: str
    order: int


Ending: TypeAlias = tuple[Callable[["Reader", Any], None], Any] | None
Attributes: TypeAlias = Mapping[str, str]
Handler: TypeAlias = Callable[["Reader", Attributes], "Ending | type[Skip]"]


class Skip:
    """Returned by a handler: the element and all inside are dropped."""


_MAX_LINKS = 5000
_new = tuple.__new__


@attrs.define(eq=False)
class Reader:
    """What was read of a page so far, and where in it we are."""

    handlers: Mapping[str, Handler]
    """What each tag means here: ordinary text, a code block or a formula."""
    keep_buttons: bool
    blocks: list[Block] = attrs.Factory(list)
    ranges: list[tuple[str, int, int]] = attrs.Factory(list)
    """Containers, as (``main``, ``article`` or empty, first block, block after the last)."""
    deferred: list[tuple[int, int]] = attrs.Factory(list)
    """Ranges that look like boilerplate by their class only."""
    links: dict[str, Link] = attrs.Factory(dict)
    title: str = ""
    language: str = ""
    published: str = ""
    time: str = ""
    base: str = ""
    scripts: int = 0
    button_chars: int = 0
    cells: int = 0
    """Cells of the tables that were written."""
    rows_and_cells: int = 0
    """Rows and cells of all tables that were met."""

    # The open block.
    buffer: list[str] = attrs.Factory(list)
    """Its pieces. Always the same list: the parser appends to it without asking."""
    breaks: bool = False
    link_chars: int = 0
    first: str | None = None
    prefix: str = ""
    separator: str = "\n\n"
    # Where open inline elements began in the buffer; -1 when none is open.
    code_at: int = -1
    sup_at: int = -1
    del_at: int = -1
    link_at: int = -1
    inline: int = 0
    """How many of these are open."""
    href: str = ""
    """The address of the open link; empty when it leads to a place on the page itself."""
    rel: str = ""

    # Where we are.
    boilerplate: int = 0
    shell: int = 0
    article: int = 0
    heading: int = 0
    in_pre: int = 0
    language_of_code: str = ""
    background: str = WHITE
    lists: list[Any] = attrs.Factory(list)
    definitions: list[str] = attrs.Factory(list)
    """The prefixes of the open definition lists."""
    in_term: bool = False
    term_end: int = -1
    """How many blocks there were after the last term of a definition list."""
    tables: list[Any] = attrs.Factory(list)
    math: list[Any] = attrs.Factory(list)

    def flush(self) -> None:
        """End the open block."""
        buffer = self.buffer
        if not buffer:
            return
        if self.in_pre:
            if not buffer[-1].endswith("\n"):
                buffer.append("\n")
            return
        if self.inline:
            self._end_inline()
        words = ("".join(buffer) if len(buffer) > 1 else buffer[0]).split() if buffer else None
        buffer.clear()
        if not words:
            self.link_chars = 0
            self.breaks = False
            return
        text = " ".join(words)
        if self.breaks:
            self.breaks = False
            text = _broken(text, " " if self.heading else "\n")
        if text and (len(text) > 8 or text.isascii() or defuse(text).strip()):
            self.add(text, self.link_chars, HEADING if self.heading else 0)
        self.link_chars = 0

    def add(self, text: str, links: int, flags: int) -> None:
        """Add a finished block."""
        if self.boilerplate:
            flags |= BOILERPLATE
        if self.shell:
            flags |= SHELL
        prefix = self.prefix
        first = self.first
        if first is None:
            first = prefix
        else:
            self.first = None
        # As `Block(…)`, at a third of its cost.
        self.blocks.append(_new(Block, (self.separator, first, prefix, text, links, flags)))
        self.separator = "\n\n"

    def replace(self, at: int, text: str) -> None:
        """Put one text in place of the pieces of the open block from an index on."""
        del self.buffer[at:]
        if text:
            self.buffer.append(text)

    def switch(self, handlers: Mapping[str, Handler]) -> Mapping[str, Handler]:
        """Read elements by other handlers from here on; return those that held so far."""
        before, self.handlers = self.handlers, handlers
        return before

    def taken(self, at: int) -> str:
        """Take the text of the open block from an index on out of it, and return it."""
        text = "".join(self.buffer[at:])
        del self.buffer[at:]
        return text

    def add_link(self, size: int) -> None:
        """Record the open link. The first one outside boilerplate stands for all of the same address."""
        href = self.href
        known = self.links.get(href)
        if known is None:
            if len(self.links) >= _MAX_LINKS:
                return
        elif not known.boilerplate or self.boilerplate:
            return
        self.links[href] = _new(Link, (href, len(self.blocks), self.boilerplate > 0, size, self.rel, len(self.links)))

    # Private.

    def _end_inline(self) -> None:
        """Close inline elements at the end of a block, and let them go on in the next one."""
        buffer = self.buffer
        if self.link_at >= 0:
            size = sum(map(len, buffer[self.link_at :]))
            self.link_chars += size
            if size and self.href:
                self.add_link(size)
            self.link_at = 0
        if self.code_at >= 0:
            self.replace(self.code_at, code_span("".join(buffer[self.code_at :])))
            # What was struck inside the code begins with it by now.
            self.del_at = min(self.del_at, self.code_at)
            self.code_at = 0
        if self.del_at >= 0:
            self.replace(self.del_at, struck("".join(buffer[self.del_at :])))
            self.del_at = 0
        self.sup_at = -1


def _end_block(reader: Reader, _: Any) -> None:
    reader.flush()


END_BLOCK: Ending = (_end_block, None)


def start_block(reader: Reader, _: Attributes) -> Ending:
    """Begin a block that has no marker: the handler of a paragraph and of all that breaks the line as it does."""
    if reader.buffer:
        reader.flush()
    return END_BLOCK


def code_span(text: str) -> str:
    """Return inline code between more backticks than stand in it."""
    inner = " ".join(text.split())
    if not inner:
        return " " if text else ""
    run = longest_run(inner, "`")
    ticks = "`" * min(run + 1, 8)
    if inner[0] == "`" or inner[-1] == "`":
        inner = f" {inner} "
    return f"{' ' if text[0].isspace() else ''}{ticks}{inner}{ticks}{' ' if text[-1].isspace() else ''}"


def struck(text: str) -> str:
    """Return text that the page has struck out, marked so."""
    inner = text.strip()
    if not inner:
        return text
    return f"{' ' if text[0].isspace() else ''}~~{inner}~~{' ' if text[-1].isspace() else ''}"


def longest_run(text: str, sign: str) -> int:
    """Return the length of the longest run of one character, in one pass.

    Growing a fence until it is not in the text would take minutes on 2 MB of backticks.
    """
    return max(map(len, re.findall(f"{re.escape(sign)}+", text)), default=0) if sign in text else 0


def _broken(text: str, newline: str) -> str:
    """Return a text with its breaks as newlines; two and more are one blank line."""
    lines = [line.strip() for line in text.split(BREAK)]
    while lines and not lines[0]:
        del lines[0]
    while lines and not lines[-1]:
        del lines[-1]
    kept = [line for at, line in enumerate(lines) if line or lines[at - 1]]
    return newline.join(kept) if newline == "\n" else newline.join(line for line in kept if line)
