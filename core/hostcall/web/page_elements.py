"""What each element of a page does to its text: the small fixed dialect of Markdown that a model reads.

Headings keep their level, lists their markers, tables their cells, code its white space. Links keep their text and lose
their address: addresses in the text were measured to cost a third of what fits into a page's limit.
"""

from collections.abc import Mapping

from hostcall.web.page_blocks import (
    CODE,
    END_BLOCK,
    Attributes,
    Ending,
    Handler,
    Reader,
    Skip,
    longest_run,
    start_block,
)
from hostcall.web.page_head import HEAD_HANDLERS
from hostcall.web.page_inline import INLINE_HANDLERS, anchor
from hostcall.web.page_items import ITEM_HANDLERS
from hostcall.web.page_math import start_math
from hostcall.web.page_style import is_language, judge_classes, words
from hostcall.web.page_tables import TABLE_HANDLERS

# Blocks.


def _container(kind: str) -> Handler:
    """Return the handler of an element that may hold the main content."""
    inside_article = int(kind != "")

    def start(reader: Reader, _: Attributes) -> Ending:
        if reader.buffer:
            reader.flush()
        reader.article += inside_article
        return (end, len(reader.blocks))

    def end(reader: Reader, begun: int) -> None:
        if reader.buffer:
            reader.flush()
        reader.article -= inside_article
        if len(reader.blocks) > begun:
            reader.ranges.append((kind, begun, len(reader.blocks)))

    return start


_div = _container("")
_main = _container("main")


def _div_or_main(reader: Reader, attributes: Attributes) -> "Ending | type[Skip]":
    if attributes and attributes.get("role", "")[:20].strip().lower() == "main":
        return _main(reader, attributes)
    return _div(reader, attributes)


def _boilerplate(reader: Reader, _: Attributes) -> Ending:
    reader.flush()
    reader.boilerplate += 1
    return (_end_boilerplate, None)


def _end_boilerplate(reader: Reader, _: None) -> None:
    reader.flush()
    reader.boilerplate -= 1


def _footer(reader: Reader, attributes: Attributes) -> Ending:
    """The footer of a page is boilerplate; the footer of a quotation says whose words they are."""
    return start_block(reader, attributes) if reader.prefix.endswith("> ") else _boilerplate(reader, attributes)


def _header(reader: Reader, attributes: Attributes) -> Ending:
    """The header of a page is boilerplate; the header of an article holds its heading and its author."""
    return start_block(reader, attributes) if reader.article else _boilerplate(reader, attributes)


def _aside(reader: Reader, attributes: Attributes) -> Ending:
    """An aside is boilerplate, but inside the text it may be a note that belongs there."""
    if not reader.article:
        return _boilerplate(reader, attributes)
    reader.flush()
    if judge_classes(attributes.get("class", "")).admonition or attributes.get("role") == "note":
        return END_BLOCK
    return (_end_aside, len(reader.blocks))


def _end_aside(reader: Reader, begun: int) -> None:
    reader.flush()
    if len(reader.blocks) > begun:
        reader.deferred.append((begun, len(reader.blocks)))


def _heading(level: int) -> Handler:
    signs = "#" * level + " "

    def start(reader: Reader, _: Attributes) -> Ending:
        reader.flush()
        before = reader.first
        reader.first = (reader.prefix if before is None else before) + signs
        reader.heading += 1
        return (_end_heading, before)

    return start


def _end_heading(reader: Reader, before: str | None) -> None:
    reader.flush()
    reader.heading -= 1
    if reader.first is not None:
        reader.first = before


# Code.

_MAX_FENCE = 40
"""A fence longer than this is the page's doing and not worth its room; then a run of backticks inside may end it."""


def _code_block(reader: Reader, attributes: Attributes) -> Ending:
    reader.flush()
    state = (reader.language_of_code, reader.switch(IN_CODE))
    named = attributes.get("data-lang") or attributes.get("data-language") or ""
    if is_language(named.lower()):
        reader.language_of_code = named.lower()
    reader.in_pre += 1
    return (_end_code_block, state)


def _end_code_block(reader: Reader, state: tuple[str, Mapping[str, Handler]]) -> None:
    text = reader.taken(0)
    language = reader.language_of_code
    reader.language_of_code, handlers = state
    reader.switch(handlers)
    reader.in_pre -= 1
    text = text.removeprefix("\n").rstrip()
    if text.strip():
        fence = "`" * min(max(3, longest_run(text, "`") + 1), _MAX_FENCE)
        reader.add(f"{fence}{language}\n{text}\n{fence}", 0, CODE)


def _code_in_code(reader: Reader, attributes: Attributes) -> Ending:
    if attributes and not reader.language_of_code:
        verdict = judge_classes(attributes.get("class", ""))
        named = (attributes.get("data-lang") or attributes.get("data-language") or "").lower()
        reader.language_of_code = verdict.language or (named if is_language(named) else "")
    return None


def _break_in_code(reader: Reader, _: Attributes) -> Ending:
    reader.buffer.append("\n")
    return None


# What is no text, or is told apart from it.


def _skip(_reader: Reader, _attributes: Attributes) -> type[Skip]:
    return Skip


def _button(reader: Reader, _: Attributes) -> "Ending | type[Skip]":
    """A button is no content, unless it is what opens an answer, or the page left one open around its whole text."""
    return None if reader.heading or reader.keep_buttons else Skip


def _without_scripts(reader: Reader, _: Attributes) -> Ending:
    """What a browser without scripts or frames would show: kept apart, for pages that have nothing else."""
    reader.flush()
    reader.shell += 1
    return (_end_without_scripts, None)


def _end_without_scripts(reader: Reader, _: None) -> None:
    reader.flush()
    reader.shell -= 1


def _dialog(reader: Reader, attributes: Attributes) -> "Ending | type[Skip]":
    return start_block(reader, attributes) if "open" in attributes else Skip


_SKIPPED = words(
    "style template svg canvas iframe object embed applet audio video map select textarea datalist progress meter "
    "noembed rp clipboard-copy frameset"
)
_PARAGRAPHS = words(
    "p figure figcaption address center fieldset legend details summary hgroup optgroup option search dir-item"
)

HANDLERS: Mapping[str, Handler] = {
    **HEAD_HANDLERS,
    **INLINE_HANDLERS,
    **ITEM_HANDLERS,
    **TABLE_HANDLERS,
    **dict.fromkeys(_PARAGRAPHS, start_block),
    **dict.fromkeys(_SKIPPED, _skip),
    **{f"h{level}": _heading(level) for level in range(1, 7)},
    **dict.fromkeys(("pre", "listing", "xmp", "plaintext"), _code_block),
    **dict.fromkeys(("noscript", "noframes"), _without_scripts),
    **dict.fromkeys(("div", "section"), _div_or_main),
    **dict.fromkeys(("body", "form"), _div),
    "article": _container("article"),
    "aside": _aside,
    "button": _button,
    "dialog": _dialog,
    "footer": _footer,
    "header": _header,
    "nav": _boilerplate,
    "main": _main,
    "math": start_math,
}
"""The handlers of ordinary text."""

IN_CODE: Mapping[str, Handler] = {
    **dict.fromkeys(_SKIPPED, _skip),
    **dict.fromkeys(("p", "div", "li", "tr", "blockquote", "pre"), start_block),
    "a": anchor,
    "br": _break_in_code,
    "button": _button,
    "code": _code_in_code,
    "script": _skip,
    "title": _skip,
}
"""The handlers inside a code block, where all text stands as it is."""
