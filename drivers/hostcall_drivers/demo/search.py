"""A search over the demo's pages that answers as SearXNG does: same parameters, same JSON, same refusals.

The ranking is BM25 with the words of the title counted more than once. An index is a pure function of the pages.
"""

import datetime as dt
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import attrs

from hostcall_drivers.demo.pages import DocPage, built

ENGINE = "pydoc"
RESULTS_A_PAGE = 10
SNIPPET_CHARS = 280
_TITLE_WEIGHT = 6
_MINOR_WEIGHT = 0.3
_NAMED = 1.5
"""What a page gains whose whole title stands in the query: it was asked for by name."""
_K1, _B = 1.2, 0.75
RANGES = {"day": 1, "week": 7, "month": 31, "year": 366}

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+(?:\.[0-9]+)*")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_STOP_WORDS = (
    "a about an and any are as at be been but by can could did do does for from get give had has have how i if in "
    "into is it its may me mean means my of on one or please python s should show so tell that the their them there "
    "these they this to use used uses using was we were what when where which who why will with would you your "
    "explain describe work works difference between exactly way ways gives happen happens many much need want say says"
)
STOP_WORDS = frozenset(_STOP_WORDS.split())


def key_words(text: str, *, least: int = 2) -> list[str]:
    """Return the words of a text that a search goes by, each once and in order; all of them when fewer are left.

    What is left of "the with statement" alone would find every statement.
    """
    every = list(dict.fromkeys(_WORD.findall(text)))
    kept = [word for word in every if word.lower() not in STOP_WORDS]
    return kept if len(kept) >= least else every


def terms(text: str) -> list[str]:
    """Return the index terms of a text: each word, its parts where it is a name of several, the plural dropped."""
    found: list[str] = []
    for word in _WORD.findall(text):
        lowered = word.lower()
        found.append(_stem(lowered))
        parts = [part for piece in word.split("_") if piece for part in _CAMEL.split(piece)]
        if len(parts) > 1:
            found.extend(_stem(part.lower()) for part in parts if len(part) > 2)
    return found


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if len(word) > len(ending) + 3 and word.endswith(ending):
            return word[: -len(ending)].rstrip("e")
    return word.rstrip("e") if len(word) > 4 else word


@attrs.frozen
class Hit:
    """One page that matches, and how well."""

    page: DocPage
    score: float


class Index:
    """The words of all pages."""

    def __init__(self, pages: Iterable[DocPage]) -> None:
        self._pages = [page for page in pages if page.path != "/"]
        self._postings: dict[str, list[tuple[int, int]]] = {}
        self._sizes: list[int] = []
        self._titles: list[frozenset[str]] = []
        for at, page in enumerate(self._pages):
            counts = Counter(terms(page.text))
            title = terms(page.title)
            self._titles.append(frozenset(title))
            for term in title:
                counts[term] += _TITLE_WEIGHT
            self._sizes.append(sum(counts.values()))
            for term, count in counts.items():
                self._postings.setdefault(term, []).append((at, count))
        self._mean = sum(self._sizes) / max(len(self._sizes), 1)

    def weight(self, term: str) -> float:
        """Return how much a term tells pages apart (its inverse document frequency)."""
        holding = len(self._postings.get(term, ()))
        return math.log(1 + (len(self._pages) - holding + 0.5) / (holding + 0.5))

    def search(self, query: str) -> list[Hit]:
        """Return the pages that hold at least one of the query's words, best first."""
        scores: dict[int, float] = {}
        minor = set(terms(" ".join(STOP_WORDS)))
        wanted = dict.fromkeys(terms(query))
        for term in wanted:
            weight = self.weight(term) * (_MINOR_WEIGHT if term in minor else 1.0)
            for at, count in self._postings.get(term, ()):
                share = count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * self._sizes[at] / self._mean))
                scores[at] = scores.get(at, 0.0) + weight * share
        for at in scores:
            if self._titles[at].issubset(wanted):
                scores[at] *= _NAMED
        ranked = sorted(scores.items(), key=lambda entry: (-entry[1], self._pages[entry[0]].path))
        return [Hit(self._pages[at], score) for at, score in ranked]


