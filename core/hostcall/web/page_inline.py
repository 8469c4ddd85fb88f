"""Elements inside a line: code, links, powers, images, struck text."""

import re
from collections.abc import Mapping

from hostcall.web.page_blocks import BREAK, Attributes, Ending, Handler, Reader, code_span, struck

_MAX_FIELD = 300
_PERMALINKS = frozenset(("¶", "#", "§", "🔗", "⚓", "", "\u200b"))


def _code(reader: Reader, _: Attributes) -> Ending:
    if reader.code_at >= 0:
        return None
    reader.code_at = len(reader.buffer)
    reader.inline += 1
    return _END_CODE


def _end_code(reader: Reader, _: None) -> None:
    at = reader.code_at
    reader.inline -= 1
    reader.code_at = -1
    buffer = reader.buffer
    if len(buffer) - at == 1 and "`" not in buffer[at] and buffer[at].strip() == buffer[at]:
        buffer[at] = f"`{buffer[at]}`"
    else:
        reader.replace(at, code_span("".join(buffer[at:])))


_END_CODE: Ending = (_end_code, None)


def _struck(reader: Reader, _: Attributes) -> Ending:
    if reader.del_at >= 0:
        return None
    reader.del_at = len(reader.buffer)
    reader.inline += 1
    return (_end_struck, None)


def _end_struck(reader: Reader, _: None) -> None:
    at = reader.del_at
    reader.inline -= 1
    reader.del_at = -1
    reader.replace(at, struck("".join(reader.buffer[at:])))


def _superscript(reader: Reader, _: Attributes) -> Ending:
    if reader.sup_at >= 0:
        return None
    reader.sup_at = len(reader.buffer)
    reader.inline += 1
    return (_end_superscript, None)


_ORDINAL_OR_MARK = re.compile(r"[^\W\d_]{2,}\.?|[™®©ªº*†‡§¶]+|[\[(].*", re.DOTALL)
_COMPOSITE = re.compile(r"[-+−]?[^\s+*/=−-]+")


def _end_superscript(reader: Reader, _: None) -> None:
    """Write a power so that 10 to the 6th is not read as 106.

    Ordinals (1st), trade marks and footnotes in brackets stay as they are.
    """
    at = reader.sup_at
    reader.sup_at = -1
    reader.inline -= 1
    if at < 0 or at >= len(reader.buffer):
        return
    inner = " ".join("".join(reader.buffer[at:]).split())
    before = reader.buffer[at - 1][-1:] if at else ""
    if not inner or not before or before.isspace() or _ORDINAL_OR_MARK.fullmatch(inner):
        return
    reader.replace(at, f"^{inner}" if _COMPOSITE.fullmatch(inner) else f"^({inner})")


def anchor(reader: Reader, attributes: Attributes) -> Ending:
    """Begin a link: its text stays, its address goes to the list of links."""
    href = attributes.get("href") if attributes else None
    if href is None:
        return None
    # What leads to another place on the same page is no link to follow.
    reader.href = href.partition("#")[0] if "#" in href else href
    reader.rel = attributes.get("rel", "")
    reader.link_at = len(reader.buffer)
    reader.inline += 1
    return _END_ANCHOR


def _end_anchor(reader: Reader, _: None) -> None:
    at = reader.link_at
    reader.inline -= 1
    if at < 0:
        return
    reader.link_at = -1
    buffer = reader.buffer
    if len(buffer) - at == 1:
        size = len(buffer[at])
        if size <= 3 and buffer[at].strip() in _PERMALINKS:
            del buffer[at:]
            size = 0
    else:
        size = sum(map(len, buffer[at:]))
    reader.link_chars += size
    if reader.href:
        reader.add_link(size)


_END_ANCHOR: Ending = (_end_anchor, None)


def _break(reader: Reader, _: Attributes) -> Ending:
    if reader.buffer:
        reader.buffer.append(BREAK)
        reader.breaks = True
    return None


def _image(reader: Reader, attributes: Attributes) -> Ending:
    alt = " ".join(attributes.get("alt", "")[:_MAX_FIELD].split())
    if not alt or attributes.get("width", "")[:9] in ("0", "1") or attributes.get("height", "")[:9] in ("0", "1"):
        return None
    classes = attributes.get("class", "")[:100].split()
    if classes and (classes[0].startswith("mwe-math") or not {"tex", "latex", "math"}.isdisjoint(classes)):
        reader.buffer.append(f"${alt}$")
    elif len(alt) <= 2 and not alt.isascii():
        reader.buffer.append(alt)  # an emoji that is drawn
    else:
        reader.buffer.append(f"[image: {alt}]")
    return None


def _input(reader: Reader, attributes: Attributes) -> Ending:
    """A checkbox at the start of an item makes it a task; every other field is dropped."""
    if attributes.get("type", "")[:20].lower() == "checkbox" and reader.lists and reader.first is not None:
        reader.buffer.append("[x] " if "checked" in attributes else "[ ] ")
    return None


def _quote_marks(reader: Reader, _: Attributes) -> Ending:
    reader.buffer.append("“")
    return (_end_with, "”")


def _reading(reader: Reader, _: Attributes) -> Ending:
    reader.buffer.append("(")
    return (_end_with, ")")


def _end_with(reader: Reader, text: str) -> None:
    reader.buffer.append(text)


INLINE_HANDLERS: Mapping[str, Handler] = {
    **dict.fromkeys(("code", "tt"), _code),
    **dict.fromkeys(("del", "s", "strike"), _struck),
    "a": anchor,
    "br": _break,
    "img": _image,
    "input": _input,
    "q": _quote_marks,
    "rt": _reading,
    "sup": _superscript,
}
"""The handlers of elements inside a line."""
