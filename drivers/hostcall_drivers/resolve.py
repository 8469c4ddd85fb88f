"""Names to addresses, and the machine's own networks.

A lookup goes through the system's resolver, so that split DNS and the local cache count as they do for every other
program. `getaddrinfo` cannot be cancelled: a driver calls `look_up` in a thread that it can leave behind.
"""

import errno
import ipaddress
import socket
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

from hostcall.events import FailureKind

_PORT = 443
_NO_SUCH_NAME = frozenset(
    getattr(socket, name) for name in ("EAI_NONAME", "EAI_NODATA", "EAI_ADDRFAMILY") if hasattr(socket, name)
)
_DELEGATED = 56
"""The prefix of a site's delegated IPv6 network (RFC 6177): the machine's neighbours have global addresses in it."""
_WIDEST_V4 = 8
"""An interface whose network is wider than this is a tunnel that takes in everything, and no neighbourhood."""
_PROC = Path("/proc/net")
_SIOCGIFADDR, _SIOCGIFNETMASK = 0x8915, 0x891B


def look_up(host: str) -> tuple[str, ...]:
    """Return all addresses of a canonical name, both families, each once, in the order of the system's resolver.

    Security:
        Rule 3, one lookup, one connection. Threat: a name completed from the machine's search list, so that
        ``example.org`` is looked up as ``example.org.corp.example``; and addresses in a form that hides what is inside.
        The dot at the end keeps the search list out (and with glibc the hosts file too), and mapped addresses
        (``AI_V4MAPPED``) are not asked for. Answers with a scope id come back as they are, for the core to refuse.

    Raises:
        OSError: The lookup failed; `failure_kind` says how.
    """
    if not host.isascii():
        raise socket.gaierror(socket.EAI_NONAME, "not a canonical name")
    # As bytes: a text would go through Python's codec for IDNA 2003, which makes another owner's name of some.
    infos = socket.getaddrinfo(f"{host}.".encode("ascii"), _PORT, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return tuple(dict.fromkeys(str(info[4][0]) for info in infos))


def failure_kind(error: OSError) -> FailureKind:
    """Return what a lookup that raised `error` means: the name has no address, or nobody knows just now."""
    if isinstance(error, socket.gaierror) and error.errno in _NO_SUCH_NAME:
        return "not_found"
    return "timeout" if isinstance(error, TimeoutError) or error.errno == errno.ETIMEDOUT else "lookup"


def own_networks(proc: Path = _PROC) -> tuple[str, ...]:
    """Return the networks of this machine's interfaces in CIDR form, each once.

    Every address of the machine, the network of each IPv4 interface, and the delegated network around each global IPv6
    address: devices at home have addresses there that a page would otherwise reach from inside. Read from the kernel's
    tables where there are any, and else from the addresses that the system would send from; no packet is sent.

    Security:
        Rule 2, public addresses only. Threat: the machine's own public address and its neighbours, which are reached
        past the router's firewall because the request comes from within.
    """
    found = [
        *_v4_of_interfaces(),
        *_v4_of_routes(proc / "fib_trie"),
        *_v6_of_interfaces(proc / "if_inet6"),
        *_sources(),
    ]
    return tuple(dict.fromkeys(text for address, length in found for text in _networks(address, length)))


def _networks(address: str, length: int) -> Iterator[str]:
    """Yield the address itself and the network around it, where that is a neighbourhood."""
    ip = ipaddress.ip_address(address)
    yield f"{ip}/{ip.max_prefixlen}"
    if ip.version == 4 and _WIDEST_V4 <= length < 32:
        yield str(ipaddress.ip_network(f"{ip}/{length}", strict=False))
    elif ip.version == 6 and int(ip) >> 125 == 0b001:
        yield str(ipaddress.ip_network(f"{ip}/{min(length, _DELEGATED)}", strict=False))


def _v4_of_interfaces() -> Iterator[tuple[str, int]]:
    """Yield the first IPv4 address of each interface with its netmask, where the system has the call for it."""
    try:
        import fcntl
    except ImportError:
        return
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
        for _, name in socket.if_nameindex():
            request = name.encode()[:15].ljust(40, b"\0")
            try:
                address = fcntl.ioctl(probe, _SIOCGIFADDR, request)[20:24]
                netmask = fcntl.ioctl(probe, _SIOCGIFNETMASK, request)[20:24]
            except OSError:
                continue  # an interface without an IPv4 address
            yield socket.inet_ntoa(address), int.from_bytes(netmask, "big").bit_count()


def _v4_of_routes(table: Path) -> Iterator[tuple[str, int]]:
    """Yield every IPv4 address that the kernel takes as its own, second addresses of an interface too.

    ::

        |-- 192.168.1.7
           /32 host LOCAL
    """
    last = ""
    for line in _lines(table):
        words = line.split()
        if words[:1] == ["|--"]:
            last = words[1]
        elif words == ["/32", "host", "LOCAL"] and last:
            yield last, 32


def _v6_of_interfaces(table: Path) -> Iterator[tuple[str, int]]:
    """Yield every IPv6 address of the machine with the length of its prefix.

    ::

        20010db8000000000000000000000007 02 40 00 80     eth0
    """
    for line in _lines(table):
        words = line.split()
        if len(words) == 6 and len(words[0]) == 32:
            yield str(ipaddress.IPv6Address(int(words[0], 16))), int(words[2], 16)


def _sources() -> Iterator[tuple[str, int]]:
    """Yield the addresses that the system would send from. No packet goes out."""
    for family, towards, length in ((socket.AF_INET, "192.0.2.1", 32), (socket.AF_INET6, "2001:db8::1", 128)):
        try:
            with closing(socket.socket(family, socket.SOCK_DGRAM)) as probe:
                probe.connect((towards, 9))  # chooses an address and sends nothing
                yield str(probe.getsockname()[0]).partition("%")[0], length
        except OSError:
            continue  # no route in this family


def _lines(table: Path) -> Iterable[str]:
    try:
        return table.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return ()
