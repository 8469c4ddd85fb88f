"""Networks that know a few addresses and lead them to the loopback, for the demo and the tests.

The address check stands before them and stays on: only what passed it reaches a network at all. What they do not know
they refuse, so a mistake in a map never leads outside.
"""

import socket
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import httpcore

from hostcall_drivers.async_network import AsyncStream
from hostcall_drivers.asyncio_network import AsyncioNetwork, AsyncioStream
from hostcall_drivers.sync_network import SyncNetwork, SyncStream
from hostcall_drivers.trio_network import TrioNetwork, TrioStream

AddressMap: TypeAlias = Callable[[str, int], tuple[str, int]]
"""Public address and port to loopback address and port; a KeyError for what is not known."""

LOOPBACK = frozenset({"127.0.0.1", "::1"})


def led(map_address: AddressMap, host: str, port: int) -> tuple[str, int]:
    """Return where an address is led.

    Raises:
        httpcore.ConnectError: It is not known, or would be led anywhere but to the loopback.
    """
    try:
        ip, to = map_address(host, port)
    except KeyError as error:
        raise httpcore.ConnectError(f"the mapping network does not know {host} port {port}") from error
    if ip not in LOOPBACK:
        raise httpcore.ConnectError(f"the mapping network does not leave the loopback for {ip}")
    return ip, to


class _Shown:
    """Of a stream: shows the address asked for as its other end."""

    peer: tuple[str, int] = ("", 0)

    def get_extra_info(self, info: str) -> Any:
        """Return the address asked for as `server_addr`."""
        return self.peer if info == "server_addr" else super().get_extra_info(info)  # type: ignore[misc]  # a stream's


class MappedTrioStream(_Shown, TrioStream):
    """A connection that shows the address asked for as its other end."""


class MappedTrioNetwork(TrioNetwork):
    """The mapping network for trio. `calls` has every address that was asked for."""

    def __init__(self, map_address: AddressMap) -> None:
        self.calls: list[tuple[str, int]] = []
        self._map = map_address

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> AsyncStream:
        """Connect to where the address is led."""
        self.calls.append((host, port))
        ip, to = led(self._map, host, port)
        stream = MappedTrioStream((await super().connect_tcp(ip, to, timeout)).sock)
        stream.peer = (host, port)
        return stream


class MappedAsyncioStream(_Shown, AsyncioStream):
    """A connection that shows the address asked for as its other end."""


class MappedAsyncioNetwork(AsyncioNetwork):
    """The mapping network for asyncio. `calls` has every address that was asked for."""

    def __init__(self, map_address: AddressMap) -> None:
        super().__init__()
        self.calls: list[tuple[str, int]] = []
        self._map = map_address

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> AsyncStream:
        """Connect to where the address is led."""
        self.calls.append((host, port))
        ip, to = led(self._map, host, port)
        stream = MappedAsyncioStream((await super().connect_tcp(ip, to, timeout)).sock)
        stream.peer = (host, port)
        return stream


class MappedSyncStream(_Shown, SyncStream):
    """A connection that shows the address asked for as its other end."""


class MappedSyncNetwork(SyncNetwork):
    """The mapping network for blocking sockets. `calls` has every address that was asked for."""

    def __init__(self, map_address: AddressMap) -> None:
        super().__init__()
        self.calls: list[tuple[str, int]] = []
        self._map = map_address

    def start_connecting(self, ip: str, port: int) -> socket.socket:
        """Begin to connect to where the address is led."""
        self.calls.append((ip, port))
        try:
            return super().start_connecting(*led(self._map, ip, port))
        except httpcore.ConnectError as error:
            raise OSError(str(error)) from error

    def connected(self, ip: str, sock: socket.socket, port: int) -> SyncStream:
        """Return a stream that shows the address asked for."""
        stream = MappedSyncStream(sock, self)
        stream.peer = (ip, port)
        return stream
