"""The two networks: what a connection tells of itself when its other end is gone."""

import socket
import struct
import threading

import trio

from hostcall_drivers.sync_network import SyncNetwork
from hostcall_drivers.trio_network import TrioNetwork


def reset_at_once(listener: socket.socket) -> threading.Thread:
    """Accept one connection and reset it."""

    def serve() -> None:
        connection, _ = listener.accept()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


def test_a_connection_that_was_reset_has_no_other_end_and_says_so_without_raising() -> None:
    """An engine that answers, ends and resets may be gone before it is asked for its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = reset_at_once(listener)
        stream = SyncNetwork().connect_tcp("127.0.0.1", listener.getsockname()[1], timeout=5)
        thread.join()
        assert stream.get_extra_info("server_addr") is None
        stream.close()


async def test_the_same_on_trio() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = reset_at_once(listener)
        stream = await TrioNetwork().connect_tcp("127.0.0.1", listener.getsockname()[1], timeout=5)
        await trio.to_thread.run_sync(thread.join)
        assert stream.get_extra_info("server_addr") is None
        await stream.aclose()
