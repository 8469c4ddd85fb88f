"""One opener, several formats: what stands behind it decides."""

from collections.abc import Sequence
from functools import lru_cache

import attrs

from hostcall.tooltext.dialect import NAME, Dialect, Opener
from hostcall.tooltext.fence_body import FenceBody
from hostcall.tooltext.json_body import Verdict
from hostcall.tooltext.lexicon import Lexicon, lexicon
from hostcall.tooltext.offer import Offer
from hostcall.tooltext.tape import Scan, Tape

Entry = tuple[Opener, Dialect]


@lru_cache(maxsize=256)
def _starts(entries: tuple[Entry, ...], mark: str) -> Lexicon:
    kinds: dict[str, str] = {}
    for _, row in reversed(entries):
        kinds |= {start: row.name for start in row.starts if start != NAME}
    if mark not in kinds and not entries[0][0].kept:
        kinds[mark] = "again"
    return lexicon(kinds)


def fork(tape: Tape, entries: tuple[Entry, ...], mark: str, offer: Offer, chosen: list[Dialect]) -> Scan[Verdict]:
    """Read a block with the dialect that fits what follows its opener; `chosen` is told which."""
    row = yield from _choose(tape, entries, mark)
    if row is None:
        if tape.ended and (_rest_is_start(tape, entries, mark)):
            chosen.append(entries[0][1])
            return "done"
        chosen.append(entries[0][1])
        return "drop" if any(getattr(entry[1].body, "drops_opener", False) for entry in entries) else "release"
    chosen.append(row)
    return (yield from row.body.scan(tape, offer))


def _choose(tape: Tape, entries: tuple[Entry, ...], mark: str) -> Scan[Dialect | None]:
    kept = [row for opener, row in entries if opener.kept]
    if kept:
        return kept[0] if len(kept) == 1 else (yield from _choose_kept(kept))
    if len(entries) == 1 and not entries[0][1].starts:
        return entries[0][1]
    starts = _starts(entries, mark)
    for _ in range(2):  # a doubled opener counts as one
        first = yield from tape.skip_white()
        kind = yield from tape.sees(starts)
        if kind == "again":
            yield from tape.match(starts)
            continue
        named = first.isalpha() or first == "_"
        for _, row in entries:
            if row.name == kind or (named and kind is None and NAME in row.starts):
                return row
        if not first:
            return None
        return next((row for _, row in entries if not row.starts), None)
    return None


def _choose_kept(rows: Sequence[Dialect]) -> Scan[Dialect]:
    # Only marks that may be prose are read by several bodies themselves; the most general of them reads for all.
    yield from ()
    fences = tuple(row for row in rows if isinstance(row.body, FenceBody))
    return _fence(fences) if len(fences) == len(rows) else max(rows, key=lambda row: row.rank)


@lru_cache(maxsize=64)
def _fence(rows: tuple[Dialect, ...]) -> Dialect:
    """Return the dialect that reads a fence as each of several would."""
    members = tuple(pair for row in rows if isinstance(row.body, FenceBody) for pair in row.body.members)
    return attrs.evolve(rows[0], body=FenceBody(members=members))


def _rest_is_start(tape: Tape, entries: tuple[Entry, ...], mark: str) -> bool:
    """Say whether the text ended inside what could have become a call."""
    starts = _starts(entries, mark)
    return starts.partial(tape.window, tape.pos) == tape.pos or tape.pos == len(tape.window)
