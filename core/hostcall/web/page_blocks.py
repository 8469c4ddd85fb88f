"""The target that lxml's parser calls: one flat list of blocks, and no tree.

A tree costs memory and time (libxml2's is quadratic in the attributes of one element), and loses what stands deeper
than 255 elements or after a second root. A target sees everything once, in order. The text of the open block is a list
of pieces; a block ends where a browser would begin a new line. Containers are pairs of indexes into the list of blocks.

What an element does stands in `page_elements`: a handler for each tag, which returns what is to be done at its end.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from hostcall.web.defuse import defuse
from hostcall.web.page_style import WHITE, ClassVerdict, Judge, named_colour, same_colour, words

# Browsers stop nesting at 512 too. Real pages stay under 50; past it each end tag costs a scan of all open elements.
MAX_OPEN = 512
MAX_BLOCKS = 100_000
MAX_PREFIX = 40
"""Columns that nesting may indent. Deeper lists keep their markers but go no further to the right."""
GOOD_CHARS = 50
MAX_GOOD = 2000
BREAK = "\0"
"""Stands for a ``<br>`` until white space is collapsed. No page can hold it: libxml2 never passes a NUL on."""

# Flags of a block.
BOILERPLATE, SHELL, CODE, TABLE, HEADING = 1, 2, 4, 8, 16


class Enough(Exception):  # noqa: N818  not an error: the page is cut here, as a browser would
    """The page went past a bound; what was read so far stands."""


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


_JUDGED = frozenset(("class", "style", "hidden", "aria-hidden", "role", "id", "bgcolor", "color"))
_CONTAINERS = frozenset(("div", "section", "ul", "ol", "table", "form", "p", "aside", "header", "dl", "figure"))
_SMALL = frozenset(("span", "td", "th", "a", "i", "b", "em", "code"))
_BOILERPLATE_ROLES = words(
    "navigation banner contentinfo complementary search menu menubar toolbar alertdialog dialog tablist"
)
_MAX_LINKS = 5000


class Reader:
    """Reads one page. The parser calls `start`, `end` and `data`; `finish` closes what the page left open."""

    def __init__(self, handlers: Mapping[str, Handler], *, keep_buttons: bool) -> None:
        self.keep_buttons = keep_buttons
        self.judge = Judge()
        self.blocks: list[Block] = []
        self.ranges: list[tuple[str, int, int]] = []
        """Containers, as (``main``, ``article`` or empty, first block, block after the last)."""
        self.deferred: list[tuple[int, int]] = []
        """Ranges that look like boilerplate by their class only."""
        self.links: dict[str, Link] = {}
        self.title = ""
        self.language = ""
        self.published = ""
        self.time = ""
        self.base = ""
        self.scripts = 0
        self.button_chars = 0
        self.cells = 0
        self.rows_and_cells = 0
        # The open block.
        self.buffer: list[str] = []
        self.breaks = False
        self.link_chars = 0
        self.first: str | None = None
        self.prefix = ""
        self.separator = "\n\n"
        # Where open inline elements began in the buffer; -1 when none is open.
        self.code_at = self.sup_at = self.del_at = self.link_at = -1
        self.sup_linked = False
        self.link: tuple[str, str] | None = None
        # Where we are.
        self.boilerplate = 0
        self.shell = 0
        self.article = 0
        self.heading = 0
        self.in_pre = 0
        self.language_of_code = ""
        self.background = WHITE
        self.lists: list[Any] = []
        self.tables: list[Any] = []
        self.math: list[Any] = []
        self._skipping = 0
        self._skipping_button = False
        self._endings: list[Ending] = []
        self._handlers = handlers

    # Calls of the parser.

    def start(self, tag: str, attributes: Attributes, _namespaces: object = None) -> None:
        """Open an element. The third argument is passed by some versions of lxml only."""
        if self._skipping:
            self._skipping += 1
            if self._skipping > MAX_OPEN:
                raise Enough
            return
        endings = self._endings
        if len(endings) >= MAX_OPEN:
            raise Enough
        undo: Ending = None
        if attributes and not _JUDGED.isdisjoint(attributes):
            judged = self._judged(tag, attributes)
            if judged is Skip:
                self._skipping = 1
                return
            undo = judged  # type: ignore[assignment]  # the class itself was ruled out above
        handler = self._handlers.get(tag)
        if handler is None:
            endings.append(undo)
            return
        ending = handler(self, attributes)
        if ending is Skip:
            self._skipping = 1
            if tag == "button":
                self._skipping_button = True
            if undo is not None:
                undo[0](self, undo[1])
            return
        endings.append(ending if undo is None else (_both, (ending, undo)))  # type: ignore[arg-type]  # as above

    def end(self, tag: str) -> None:
        """Close the element that was opened last: libxml2 closes in order whatever the page does."""
        if self._skipping:
            self._skipping -= 1
            if not self._skipping:
                self._skipping_button = False
            return
        if self._endings:
            ending = self._endings.pop()
            if ending is not None:
                ending[0](self, ending[1])

    def data(self, text: str) -> None:
        """Take a piece of character data."""
        if self._skipping:
            if self._skipping_button:
                self.button_chars += len(text)
            return
        if self.buffer or self.in_pre or not text.isspace():
            self.buffer.append(text)

    def close(self) -> None:
        """Do nothing: lxml wants it, and `finish` does the work also when a page was cut."""

    def finish(self) -> None:
        """Close every open element and the last block."""
        self._skipping = 0
        while self._endings:
            ending = self._endings.pop()
            if ending is not None:
                ending[0](self, ending[1])
        self.flush()

    # What handlers use.

    def flush(self) -> None:
        """End the open block."""
        buffer = self.buffer
        if not buffer:
            return
        if self.in_pre:
            if not buffer[-1].endswith("\n"):
                buffer.append("\n")
            return
        if self.code_at >= 0 or self.del_at >= 0 or self.sup_at >= 0 or self.link_at >= 0:
            self._end_inline()
        text = " ".join("".join(buffer).split())
        buffer.clear()
        links, self.link_chars = self.link_chars, 0
        if self.breaks:
            self.breaks = False
            text = _broken(text, " " if self.heading else "\n")
        if text and (len(text) > 8 or text.isascii() or defuse(text).strip()):
            self.add(text, links, HEADING if self.heading else 0)

    def add(self, text: str, links: int, flags: int) -> None:
        """Add a finished block."""
        if len(self.blocks) >= MAX_BLOCKS:
            raise Enough
        if self.boilerplate:
            flags |= BOILERPLATE
        if self.shell:
            flags |= SHELL
        first = self.first
        if first is None:
            first = self.prefix
        self.first = None
        self.blocks.append(Block(self.separator, first, self.prefix, text, links, flags))
        self.separator = "\n\n"

    def replace(self, at: int, text: str) -> None:
        """Put one text in place of the pieces of the open block from an index on."""
        del self.buffer[at:]
        if text:
            self.buffer.append(text)
        # Elements that are closed out of order may have begun in what is gone.
        self.code_at = min(self.code_at, at)
        self.sup_at = min(self.sup_at, at)
        self.del_at = min(self.del_at, at)
        self.link_at = min(self.link_at, at)

    def switch(self, handlers: Mapping[str, Handler]) -> Mapping[str, Handler]:
        """Read elements by other handlers from here on; return those that held so far."""
        before, self._handlers = self._handlers, handlers
        return before

    def add_link(self, size: int) -> None:
        """Record the open link. The first one outside boilerplate stands for all of the same address."""
        if self.link is None:
            return
        href, rel = self.link
        known = self.links.get(href)
        if known is None:
            if len(self.links) >= _MAX_LINKS:
                return
        elif not known.boilerplate or self.boilerplate:
            return
        self.links[href] = Link(href, len(self.blocks), self.boilerplate > 0, size, rel, len(self.links))

    # Private.

    def _end_inline(self) -> None:
        """Close inline elements at the end of a block, and let them go on in the next one."""
        buffer = self.buffer
        if self.link_at >= 0:
            size = sum(map(len, buffer[self.link_at :]))
            self.link_chars += size
            if size:
                self.add_link(size)
            self.link_at = 0
        if self.code_at >= 0:
            self.replace(self.code_at, code_span("".join(buffer[self.code_at :])))
            self.code_at = 0
        if self.del_at >= 0:
            self.replace(self.del_at, struck("".join(buffer[self.del_at :])))
            self.del_at = 0
        self.sup_at = -1

    def _judged(self, tag: str, attributes: Attributes) -> "Ending | type[Skip]":
        """Return what an element's attributes do to it.

        Security:
            Rule 6, page text is data. Threat: text that a person who looks at the page does not see, written to steer
            the model. What the attributes hide is dropped with all inside, whatever is said further in.
        """
        get = attributes.get
        hidden = get("hidden")
        if hidden is not None and hidden[:20].strip().lower() != "until-found":
            return Skip
        if "aria-hidden" in attributes and attributes["aria-hidden"][:20].strip().lower() == "true":
            return Skip
        undo: Ending = None
        if ("style" in attributes or "bgcolor" in attributes or "color" in attributes) and tag not in ("html", "body"):
            colours = self._coloured(attributes)
            if colours is Skip:
                return Skip
            undo = colours  # type: ignore[assignment]  # the class itself was ruled out above
        classes = get("class")
        verdict: ClassVerdict | None = None
        if classes:
            verdict = self.judge.classes(classes)
            if verdict.drop or (verdict.drop_small and tag in _SMALL):
                return Skip
            if verdict.language and tag != "code":
                undo = (_restore_language, (self.language_of_code, undo))
                self.language_of_code = verdict.language
        if tag in _CONTAINERS and not self.in_pre:
            role = get("role")
            if role is not None and role[:20].strip().lower() in _BOILERPLATE_ROLES:
                self.flush()
                self.boilerplate += 1
                return (_end_boilerplate, undo)
            identity = get("id")
            if (verdict is not None and verdict.boilerplate) or (identity and self.judge.classes(identity).boilerplate):
                self.flush()
                return (_end_deferred, (len(self.blocks), undo))
        return undo

    def _coloured(self, attributes: Attributes) -> "Ending | type[Skip]":
        hidden, colour, background = self.judge.style(attributes.get("style", ""))
        if hidden:
            return Skip
        background = background or named_colour(attributes.get("bgcolor", ""))
        colour = colour or named_colour(attributes.get("color", ""))
        if colour and same_colour(colour, background or self.background):
            return Skip
        if not background or background == self.background:
            return None
        before, self.background = self.background, background
        return (_restore_background, before)


def _end_block(reader: Reader, _: Any) -> None:
    reader.flush()


END_BLOCK: Ending = (_end_block, None)


def start_block(reader: Reader, _: Attributes) -> Ending:
    """Begin a block that has no marker: the handler of a paragraph and of all that breaks the line as it does."""
    if reader.buffer:
        reader.flush()
    return END_BLOCK


def _both(reader: Reader, endings: tuple[Ending, Ending]) -> None:
    for ending in endings:
        if ending is not None:
            ending[0](reader, ending[1])


def _restore_language(reader: Reader, before: tuple[str, Ending]) -> None:
    reader.language_of_code = before[0]
    _both(reader, (before[1], None))


def _restore_background(reader: Reader, before: str) -> None:
    reader.background = before


def _end_boilerplate(reader: Reader, undo: Ending) -> None:
    reader.flush()
    reader.boilerplate -= 1
    _both(reader, (undo, None))


def _end_deferred(reader: Reader, begun: tuple[int, Ending]) -> None:
    reader.flush()
    if len(reader.blocks) > begun[0]:
        reader.deferred.append((begun[0], len(reader.blocks)))
    _both(reader, (begun[1], None))


def code_span(text: str) -> str:
    """Return inline code between more backticks than stand in it."""
    inner = " ".join(text.split())
    if not inner:
        return " " if text else ""
    run = longest_run(inner, "`")
    ticks = "`" * (run + 1) if run else "`"
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
