"""What a call searches for beyond its own words: sub-questions, and the angles of a kind of search.

A job is found under other words than a question is: "rust jobs" finds articles, "rust jobs careers" finds postings; and
a role is often named in a recruiter's own post before it reaches a board. The model's own words always come first.
"""

from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["jobs", "people"]
TimeRange: TypeAlias = Literal["day", "week", "month", "year"]

# An angle: what is added, and the words that make it needless when the query already holds one of them.
# `we`, `are` and `manager` are too common to say anything alone.
Angle: TypeAlias = tuple[str, tuple[str, ...]]

ANGLES: dict[Kind, tuple[Angle, ...]] = {
    "jobs": (
        ("job posting", ("job", "posting")),
        ("careers", ("careers",)),
        ("linkedin jobs", ("linkedin", "jobs")),
    ),
    "people": (
        ("recruiter", ("recruiter", "hiring")),
        ('"hiring manager"', ("hiring",)),
        ('"we are hiring"', ("hiring",)),
        ("site:linkedin.com", ("linkedin",)),
    ),
}

_RANGES: dict[str, TimeRange] = {
    "day": "day",
    "today": "day",
    "week": "week",
    "7d": "week",
    "month": "month",
    "30d": "month",
    "year": "year",
    "12m": "year",
}


def widen(query: str, queries: tuple[str, ...], kind: Kind | None) -> tuple[str, ...]:
    """Return everything one call searches for, in order and each once: the query, the sub-questions, the angles."""
    asked = [query, *queries]
    words = words_of(query)
    angles = ANGLES[kind] if kind is not None else ()
    asked.extend(f"{query} {angle}" for angle, covered in angles if not words.intersection(covered))
    return tuple(dict.fromkeys(asked))


def words_of(text: str) -> frozenset[str]:
    """Return the whole words of a text, case aside. `site:linkedin.com` holds `linkedin`."""
    return frozenset("".join(char if char.isalnum() else " " for char in text.casefold()).split())


def strip_bangs(query: str) -> str:
    """Return the query without leading `!bang` words, which would send SearXNG's answer to another place."""
    words = query.split()
    while words and words[0].startswith("!"):
        words.pop(0)
    return " ".join(words)


def read_range(text: str) -> TimeRange | None:
    """Return the range that a text means, or None."""
    return _RANGES.get(text.strip().lower())
