"""The small language in which a case says what it expects: text tests, counts, paths into a request."""

import re
from collections.abc import Mapping
from typing import Any

MISSING = object()


def check_text(name: str, test: Mapping[str, Any], text: Any) -> list[str]:
    """Return what is wrong with `text` by a text test."""
    if text is None and not test.keys().isdisjoint(TEXT_TESTS):
        return [f"{name} is missing"]
    shown = repr(text if not isinstance(text, str) or len(text) < 200 else text[:120] + " … " + text[-60:])
    return [f"{name} {word} {value!r}: {shown}" for word, value in test.items() if not _passes(word, value, text)]


def check_count(name: str, expected: Any, actual: int) -> list[str]:
    """Return what is wrong with a count."""
    if isinstance(expected, Mapping):
        low, high = expected.get("at_least", actual), expected.get("at_most", actual)
        return [] if low <= actual <= high else [f"{name} is {actual}, not {dict(expected)}"]
    return [] if actual == expected else [f"{name} is {actual}, not {expected}"]


def check_path(check: Mapping[str, Any], bodies: list[Any], number: int) -> list[str]:
    """Return what is wrong with one place of a request's body."""
    path = check["path"]
    name = f"request {number} {path}"
    tests = {key: value for key, value in check.items() if key not in ("request", "path", "or_absent")}
    found = follow(bodies[number - 1], path)
    if "[*]" in path:
        return _check_every(name, tests, found if isinstance(found, list) else [])
    value = found
    if (value is MISSING or value is None) and check.get("or_absent"):
        return []
    return _check_value(name, tests, value, bodies, path)


def _check_every(name: str, tests: Mapping[str, Any], values: list[Any]) -> list[str]:
    failures = []
    for word, wanted in tests.items():
        if word == "contains":
            texts = wanted if isinstance(wanted, list) else [wanted]
            failures += [f"{name} nowhere holds {t!r}" for t in texts if not any(t in v for v in values if _is_text(v))]
        elif word == "not_contains":
            texts = wanted if isinstance(wanted, list) else [wanted]
            failures += [f"{name} holds {t!r}" for t in texts if any(t in v for v in values if _is_text(v))]
        elif word == "absent":
            failures += [f"{name} is there"] if any(value not in (MISSING, None) for value in values) else []
        else:
            failures += [f for value in values for f in _check_value(name, {word: wanted}, value, [], "")]
    return failures


def _check_value(name: str, tests: Mapping[str, Any], value: Any, bodies: list[Any], path: str) -> list[str]:
    failures = []
    there = value is not MISSING and value is not None
    for word, wanted in tests.items():
        match word:
            case "absent":
                ok = not there
            case "present":
                ok = there
            case "in":
                ok = (value if there else None) in wanted
            case "not_equals":
                ok = not there or value != wanted
            case "type":
                ok = isinstance(value, {"string": str, "object": dict, "array": list, "number": int | float}[wanted])
            case "length":
                ok = (len(value) if there else 0) == wanted
            case "same_as_request":
                ok = value == follow(bodies[wanted - 1], path)
            case "shorter_than_request":
                other = follow(bodies[wanted - 1], path)
                ok = isinstance(value, str) and isinstance(other, str) and len(value) < len(other)
            case "equals" if not isinstance(wanted, str):
                ok = value == wanted
            case _:
                failures += check_text(name, {word: wanted}, value if there else None)
                continue
        if not ok:
            failures.append(f"{name} {word} {wanted!r}: {str(value)[:100]}")
    return failures


def follow(value: Any, path: str) -> Any:
    """Return what stands at a path: member names with dots, `[2]`, `[-1]`, `[role=tool]`, `[*]`."""
    every = False
    values = [value]
    for part in re.findall(r"[^.\[\]]+|\[[^\]]*\]", path):
        if part == "[*]":
            every = True
            values = [item for value in values if isinstance(value, list) for item in value]
        elif part.startswith("["):
            values = [_pick(value, part[1:-1]) for value in values]
        else:
            values = [value.get(part, MISSING) if isinstance(value, Mapping) else MISSING for value in values]
    return values if every else values[0]


def _pick(value: Any, what: str) -> Any:
    if not isinstance(value, list):
        return MISSING
    if "=" in what:
        key, _, wanted = what.partition("=")
        return [item for item in value if isinstance(item, Mapping) and item.get(key) == wanted]
    position = int(what)
    return value[position] if -len(value) <= position < len(value) else MISSING


TEXT_TESTS = frozenset(
    (
        "equals",
        "contains",
        "contains_any",
        "not_contains",
        "starts_with",
        "ends_with",
        "in_order",
        "max_chars",
        "min_chars",
    )
)


def _passes(word: str, value: Any, text: str) -> bool:
    match word:
        case "equals":
            return bool(text == value)
        case "contains":
            return all(item in text for item in ([value] if isinstance(value, str) else value))
        case "contains_any":
            return any(item in text for item in value)
        case "not_contains":
            return all(item not in text for item in ([value] if isinstance(value, str) else value))
        case "starts_with":
            return text.startswith(str(value))
        case "ends_with":
            return text.rstrip().endswith(str(value))
        case "in_order":
            position = 0
            for item in value:
                found = text.find(item, position)
                if found < 0:
                    return False
                position = found + len(item)
            return True
        case "max_chars":
            return len(text) <= int(value)
        case "min_chars":
            return len(text) >= int(value)
        case "n":
            return True
        case _:
            raise ValueError(f"there is no test {word!r}")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)
