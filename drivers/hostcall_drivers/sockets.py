"""What both networks do with a socket that does not block: begin to connect, look how that went, look what waits.

Only numbers are connected to here. A name would be looked up again, past the check of its addresses.
"""

import errno
import os
import select
import socket

_UNDER_WAY = frozenset({0, errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EAGAIN})


def is_number(host: str) -> bool:
    """Say whether `host` is an IP address rather than a name."""
    return _family(host) is not None


def start_connecting(ip: str, port: int) -> socket.socket:
    """Return a socket that is on its way to an address. `finish_connecting` tells how it went once it is writable.

    Raises:
        OSError: There is no way there.
    """
    family = _family(ip)
    if family is None:
        raise OSError(errno.EINVAL, f"{ip!r} is no IP address")
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _check(sock.connect_ex((ip, port)), _UNDER_WAY)
    except BaseException:
        sock.close()
        raise
    return sock


def finish_connecting(sock: socket.socket) -> None:
    """Say how a connection went.

    Raises:
        OSError: It does not stand.
    """
    _check(sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR), frozenset({0}))


def is_readable(sock: socket.socket) -> bool:
    """Say whether something has come, be it only the end."""
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))


def _family(host: str) -> socket.AddressFamily | None:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except (OSError, ValueError):
            continue
        return family
    return None


def _check(code: int, fine: frozenset[int]) -> None:
    if code not in fine:
        raise OSError(code, os.strerror(code))
