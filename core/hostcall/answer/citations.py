"""What an answer cites and quotes, checked against what was found. Mechanical: no model judges another.

A ``[n]`` is graded by what is known of source n. A quoted span of six words or more is looked for in the text of the
pages that were read, with white space, quote marks and dashes folded and the defusing of markers undone.
"""

import re
from collections.abc import Sequence

from hostcall.data import Citation, Quote, Source
from hostcall.web.defuse import undefuse

QUOTE_WORDS = 6
QUOTE_CJK_CHARS = 12
"""Scripts without spaces: this many characters in a row count as six words."""
MOST_QUOTES = 50
QUOTE_MOST_CHARS = 2_000
"""A quotation ends within this many characters and within its paragraph, or it is none."""

# [3], [3, 5], [3][5]; not [text](…) and not a list of code: digits and separators only.
_CITED = re.compile(r"(\w?)\[(\d{1,4}(?:\s*[,;]\s*\d{1,4}){0,20})\]")
_PAIRS = {'"': '"', "“": "”", "„": "“”", "«": "»", "‹": "›", "「": "」", "『": "』"}
_FOLD = str.maketrans(
    {**dict.fromkeys("‘’‚‛′", "'"), **dict.fromkeys("“”„‟″«»", '"'), **dict.fromkeys("‐‑‒–—―−", "-"), "\u00a0": " "}
)


def find_citations(text: str, sources: Sequence[Source]) -> tuple[Citation, ...]:
    """Return each ``[n]`` of a text once, in the order of first use, with what is known of it.

    One that touches a word counts only for a source that there is: ``degrees[1]`` cites, ``heap[0]`` is code.
    """
    grades = {source.number: source.grade for source in sources}
    numbers = [
        number
        for touched, inside in _CITED.findall(text)
        for number in map(int, re.split(r"[,;]", inside))
        if not touched or number in grades
    ]
    return tuple(Citation(number=number, grade=grades.get(number, "unknown")) for number in dict.fromkeys(numbers))


def find_quotes(text: str, pages: Sequence[tuple[int, str]]) -> tuple[Quote, ...]:
    """Return each long quotation of a text, and whether a page that was read holds it.

    Args:
        text: The answer.
        pages: Number and text of each page that was read.
    """
    spans = quoted_spans(text)
    if not spans:
        return ()
    folded = [(number, fold(page)) for number, page in pages]
    quotes = []
    for span in spans:
        wanted = fold(span)
        number = next((number for number, page in folded if wanted in page), None)
        quotes.append(Quote(text=span, found=None if not folded else number is not None, number=number))
    return tuple(quotes)


def quoted_spans(text: str) -> list[str]:
    """Return the quoted spans that are long enough to be checked, in order, each once."""
    spans: list[str] = []
    position = 0
    while position < len(text) and len(spans) < MOST_QUOTES:
        closers = _PAIRS.get(text[position])
        if closers is None:
            position += 1
            continue
        limit = min(position + 1 + QUOTE_MOST_CHARS, len(text))
        paragraph = text.find("\n\n", position + 1, limit)
        end = limit if paragraph < 0 else paragraph
        closes = [found for found in (text.find(closer, position + 1, end) for closer in closers) if found >= 0]
        if not closes:
            position += 1
            continue
        close = min(closes)
        span = text[position + 1 : close].strip()
        if _is_long(span) and span not in spans:
            spans.append(span)
        position = close + 1
    return spans


def fold(text: str) -> str:
    """Return a text with markers restored and white space, quote marks and dashes made alike."""
    return " ".join(undefuse(text).translate(_FOLD).split()).strip(" .,;:!?").casefold()


def marks(
    citations: Sequence[Citation], quotes: Sequence[Quote], *, offered: bool, ran: bool, has_text: bool
) -> tuple[str, ...]:
    """Return the warnings that stand beside an answer.

    Args:
        citations: The numbers cited.
        quotes: The quotations.
        offered: Whether any tool was.
        ran: Whether any tool ran: what an answer says of a tool without a receipt is only the model's word.
        has_text: Whether there is an answer.
    """
    found = []
    if offered and not ran and has_text:
        found.append("no tool ran")
    found.extend(f"[{citation.number}] is not a source" for citation in citations if citation.grade == "unknown")
    found.extend(f"[{citation.number}] was not read" for citation in citations if citation.grade == "snippet")
    found.extend(f"quotation not found: {quote.text[:80]}" for quote in quotes if quote.found is False)
    return tuple(found)


def _is_long(span: str) -> bool:
    if len(span.split()) >= QUOTE_WORDS:
        return True
    return sum("\u3040" <= char <= "\u9fff" or "\uac00" <= char <= "\ud7a3" for char in span) >= QUOTE_CJK_CHARS
