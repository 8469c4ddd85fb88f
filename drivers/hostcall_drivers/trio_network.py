"""The network under the trio driver."""

import socket

import trio

from hostcall_drivers.async_network import AsyncNetwork, AsyncStream
from hostcall_drivers.trio_loop import LOOP


class TrioStream(AsyncStream):
    """One connection."""

    loop = LOOP


class TrioNetwork(AsyncNetwork):
    """The real network."""

    loop = LOOP
    stream = TrioStream

    async def _connect_named(self, host: str, port: int) -> AsyncStream:
        stream = await trio.open_tcp_stream(host, port)
        sock = socket.socket(fileno=stream.socket.detach())
        sock.setblocking(False)
        return self.stream(sock)
