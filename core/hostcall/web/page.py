"""A downloaded page as text that a model can use, and the links that lead on.

Only some thousand characters of a page reach the model, so they must be the right ones: the main content first, code
exact, tables and lists whole, and nothing that a person who looks at the page would not see. The parser calls the
target in `page_blocks`, which `page_elements` tells what each element means; `page_main` chooses; this file puts the
steps in order and cuts.
"""

import re
from typing import Any

import attrs
from lxml import etree

from hostcall.web.charset import charset_of, decode, to_utf8
from hostcall.web.defuse import defuse
from hostcall.web.page_blocks import Reader
from hostcall.web.page_elements import HANDLERS
from hostcall.web.page_links import page_links
from hostcall.web.page_main import main_text
from hostcall.web.page_target import Target

MAX_LINKS = 24
_PIECE = 32_768
"""Bytes that the parser is given at once. libxml2 goes on to the end of a piece after a callback has raised."""
_NO_SIGN = "\u2064".encode()
_THIN = 200
_CUT_SHORT = "(The rest of this page could not be read.)"


@attrs.frozen(kw_only=True)
class Page:
    """One page, read. Every text in it is defused."""

    title: str
    address: str
    text: str
    """The text in a small dialect of Markdown. Empty when the page holds none."""
    links: tuple[str, ...] = ()
    """Absolute https addresses on the page's own site, best first."""
    truncated: bool = False
    """Whether text is missing; the last line of `text` says how much."""
    thin: bool = False
    """Whether the page holds next to nothing: it is empty, or made by scripts that were not run."""
    language: str = ""
    """The language the page gives for itself, as in ``en-GB``."""
    published: str = ""
    """The date the page gives for itself, ``YYYY-MM-DD`` or ``YYYY-MM``."""


