"""Several addresses of one name, connected to in a race (RFC 8305 §5): the twin of what async drivers do with tasks.

A new attempt begins when the last one has had its head start, or has failed. So an address that nobody answers at costs
a quarter of a second, and not the time that one attempt may take.
"""

import select
import socket
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import attrs

from hostcall_drivers.sockets import finish_connecting


@attrs.define(eq=False)
class _Attempt:
    ip: str
    sock: socket.socket
    ends: float
    """When it has taken too long."""
    decided: bool = False
    """It stands or has failed; the socket says which."""


class Race:
    """One race.

    Args:
        begin: Takes an address and returns a socket on its way there.
        remaining: Takes the longest time of an attempt and returns how much of it the request in hand has left.
        waiting_on: Lets another thread end a wait for sockets.
    """

    def __init__(
        self,
        begin: Callable[[str], socket.socket],
        remaining: Callable[[float], float],
        waiting_on: Callable[..., AbstractContextManager[None]],
    ) -> None:
        self._begin = begin
        self._remaining = remaining
        self._waiting_on = waiting_on
        self._open: list[_Attempt] = []
        self._error: OSError = OSError("there is no address to connect to")

    def winner(self, ips: Sequence[str], timeout: float, stagger: float) -> tuple[str, socket.socket]:
        """Return the first connection to stand, and its address. All others are closed.

        Raises:
            OSError: None does; what the last of them met.
        """
        left = deque(ips)
        next_at = 0.0
        try:
            while left or self._open:
                now = time.monotonic()
                if left and (now >= next_at or not self._open):
                    next_at = now + stagger if self._began(left.popleft(), timeout) else 0.0
                    continue
                for attempt in self._ended(min([attempt.ends for attempt in self._open] + [next_at] * bool(left))):
                    if self._stands(attempt):
                        return attempt.ip, attempt.sock
                    next_at = 0.0
        finally:
            for attempt in self._open:
                attempt.sock.close()
        raise self._error

    def _began(self, ip: str, timeout: float) -> bool:
        ends = time.monotonic() + self._remaining(timeout)
        try:
            self._open.append(_Attempt(ip, self._begin(ip), ends))
        except OSError as error:
            self._error = error
            return False
        return True

    def _ended(self, until: float) -> list[_Attempt]:
        """Wait until some attempt is decided or out of time, or `until`, and return those that are."""
        poll = select.poll()
        for attempt in self._open:
            poll.register(attempt.sock, select.POLLOUT)
        with self._waiting_on(*(attempt.sock for attempt in self._open)):
            numbers = {number for number, _ in poll.poll(max(until - time.monotonic(), 0.0) * 1000)}
        now = time.monotonic()
        for attempt in self._open:
            attempt.decided = attempt.sock.fileno() in numbers
        return [attempt for attempt in self._open if attempt.decided or now >= attempt.ends]

    def _stands(self, attempt: _Attempt) -> bool:
        """Take an attempt out of the race, and say whether it won."""
        self._open.remove(attempt)
        try:
            if not attempt.decided:
                raise TimeoutError("no connection in time")
            finish_connecting(attempt.sock)
        except OSError as error:
            attempt.sock.close()
            self._error = error
            return False
        return True
