"""From the JSON of a call to its name and arguments, with one bounded repair.

Models leave out brackets, leave in commas, quote like Python, leak tags of other formats between the members, or write
the shorthand ``{"name", "arguments": {…}}``. Each repair is one pass over the text, none of them looks into strings,
and a text that still does not parse is no call.
"""

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from hostcall.tooltext.coerce import DuplicateKeys, clean, load_json
from hostcall.tooltext.literals import LiteralError, read_literal
from hostcall.tooltext.tape import Fault, Found

NAME_KEYS = ("name", "tool", "tool_name", "function", "function_name")
ARGUMENT_KEYS = ("arguments", "parameters", "input", "args")
ID_KEYS = ("id", "tool_call_id", "call_id")
KEYS = frozenset((*NAME_KEYS, *ARGUMENT_KEYS, *ID_KEYS, "type", "index"))
"""First keys by which an object shows that it is meant as a call."""

Outcome: TypeAlias = Found | Fault

# One string, or one thing outside strings that a repair looks at.
_STRING = r'"(?:[^"\\]|\\.)*+"?'
_LEAKED = re.compile(rf"({_STRING})|</?(?:arguments|tool_call|parameters|function)>", re.DOTALL)
_COMMAS = re.compile(rf"({_STRING})|,(?=\s*[\]}}])", re.DOTALL)
_BRACKETS = re.compile(rf"{_STRING}|[\[\]{{}}]", re.DOTALL)
_SHORTHAND = re.compile(rf"(\s*\{{\s*)({_STRING})(\s*,)", re.DOTALL).match
_ARROW = re.compile(
    r'\{\s*(?:tool|name)\s*=>\s*"([^"]*)"\s*(?:,\s*(?:args|arguments)\s*=>\s*\{(.*)\}\s*)?,?\s*\}', re.DOTALL
)
_ARROW_VALUE = re.compile(rf"\s*--([A-Za-z_][\w-]*)[ \t=]+({_STRING}|[^\r\n]*)", re.DOTALL).match


def read_object(text: str, *, mend: bool = True) -> Outcome:
    """Read one object that names a tool and gives its arguments."""
    duplicates = DuplicateKeys()
    value, repaired = _load(text, duplicates, mend=mend)
    if value is None and mend and (arrow := _read_arrow(text)) is not None:
        return arrow
    return call_of(value, repaired=repaired, twice=duplicates.seen)


def read_arguments(text: str, name: str, *, id: str | None = None, mend: bool = True) -> Outcome:
    """Read the arguments of a call whose name stood elsewhere."""
    duplicates = DuplicateKeys()
    value, repaired = _load(text, duplicates, mend=mend)
    if not isinstance(value, dict):
        return Fault(kind="malformed", name=name)
    return Found(name=clean(name), arguments=value, id=id, repaired=repaired, twice=duplicates.seen)


def read_single_key(text: str) -> Outcome:
    """Read an object whose only key is the name and whose value is the arguments."""
    duplicates = DuplicateKeys()
    value, repaired = _load(text, duplicates, mend=True)
    if isinstance(value, dict) and len(value) == 1:
        ((name, arguments),) = value.items()
        if isinstance(arguments, dict):
            return Found(name=name, arguments=arguments, repaired=repaired, twice=duplicates.seen)
        return Fault(kind="malformed", name=name)
    return Fault(kind="malformed")


def call_of(value: Any, *, repaired: bool = False, twice: bool = False) -> Outcome:
    """Turn a parsed object into a call, whatever its keys are called."""
    if not isinstance(value, Mapping):
        return Fault(kind="malformed")
    inner = value.get("function")
    if isinstance(inner, Mapping):  # the shape of an API's own message
        value = {**inner, **{key: value[key] for key in ID_KEYS if key in value}}
    name = next((value[key] for key in NAME_KEYS if isinstance(value.get(key), str)), None)
    if name is None:
        return Fault(kind="malformed")
    arguments = next((value[key] for key in ARGUMENT_KEYS if key in value), None)
    gave_arguments = arguments is not None
    if isinstance(arguments, str):
        arguments, mended = _load(arguments, DuplicateKeys(), mend=True) if arguments.strip() else ({}, False)
        repaired = repaired or mended
        if arguments is None:
            return Fault(kind="malformed", name=name)
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        return Fault(kind="malformed", name=name)
    own = next((str(value[key]) for key in ID_KEYS if isinstance(value.get(key), str | int)), None)
    return Found(
        name=name, arguments=arguments, id=own or None, repaired=repaired, twice=twice, gave_arguments=gave_arguments
    )


def _load(text: str, duplicates: DuplicateKeys, *, mend: bool) -> tuple[Any, bool]:
    try:
        return load_json(text, duplicates), False
    except (ValueError, RecursionError):
        pass
    if not mend:
        return None, False
    repaired = _LEAKED.sub(_keep_string, text)
    repaired = _long_hand(repaired)
    repaired = _COMMAS.sub(_keep_string, repaired)
    repaired = _close(repaired)
    try:
        return load_json(repaired, duplicates), True
    except (ValueError, RecursionError):
        pass
    try:
        return clean(read_literal(repaired.strip())), True
    except LiteralError:
        return None, False


def _keep_string(match: re.Match[str]) -> str:
    return match.group(1) or ""


def _long_hand(text: str) -> str:
    match = _SHORTHAND(text)
    if match is None:
        return text
    return f'{match.group(1)}"name": {match.group(2)}{match.group(3)}{text[match.end() :]}'


def _close(text: str) -> str:
    """Add the brackets that are missing at the end. Called only for text whose closing tag was seen."""
    open_brackets: list[str] = []
    for match in _BRACKETS.finditer(text):
        mark = match.group()
        if mark in ("{", "["):
            open_brackets.append("}" if mark == "{" else "]")
        elif mark in ("}", "]") and (not open_brackets or open_brackets.pop() != mark):
            return text
    return text + "".join(reversed(open_brackets))


def _read_arrow(text: str) -> Found | None:
    """Read ``{tool => "N", args => { --key "value" }}``."""
    match = _ARROW.fullmatch(text.strip())
    if match is None:
        return None
    arguments: dict[str, Any] = {}
    body, at = match.group(2) or "", 0
    while (pair := _ARROW_VALUE(body, at)) is not None and pair.end() > at:
        value = pair.group(2).strip()
        try:
            arguments[pair.group(1)] = load_json(value)
        except (ValueError, RecursionError):
            arguments[pair.group(1)] = clean(value)
        at = pair.end()
    if body[at:].strip():
        return None
    return Found(name=clean(match.group(1)), arguments=arguments, repaired=True)
