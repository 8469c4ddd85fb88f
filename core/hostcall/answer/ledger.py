"""The numbered sources of an answer.

A source gets its number when it is first seen, and the number never changes: an answer can cite [7] for a source that
was found two rounds ago. One number a canonical address: scheme, default port, fragment and tracking parameters do not
make another source; path, query and a leading ``www.`` do.
"""

from collections.abc import Iterable

import attrs

from hostcall.data import Source
from hostcall.limits import Limits
from hostcall.web.address import Address, parse_address

TRACKING = frozenset(
    {"fbclid", "gclid", "dclid", "msclkid", "yclid", "igshid", "mc_cid", "mc_eid", "ref_src", "_hsenc", "_hsmi"}
)


@attrs.define
class Ledger:
    """The sources of one answer, and the text of the pages that were read."""

    limits: Limits
    _sources: list[Source] = attrs.Factory(list)
    _numbers: dict[str, int] = attrs.Factory(dict)
    _texts: dict[int, str] = attrs.Factory(dict)
    _earlier: int = 0
    """Sources of an earlier answer."""

    @classmethod
    def of(cls, limits: Limits, earlier: Iterable[Source]) -> "Ledger":
        """Return a ledger that goes on from an earlier answer's: its numbers stand."""
        ledger = cls(limits)
        for source in earlier:
            ledger._sources.append(attrs.evolve(source, number=len(ledger._sources) + 1))
            number = len(ledger._sources)
            ledger._numbers.setdefault(ledger.key(source.address), number)
            if source.final_address:
                ledger._numbers.setdefault(ledger.key(source.final_address), number)
        ledger._earlier = len(ledger._sources)
        return ledger

    @property
    def sources(self) -> tuple[Source, ...]:
        """All sources, in the order of their numbers."""
        return tuple(self._sources)

    @property
    def unread(self) -> list[str]:
        """The addresses of this answer's own sources, while none of them is read."""
        own = self._sources[self._earlier :]
        return [] if any(source.grade == "read" for source in own) else [source.address for source in own]

    def found(self, address: str, title: str, published: str = "") -> int:
        """Number a source that a search showed, and return its number."""
        key = self.key(address)
        number = self._numbers.get(key)
        if number is None:
            number = self._add(key, Source(number=0, address=self.canonical(address), title=title, published=published))
        return number

    def read(self, asked: str, final: str, title: str, text: str) -> int:
        """Number a source that was read as a page, and return its number. `final` is an alias of `asked`."""
        key = self.key(asked)
        number = self._numbers.get(key)
        if number is None:
            number = self._add(key, Source(number=0, address=self.canonical(asked), title=title))
        old = self._sources[number - 1]
        alias = final if self.key(final) != key else ""
        if alias:
            self._numbers.setdefault(self.key(alias), number)
        self._sources[number - 1] = attrs.evolve(
            old, grade="read", title=title or old.title, final_address=alias or old.final_address
        )
        self._texts[number] = text
        return number

    def number_of(self, address: str) -> int | None:
        """Return the number of an address, or None when it has none."""
        return self._numbers.get(self.key(address))

    @property
    def texts(self) -> tuple[tuple[int, str], ...]:
        """The texts of all pages read, by number."""
        return tuple(sorted(self._texts.items()))

    def canonical(self, address: str) -> str:
        """Return the address as it is listed: canonical where it can be read, as it is where not."""
        parsed = parse_address(address, self.limits)
        return _without_tracking(parsed) if isinstance(parsed, Address) else address

    def key(self, address: str) -> str:
        """Return what makes two addresses the same source."""
        return self.canonical(address)

    def _add(self, key: str, source: Source) -> int:
        number = len(self._sources) + 1
        self._sources.append(attrs.evolve(source, number=number))
        self._numbers[key] = number
        return number


def _without_tracking(address: Address) -> str:
    path, mark, query = address.target.partition("?")
    if mark:
        kept = [part for part in query.split("&") if not _is_tracking(part)]
        path = f"{path}?{'&'.join(kept)}" if kept else path
    return f"https://{address.authority}{path}"


def _is_tracking(part: str) -> bool:
    name = part.partition("=")[0].lower()
    return name.startswith("utm_") or name in TRACKING
