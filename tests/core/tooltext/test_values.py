"""From text to values: schemas, literals, and JSON with its repairs."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostcall.tooltext.coerce import clean, coerce, load_json, types_of
from hostcall.tooltext.literals import LiteralError, read_calls, read_literal
from hostcall.tooltext.objects import call_of, read_arguments, read_object, read_single_key
from hostcall.tooltext.offer import offer_of
from hostcall.tooltext.tape import Fault, Found

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("02139", {"type": "string"}, "02139"),
        ("7", None, "7"),
        ("7", {}, "7"),
        ("7", {"type": "int"}, 7),
        (" 7\n", {"type": "integer"}, 7),
        ("7.0", {"type": "integer"}, 7.0),
        ("7.5", {"type": "integer"}, "7.5"),
        ("1e20", {"type": "number"}, 1e20),
        ("1e999", {"type": "number"}, "1e999"),
        ("9" * 5000, {"type": "integer"}, "9" * 5000),
        ("0123", {"type": "integer"}, "0123"),
        ("NaN", {"type": "number"}, "NaN"),
        ("TRUE", {"type": "boolean"}, True),
        ("no", {"type": "boolean"}, "no"),
        ("1", {"type": "boolean"}, "1"),
        ("null", {"type": "string"}, "null"),
        ("None", {"type": ["string", "null"]}, None),
        ("x", {"anyOf": [{"type": "string"}, {"type": "null"}]}, "x"),
        ("2", {"enum": [1, 2.5, "a", None, True, [], {}]}, 2),
        ("{'a': (1, True, None)}", {"type": "object"}, {"a": [1, True, None]}),
        ('{"a": 1}', {"type": "array"}, '{"a": 1}'),
        ("[1, 2", {"type": "array"}, "[1, 2"),
        ("x", {"type": "array"}, "x"),
        ("a\ud800", {"type": "string"}, "a\ufffd"),
        ("3", {"oneOf": "no list"}, "3"),
    ],
)
def test_the_schema_decides_what_a_text_is(text: str, schema: Any, value: Any) -> None:
    found = coerce(text, schema)
    assert found == value
    assert type(found) is type(value)


def test_unions_end_somewhere() -> None:
    loop: dict[str, Any] = {}
    loop["anyOf"] = [loop, {"type": "integer"}]
    assert types_of(loop) == {"integer"}


@settings(max_examples=60, deadline=None)
@given(value=values)
def test_a_python_literal_is_read_as_python_reads_it(value: Any) -> None:
    assert read_literal(repr(clean(value))) == clean(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0x1F", 31),
        ("-.5e1", -5.0),
        (
            r"'\x41\u00e9\U0001F600\q\
'",
            "Aé😀\\q",
        ),
        ("'''a'b''c'''", "a'b''c"),
        ('""', ""),
        ("''", ""),
        ("[1, 2,]", [1, 2]),
        ("(1,)", [1]),
        ("{'a': 1,}", {"a": 1}),
        (r"'\xZZ'", r"\xZZ"),
        (r"'\UFFFFFFFF'", r"\UFFFFFFFF"),
    ],
)
def test_literals(text: str, value: Any) -> None:
    assert read_literal(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "1 2",
        "'a",
        "[1",
        "[1 2]",
        "{1: 2}",
        "{'a' 1}",
        "{'a': 1 'b': 2}",
        "9" * 5000,
        "[" * 200 + "]" * 200,
        "\\",
    ],
)
def test_what_is_no_literal_is_refused(text: str) -> None:
    with pytest.raises(LiteralError):
        read_literal(text)


def test_calls_with_and_without_brackets() -> None:
    assert [call.name for call in read_calls("[a(), b.c(x=1,)]")] == ["a", "b.c"]
    assert [call.arguments for call in read_calls("a(x=1)\nb()")] == [{"x": 1}, {}]


@pytest.mark.parametrize("text", ["[a(1)]", "[a]", "[a()] b", "[1]", "a(x=1 y=2)", "a(x)"])
def test_what_is_no_list_of_calls_is_refused(text: str) -> None:
    with pytest.raises(LiteralError):
        read_calls(text)


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ('{"name": "f", "arguments": {"a": 1}}', "f", {"a": 1}),
        ('{"name": "f"}', "f", {}),
        ('{"name": "f", "arguments": null}', "f", {}),
        ('{"name": "f", "arguments": ""}', "f", {}),
        ('{"name": "f", "arguments": "{\\"a\\": 1}"}', "f", {"a": 1}),
        ('{"function": {"name": "f", "arguments": {}}, "id": "x"}', "f", {}),
        ('{"f", "arguments": {"a": 1}}', "f", {"a": 1}),
        ('{"name": "f", "arguments": {"a": [1, 2,],}}', "f", {"a": [1, 2]}),
        ('{"name": "f", "arguments": {"a": [1, 2', "f", {"a": [1, 2]}),
        ("{'name': 'f', 'arguments': {'a': True}}", "f", {"a": True}),
        ('{"name": "f", <arguments>"arguments": {"a": "</arguments>"}</arguments>}', "f", {"a": "</arguments>"}),
        ('{tool => "f", args => { --a 1 --b "x" }}', "f", {"a": '1 --b "x"'}),
        ('{tool => "f", args => {\n --a 1\n --b "x y"\n --c word\n}}', "f", {"a": 1, "b": "x y", "c": "word"}),
        ('{tool => "f"}', "f", {}),
    ],
)
def test_an_object_is_read_and_mended(text: str, name: str, arguments: dict[str, Any]) -> None:
    found = read_object(text)
    assert isinstance(found, Found)
    assert (found.name, found.arguments) == (name, arguments)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"name": 1}', '{"name": "f", "arguments": [1]}', '{"name": "f", "arguments": "x"}', '{"a"}]',
     "{x}",
     '{"name": "f", "arguments": NaN}', '{tool => "f", args => { words }}'],
)  # fmt: skip
def test_what_cannot_be_mended_is_a_fault(text: str) -> None:
    assert isinstance(read_object(text), Fault)


def test_without_mending_json_must_be_json() -> None:
    assert isinstance(read_arguments('{"a": 1', "f", mend=False), Fault)
    assert read_arguments('{"a": 1', "f") == Found(name="f", arguments={"a": 1}, repaired=True)


def test_single_keys() -> None:
    assert read_single_key('{"f": {"a": 1}}') == Found(name="f", arguments={"a": 1})
    assert read_single_key('{"f": 1}') == Fault(kind="malformed", name="f")
    assert read_single_key('{"f": {}, "g": {}}') == Fault(kind="malformed")


def test_numbers_beyond_a_float_and_lone_surrogates_in_json() -> None:
    with pytest.raises(ValueError, match="beyond"):
        load_json("1e999")
    assert load_json('{"a\\ud800": ["\\udfff", 1]}') == {"a\ufffd": ["\ufffd", 1]}


def test_ids_may_be_numbers() -> None:
    found = call_of({"name": "f", "id": 7})
    assert isinstance(found, Found)
    assert found.id == "7"


def test_tools_in_any_shape_are_read() -> None:
    offer = offer_of([{"name": "a"}, {"function": {"name": "b", "parameters": None}}, {"function": 1}, "x", {}])
    assert set(offer.schemas) == {"a", "b"}
    assert offer.properties("a") == {} == offer.properties("c")
