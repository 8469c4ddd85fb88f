"""The networks: what a connection tells of itself when its other end is gone."""

import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hostcall_drivers.sync_network import SyncNetwork
from tests.drivers.onloop import ALL, On

SECONDS = 10.0
"""How long a reset may take to arrive."""


@contextmanager
def resetting() -> Iterator[tuple[int, threading.Event]]:
    """Accept one connection, and reset it when the event is set."""
    reset = threading.Event()

    def serve() -> None:
        connection, _ = listener.accept()
        reset.wait(SECONDS)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()[1], reset
        finally:
            reset.set()
            thread.join()


def test_a_connection_that_was_reset_has_no_other_end_and_says_so_without_raising() -> None:
    """An engine that answers, ends and resets may be gone before it is asked for its address."""
    with resetting() as (port, reset):
        stream = SyncNetwork().connect_tcp("127.0.0.1", port, timeout=5)
        assert stream.get_extra_info("server_addr") == ("127.0.0.1", port)
        reset.set()
        end = time.monotonic() + SECONDS
        while stream.get_extra_info("server_addr") is not None and time.monotonic() < end:
            time.sleep(0.01)
        assert stream.get_extra_info("server_addr") is None
        stream.close()


@pytest.mark.parametrize("on", ALL, ids=lambda on: on.name)
def test_the_same_on_a_loop(on: On) -> None:
    async def main(port: int, reset: threading.Event) -> None:
        stream = await on.network().connect_tcp("127.0.0.1", port, timeout=5)
        assert stream.get_extra_info("server_addr") == ("127.0.0.1", port)
        reset.set()
        await on.until(lambda: stream.get_extra_info("server_addr") is None, SECONDS)
        await stream.aclose()

    with resetting() as (port, reset):
        on.run(main, port, reset)
