"""Lookups in threads: kept, bounded, left behind."""

import queue
import socket
import threading
from collections.abc import Sequence

import pytest

from hostcall.answer.reading import Reading
from hostcall_drivers.lookups import Lookup, Lookups
from tests.drivers.driving import carry_out, threads


def got(lookup: Lookup) -> object:
    return lookup.answers.get(timeout=10)


def test_a_thread_takes_the_next_lookup_too() -> None:
    seen: list[int] = []

    def resolver(host: str) -> Sequence[str]:
        seen.append(threading.get_ident())
        return [host]

    lookups = Lookups(resolver)
    assert [got(lookups.start(host)) for host in ("a", "b", "c")] == [["a"], ["b"], ["c"]]
    assert len(set(seen)) == 1
    lookups.close()


def test_what_a_resolver_raises_is_an_answer() -> None:
    def resolver(host: str) -> Sequence[str]:
        raise socket.gaierror(socket.EAI_NONAME, host)

    lookups = Lookups(resolver)
    assert isinstance(got(lookups.start("a")), socket.gaierror)
    assert isinstance(got(lookups.start("b")), socket.gaierror)
    lookups.close()


def test_lookups_that_hang_hold_a_bounded_number_of_threads_and_no_other_lookup() -> None:
    release = threading.Event()
    begun: list[str] = []

    def resolver(host: str) -> Sequence[str]:
        begun.append(host)
        if host.startswith("stuck"):
            release.wait(10)
        return [host]

    lookups = Lookups(resolver, most=3)
    stuck = [lookups.start(f"stuck {number}") for number in range(2)]
    assert got(lookups.start("free")) == ["free"]
    stuck += [lookups.start(f"stuck {number}") for number in range(2, 6)]
    waiting, given_up = lookups.start("waiting"), lookups.start("given up")
    given_up.given_up = True
    with pytest.raises(queue.Empty):
        waiting.answers.get(timeout=0.1)
    assert threads().count("lookup") == 3
    assert len(begun) == 4
    release.set()
    assert got(waiting) == ["waiting"]
    assert got(given_up) == ()
    assert [got(lookup) for lookup in stuck] == [[f"stuck {number}"] for number in range(6)]
    assert "given up" not in begun
    lookups.close()


def test_no_thread_is_left_when_the_lookups_are_closed() -> None:
    lookups = Lookups(lambda host: [host])
    assert got(lookups.start("a")) == ["a"]
    (worker,) = (thread for thread in threading.enumerate() if thread.name == "lookup")
    lookups.close()
    worker.join(10)
    assert not worker.is_alive()
    assert got(lookups.start("b")) == ["b"]
    lookups.close()


def test_a_resolver_with_a_fault_of_its_own_is_heard_of() -> None:
    def resolver(host: str) -> Sequence[str]:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        carry_out("sync", Reading("https://docs.example.org/"), names=resolver)
