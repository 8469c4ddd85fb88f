"""What a row of the table of dialects holds."""

from typing import Literal, Protocol, TypeAlias

import attrs

from hostcall.tooltext.json_body import Verdict
from hostcall.tooltext.offer import Offer
from hostcall.tooltext.tape import Scan, Tape

Where: TypeAlias = Literal["anywhere", "line", "start"]


class Body(Protocol):
    """Reads the calls of one block. One of the small scanners, with its marks filled in."""

    def scan(self, tape: Tape, offer: Offer) -> Scan[Verdict]:
        """Read the block from behind its opener."""


@attrs.frozen
class Opener:
    """A mark at which a block may begin."""

    mark: str
    where: Where = "anywhere"
    """``line``: only at the beginning of a line. ``start``: only where nothing was shown yet."""
    kept: bool = False
    """The body reads the mark itself."""
    token: bool = False
    """A special token, which prose does not hold: it is live in code too."""
    folded: bool = False
    """It counts in any case; `mark` is in lower case."""


@attrs.frozen(kw_only=True, eq=False)
class Dialect:
    """One format in which models write calls."""

    name: str
    openers: tuple[Opener, ...]
    body: Body
    starts: tuple[str, ...] = ()
    """What follows the opener and tells this dialect from others with the same one; `NAME` for a name."""
    group: str = ""
    """Dialects of one group may follow each other in one answer. Empty: its own name."""
    white: Literal["drop", "keep", "blank line"] = "drop"
    """What becomes of white space before the opener."""
    auto: bool = True
    """Distinctive enough to be met without being asked for."""
    in_reasoning: Literal["park", "text"] = "park"
    """Whether a call inside reasoning may be real, or is always text."""
    rank: int = 0
    """Which of several dialects reads a mark that they read themselves: the highest."""
    orphans: tuple[str, ...] = ()
    """Closers that are dropped where they stand alone, after the first call."""


NAME = "name"
"""In `starts`: any letter or underscore."""
