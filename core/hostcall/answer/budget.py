"""What an answer may still search and read.

What is *allotted* to a call when it starts bounds the call; what is *settled*, in the order the calls were asked, is
what the line under each tool result says. So the line under a result does not depend on which of two searches came
back first.
"""

import attrs

from hostcall.data import Spent
from hostcall.limits import Limits


@attrs.define
class Budget:
    """The searches and pages of one answer."""

    limits: Limits
    searches: int = 0
    """Requests to the search service that were allotted."""
    pages: int = 0
    """Pages to which a connection was asked for."""
    _settled_searches: int = 0
    _settled_pages: int = 0

    @property
    def searches_left(self) -> int:
        """Searches that may still be made."""
        return max(self.limits.searches - self.searches, 0)

    @property
    def pages_left(self) -> int:
        """Pages that may still be opened."""
        return max(self.limits.pages - self.pages, 0)

    @property
    def spent(self) -> bool:
        """Whether no search is left, which ends the tool rounds."""
        return self.searches_left == 0

    def take_searches(self, wanted: int) -> int:
        """Allot up to `wanted` searches and return how many."""
        given = min(wanted, self.searches_left)
        self.searches += given
        return given

    def settle(self, searches: int, pages: int) -> None:
        """Note what a call used, in the order the calls were asked."""
        self._settled_searches += searches
        self._settled_pages += pages

    def line(self) -> str:
        """Return the line that ends every tool result of an answer with the web on."""
        return (
            f"Searches used {self._settled_searches} of {self.limits.searches}; "
            f"pages read {self._settled_pages} of {self.limits.pages}"
        )

    def summary(self) -> Spent:
        """Return what was used, for the result."""
        return Spent(
            searches=self.searches,
            searches_allowed=self.limits.searches,
            pages=self.pages,
            pages_allowed=self.limits.pages,
        )


@attrs.define
class PageShare:
    """The pages that one call may open, out of the budget: fixed when the calls of a round are known.

    Two crawls at once would else race for the last pages, and the ledger would depend on the network.
    """

    budget: Budget
    size: int
    used: int = 0

    def left(self) -> int:
        """Return how many pages may still be taken."""
        return self.size - self.used

    def take(self) -> bool:
        """Take one page if the share has one."""
        if self.used >= self.size:
            return False
        self.used += 1
        self.budget.pages += 1
        return True


def share_pages(left: int, crawls: int, most: int) -> list[int]:
    """Return the pages of each of `crawls` calls, in order: one page kept for each later one, at most `most` each."""
    shares = []
    for number in range(crawls):
        size = max(min(most, left - (crawls - number - 1)), min(left, 1))
        left -= size
        shares.append(size)
    return shares
