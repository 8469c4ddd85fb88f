"""Threads for what blocks and cannot be stopped: it is left behind, and a bounded number of threads with it.

A thread stays for a while after its work and takes the next. On a busy machine a new thread waits for its first turn
longer than most lookups take. All are daemons: a lookup that never returns does not keep the process, as one in the
pools of the standard library does.
"""

import queue
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

import attrs

Tell: TypeAlias = Callable[[Any, Exception | None], None]
"""Takes what came of the work, in its thread: a value, or what was raised."""
_IDLE_SECONDS = 5.0


@attrs.define(eq=False)
class Job:
    """One piece of work."""

    work: Callable[[], Any]
    tell: Tell
    given_up: bool = False
    """Nobody waits for it any more. Where it has not begun it need not, and nothing is told."""


class Threads:
    """Does work in threads.

    Args:
        name: Of each thread.
        most: Threads at once. When all hang, further work waits for one, as far as its deadline lets it.
    """

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._most = most
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._idle = 0
        """Threads without work, less those for which some is on its way."""
        self._waiting = 0
        """Jobs without a thread."""

    def start(self, work: Callable[[], Any], tell: Tell) -> Job:
        """Begin some work."""
        job = Job(work, tell)
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
            threading.Thread(target=self._work, name=self._name, daemon=True).start()
        self._jobs.put(job)
        return job

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
                job = self._jobs.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                with self._lock:
                    if not self._idle:
                        continue  # something is on its way
                    self._idle -= 1
                    self._threads -= 1
                return
            if job is None:
                return
            value, fault = (None, None) if job.given_up else _done(job.work)
            with self._lock:
                # Before it is told: who gets it may ask for the next one at once.
                if self._waiting:
                    self._waiting -= 1
                else:
                    self._idle += 1
            if not job.given_up:
                job.tell(value, fault)
            # An idle thread holds nothing of what it did.
            del job, value, fault


def _done(work: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return work(), None
    except Exception as error:  # noqa: BLE001 - it is raised again where the value is waited for
        return None, error
