"""Marks looked for at one place and anywhere."""

import pytest

from hostcall.tooltext.lexicon import lexicon

MARKS = lexicon({"<a>": "short", "<a>b": "long", "]": "end"}, folded=("<a>",))


@pytest.mark.parametrize(
    ("text", "final", "expected"),
    [
        ("<a>b", False, ("<a>b", False)),
        ("<a>c ", False, ("<a>", False)),
        ("<A>c ", False, ("<A>", False)),
        ("<a>", False, (None, True)),
        ("<a>", True, ("<a>", False)),
        ("<", False, (None, True)),
        ("<", True, (None, False)),
        ("", False, (None, True)),
        ("", True, (None, False)),
        ("]", False, ("]", False)),
        ("x<a>b", False, (None, False)),
    ],
)
def test_a_mark_at_one_place(text: str, final: bool, expected: tuple[str | None, bool]) -> None:
    match, more = MARKS.at("..." + text, 3, final=final)
    assert (match and match.group(), more) == expected


def test_one_place_is_not_a_search_of_the_rest() -> None:
    """A block that is no call costs its own length: looking far ahead for each made a long reply quadratic."""
    assert MARKS.at("x" * 10 + "]", 0, final=True) == (None, False)
    assert MARKS.find("x" * 10 + "]", 0, final=True)[0] is not None


def test_an_empty_set_never_waits_where_there_is_text() -> None:
    assert lexicon({}).at("x", 0, final=False) == (None, False)
