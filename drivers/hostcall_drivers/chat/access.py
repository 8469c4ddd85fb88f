"""Who may ask, and how much: keys, answers at once, answers a minute. Pure; the clock is passed in."""

import hashlib
import hmac
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import attrs

from hostcall.errors import SettingsError
from hostcall_drivers.chat.faults import ApiError

ANYONE = "anyone"
"""Who asks where there are no keys."""

MIN_KEY_CHARS = 16
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


class Keys:
    """The keys that are taken, each with a name.

    Args:
        keys: Name to key; empty lets anyone in.

    Raises:
        SettingsError: A key is too short to be safe from guessing, cannot be sent, or stands twice.

    Security:
        Rule 7, nothing of the user's goes out. Threat: a key that a log, a tool or a longer comparison gives away. Only
        digests are kept, each is compared in constant time, and all are compared whichever fits.
    """

    def __init__(self, keys: Mapping[str, str]) -> None:
        self._digests: dict[str, bytes] = {}
        for name, key in keys.items():
            if len(key) < MIN_KEY_CHARS or not (key.isascii() and key.isprintable()) or " " in key:
                raise SettingsError(f"keys.{name} must be at least {MIN_KEY_CHARS} visible ASCII characters")
            digest = _digest(key)
            if digest in self._digests.values():
                raise SettingsError(f"keys.{name} is the key of another name too")
            self._digests[name] = digest

    def __bool__(self) -> bool:
        return bool(self._digests)

    def name_of(self, authorization: str | None) -> str:
        """Return the name of who sent an Authorization field.

        Raises:
            ApiError: 401, when there are keys and the field has none of them.
        """
        if not self._digests:
            return ANYONE
        scheme, _, key = (authorization or "").partition(" ")
        given = _digest(key.strip())
        found = ""
        for name, digest in self._digests.items():
            if hmac.compare_digest(digest, given):
                found = name
        if not found or scheme.lower() != "bearer":
            raise ApiError(401, "a key is needed: send it as Authorization: Bearer KEY")
        return found


def check_local(host: str | None, origin: str | None) -> None:
    """Check that a request without a key comes from a program or a page of this machine.

    A page in the operator's browser could else post to the loopback, under its own name or, with a name that leads to
    the loopback, under the service's.

    Raises:
        ApiError: 403.
    """
    if _name(host or "") not in LOOPBACK_NAMES:
        raise ApiError(403, "without a key only localhost, 127.0.0.1 and [::1] are answered")
    if origin is not None and origin.partition("://")[2].lower() != (host or "").lower():
        raise ApiError(403, "without a key a page of another origin is not answered")


@attrs.define
class _Share:
    """What one name has used."""

    running: int = 0
    tokens: float = 0.0
    since: float = 0.0


@attrs.define(kw_only=True)
class Gate:
    """How many answers may run, by name and in all, and how many may start a minute."""

    answers: int
    answers_a_key: int
    answers_a_minute: int
    running: int = 0
    _shares: dict[str, _Share] = attrs.Factory(dict)

    @contextmanager
    def entered(self, name: str, now: float) -> Iterator[None]:
        """Count an answer of `name` while the block runs.

        Raises:
            ApiError: 429 or 503, with the time to wait.
        """
        share = self._shares.get(name)
        if share is None:
            share = self._shares[name] = _Share(tokens=float(self.answers_a_minute), since=now)
        rate = self.answers_a_minute / 60.0
        share.tokens = min(float(self.answers_a_minute), share.tokens + (now - share.since) * rate)
        share.since = now
        if share.tokens < 1.0:
            wait = (1.0 - share.tokens) / rate
            raise ApiError(429, f"at most {self.answers_a_minute} answers a minute", retry_after=wait)
        if share.running >= self.answers_a_key:
            raise ApiError(429, f"at most {self.answers_a_key} answers at once with one key", retry_after=5)
        if self.running >= self.answers:
            raise ApiError(503, "the service is busy; try again later", code="busy", retry_after=5)
        share.tokens -= 1.0
        share.running += 1
        self.running += 1
        try:
            yield
        finally:
            share.running -= 1
            self.running -= 1


def only_this_machine(host: str) -> bool:
    """Say whether a service that binds to `host` is reached from this machine alone."""
    parts = host.split(".")
    return host in LOOPBACK_NAMES or (len(parts) == 4 and parts[0] == "127" and all(map(str.isdecimal, parts)))


def _name(host: str) -> str:
    """Return the name in a Host field, without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
