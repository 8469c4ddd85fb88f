"""Sets of literal marks, found in a text that arrives in pieces.

A set knows three things: where the next mark is, whether the end of what has arrived may be the beginning of one, and
whether a chunk has no character that could matter at all. The last is what makes the filter fast: one search with a
character class, and nothing else happens.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

import attrs

Search: TypeAlias = Callable[[str], re.Match[str] | None]
"""Says whether a chunk holds anything worth stopping at."""


@attrs.frozen(eq=False)
class Lexicon:
    """Marks to look for. `kinds` says what each one is; marks in `folded` are met in any case."""

    kinds: Mapping[str, str]
    _find: Callable[[str, int], re.Match[str] | None]
    _match: Callable[[str, int], re.Match[str] | None]
    loud: Search
    _starts: Callable[[str, int], re.Match[str] | None]
    _prefixes: frozenset[str]
    _folded: frozenset[str]
    _longest: int

    def find(self, text: str, start: int, *, final: bool) -> tuple[re.Match[str] | None, int]:
        """Return the next mark, or None and the place from which the text must be kept.

        A mark is not returned while what stands there may yet become a longer one, unless the text is final.
        """
        match = self._find(text, start)
        if match is not None:
            # A longer mark may have begun here, or before.
            if final or len(text) - match.start() >= self._longest:
                return match, match.end()
            begun = self.partial(text, start)
            return (match, match.end()) if begun > match.start() else (None, begun)
        return None, len(text) if final else self.partial(text, start)

    def at(self, text: str, start: int, *, final: bool) -> tuple[re.Match[str] | None, bool]:
        """Return the mark that stands at `start`, and whether that cannot be told before more of the text is there.

        Unlike `find` this looks at one place, whatever the length of the text.
        """
        match = self._match(text, start)
        if final or len(text) - start >= self._longest:
            return match, False
        if start == len(text) or self._grows(text[start:]):
            return None, True
        return match, False

    def partial(self, text: str, start: int) -> int:
        """Return where a mark that is not yet complete may have begun, or the length of the text."""
        size = len(text)
        at = max(start, size - self._longest + 1)
        while (match := self._starts(text, at)) is not None:
            at = match.start()
            if self._grows(text[at:]):
                return at
            at += 1
        return size

    def kind(self, match: re.Match[str]) -> str:
        """Say what a mark that was found is."""
        mark = match.group()
        kind = self.kinds.get(mark)
        return self.kinds[mark.lower()] if kind is None else kind

    def _grows(self, tail: str) -> bool:
        return tail in self._prefixes or (bool(self._folded) and tail.lower() in self._folded)


def lexicon(kinds: Mapping[str, str], *, folded: Iterable[str] = (), also_loud: str = "") -> Lexicon:
    """Build a set from marks and their kinds.

    Args:
        kinds: Each mark with its kind. Longer marks win over shorter ones that begin them.
        folded: Marks, written in lower case and beginning with no letter, that count in any case.
        also_loud: Further characters at which `loud` stops.
    """
    folds = tuple(folded)
    exact = [mark for mark in kinds if mark not in folds]
    # Every mark begins with a plain character, brackets included: only then does `re` skip to the next of them fast.
    wholes = [
        f"{re.escape(mark[0])}(?ai:{re.escape(mark[1:])})" if mark in folds else re.escape(mark)
        for mark in sorted({*exact, *folds}, key=lambda mark: (-len(mark), mark))
    ]
    firsts = {mark[0] for mark in kinds}
    # An empty set never finds anything: a class of no characters is written as a look-ahead that fails.
    starts = re.compile("[" + "".join(map(re.escape, sorted(firsts))) + "]" if firsts else "(?!)")
    stops = firsts | set(also_loud)
    loud = re.compile("[" + "".join(map(re.escape, sorted(stops))) + "]" if stops else "(?!)")
    whole = re.compile("|".join(wholes) if wholes else "(?!)")
    return Lexicon(
        kinds=dict(kinds),
        find=whole.search,
        match=whole.match,
        loud=loud.search,
        starts=starts.search,
        prefixes=frozenset(mark[:cut] for mark in exact for cut in range(1, len(mark))),
        folded=frozenset(mark[:cut] for mark in folds for cut in range(1, len(mark))),
        longest=max(map(len, kinds), default=1),
    )
