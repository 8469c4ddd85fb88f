"""Formulas: the TeX that a page carries beside them, else TeX written from the MathML.

KaTeX, MathJax and Wikipedia all put their source into an ``annotation``, an ``alttext`` or a script. Where none is, the
elements are written out, because the bare text of x squared is "x2".
"""

import re
from collections.abc import Mapping
from typing import Any

from hostcall.web.page_blocks import Attributes, Ending, Handler, Reader, Skip

_MAX_TEX = 2000


class _Formula:
    """An open ``math`` element."""

    __slots__ = ("alternative", "annotation", "begun", "chars", "handlers", "parts")

    def __init__(self, reader: Reader, alternative: str) -> None:
        self.begun = len(reader.buffer)
        self.handlers = reader.switch(MATH_HANDLERS)
        self.alternative = alternative
        self.annotation = ""
        self.parts: list[list[str]] = [[]]
        """The written children of each open element, outermost first."""
        self.chars = 0


def start_math(reader: Reader, attributes: Attributes) -> Ending:
    """Begin a formula: until its end every element is one of mathematics."""
    reader.math.append(_Formula(reader, attributes.get("alttext", "") if attributes else ""))
    return (_end_math, None)


def _end_math(reader: Reader, _: None) -> None:
    formula: _Formula = reader.math.pop()
    reader.switch(formula.handlers)
    reader.taken(formula.begun)
    _append(reader, formula.annotation or formula.alternative or _joined(formula.parts[0]))


def start_math_script(reader: Reader) -> Ending:
    """Begin a script that holds TeX, as MathJax 2 has them."""
    return (_end_math_script, len(reader.buffer))


def _end_math_script(reader: Reader, begun: int) -> None:
    _append(reader, reader.taken(begun))


def _append(reader: Reader, tex: str) -> None:
    tex = " ".join(tex[:_MAX_TEX].split())
    if tex:
        reader.buffer.append(f"${tex}$")


def _element(tag: str) -> Handler:
    def start(reader: Reader, _: Attributes) -> Ending:
        formula: _Formula = reader.math[-1]
        formula.parts.append([])
        reader.taken(formula.begun)
        return (end, None)

    def end(reader: Reader, _: None) -> None:
        formula: _Formula = reader.math[-1]
        children = formula.parts.pop()
        text = " ".join(reader.taken(formula.begun).split())
        if children:
            text = _written(tag, children)
        # Each enclosing element copies what is inside it, so the whole is bounded and not only the result.
        formula.chars += len(text)
        if formula.chars <= _MAX_TEX * 8 and len(text) <= _MAX_TEX:
            formula.parts[-1].append(text)

    return start


_IS_TEX = re.compile(r"(?:application/)?(?:x-)?(?:la)?tex\b")


def _annotation(reader: Reader, attributes: Attributes) -> "Ending | type[Skip]":
    if not _IS_TEX.match(attributes.get("encoding", "")[:40].strip().lower()):
        return Skip
    reader.taken(reader.math[-1].begun)
    return (_end_annotation, None)


def _end_annotation(reader: Reader, _: None) -> None:
    formula: _Formula = reader.math[-1]
    text = reader.taken(formula.begun)
    formula.annotation = formula.annotation or text


def _skip(_reader: Reader, _attributes: Attributes) -> type[Skip]:
    return Skip


_TWO = {
    "msup": "{0}^{1}",
    "mover": "{0}^{1}",
    "msub": "{0}_{1}",
    "munder": "{0}_{1}",
    "mfrac": r"\frac{{{2}}}{{{3}}}",
    "mroot": r"\sqrt[{3}]{{{2}}}",
}
_THREE = frozenset(("msubsup", "munderover"))


def _written(tag: str, children: list[str]) -> str:
    if tag in _TWO and len(children) == 2:
        return _TWO[tag].format(_grouped(children[0]), _grouped(children[1]), children[0], children[1])
    if tag in _THREE and len(children) == 3:
        return f"{_grouped(children[0])}_{_grouped(children[1])}^{_grouped(children[2])}"
    if tag == "msqrt":
        return rf"\sqrt{{{_joined(children)}}}"
    if tag == "mtable":
        return r" \\ ".join(children)
    if tag == "mtr":
        return " & ".join(children)
    if tag == "semantics":
        return children[0]
    return _joined(children)


def _grouped(text: str) -> str:
    return text if len(text) == 1 else f"{{{text}}}"


def _joined(children: list[str]) -> str:
    """Return parts side by side, with a blank where two names or numbers would run together."""
    text = ""
    pieces = []
    for child in children:
        if text and child and text[-1].isalnum() and child[0].isalnum() and len(text) + len(child) > 2:
            pieces.append(" ")
        pieces.append(child)
        text = child or text
    return "".join(pieces)


class _EveryElement(dict[str, Handler]):
    """Handlers in which each tag has one: an element without a meaning of its own still parts its children."""

    def get(self, tag: str, default: Any = None) -> Any:
        handler = super().get(tag)
        if handler is None:
            # Not kept: a page can have any number of names.
            return _element(tag)
        return handler


MATH_HANDLERS: Mapping[str, Handler] = _EveryElement(
    {
        "annotation": _annotation,
        "annotation-xml": _skip,
        **dict.fromkeys(("script", "style", "template", "svg", "img", "title", "select", "textarea"), _skip),
    }
)
"""The handlers inside a formula."""
