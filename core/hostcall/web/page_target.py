"""The target that lxml's parser calls: no tree, one pass.

A tree costs memory and time (libxml2's is quadratic in the attributes of one element), and loses what stands deeper
than 255 elements or after a second root. A target sees everything once, in order.
"""

from collections.abc import Callable

from hostcall.web.page_blocks import END_BLOCK, Attributes, Ending, Reader, Skip
from hostcall.web.page_style import (
    LOOKED_AT,
    PLAIN,
    ClassVerdict,
    boilerplate_id,
    colour_of,
    judge_classes,
    judge_style,
    same_colour,
    words,
)

# Browsers stop nesting at 512 too. Real pages stay under 50; past it each end tag costs a scan of all open elements.
MAX_OPEN = 512
MAX_BLOCKS = 100_000
_JUDGED = frozenset(("style", "hidden", "aria-hidden", "role", "id", "bgcolor", "color"))
_CONTAINERS = frozenset(("div", "section", "ul", "ol", "table", "form", "p", "aside", "header", "dl", "figure"))
_SMALL = frozenset(("span", "td", "th", "a", "i", "b", "em", "code"))
_BOILERPLATE_ROLES = words(
    "navigation banner contentinfo complementary search menu menubar toolbar alertdialog dialog tablist"
)


class Target:
    """What the parser calls for one page, with the reader that takes it all in.

    The callbacks are closures, not methods, and character data goes straight into the reader's list: a page makes a
    million calls for each 15 MB, and this halves what they cost.
    """

    __slots__ = ("close", "data", "depth", "end", "reader", "start")

    start: Callable[..., None]
    end: Callable[[str], None]
    data: Callable[[str], None]
    close: Callable[[], None]
    depth: Callable[[], int]

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.data = reader.buffer.append
        self.start, self.end, self.close, self.depth = _callbacks(reader)

    @property
    def full(self) -> bool:
        """Whether the page went past a bound, so that the rest is not to be read.

        Asked between pieces: libxml2 goes on to the end of a piece whatever a callback does.
        """
        return self.depth() > MAX_OPEN or len(self.reader.blocks) > MAX_BLOCKS


def _callbacks(
    reader: Reader,
) -> tuple[Callable[..., None], Callable[[str], None], Callable[[], None], Callable[[], int]]:
    skipping = 0
    skipped_from = 0
    skipping_button = False
    # Classes that mean nothing to us, and the lack of one: most elements have no more than these.
    plain: set[str | None] = {None}
    endings: list[Ending] = []
    buffer = reader.buffer

    def start(tag: str, attributes: Attributes, _namespaces: object = None) -> None:
        """Open an element. The third argument is passed by some versions of lxml only."""
        nonlocal skipping, skipped_from, skipping_button
        if skipping:
            skipping += 1
            return
        undo: Ending = None
        if attributes and (attributes.get("class") not in plain or not _JUDGED.isdisjoint(attributes)):
            judged = _judged(reader, tag, attributes)
            if judged is Skip:
                skipping, skipped_from = 1, len(buffer)
                return
            undo = judged  # type: ignore[assignment]  # the class itself was ruled out above
            classes = attributes.get("class")
            if classes is not None and len(classes) <= LOOKED_AT and judge_classes(classes) is PLAIN:
                plain.add(classes)
        handler = reader.handlers.get(tag)
        if handler is None:
            endings.append(undo)
            return
        ending = handler(reader, attributes)
        if ending is Skip:
            skipping, skipped_from, skipping_button = 1, len(buffer), tag == "button"
            if undo is not None:
                undo[0](reader, undo[1])
            return
        endings.append(ending if undo is None else (_both, (ending, undo)))  # type: ignore[arg-type]  # as above

    def end(_tag: str) -> None:
        """Close the element that was opened last: libxml2 closes in order whatever the page does."""
        nonlocal skipping, skipping_button
        if skipping:
            skipping -= 1
            if not skipping:
                if skipping_button:
                    skipping_button = False
                    reader.button_chars += sum(map(len, buffer[skipped_from:]))
                del buffer[skipped_from:]
            return
        if endings:
            ending = endings.pop()
            if ending is END_BLOCK:
                reader.flush()
            elif ending is not None:
                ending[0](reader, ending[1])

    def close() -> None:
        """Close every open element and the last block, also where the page was cut."""
        nonlocal skipping
        skipping = min(skipping, 1)
        if skipping:
            end("")
        while endings:
            end("")
        reader.flush()

    def depth() -> int:
        return len(endings) + skipping

    return start, end, close, depth


def _judged(reader: Reader, tag: str, attributes: Attributes) -> "Ending | type[Skip]":
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
        colours = _coloured(reader, attributes)
        if colours is Skip:
            return Skip
        undo = colours  # type: ignore[assignment]  # the class itself was ruled out above
    classes = get("class")
    verdict: ClassVerdict | None = None
    if classes:
        verdict = judge_classes(classes)
        if verdict.drop or (verdict.drop_small and tag in _SMALL):
            return Skip
        if verdict.language and tag != "code":
            undo = (_restore_language, (reader.language_of_code, undo))
            reader.language_of_code = verdict.language
    if tag in _CONTAINERS and not reader.in_pre and not reader.math:
        role = get("role")
        if role is not None and role[:20].strip().lower() in _BOILERPLATE_ROLES:
            reader.flush()
            reader.boilerplate += 1
            return (_end_boilerplate, undo)
        identity = get("id")
        if (verdict is not None and verdict.boilerplate) or (identity and boilerplate_id(identity)):
            reader.flush()
            return (_end_deferred, (len(reader.blocks), undo))
    return undo


def _coloured(reader: Reader, attributes: Attributes) -> "Ending | type[Skip]":
    verdict = judge_style(attributes.get("style", ""))
    if verdict.hidden:
        return Skip
    background = verdict.background or colour_of(attributes.get("bgcolor", "")[:40].strip().lower())
    named = colour_of(attributes.get("color", "")[:40].strip().lower())
    colours = (*verdict.colours, named) if named else verdict.colours
    if any(same_colour(colour, background or reader.background) for colour in colours):
        return Skip
    if not background or background == reader.background:
        return None
    before, reader.background = reader.background, background
    return (_restore_background, before)


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
