"""Chooses what of a page is its text, and writes it down.

The choice is conservative, because pickers of main content win on articles and lose whole forums, shops and lists: an
element is taken for the main one only when it holds most of the good text, and every step has a way back.
"""

from itertools import accumulate

from hostcall.web.page_blocks import BOILERPLATE, SHELL, Block, Reader

_ENOUGH = 200
"""Characters below which a choice has left too little, and is not made."""
_ARTICLE_SHARE = 0.5
_CONTAINER_SHARE = 0.75
_DEFERRED_SHARE = 0.1


def main_text(reader: Reader) -> tuple[str, int, int, bool]:
    """Return the text of a page that was read, the range of blocks it came from, and whether it was a script's shell.

    The order of the attempts: the main range without boilerplate; the whole page without boilerplate; the whole page;
    and what stands there for browsers without scripts.
    """
    blocks = reader.blocks
    drop = _boilerplate(reader)
    good = [0 if dropped else block.good for block, dropped in zip(blocks, drop, strict=True)]
    start, end = _main_range(reader.ranges, good)
    text = _written(blocks, drop, start, end)
    if len(text) >= _ENOUGH:
        return text, start, end, False
    if (start, end) != (0, len(blocks)):
        start, end = 0, len(blocks)
        text = _written(blocks, drop, start, end)
        if len(text) >= _ENOUGH:
            return text, start, end, False
    text = _written(blocks, [block.flags & SHELL != 0 for block in blocks], start, end)
    if len(text) >= _ENOUGH:
        return text, start, end, False
    whole = _written(blocks, [False] * len(blocks), start, end)
    shell = len(whole) > 2 * len(text)
    return whole if shell else text, start, end, shell


def _boilerplate(reader: Reader) -> list[bool]:
    """Return for each block whether it is boilerplate, or what only a browser without scripts would show.

    A range that looks so by its class alone is believed only while it holds a small part of the page's good text.
    """
    blocks = reader.blocks
    drop = [block.flags & (BOILERPLATE | SHELL) != 0 for block in blocks]
    if not reader.deferred:
        return drop
    sums = [0, *accumulate(0 if drop[at] else block.good for at, block in enumerate(blocks))]
    most = sums[-1] * _DEFERRED_SHARE
    # Ranges nest, so their borders are counted and not their blocks.
    change = [0] * (len(blocks) + 1)
    for start, end in reader.deferred:
        if sums[end] - sums[start] <= most:
            change[start] += 1
            change[end] -= 1
    return [dropped or depth > 0 for dropped, depth in zip(drop, accumulate(change), strict=False)]


def _main_range(ranges: list[tuple[str, int, int]], good: list[int]) -> tuple[int, int]:
    """Return the first block of the main content and the one after its last."""
    sums = [0, *accumulate(good)]
    total = sums[-1]
    best: dict[str, tuple[int, int, int]] = {}
    shortest: tuple[int, int, int] | None = None
    for kind, start, end in ranges:
        amount = sums[end] - sums[start]
        if kind:
            if amount > best.get(kind, (0, 0, 0))[0]:
                best[kind] = (amount, start, end)
        elif total and amount >= total * _CONTAINER_SHARE and (shortest is None or end - start < shortest[0]):
            shortest = (end - start, start, end)
    main, article = best.get("main"), best.get("article")
    if main is not None and main[0] >= _ENOUGH:
        return main[1:]
    if article is not None and article[0] >= total * _ARTICLE_SHARE:
        return article[1:]
    return (0, len(good)) if shortest is None else shortest[1:]


def _written(blocks: list[Block], hidden: list[bool], start: int, end: int) -> str:
    pieces: list[str] = []
    before = ""
    for at in range(start, end):
        if hidden[at]:
            continue
        separator, first, prefix, text, _, _ = blocks[at]
        if pieces:
            if separator == "\n" or not prefix or not before:
                # After a block that was dropped, a list goes on as a list.
                pieces.append(separator)
            else:
                pieces.append(f"\n{_common(before, prefix)}\n")
        else:
            first = first.lstrip(" ")
        pieces.append(first)
        pieces.append(_indented(text, prefix) if prefix and "\n" in text else text)
        before = prefix
    return "".join(pieces)


def _common(one: str, other: str) -> str:
    """Return the signs of quotation that two neighbouring blocks share: they stand on the blank line between."""
    size = 0
    for sign, same in zip(one, other, strict=False):
        if sign != same:
            break
        size += 1
    return one[:size].rstrip()


def _indented(text: str, prefix: str) -> str:
    blank = prefix.rstrip()
    return "\n".join(
        line if at == 0 else (prefix + line if line else blank) for at, line in enumerate(text.split("\n"))
    )
