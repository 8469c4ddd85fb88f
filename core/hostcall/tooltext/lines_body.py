"""Bodies of lines: the name on the first one, then ``key: value`` on each, up to a closing tag."""

import re
from functools import cached_property
from typing import Any

import attrs

from hostcall.tooltext.coerce import clean, coerce
from hostcall.tooltext.json_body import Verdict
from hostcall.tooltext.lexicon import Lexicon, lexicon
from hostcall.tooltext.offer import Offer
from hostcall.tooltext.tape import Fault, Found, Scan, Tape

_NAME_END = re.compile(r"[^\w.\-]").search
_PAIR = re.compile(r"\s*([A-Za-z_][\w-]*)\s*[:=][ \t]*(.*)").fullmatch


@attrs.frozen(kw_only=True, eq=False, slots=False)
class LinesBody:
    """One call in lines. Only a known name begins one, for words after an opener are more often prose."""

    closers: tuple[str, ...]
    folded: tuple[str, ...] = ()

    @cached_property
    def _ends(self) -> Lexicon:
        return lexicon(dict.fromkeys(self.closers, "end"), folded=self.folded)

    def scan(self, tape: Tape, offer: Offer) -> Scan[Verdict]:
        """Read the block."""
        yield from tape.skip_white()
        name = yield from tape.until(_NAME_END, 256)
        if name is None or not offer.known(name) or tape.window[tape.pos] not in "\r\n[" or not tape.confirm():
            return "release"
        start = tape.here
        match = yield from tape.find(self._ends)
        if match is None:
            return "done"
        lines = tape.text(start, tape.here - len(match.group())).strip().splitlines()
        pairs = [_PAIR(line) for line in lines]
        if not all(pairs):
            tape.cut(Fault(kind="malformed", name=name))
            return "done"
        properties = offer.properties(name)
        arguments: dict[str, Any] = {}
        for pair in pairs:
            assert pair is not None
            arguments[pair[1]] = coerce(clean(pair[2].strip()), properties.get(pair[1]))
        tape.cut(Found(name=name, arguments=arguments, repaired=True, twice=len(arguments) < len(pairs)))
        return "done"
