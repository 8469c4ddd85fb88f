"""From the text of a parameter to the value that the tool's schema asks for, losing nothing.

Formats that are not JSON write every value as bare text. The schema decides what it is: a zip code of a string
parameter stays ``"02139"``, and what does not parse as the type asked for stays text, so that the tool's own check can
name it. Nothing is guessed: ``yes`` is not true, and `null` is a text where only a string is allowed.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from hostcall.tooltext.literals import LiteralError, read_literal

_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?").fullmatch
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]").search

_ALIASES = {
    "str": "string", "text": "string", "int": "integer", "int32": "integer", "int64": "integer", "long": "integer",
    "float": "number", "double": "number", "bool": "boolean", "dict": "object", "map": "object", "list": "array",
    "tuple": "array", "none": "null",
}  # fmt: skip
"""Words that templates and hand-written schemas use for JSON's own."""


class DuplicateKeys:
    """An `object_pairs_hook` that lets the last of two equal keys count, and remembers that there were two."""

    seen = False

    def __call__(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            self.seen = True
        return made


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError("a number beyond what a float holds")
    return value


def load_json(text: str, duplicates: DuplicateKeys | None = None) -> Any:
    """Read JSON as models write it: line breaks in strings pass, NaN and infinities do not.

    Raises:
        ValueError: It is not JSON, or a number is longer than Python reads.
        RecursionError: It is nested too deeply.
    """
    value = json.loads(
        text, strict=False, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=duplicates
    )
    if _ESCAPED_SURROGATE(text) is not None or _SURROGATE.search(text) is not None:
        return clean(value)
    return value


def clean(value: Any) -> Any:
    """Replace lone surrogates, which no encoder takes, by U+FFFD, in every text of a value."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {clean(key): clean(item) for key, item in value.items()}
    if isinstance(value, list):
        return [clean(item) for item in value]
    return value


def types_of(schema: Any, depth: int = 0) -> frozenset[str]:
    """Return the JSON types that a schema allows: of `type`, of its unions, and of the members of `enum`."""
    if not isinstance(schema, Mapping) or depth > 8:
        return frozenset()
    found: set[str] = set()
    kind = schema.get("type")
    for word in kind if isinstance(kind, list | tuple) else [kind]:
        if isinstance(word, str):
            found.add(_ALIASES.get(word.lower(), word.lower()))
    for union in ("anyOf", "oneOf", "allOf"):
        members = schema.get(union)
        if isinstance(members, list | tuple):
            for member in members:
                found |= types_of(member, depth + 1)
    members = schema.get("enum")
    if isinstance(members, list | tuple) and kind is None:
        found |= {_type_of_value(member) for member in members}
    return frozenset(found)


def coerce(text: str, schema: Any) -> Any:
    """Return the value that a bare text stands for under a schema; the text itself when it is no other."""
    types = types_of(schema)
    text = clean(text)
    if not types or types == {"string"}:
        return text
    bare = text.strip()
    if "null" in types and bare.lower() in ("null", "none"):
        return None
    if "boolean" in types and bare.lower() in ("true", "false"):
        return bare.lower() == "true"
    if types & {"integer", "number"} and (number := _number(bare, types)) is not None:
        return number
    if types & {"object", "array"}:
        wanted = tuple(python for name, python in (("object", dict), ("array", list)) if name in types)
        value = parse_container(bare)
        if isinstance(value, wanted):
            return value
    return text


def parse_container(text: str) -> Any:
    """Read an object or an array as JSON or, failing that, as a Python literal; None when it is neither."""
    if not text.startswith(("{", "[", "(")):
        return None
    try:
        return load_json(text)
    except (ValueError, RecursionError):
        pass
    try:
        return read_literal(text)
    except LiteralError:
        return None


def _number(text: str, types: frozenset[str]) -> int | float | None:
    if _JSON_NUMBER(text) is None:
        return None
    try:
        value: int | float = load_json(text)
    except ValueError:  # more digits than Python reads, or beyond a float
        return None
    if isinstance(value, float) and "number" not in types and not value.is_integer():
        return None
    return value


def _type_of_value(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, Mapping) else "array"
