"""Bodies of MiniMax M3: elements named after the arguments, every tag behind a prefix that text does not have."""

import re
from functools import cached_property
from typing import Any

import attrs

from hostcall.tooltext.coerce import clean, coerce, types_of
from hostcall.tooltext.json_body import MAX_DEPTH, Verdict
from hostcall.tooltext.lexicon import Lexicon, lexicon
from hostcall.tooltext.offer import Offer
from hostcall.tooltext.tape import Fault, Found, Scan, Tape

MAX_ELEMENTS = 10_000

_NAME = re.compile(r"""invoke\s+name\s*=\s*["']?([^"'>]*)["']?\s*$""").match


@attrs.define
class _Element:
    """One element while its text is still arriving."""

    name: str
    start: int
    end: int = 0
    children: list["_Element"] = attrs.field(factory=list)


@attrs.frozen(kw_only=True, eq=False, slots=False)
class M3Body:
    """Calls as elements."""

    prefix: str

    @cached_property
    def _marks(self) -> Lexicon:
        return lexicon({self.prefix + "<": "tag"})

    def scan(self, tape: Tape, offer: Offer) -> Scan[Verdict]:
        """Read all calls up to the end of the block."""
        tape.confirm()
        stack: list[_Element] = []
        call: str | None = None
        count = 0
        while (match := (yield from tape.find(self._marks))) is not None:
            at = tape.here - len(match.group())
            tag = yield from tape.tag()
            if tag is None:
                if tape.ended:
                    break
                continue
            tag = tag.strip()
            if call is None:
                if tag == "/tool_call":
                    tape.cut(None)
                    return "done"
                if (head := _NAME(tag)) is not None:
                    call, stack, count = head[1].strip(), [_Element("", tape.here)], 0
            elif tag in ("/invoke", "/tool_call"):
                stack[0].end = at
                self._emit(tape, offer, call, stack[0], whole=len(stack) == 1 and count <= MAX_ELEMENTS)
                call = None
                if tag == "/tool_call":
                    return "done"
            elif not tag.startswith("/"):
                count += 1
                if len(stack) <= MAX_DEPTH and count <= MAX_ELEMENTS:
                    stack[-1].children.append(element := _Element(tag, tape.here))
                    stack.append(element)
                else:
                    count = MAX_ELEMENTS + 1
            elif len(stack) > 1 and stack[-1].name == tag[1:].strip():
                stack.pop().end = at
        return "done"

    def _emit(self, tape: Tape, offer: Offer, name: str, root: _Element, *, whole: bool) -> None:
        if not whole or not name:
            tape.cut(Fault(kind="malformed", name=name or None))
            return
        properties = offer.properties(name)
        arguments = {clean(child.name): _value(tape, child, properties.get(child.name)) for child in root.children}
        tape.cut(Found(name=clean(name), arguments=arguments, twice=len(arguments) < len(root.children)))


def _value(tape: Tape, element: _Element, schema: Any) -> Any:
    if not element.children:
        text = tape.text(element.start, element.end)
        if not text and types_of(schema) == {"array"}:
            return []
        return coerce(text, schema)
    items = all(child.name == "item" for child in element.children)
    if items and "object" not in types_of(schema):
        inner = schema.get("items") if isinstance(schema, dict) else None
        return [_value(tape, child, inner) for child in element.children]
    properties = schema.get("properties") if isinstance(schema, dict) else None
    properties = properties if isinstance(properties, dict) else {}
    return {clean(child.name): _value(tape, child, properties.get(child.name)) for child in element.children}