def snippet(text: str, query: str) -> str:
    """Return the lines of a page that hold most of the query's words, on one line."""
    wanted = set(terms(" ".join(key_words(query))))
    lines = [" ".join(line.split()) for line in text.split("\n") if line.strip()]
    if not lines:
        return ""
    best = max(range(len(lines)), key=lambda at: (len(wanted.intersection(terms(lines[at]))), -at))
    chosen = " ".join(lines[best : best + 4])
    return chosen if len(chosen) <= SNIPPET_CHARS else chosen[: chosen.rfind(" ", 0, SNIPPET_CHARS)] + " …"


def respond(
    index: Index, method: str, target: str, body: bytes, today: dt.date
) -> tuple[int, tuple[tuple[str, str], ...], bytes]:
    """Return status, header fields and body for one request to the search."""
    parts = urlsplit(target)
    if parts.path not in ("/search", "/"):
        return _html(404, "Not Found")
    fields = dict(parse_qsl(parts.query))
    if method == "POST":
        fields.update(parse_qsl(body.decode("utf-8", "replace")))
    form = fields.get("format", "html")
    if form != "json":
        return _html(403, "Forbidden") if form in ("csv", "rss") else _html(200, "The demo's search answers in JSON.")
    refused = _refused(fields)
    if refused:
        return _json(400, {"error": refused})
    query = " ".join(fields["q"].split())
    page = int(fields.get("pageno") or 1)
    hits = index.search(query) if _in_range(fields.get("time_range", ""), today) else []
    shown = hits[(page - 1) * RESULTS_A_PAGE : page * RESULTS_A_PAGE]
    return _json(
        200,
        {
            "query": query,
            "results": [_result(hit, query, at) for at, hit in enumerate(shown, (page - 1) * RESULTS_A_PAGE + 1)],
            "answers": [],
            "corrections": [],
            "infoboxes": [],
            "suggestions": [],
            "unresponsive_engines": [],
        },
    )


def _refused(fields: Mapping[str, str]) -> str:
    """Return why SearXNG would not take these parameters, in its words, or an empty text."""
    if not fields.get("q", "").strip():
        return "No query"
    allowed = {"time_range": ("", "None", *RANGES), "safesearch": ("", "0", "1", "2")}
    for name, values in allowed.items():
        if fields.get(name, "") not in values:
            return f"Invalid value {fields[name]} for parameter {name}"
    number = fields.get("pageno", "1") or "1"
    if not number.isascii() or not number.isdigit() or len(number) > 6 or int(number) < 1:
        return f"Invalid value {number} for parameter pageno"
    return ""


def _in_range(time_range: str, today: dt.date) -> bool:
    """Return whether the pages are as young as is asked: all have the date of this Python."""
    days = RANGES.get(time_range)
    return days is None or (today - built()).days <= days


def _result(hit: Hit, query: str, position: int) -> dict[str, Any]:
    published = built().isoformat()
    return {
        "url": hit.page.address,
        "title": hit.page.title,
        "content": snippet(hit.page.text, query),
        "publishedDate": f"{published}T00:00:00",
        "engine": ENGINE,
        "template": "default.html",
        "parsed_url": ["https", *urlsplit(hit.page.address)[1:3], "", "", ""],
        "img_src": "",
        "thumbnail": "",
        "priority": "",
        "engines": [ENGINE],
        "positions": [position],
        "score": 1 / position,
        "category": "general",
        "pubdate": f"{published} 00:00:00",
    }


def _json(status: int, value: Any) -> tuple[int, tuple[tuple[str, str], ...], bytes]:
    return status, (("Content-Type", "application/json"),), json.dumps(value, ensure_ascii=True).encode()


def _html(status: int, words: str) -> tuple[int, tuple[tuple[str, str], ...], bytes]:
    body = f"<!doctype html>\n<html lang=en>\n<title>{status} {words}</title>\n<h1>{words}</h1>\n"
    return status, (("Content-Type", "text/html; charset=utf-8"),), body.encode()
