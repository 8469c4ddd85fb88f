"""Calls written inside reasoning: kept aside until the rest of the answer says whether they were meant.

Some models forget to close their reasoning and really call; others draft a call while they think. Both look alike until
something follows. A real call ends the turn, so the end of the text makes a parked call real, and any text, or a call
outside the reasoning, makes it a draft.
"""

from typing import Literal

import attrs

from hostcall.tooltext.tape import Found


@attrs.frozen
class Parked:
    """One stretch of text that was kept aside."""

    kind: Literal["reasoning", "dropped", "text", "call"]
    raw: str
    calls: tuple[tuple[str, Found], ...] = ()
    dialect: str = ""


@attrs.define
class Parking:
    """What is kept aside, in order."""

    limit: int
    items: list[Parked] = attrs.field(factory=list)
    size: int = 0

    def add(self, item: Parked) -> None:
        """Keep a stretch. Stretches that are no calls are joined to the one before."""
        self.items.append(item)
        self.size += len(item.raw)

    def take(self) -> list[Parked]:
        """Hand over everything."""
        items, self.items, self.size = self.items, [], 0
        return items
