"""Whether the services behind this one answer, looked at no more often than clients should make it."""

from typing import Any

import trio

from hostcall_drivers.chat.models import AWAY_SECONDS, FRESH_SECONDS, Models
from hostcall_drivers.checks import UnreachableError, check_search
from hostcall_drivers.trio import TrioDriver

AWAY = "away"
OK = "ok"


class Health:
    """What ``/healthz`` says. It names no address: those are for the log."""

    def __init__(self, driver: TrioDriver, models: Models) -> None:
        self._driver = driver
        self._models = models
        self._looking = trio.Lock()
        self._search = OK
        self._until = float("-inf")
        self.ending = False
        """Set when the service is about to end: a balancer should send nobody here any more."""

    async def look(self) -> tuple[int, dict[str, Any]]:
        """Return the status and the body: 503 when no engine answers, or the service is about to end."""
        engines = {name: AWAY if failure else OK for name, failure in (await self._models.health()).items()}
        search = await self._search_health()
        up = OK in engines.values() and not self.ending
        well = up and AWAY not in engines.values() and search != AWAY
        status = "ending" if self.ending else "ok" if well else "degraded" if up else AWAY
        return 200 if up else 503, {"status": status, "engines": engines, "search": search}

    async def _search_health(self) -> str:
        if self._driver.search is None:
            return "none"
        async with self._looking:
            if trio.current_time() >= self._until:
                try:
                    await check_search(self._driver)
                    self._search = OK
                except UnreachableError:
                    self._search = AWAY
                fresh = FRESH_SECONDS if self._search == OK else AWAY_SECONDS
                self._until = trio.current_time() + fresh
        return self._search
