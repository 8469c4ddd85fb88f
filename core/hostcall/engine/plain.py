"""What a value of JSON may be, before it is stored, compared or sent anywhere.

Python reads more than JSON holds (an infinity for ``1e999``), and how deep a text may be nested depends on how deep the
stack is just then. Both are bounded here by rules of their own, so that the same bytes always lead to the same end.
"""

import json
import math
from typing import Any

from hostcall.data import JsonObject

MAX_DEPTH = 100
"""Levels of arrays and objects. No tool's arguments come near."""


def is_plain(value: Any) -> bool:
    """Say whether a value is JSON: known types, keys that are texts, finite numbers, at most `MAX_DEPTH` levels."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                if not all(isinstance(key, str) for key in item):
                    return False
                below.extend(item.values())
            elif isinstance(item, list | tuple):
                below.extend(item)
            elif isinstance(item, float):
                if not math.isfinite(item):
                    return False
            elif not (item is None or isinstance(item, str | int)):
                return False
        if not below:
            return True
        level = below
    return False


def read_object(text: str) -> JsonObject | None:
    """Return the object that a text of arguments is, or None. Nothing is repaired and nothing evaluated.

    No text at all is an object without members: engines send it for a tool without parameters, and the tool's schema
    decides whether that is enough.
    """
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and is_plain(value) else None
