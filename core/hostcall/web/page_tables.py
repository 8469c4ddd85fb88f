"""Tables: rows of cells where a table holds data, ordinary blocks where it only lays out a page.

Which of the two a table is, is known at its end. Until then its cells are blocks like all others, and each cell is a
pair of indexes; a table of data then takes the place of its blocks.
"""

from collections.abc import Mapping

import attrs

from hostcall.web.page_blocks import (
    CODE,
    END_BLOCK,
    HEADING,
    TABLE,
    Attributes,
    Block,
    Ending,
    Handler,
    Reader,
    code_span,
)

MAX_CELLS = 50_000
"""Cells of one page, those that spans make included: a span is how a small page becomes a large text."""
_MAX_COLSPAN = 30
_MAX_ROWSPAN = 100
_LONG_CELL = 300


@attrs.define
class _Cell:
    start: int
    end: int
    colspan: int
    rowspan: int


@attrs.define
class _Table:
    """An open table."""

    start: int
    ranges: int
    deferred: int
    links: int
    first: str | None
    layout: bool
    rows: list[list[_Cell]] = attrs.Factory(list)
    caption: tuple[int, int] | None = None


def _start_table(reader: Reader, attributes: Attributes) -> Ending:
    reader.flush()
    role = attributes.get("role", "")[:20].strip().lower() if attributes else ""
    reader.tables.append(
        _Table(
            start=len(reader.blocks),
            ranges=len(reader.ranges),
            deferred=len(reader.deferred),
            links=len(reader.links),
            first=reader.first,
            layout=role in ("presentation", "none"),
        )
    )
    return (_end_table, None)


def _end_table(reader: Reader, _: None) -> None:
    reader.flush()
    table: _Table = reader.tables.pop()
    if table.layout or not table.rows:
        return
    blocks = reader.blocks[table.start :]
    rows = _texts(table, blocks)
    if rows is None:
        return
    grid = _grid(rows, table.rows, MAX_CELLS - reader.cells)
    if grid is None:
        return
    reader.cells += sum(map(len, grid))
    caption = blocks[table.caption[0] - table.start : table.caption[1] - table.start] if table.caption else []
    separator = blocks[0].separator if blocks else "\n\n"
    # What was recorded inside the table points at blocks that are gone.
    del reader.blocks[table.start :]
    del reader.ranges[table.ranges :]
    del reader.deferred[table.deferred :]
    if len(reader.links) > table.links:
        for href in list(reader.links)[table.links :]:
            reader.links[href] = reader.links[href]._replace(block=table.start)
    reader.first = table.first
    reader.separator = separator
    for block in caption:
        reader.add(block.text, block.links, 0)
    reader.add(_rendered(grid), sum(block.links for block in blocks), TABLE)


def _start_row(reader: Reader, _: Attributes) -> Ending:
    reader.flush()
    if reader.tables and _counted(reader):
        reader.tables[-1].rows.append([])
    return END_BLOCK


def _start_cell(reader: Reader, attributes: Attributes) -> Ending:
    reader.flush()
    if not reader.tables or not _counted(reader):
        return END_BLOCK
    table: _Table = reader.tables[-1]
    if not table.rows:
        table.rows.append([])
    cell = _Cell(
        start=len(reader.blocks),
        end=len(reader.blocks),
        colspan=_span(attributes, "colspan", _MAX_COLSPAN),
        rowspan=_span(attributes, "rowspan", _MAX_ROWSPAN),
    )
    table.rows[-1].append(cell)
    return (_end_cell, cell)


def _end_cell(reader: Reader, cell: _Cell) -> None:
    reader.flush()
    cell.end = len(reader.blocks)


def _counted(reader: Reader) -> bool:
    """Count a row or a cell; past the page's budget the open table is read as blocks, which cost no more."""
    reader.rows_and_cells += 1
    if reader.rows_and_cells <= 2 * MAX_CELLS:
        return True
    reader.tables[-1].layout = True
    return False


def _start_caption(reader: Reader, _: Attributes) -> Ending:
    reader.flush()
    return (_end_caption, len(reader.blocks))


def _end_caption(reader: Reader, begun: int) -> None:
    reader.flush()
    if reader.tables and len(reader.blocks) > begun:
        reader.tables[-1].caption = (begun, len(reader.blocks))


def _span(attributes: Attributes, name: str, most: int) -> int:
    text = attributes.get(name, "")[:9].strip() if attributes else ""
    return min(max(int(text), 1), most) if text.isascii() and text.isdigit() else 1


def _texts(table: _Table, blocks: list[Block]) -> list[list[str]] | None:
    """Return the text of each cell, or None when a cell holds what does not fit on one line of a table."""
    inside = 0
    rows = []
    for row in table.rows:
        texts = []
        for cell in row:
            pieces = []
            size = 0
            inside += cell.end - cell.start
            for block in blocks[cell.start - table.start : cell.end - table.start]:
                if block.flags & (TABLE | HEADING):
                    return None
                text = block.text
                if block.flags & CODE:
                    lines = text.split("\n")
                    if len(lines) != 3:
                        return None
                    text = code_span(lines[1])
                pieces.append(" ".join(text.split("\n")))
                size += len(text) + 1
                if size > _LONG_CELL:
                    return None
            texts.append(" ".join(pieces).replace("|", "\\|"))
        rows.append(texts)
    captions = table.caption[1] - table.caption[0] if table.caption else 0
    # Text that stands in the table but in no cell would be lost.
    return rows if inside + captions == len(blocks) else None


def _grid(rows: list[list[str]], cells: list[list[_Cell]], budget: int) -> list[list[str]] | None:
    """Return the cells with their spans written out, or None for a table of one column or past the budget.

    A colspan is followed by empty cells, so that columns stay in line; a rowspan repeats its value, so that each row
    can be read alone.
    """
    below: dict[int, tuple[int, str]] = {}
    grid: list[list[str]] = []
    for texts, row in zip(rows, cells, strict=True):
        line: list[str] = []
        for text, cell in zip(texts, row, strict=True):
            _fill(line, below)
            if cell.rowspan > 1:
                for column in range(len(line), len(line) + cell.colspan):
                    below[column] = (cell.rowspan - 1, text if column == len(line) else "")
            line.append(text)
            line.extend("" for _ in range(cell.colspan - 1))
            if len(line) > budget:
                return None
        _fill(line, below)
        budget -= len(line)
        if any(line):
            grid.append(line)
    width = max(map(len, grid), default=0)
    if width < 2 or width * len(grid) > budget + sum(map(len, grid)):
        return None
    for line in grid:
        line.extend("" for _ in range(width - len(line)))
    used = [column for column in range(width) if any(line[column] for line in grid)]
    if len(used) < 2:
        return None
    return grid if len(used) == width else [[line[column] for column in used] for line in grid]


def _fill(line: list[str], below: dict[int, tuple[int, str]]) -> None:
    """Add the cells that reach down into a line at its end."""
    while (column := len(line)) in below:
        left, text = below[column]
        line.append(text)
        if left > 1:
            below[column] = (left - 1, text)
        else:
            del below[column]


def _rendered(grid: list[list[str]]) -> str:
    lines = [f"| {' | '.join(line)} |" for line in grid]
    lines.insert(1, f"|{' --- |' * len(grid[0])}")
    return "\n".join(lines)


TABLE_HANDLERS: Mapping[str, Handler] = {
    "table": _start_table,
    "caption": _start_caption,
    "tr": _start_row,
    "td": _start_cell,
    "th": _start_cell,
}
"""The handlers of the elements of tables."""
