"""Answers by quoting: what of the texts that were read says most about the question.

Nothing here knows a language or a question. The texts are the tool results of the conversation, the numbers to cite
stand in them, and a sentence is chosen by the words that it shares with the question, rare ones counting more.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence

import attrs

from hostcall_drivers.demo.search import key_words, terms

MAX_QUOTES = 4
_LEAST_SHARE = 0.5
"""Of the question's words, by weight: a text that holds less does not answer it, and the answer says so."""
_SAME, _OTHER = 0.4, 0.7
"""How near a statement must come to the best one, in the same source and in another."""
_FIRST = 0.4
"""What it is worth to be the first result; the second has half of it."""
_KNOWN = 0.3
"""What a word of the source's own title is worth in its statements: nearly all of them have it."""
_KIND = 0.2
"""What a word counts that says which kind of thing is asked for: documentation seldom calls a function one."""
_KINDS = frozenset(terms("function method class module exception constant attribute argument parameter name call"))
_MAX_QUOTE_CHARS = 420
_MIN_QUOTE_CHARS = 12

_HEAD = re.compile(r"\[([0-9]{1,4})\] (.+)")
_ADDRESS = re.compile(r"https://\S+\Z")
_ADDRESSES = re.compile(r"https?://\S+")
_NO_PROSE = re.compile(r"://|={5}|-{5}")  # a bare address, or a table drawn with lines
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"“*`(])")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")
_MARKS = re.compile(r"(?:#{1,6} |[-*] |[0-9]{1,3}\. |> |: )+")


@attrs.frozen
class Passage:
    """A source as it stands in a tool result."""

    number: int
    title: str
    address: str
    text: str


@attrs.frozen
class Quote:
    """A sentence, or a block of code, and the number of the source that holds it."""

    number: int
    text: str
    code: bool = False


def passages(result: str) -> list[Passage]:
    """Return the numbered sources of a tool result: a head ``[n] title``, an address, then what is said there."""
    lines = result.split("\n")
    heads = [
        at
        for at, line in enumerate(lines[:-1])
        if _HEAD.fullmatch(line) and _ADDRESS.match(lines[at + 1]) and (at == 0 or not lines[at - 1].strip())
    ]
    found: list[Passage] = []
    for at, end in zip(heads, [*heads[1:], len(lines)], strict=False):
        head = _HEAD.fullmatch(lines[at])
        if head is not None:
            body = [line for line in lines[at + 2 : end] if not line.startswith(("Searches used ", "(Characters "))]
            found.append(Passage(int(head[1]), head[2], lines[at + 1], "\n".join(body).strip()))
    return found


def statements(passage: Passage) -> list[Quote]:
    """Return the sentences and the code of a passage, in order, each as it stands there."""
    found: list[Quote] = []
    for at, piece in enumerate(re.split(r"^```[^\n]*\n(.*?)\n```$", passage.text, flags=re.DOTALL | re.MULTILINE)):
        if at % 2:
            found.append(Quote(passage.number, piece, code=True))
            continue
        for line in piece.split("\n"):
            if line.startswith(("|", "#", "Published ")):
                if line.startswith("| ") and "---" not in line:
                    found.append(Quote(passage.number, line.strip("| ").replace(" | ", ": ")))
                continue
            plain = line.strip()
            marks = _MARKS.match(plain)
            plain = plain[marks.end() :] if marks else plain
            found.extend(Quote(passage.number, sentence) for sentence in _SENTENCE.split(plain))
    return [quote for quote in found if len(quote.text) >= _MIN_QUOTE_CHARS and not _NO_PROSE.search(quote.text)]


class Question:
    """What is asked, and how much each of its words counts against the texts at hand."""

    def __init__(self, text: str, texts: Sequence[str]) -> None:
        plain = _ADDRESSES.sub(" ", text)
        self.names = frozenset(_NAME.findall(plain))
        wanted = dict.fromkeys(terms(" ".join(key_words(plain, least=1))))
        holding: Counter[str] = Counter()
        for one in texts:
            holding.update(set(terms(one)))
        self.weights = {
            term: math.log(1 + len(texts) / (0.5 + holding[term])) * (_KIND if term in _KINDS else 1) for term in wanted
        }

    def names_it(self, title: str) -> bool:
        """Return whether a title is a dotted name that stands in the question, whole or by its last part."""
        return "." in title and (title in self.names or title.rpartition(".")[2] in self.names)

    def share(self, text: str, *, known: str = "") -> float:
        """Return how much of the question stands in a text, from 0 to 1; words of what is `known` count for little."""
        total = sum(self.weights.values())
        held = set(terms(text))
        before = set(terms(known))
        parts = (weight * (_KNOWN if term in before else 1) for term, weight in self.weights.items() if term in held)
        return sum(parts) / total if total else 0.0


def best_passage(question: Question, sources: Sequence[Passage]) -> Passage | None:
    """Return the source that promises most, or None when none shares a word with the question.

    They stand in the order of the search, which has seen the whole pages and not their snippets only.
    """
    shares = [question.share(f"{source.title}\n{source.text}") for source in sources]
    ranked = sorted(range(len(sources)), key=lambda at: (-(shares[at] + _FIRST / (1 + at)), at))
    return sources[ranked[0]] if ranked and shares[ranked[0]] > 0 else None


def answers(question: Question, source: Passage) -> bool:
    """Return whether a source is named in the question, or holds enough of its words to be quoted for it."""
    return question.names_it(source.title) or question.share(f"{source.title}\n{source.text}") >= _LEAST_SHARE


def quotes(question: Question, sources: Sequence[Passage]) -> list[Quote]:
    """Return what to quote: the statements that share most with the question, in the order in which they stand.

    The first statement of a source that is named in the question counts as an answer too: documentation says what a
    thing is before it says anything else. So does the statement behind the signature of a method that is asked for.
    """
    scored: list[tuple[float, int, Quote]] = []
    for source in sources:
        if not answers(question, source):
            continue
        named = 1.0 if question.names_it(source.title) else question.share(source.title)
        first = True
        signature = 0.0
        for quote in statements(source):
            score = question.share(quote.text, known=source.title)
            if quote.code:
                score = 0.7 * score if len(quote.text) <= _MAX_QUOTE_CHARS else 0.0
                signature = score if "\n" not in quote.text else 0.0
            else:
                score += (0.8 if first else 0.3) * named + signature
                first = False
                signature = 0.0
            scored.append((score, len(scored), quote))
    ranked = sorted(scored, key=lambda entry: (-entry[0], entry[1]))[:MAX_QUOTES]
    if not ranked or not ranked[0][0]:
        return []
    best, _, top = ranked[0]
    kept = [entry for entry in ranked if entry[0] > best * (_SAME if entry[2].number == top.number else _OTHER)]
    chosen: list[Quote] = []
    for _, _, quote in sorted(kept, key=lambda entry: entry[1]):
        folded = " ".join(quote.text.split())
        if all(" ".join(one.text.split()) not in folded for one in chosen):
            chosen.append(quote)
    return chosen


def clipped(text: str) -> str:
    """Return a sentence that is not too long to quote."""
    if len(text) <= _MAX_QUOTE_CHARS:
        return text
    return text[: text.rfind(" ", 0, _MAX_QUOTE_CHARS)]
