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


@pytest.mark.parametrize(
    ("opener", "closer"),
    [('"', '"'), ("“", "”"), ("„", "“"), ("„", "”"), ("«", "»"), ("‹", "›"), ("「", "」"), ("『", "』")],
)
def test_every_pair_of_quote_marks_is_known(opener: str, closer: str) -> None:
    words = "one two three four five six"
    assert quoted_spans(f"He: {opener}{words}{closer} and {opener}{words} seven{closer}") == [words, f"{words} seven"]


@pytest.mark.parametrize(
    ("marks_", "plain"),
    [("‘’‚‛′", "'"), ("“”„‟″«»", '"'), ("‐‑‒–—―−", "-")],
)
def test_every_mark_is_folded(marks_: str, plain: str) -> None:
    for mark in marks_:
        assert fold(f"a{mark}b") == f"a{plain}b"
    assert fold("Xa") == "xa"


def test_what_ends_a_sentence_is_no_part_of_a_quotation() -> None:
    for end in " .,;:!?":
        assert fold(f"{end}a.b{end}") == "a.b"
    assert fold("(a)") == "(a)"
    assert fold("xx.") == "xx"


def test_a_quotation_ends_within_its_paragraph_and_its_bound() -> None:
    words = "one two three four five six"
    assert quoted_spans(f'"{words}\n\nmore"') == []
    assert quoted_spans(f'"{words}\nmore"') == [f"{words}\nmore"]
    fits = "one two three four five " + "x" * (2_000 - len("one two three four five ") - 1)
    assert quoted_spans(f'"{fits}"') == [fits]
    assert quoted_spans(f'"{fits}xx"') == []
    assert quoted_spans('a "b" c "' + words + '"') == [words], "a short one is gone past whole"
    assert quoted_spans(f'""{words}"') == [], "the first two are a pair"


def test_quotations_are_told_once_and_not_without_end() -> None:
    words = "one two three four five six"
    assert quoted_spans(f'"{words}" "{words}"') == [words]
    many = " ".join(f'"{words} {number}"' for number in range(60))
    assert quoted_spans(many) == [f"{words} {number}" for number in range(50)]


def test_six_words_or_twelve_characters_are_long() -> None:
    assert quoted_spans('"one two three four five"') == []
    assert quoted_spans('"one two three four five six"') != []
    for first, last in (("\u3040", "\u9fff"), ("\uac00", "\ud7a3")):
        assert quoted_spans(f'"{first * 6}{last * 6}"') != []
        assert quoted_spans(f'"{first * 6}{last * 5}"') == []
    for outside in ("\u303f", "\ua000", "\uabff", "\ud7a4"):
        assert quoted_spans(f'"{outside * 12}"') == []


def test_a_quotation_names_the_first_page_that_holds_it_or_none() -> None:
    words = "the kettle boils at ninety-four degrees"
    (quote,) = find_quotes(f'"{words}"', [(3, "Nothing."), (4, PAGE), (5, PAGE)])
    assert (quote.text, quote.found, quote.number) == (words, True, 4)
    (quote,) = find_quotes(f'"{words}"', [(3, "Nothing.")])
    assert (quote.found, quote.number) == (False, None)
    (quote,) = find_quotes(f'"{words}"', [])
    assert (quote.found, quote.number) == (None, None)
    assert find_quotes("none", [(4, PAGE)]) == ()


def test_a_long_quotation_is_cut_in_its_mark_and_an_answer_without_text_has_none() -> None:
    long = "one two three four five " + "x" * 100
    quotes = find_quotes(f'"{long}"', [(1, PAGE)])
    assert marks([], quotes, offered=True, ran=True, has_text=True) == (f"quotation not found: {long[:80]}",)
    assert marks([], [], offered=True, ran=False, has_text=False) == ()
    unchecked = find_quotes(f'"{long}"', [])
    assert marks([], unchecked, offered=True, ran=True, has_text=True) == ()


def test_lists_of_numbers_are_citations_up_to_a_bound() -> None:
    def numbers(text: str) -> list[int]:
        return [citation.number for citation in find_citations(text, SOURCES)]

    assert numbers("[1 , 2;3]") == [1, 2, 3]
    assert numbers("[9999] [10000]") == [9999]
    assert len(numbers(f"[{','.join(map(str, range(21)))}]")) == 21
    assert numbers(f"[{','.join(map(str, range(22)))}]") == []
    assert numbers("so_[1] so_[3] [2](x)") == [1, 2]
