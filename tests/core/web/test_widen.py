"""What one call searches for."""

import pytest

from hostcall.web.widen import read_range, strip_bangs, widen, words_of


def test_the_query_comes_first_then_the_sub_questions_then_the_angles() -> None:
    assert widen("rust work", ("remote rust",), "jobs") == (
        "rust work",
        "remote rust",
        "rust work job posting",
        "rust work careers",
        "rust work linkedin jobs",
    )


def test_without_a_kind_nothing_is_added() -> None:
    assert widen("rust work", (), None) == ("rust work",)


def test_a_query_asked_twice_is_asked_once() -> None:
    assert widen("a b", ("c", "a b", "c"), None) == ("a b", "c")


@pytest.mark.parametrize(
    ("query", "angles"),
    [
        ("rust job", 2),  # `job` covers the posting; `jobs` is another word
        ("rust jobs", 2),
        ("Careers at x", 2),
        ("LinkedIn", 2),
        ("rust posting careers jobs", 0),
        ("jobless", 3),
    ],
)
def test_an_angle_of_jobs_is_left_out_when_a_word_of_it_is_there(query: str, angles: int) -> None:
    assert len(widen(query, (), "jobs")) == 1 + angles


@pytest.mark.parametrize(
    ("query", "angles"),
    [
        ("rust engineer", ["recruiter", '"hiring manager"', '"we are hiring"', "site:linkedin.com"]),
        ("who is hiring", ["site:linkedin.com"]),
        ("we are here, manager", ["recruiter", '"hiring manager"', '"we are hiring"', "site:linkedin.com"]),
        ("recruiter x", ['"hiring manager"', '"we are hiring"', "site:linkedin.com"]),
        ("x site:linkedin.com", ["recruiter", '"hiring manager"', '"we are hiring"']),
    ],
)
def test_hiring_covers_the_first_three_angles_of_people(query: str, angles: list[str]) -> None:
    assert widen(query, (), "people")[1:] == tuple(f"{query} {angle}" for angle in angles)


@pytest.mark.parametrize(
    ("text", "query"), [("!!g rust", "rust"), ("!g !news a !b", "a !b"), ("!", ""), ("  a   b ", "a b"), ("", "")]
)
def test_leading_bangs_are_stripped(text: str, query: str) -> None:
    assert strip_bangs(text) == query


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("day", "day"),
        ("Today", "day"),
        (" week ", "week"),
        ("7d", "week"),
        ("30d", "month"),
        ("12M", "year"),
        ("fortnight", None),
        ("999d", None),
        ("", None),
    ],
)
def test_ranges_are_read_in_several_spellings(text: str, means: str | None) -> None:
    assert read_range(text) == means


def test_words_are_whole_and_without_case() -> None:
    assert words_of('Site:LinkedIn.com, "we"') == {"site", "linkedin", "com", "we"}
