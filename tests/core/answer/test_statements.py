"""Statements with their sources, as they become prose character by character."""

import json
from typing import Any

import pytest

from hostcall.answer.statements import MOST, Statements, example, statements_schema


def prose(written: str) -> str:
    form = Statements()
    return "".join(form.feed(character) for character in written)


def said(*statements: tuple[str, Any], **more: Any) -> str:
    return json.dumps({"statements": [{"text": text, "source": source} for text, source in statements]}, **more)


def test_the_schema_wants_a_source_with_each_statement() -> None:
    assert statements_schema((2, 5)) == {
        "type": "object",
        "properties": {
            "statements": {
                "type": "array",
                "minItems": 1,
                "maxItems": MOST,
                "items": {
                    "type": "object",
                    "properties": {"text": {"type": "string"}, "source": {"enum": [2, 5]}},
                    "required": ["text", "source"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["statements"],
        "additionalProperties": False,
    }
    assert MOST == 6
    assert example(7) == '{"statements": [{"text": "…", "source": 7}]}'


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (said(("It boils.", 2)), "It boils. [2]"),
        (said(("One.", 1), ("Two.", 12)), "One. [1] Two. [12]"),
        (said(("One.", 10), ("Two.", 999_999), indent=2), "One. [10] Two. [999999]"),
        (said(('Zoë says "yes" \\ no / 3: 4.', 1)), 'Zoë says "yes" \\ no / 3: 4. [1]'),
        (said(("a\nb\tc\rd\be\ff", 1)), "a b c def [1]"),
        (said(("𝄞 é", 1)), "𝄞 é [1]"),
        (
            '{"statements": [{"text": "a\\u00e9\\ud834\\u0078\\udd1e\\uZZZZ\\u0041", "source": 1}]}',
            "aéx\ufffd\ufffdA [1]",
        ),
        ('{"statements": [{"source": 3, "text": "Late."}]}', " [3]Late."),
        ('{"statements": [{"te\\u0078t": "Escaped.", "source": 3}]}', "Escaped. [3]"),
        ('{"statements": [{"text": "One.", "source": 3, "n": 4}], "m": 5}', "One. [3]"),
        ('{"statements": [{"text": "One.", "source": null}, {"text": "Two.", "source": "2"}]}', "One. Two."),
        ('{"note": "text", "text": "One."}', "One."),
        ('{"text": "text", "source": 1, "other": "x"}', "text [1]"),
        ('{"source" : 1234567 }', " [123456]"),
        ('{"a": 1}', ""),
        ("  \n It boils {at} 94.", "It boils {at} 94."),
        (" \n", ""),
        ("", ""),
    ],
)
def test_what_is_written_reads_as_prose(written: str, shown: str) -> None:
    assert prose(written) == shown
    whole = Statements()
    assert whole.feed(written) == shown


@pytest.mark.parametrize(
    ("escapes", "characters"),
    [
        ("\\ud800\\udc00", "\U00010000"),
        ("\\udbff\\udfff", "\U0010ffff"),
        ("\\udc00", "\ufffd"),
        ("\\udfff", "\ufffd"),
        ("\\ud7ff\\ue000", "\ud7ff\ue000"),
        ("\\ud834\\ue000", "\ue000"),
        ("\\ud834\\ud834\\udd1e", "𝄞"),
        ("\\udbff\\udbff", ""),
        ("\\u12", ""),
    ],
)
def test_halves_of_characters_are_joined_and_a_lone_one_is_none(escapes: str, characters: str) -> None:
    assert prose(f'{{"text": "{escapes}') == characters


def test_a_source_that_is_none_is_not_cited() -> None:
    assert prose('{"text": "One.", "source": [2], "n": 3}') == "One."
    assert prose('{"text": "One.", "source": x2}') == "One."