def read_page(data: bytes, content_type: str, address: str, *, max_chars: int) -> Page:
    """Return the text of a page, whatever its bytes are.

    Security:
        Rule 5, limits. Threat: a page made to use up time, memory or the model's context. The work is linear in the
        bytes, nesting, table cells and blocks are bounded, and the text is never longer than ``max_chars``.
        Rule 6, page text is data. Threat: hidden text and control tokens that steer the model.

    Args:
        data: The body, decompressed.
        content_type: The value of the field. What is neither HTML nor XHTML is read as plain text.
        address: The final address, which links are resolved against.
        max_chars: The most that the text may have. A very large number gives the whole text.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind and kind not in ("text/html", "application/xhtml+xml"):
        return _read_plain(decode(data, content_type), address, max_chars)
    data = to_utf8(data, content_type)
    utf8 = charset_of(content_type) in ("", "utf-8")
    reader, whole = _parsed(data, keep_buttons=False)
    found, start, end, shell = main_text(reader)
    if len(found) < _THIN and reader.button_chars > len(found):
        # A button that was never closed takes all that follows for its label.
        reader, whole = _parsed(data, keep_buttons=True)
        found, start, end, shell = main_text(reader)
    title = reader.title or next((block.text for block in reader.blocks if block.first == "# "), "")
    kept, cut = cut_text(_tidy(defuse(found)), max_chars)
    if not whole and not cut and len(kept) + len(_CUT_SHORT) + 2 <= max_chars:
        kept = f"{kept}\n\n{_CUT_SHORT}" if kept else _CUT_SHORT
    return Page(
        title=" ".join(defuse(title).split())[:300],
        address=address,
        text=kept,
        links=page_links(list(reader.links.values()), address, reader.base, (start, end), utf8=utf8, most=MAX_LINKS),
        truncated=cut or not whole,
        thin=not found or shell or (len(found) < _THIN and reader.scripts > 0),
        language=reader.language,
        published=reader.published or reader.time,
    )


def _parsed(data: bytes, *, keep_buttons: bool) -> tuple[Reader, bool]:
    """Return the reader that has seen the page, and whether it saw the whole of it."""
    reader = Reader(HANDLERS, keep_buttons)
    target = Target(reader)
    # A NUL would come out as a replacement character, and one of our own signs is a NUL. Leaving it out could make a
    # tag, or the end of a comment, of what is none; so a sign takes its place that is dropped from the text later.
    data = data.replace(b"\0", _NO_SIGN)
    # The stubs ask for a `comment` that lxml does without: with one, each comment would cost a call.
    untyped: Any = target
    parser = etree.HTMLParser(target=untyped, encoding="utf-8", no_network=True, huge_tree=False)
    whole = True
    try:
        for at in range(0, len(data), _PIECE):
            parser.feed(data[at : at + _PIECE])
            if target.full:
                whole = False
                break
        else:
            parser.close()
    except etree.LxmlError:
        whole = not data  # an empty page has no root, and nothing is lost
    target.close()
    return reader, whole


def _read_plain(text: str, address: str, max_chars: int) -> Page:
    """Read a text that is plain already, or Markdown: only line ends and blank runs are put in order."""
    text = _tidy(defuse(text)).strip("\n").rstrip()
    kept, cut = cut_text(text, max_chars)
    first = text.partition("\n")[0]
    title = first[2:].strip()[:300] if first.startswith("# ") else ""
    return Page(title=title, address=address, text=kept, truncated=cut, thin=not text.strip())


def cut_text(text: str, max_chars: int) -> tuple[str, bool]:
    """Return a text that is no longer than a limit, and whether it was cut.

    The cut is at the end of a block, or of a line or a word where the block is long; a code fence that is open there is
    closed; and the last line says how much is missing, because a model that is not told makes the rest up.
    """
    if len(text) <= max_chars:
        return text, False
    room = max_chars - len(_missing(len(text))) - 2
    if room < 1:
        return text[: max(max_chars, 0)], True
    at = text.rfind("\n\n", 0, room + 2)
    for separator in ("\n", " "):
        if at < room // 2:
            at = max(at, text.rfind(separator, 0, room + 1))
    kept = text[: at if at >= room // 2 else room].rstrip()
    fence = _open_fence(kept)
    if 0 < len(fence) < room // 2:
        kept = kept[: room - len(fence) - 1].rstrip()
        # What was taken away may have been the fence itself.
        fence = _open_fence(kept)
        kept = f"{kept}\n{fence}" if fence else kept
    return f"{kept}\n\n{_missing(len(text) - len(kept))}", True


def _missing(chars: int) -> str:
    return f"(Cut here: {chars:,} more characters.)"


_FENCE = re.compile(r"[ >]{0,80}(?:[-*+] |[0-9]{1,9}[.)] |: )?[ >]{0,80}(`{3,}|~{3,})")


class _Fences:
    """Follows a text line by line and knows whether a code block is open."""

    def __init__(self) -> None:
        self.open = ""
        """What closes the open block: its indentation and its fence."""

    def take(self, line: str) -> None:
        found = _FENCE.match(line) if "```" in line or "~~~" in line else None
        if found is None:
            return
        if not self.open:
            prefix = line[: found.start(1)]
            self.open = "".join(sign if sign in " >" else " " for sign in prefix) + found[1]
        elif line.strip(" >") == self.open.strip(" >"):
            self.open = ""


def _open_fence(text: str) -> str:
    """Return what closes the code block that is open at the end of a text, or an empty text."""
    fences = _Fences()
    for line in text.split("\n"):
        fences.take(line)
    return fences.open


def _tidy(text: str) -> str:
    """Return a text without runs of blank lines, except inside fenced code, where they are kept."""
    if "\n\n\n" not in text:
        return text
    fences = _Fences()
    kept: list[str] = []
    for line in text.split("\n"):
        fences.take(line)
        if line.strip() or fences.open or not kept or kept[-1].strip():
            kept.append(line)
    return "\n".join(kept)
