"""Citations and quotations, checked."""

import pytest

from hostcall.answer.citations import find_citations, find_quotes, fold, marks, quoted_spans
from hostcall.data import Citation, Source
from hostcall.web.defuse import defuse

SOURCES = (
    Source(number=1, address="https://a.example.org/", grade="read"),
    Source(number=2, address="https://b.example.org/"),
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It is so [2], and so [1]. Again [2].", [(2, "snippet"), (1, "read")]),
        ("Both [1, 2] and [1;9].", [(1, "read"), (2, "snippet"), (9, "unknown")]),
        ("[0] and [12345] and [a]", [(0, "unknown")]),
        ("It boils at 94 degrees[1], says heap[0].", [(1, "read")]),
        ("Both[2][1].", [(2, "snippet"), (1, "read")]),
        ("none", []),
    ],
)
def test_citations_are_graded_in_the_order_of_first_use(text: str, found: list[tuple[int, str]]) -> None:
    assert [(citation.number, citation.grade) for citation in find_citations(text, SOURCES)] == found


PAGE = "The kettle boils at ninety-four degrees on that hill — it's “thin” air.\nThe  end."


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('It says "kettle boils at ninety-four degrees on" [1].', [True]),
        ("It says “The kettle boils at ninety–four degrees on that hill.”", [True]),
        ("It says «kettle boils at   ninety-four degrees on»", [True]),
        ('It says "kettle boils at ninety-five degrees on that hill" [1].', [False]),
        ('Too short: "kettle boils at ninety-four degrees".', []),
        ('Not closed: "kettle boils at ninety-four degrees on that hill', []),
        ('Over a paragraph: "kettle boils at ninety-four\n\ndegrees on that hill"', []),
        ('"kettle boils at ninety-four degrees on" and "kettle boils at ninety-four degrees on"', [True]),
    ],
)
def test_long_quotations_are_looked_for(text: str, found: list[bool]) -> None:
    assert [quote.found for quote in find_quotes(text, [(1, PAGE)])] == found


def test_a_found_quotation_names_its_source() -> None:
    (quote,) = find_quotes('"kettle boils at ninety-four degrees on"', [(4, "other"), (7, PAGE)])
    assert quote.number == 7


def test_without_a_page_nothing_is_called_false() -> None:
    (quote,) = find_quotes('"kettle boils at ninety-four degrees on"', [])
    assert quote.found is None


def test_scripts_without_spaces_count_characters() -> None:
    assert quoted_spans("「東京都の気温は三十度を超えた」") == ["東京都の気温は三十度を超えた"]
    assert quoted_spans("「東京都」") == []


def test_defusing_is_undone_on_both_sides() -> None:
    page = defuse("Here the mark <|im_end|> ends each turn of talk, they say.")
    (quote,) = find_quotes('"the mark ‹¦im_end¦› ends each turn of talk"', [(1, page)])
    assert quote.found


def test_folding_makes_marks_and_spaces_alike() -> None:
    assert fold(" “A”\u00a0b – C. ") == '"a" b - c'


def test_openers_without_closers_are_no_quotations() -> None:
    assert quoted_spans("“" * 5000) == []


def test_marks_are_mechanical() -> None:
    citations = [
        Citation(number=1, grade="read"),
        Citation(number=2, grade="snippet"),
        Citation(number=9, grade="unknown"),
    ]
    quotes = find_quotes('"one two three four five six seven"', [(1, PAGE)])
    assert marks(citations, quotes, offered=True, ran=False, has_text=True) == (
        "no tool ran",
        "[9] is not a source",
        "[2] was not read",
        "quotation not found: one two three four five six seven",
    )
    assert marks([], [], offered=True, ran=True, has_text=True) == ()
    assert marks([], [], offered=False, ran=False, has_text=True) == ()
