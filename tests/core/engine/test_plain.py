"""What counts as a value of JSON."""

from typing import Any

import pytest

from hostcall.engine.plain import MAX_DEPTH, is_plain, read_object


def nested(levels: int) -> Any:
    value: Any = 1
    for number in range(levels):
        value = [value] if number % 2 else {"a": value}
    return value


@pytest.mark.parametrize("value", [None, True, 0, 1.5, "x", [], {}, {"a": [1, {"b": None}]}, nested(MAX_DEPTH)])
def test_values_of_json(value: Any) -> None:
    assert is_plain(value)


@pytest.mark.parametrize(
    "value", [float("inf"), [float("nan")], {1: 2}, {"a": {2}}, b"x", nested(MAX_DEPTH + 1), nested(50_000)]
)
def test_what_json_does_not_hold_or_nobody_could_read(value: Any) -> None:
    assert not is_plain(value)


@pytest.mark.parametrize("text", ["[]", "1", "{", '{"a":1e999}', '{"a":NaN}', '{"a":' * 200 + "1" + "}" * 200])
def test_no_arguments(text: str) -> None:
    assert read_object(text) is None


@pytest.mark.parametrize(("text", "value"), [("", {}), (" \n", {}), ("{}", {}), ('{"a":1}', {"a": 1})])
def test_arguments(text: str, value: dict[str, Any]) -> None:
    assert read_object(text) == value


def test_depth_is_counted_in_tuples_too_and_an_empty_level_is_the_last() -> None:
    assert is_plain((1, ("a", {"b": ()})))
    assert not is_plain(({1},))
    assert MAX_DEPTH == 100
    assert is_plain([[]] * 3)
    assert not is_plain([1, {"a": [float("-inf")]}])


def test_arguments_are_read_as_they_are_and_never_mended() -> None:
    assert read_object('{"a": 1, "a": 2}') == {"a": 2}
    for text in ("null", '"{}"', "{'a': 1}", '{"a": 1,}', "{}{}", "[" * 100_000):
        assert read_object(text) is None
