"""Lists, definition lists and quotations: whatever puts a marker before its first line and indents the others."""

import re
from collections.abc import Mapping

from hostcall.web.page_blocks import MAX_PREFIX, Attributes, Ending, Handler, Reader


def _open_item(reader: Reader, marker: str, separator: str) -> Ending:
    """Begin something whose first block has a marker and whose other lines are indented by the marker's width."""
    before, first = reader.prefix, reader.first
    if first is None:
        reader.separator = separator
        reader.first = before + marker
    else:
        reader.first = first[: MAX_PREFIX * 2] + marker
    if len(before) < MAX_PREFIX:
        reader.prefix = before + ("> " if marker == "> " else _BLANKS[: len(marker)])
    return (_end_item, (before, first))


def _end_item(reader: Reader, state: tuple[str, str | None]) -> None:
    reader.flush()
    reader.prefix = state[0]
    reader.first = None if reader.first is None else state[1]


_BLANKS = " " * 16


class _List:
    """An open list."""

    __slots__ = ("firsts", "inside", "items", "nested", "number", "step")

    def __init__(self, number: int | None, *, backwards: bool) -> None:
        self.number = number
        self.step = -1 if backwards else 1
        self.items = 0
        self.nested = False
        """Whether it stands in another list that has items: then no blank line goes before it."""
        self.inside = 0
        """Open items of this list."""
        self.firsts: list[tuple[int, str]] | None = None
        """Of a reversed list without a start: its items, by block and by what stands before the marker."""


def _unordered(reader: Reader, _: Attributes) -> Ending:
    return _open_list(reader, _List(None, backwards=False))


def _ordered(reader: Reader, attributes: Attributes) -> Ending:
    backwards = "reversed" in attributes
    start = _integer(attributes.get("start", ""))
    opened = _List(1 if start is None else start, backwards=backwards)
    if backwards and start is None:
        opened.firsts = []
    return _open_list(reader, opened)


def _open_list(reader: Reader, opened: _List) -> Ending:
    reader.flush()
    outer = reader.lists[-1] if reader.lists else None
    reader.lists.append(opened)
    opened.nested = outer is not None and outer.items > 0
    if outer is not None and not outer.inside and outer.items:
        # A list directly in a list, which pages write where they mean a list in the item before it.
        before = reader.prefix
        if len(before) < MAX_PREFIX:
            reader.prefix += "  "
        return (_end_list, before)
    return (_end_list, None)


def _end_list(reader: Reader, prefix: str | None) -> None:
    reader.flush()
    closed = reader.lists.pop()
    if prefix is not None:
        reader.prefix = prefix
    if closed.firsts:
        for at, (block, before) in enumerate(closed.firsts):
            if block < len(reader.blocks):
                old = reader.blocks[block]
                new = f"{before}{len(closed.firsts) - at}. "
                reader.blocks[block] = old._replace(first=new + old.first[len(f"{before}{at + 1}. ") :])


def _item(reader: Reader, attributes: Attributes) -> Ending:
    if reader.buffer:
        reader.flush()
    if not reader.lists:
        return _open_item(reader, "- ", "\n")
    opened: _List = reader.lists[-1]
    opened.items += 1
    separator = "\n" if opened.items > 1 or opened.nested else "\n\n"
    opened.inside += 1
    before = reader.prefix
    if opened.number is None and reader.first is None and len(before) < MAX_PREFIX:
        # As below, for nearly every item there is.
        reader.separator = separator
        reader.first = before + "- "
        reader.prefix = before + "  "
        return (_end_plain_item, (opened, before))
    state = (opened, before, reader.first)
    if opened.number is None:
        _open_item(reader, "- ", separator)
        return (_end_list_item, state)
    value = _integer(attributes.get("value", "")) if attributes else None
    if value is not None:
        opened.number = value
        opened.firsts = None
    number = opened.items if opened.firsts is not None else opened.number
    opened.number += opened.step
    if opened.firsts is not None:
        opened.firsts.append((len(reader.blocks), reader.prefix if reader.first is None else reader.first))
    _open_item(reader, f"{number}. ", separator)
    return (_end_list_item, state)


def _end_list_item(reader: Reader, state: tuple[_List, str, str | None]) -> None:
    reader.flush()
    opened, reader.prefix, first = state
    reader.first = None if reader.first is None else first
    opened.inside -= 1


def _end_plain_item(reader: Reader, state: tuple[_List, str]) -> None:
    if reader.buffer:
        reader.flush()
    opened, reader.prefix = state
    reader.first = None
    opened.inside -= 1


def _definitions(reader: Reader, _: Attributes) -> Ending:
    reader.flush()
    reader.definitions.append(reader.prefix)
    return (_end_definitions, None)


def _end_definitions(reader: Reader, _: None) -> None:
    reader.flush()
    reader.definitions.pop()


def _leave_definition(reader: Reader) -> None:
    """End the term or the definition that is open: browsers do so where the next begins, libxml2 nests them."""
    reader.flush()
    if reader.definitions and reader.prefix != reader.definitions[-1]:
        reader.prefix = reader.definitions[-1]
        reader.first = None


def _term(reader: Reader, _: Attributes) -> Ending:
    """Begin a term; several that share a definition stand on lines of their own."""
    _leave_definition(reader)
    if reader.in_term:
        reader.term_end = len(reader.blocks)
    if reader.term_end == len(reader.blocks) and reader.first is None:
        reader.separator = "\n"
    reader.in_term = True
    return (_end_term, None)


def _end_term(reader: Reader, _: None) -> None:
    reader.flush()
    reader.in_term = False
    reader.term_end = len(reader.blocks)


def _definition(reader: Reader, _: Attributes) -> Ending:
    _leave_definition(reader)
    return _open_item(reader, ": ", "\n")


def _quotation(reader: Reader, _: Attributes) -> Ending:
    reader.flush()
    return _open_item(reader, "> ", "\n\n")


def _integer(text: str) -> int | None:
    found = re.match(r"\s{0,9}([-+]?[0-9]{1,9})(?![0-9])", text)
    return int(found[1]) if found else None


ITEM_HANDLERS: Mapping[str, Handler] = {
    "blockquote": _quotation,
    "dd": _definition,
    "dir": _unordered,
    "dl": _definitions,
    "dt": _term,
    "li": _item,
    "menu": _unordered,
    "ol": _ordered,
    "ul": _unordered,
}
"""The handlers of the elements that indent."""
