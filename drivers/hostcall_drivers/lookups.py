"""Lookups in threads: what blocks and cannot be stopped is left behind, and a bounded number of threads with it.

A thread stays for a while after its lookup and takes the next one. On a busy machine a new thread waits for its first
turn longer than most lookups take. All are daemons: a lookup that never returns does not keep the process.
"""

import queue
import threading
from collections.abc import Callable, Sequence
from typing import TypeAlias

import attrs

from hostcall_drivers.common import LOOKUPS

Answer: TypeAlias = Sequence[str] | Exception
_IDLE_SECONDS = 5.0


@attrs.define(eq=False)
class Lookup:
    """One lookup; what came of it is put into `answers`."""

    host: str
    answers: "queue.SimpleQueue[Answer]" = attrs.field(factory=queue.SimpleQueue)
    given_up: bool = False
    """Nobody waits for the answer any more. One that has not begun need not."""


class Lookups:
    """Looks names up in threads.

    Args:
        resolver: Name to addresses; blocks.
        most: Threads at once. When all hang, further lookups wait for one, as far as their deadlines let them.
    """

    def __init__(self, resolver: Callable[[str], Sequence[str]], most: int = LOOKUPS) -> None:
        self._resolver = resolver
        self._most = most
        self._jobs: queue.SimpleQueue[Lookup | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._idle = 0
        """Threads without a lookup, less those for which one is on its way."""
        self._waiting = 0
        """Lookups without a thread."""

    def start(self, host: str) -> Lookup:
        """Begin a lookup."""
        lookup = Lookup(host)
        begin = False
        with self._lock:
            if self._idle:
                self._idle -= 1
            elif self._threads < self._most:
                self._threads += 1
                begin = True
            else:
                self._waiting += 1
        if begin:
            threading.Thread(target=self._work, name="lookup", daemon=True).start()
        self._jobs.put(lookup)
        return lookup

    def close(self) -> None:
        """Let the threads go that have nothing to do; the others follow when they are done and nothing comes."""
        with self._lock:
            gone, self._idle = self._idle, 0
            self._threads -= gone
        for _ in range(gone):
            self._jobs.put(None)

    def _work(self) -> None:
        while True:
            try:
                lookup = self._jobs.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    if not self._idle:
                        continue  # something is on its way
                    self._idle -= 1
                    self._threads -= 1
                return
            if lookup is None:
                return
            answer: Answer = ()
            if not lookup.given_up:
                try:
                    answer = self._resolver(lookup.host)
                except Exception as error:  # noqa: BLE001 - it is raised again where the answer is waited for
                    answer = error
            with self._lock:
                # Before the answer is told: who gets it may ask for the next one at once.
                if self._waiting:
                    self._waiting -= 1
                else:
                    self._idle += 1
            lookup.answers.put(answer)
