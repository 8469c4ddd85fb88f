"""What blocks, in threads: kept, bounded, left behind."""

import gc
import queue
import socket
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from hostcall.answer.reading import Reading
from hostcall_drivers.threads import Job, Threads
from tests.drivers.driving import carry_out, threads


@attrs.define
class Started:
    """Work that was begun, and what came of it."""

    answers: "queue.SimpleQueue[Any]"
    job: Job

    @property
    def got(self) -> Any:
        return self.answers.get(timeout=10)


def start(pool: Threads, work: Callable[[], Any]) -> Started:
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
    return Started(answers, pool.start(work, lambda value, error: answers.put(error or value)))


def test_a_thread_takes_the_next_work_too() -> None:
    pool = Threads("pool", 16)
    assert len({start(pool, threading.get_ident).got for _ in range(3)}) == 1
    pool.close()


def test_what_is_raised_is_told() -> None:
    def fails() -> None:
        raise socket.gaierror(socket.EAI_NONAME, "a")

    pool = Threads("pool", 16)
    assert isinstance(start(pool, fails).got, socket.gaierror)
    assert isinstance(start(pool, fails).got, socket.gaierror)
    pool.close()


def test_what_hangs_holds_a_bounded_number_of_threads_and_no_other_work() -> None:
    release = threading.Event()
    begun: list[str] = []

    def work(name: str) -> Callable[[], str]:
        def do() -> str:
            begun.append(name)
            if name.startswith("stuck"):
                release.wait(10)
            return name

        return do

    pool = Threads("pool", 3)
    stuck = [start(pool, work(f"stuck {number}")) for number in range(2)]
    assert start(pool, work("free")).got == "free"
    stuck += [start(pool, work(f"stuck {number}")) for number in range(2, 6)]
    waiting, given_up = start(pool, work("waiting")), start(pool, work("given up"))
    given_up.job.given_up = True
    last = start(pool, work("last"))
    with pytest.raises(queue.Empty):
        waiting.answers.get(timeout=0.1)
    assert threads().count("pool") == 3
    assert len(begun) == 4
    release.set()
    assert waiting.got == "waiting"
    assert [one.got for one in stuck] == [f"stuck {number}" for number in range(6)]
    assert last.got == "last"
    assert "given up" not in begun
    with pytest.raises(queue.Empty):
        given_up.answers.get(block=False)
    pool.close()


def test_no_thread_is_left_when_the_pool_is_closed() -> None:
    pool = Threads("pool", 16)
    assert start(pool, lambda: "a").got == "a"
    (worker,) = (thread for thread in threading.enumerate() if thread.name == "pool")
    pool.close()
    worker.join(10)
    assert not worker.is_alive()
    assert start(pool, lambda: "b").got == "b"
    pool.close()


class Held:
    """Something large."""


def test_an_idle_thread_holds_nothing_of_what_it_did() -> None:
    pool, held = Threads("pool", 1), Held()
    seen = weakref.ref(held)
    assert start(pool, lambda held=held: held is not None).got is True  # type: ignore[misc]  # bound at once
    del held
    end = time.monotonic() + 4
    while seen() is not None and time.monotonic() < end:
        gc.collect()
        time.sleep(0.01)
    assert seen() is None
    pool.close()


def test_a_resolver_with_a_fault_of_its_own_is_heard_of() -> None:
    def resolver(host: str) -> list[str]:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        carry_out("sync", Reading("https://docs.example.org/"), names=resolver)
    for kind in ("trio", "asyncio"):
        with pytest.RaisesGroup(pytest.RaisesExc(ZeroDivisionError, match="mine")):
            carry_out(kind, Reading("https://docs.example.org/"), names=resolver)
