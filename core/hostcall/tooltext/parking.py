"""Calls written inside reasoning: kept aside until the rest of the answer says whether they were meant.

Some models forget to close their reasoning and really call; others draft a call while they think. Both look alike until
something follows. A real call ends the turn, so the end of the text makes a parked call real, and any text, or a call
outside the reasoning, makes it a draft.
"""

from typing import Literal

import attrs

from hostcall.tooltext.tape import Found

JOINED_AT = 4_096
"""Pieces that are kept before they are made one: a piece takes more room than a character."""


@attrs.frozen
class Parked:
    """One stretch of text that was kept aside."""

    kind: Literal["reasoning", "dropped", "text", "call"]
    raw: str
    calls: tuple[tuple[str, Found], ...] = ()
    dialect: str = ""
    why: str = ""
    """Why it is dropped, for the trace."""


@attrs.define
class Parking:
    """What is kept aside, in order."""

    limit: int
    items: list[Parked] = attrs.field(factory=list)
    size: int = 0
    _more: list[str] = attrs.field(factory=list)
    """What goes on behind the last item: white space may come in a million pieces."""

    def takes(self, raw: str) -> bool:
        """Say whether a stretch belongs here: something is parked already, and there is room."""
        return bool(self.items) and self.size + len(raw) <= self.limit

    def add(self, item: Parked) -> None:
        """Keep a stretch. One that is no call is joined to the one before, where both are of one kind."""
        self.size += len(item.raw)
        last = self.items[-1] if self.items else item
        if item is last or item.calls or last.calls or (item.kind, item.why) != (last.kind, last.why):
            self._join()
            self.items.append(item)
            return
        self._more.append(item.raw)
        if len(self._more) > JOINED_AT:
            self._join()

    def take(self) -> list[Parked]:
        """Hand over everything."""
        self._join()
        items, self.items, self.size = self.items, [], 0
        return items

    def _join(self) -> None:
        if self._more:
            self.items[-1] = attrs.evolve(self.items[-1], raw=self.items[-1].raw + "".join(self._more))
            self._more.clear()
