"""The one shape of everything that decides, and the book of which requests are open.

A machine is told what happened and says what to do next. A parent machine owns its children, hands each event to the
child whose request it answers, and learns the ids of its children's requests as their commands pass up through it.

::

    Answer ─ Round
           └ Search · Crawl ─ Fetch
"""

from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar

import attrs

from hostcall.commands import Cancel, Command, is_request
from hostcall.errors import LocalProtocolError
from hostcall.events import RequestEvent

ResultT_co = TypeVar("ResultT_co", covariant=True)
Owner = TypeVar("Owner")


class Machine(Protocol[ResultT_co]):
    """What every machine has. `result` is None until it is done."""

    @property
    def result(self) -> ResultT_co | None: ...
    def start(self, now: float) -> list[Command]: ...
    def receive(self, event: RequestEvent, now: float) -> list[Command]: ...


@attrs.define
class Live(Generic[Owner]):
    """Which requests are open, and who asked.

    An id is issued once. An event for an id that is no longer live crossed with a `Cancel` and is dropped by the
    caller; an event for an id that was never issued is the driver's mistake.
    """

    _owners: dict[str, Owner] = attrs.Factory(dict)
    _ends: dict[str, tuple[type, ...]] = attrs.Factory(dict)
    _issued: set[str] = attrs.Factory(set)

    def track(self, commands: Iterable[Command], owner: Owner) -> list[Command]:
        """Note which ids `commands` open and close for `owner`, and hand them on."""
        passed = commands if isinstance(commands, list) else list(commands)
        for command in passed:
            if type(command) is Cancel:
                self._close(command.id)
            elif is_request(command):
                if command.id in self._issued:
                    raise AssertionError(f"ids are never reused, and {command.id} was")
                self._issued.add(command.id)
                self._owners[command.id] = owner
                self._ends[command.id] = command.ends
        return passed

    def owner(self, event: RequestEvent) -> Owner | None:
        """Return who waits for `event`, closing its request when the event is a last one; None when it is stale.

        Raises:
            LocalProtocolError: No request ever had this id.
        """
        owner = self._owners.get(event.id)
        if owner is None:
            if event.id not in self._issued:
                raise LocalProtocolError(f"{type(event).__name__} for {event.id!r}, but no request has that id")
            return None
        if isinstance(event, self._ends[event.id]):
            self._close(event.id)
        return owner

    def cancel(self, owner: Owner | None = None) -> list[Command]:
        """Close every open request (of `owner`, if given) and return the commands that stop them."""
        ids = [id_ for id_, who in self._owners.items() if owner is None or who is owner]
        for id_ in ids:
            self._close(id_)
        return [Cancel(id_) for id_ in ids]

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all open requests, oldest first."""
        return tuple(self._owners)

    def __len__(self) -> int:
        return len(self._owners)

    def _close(self, id_: str) -> None:
        self._owners.pop(id_, None)
        self._ends.pop(id_, None)


@attrs.define
class Slots:
    """How many requests may be open at once beside the engine's, and how many of them at one site.

    A slot is taken before a piece of work starts, not when its command is sent: deadlines are absolute and run from
    the start, so work must not wait in a line that its own deadline can see.
    """

    size: int
    a_site: int
    """Slots that may be at one site, whoever holds them: two crawls of a site are as many visitors as one to it."""
    _taken: int = 0
    _sites: dict[str, int] = attrs.Factory(dict)

    def take(self, site: str | None = None) -> bool:
        """Take a slot if there is one, and room at `site` if the work is done at one."""
        if self._taken >= self.size or not self._enter(site):
            return False
        self._taken += 1
        return True

    def move(self, site: str | None, to: str) -> bool:
        """Leave `site` with a slot that was taken. Return whether there is room for it at `to`, and take that."""
        self._leave(site)
        return self._enter(to)

    def free(self, site: str | None = None) -> None:
        """Give a slot back, and the room at `site`."""
        if self._taken <= 0:
            raise AssertionError("a slot was given back that nobody took")
        self._taken -= 1
        self._leave(site)

    def _enter(self, site: str | None) -> bool:
        if site is None:
            return True
        if self._sites.get(site, 0) >= self.a_site:
            return False
        self._sites[site] = self._sites.get(site, 0) + 1
        return True

    def _leave(self, site: str | None) -> None:
        if site is None:
            return
        if not self._sites.get(site):
            raise AssertionError("a site was left where nobody was")
        self._sites[site] -= 1
