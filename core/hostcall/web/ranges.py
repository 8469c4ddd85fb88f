"""Which IP addresses are on the public internet: rule 2's own table, as data.

IPv4 is fully handed out, so a list of what to refuse is complete. IPv6 is not: most of it has never been allocated, and
new special blocks keep being cut from what was free. So IPv6 is the other way round: open is only what IANA has
allocated to the regional registries for unicast, and the transition forms that carry an IPv4 address inside (mapped,
compatible, translated, NAT64, 6to4, Teredo) are refused whole, because none of them stands on that list. Being late
with an update then costs a refused site, not an open hole.

The standard library's `ipaddress` only reads the text here. Its own verdicts (`is_global` and its kin) differ between
the Python versions in use, and all of them call some of these blocks public.
"""

import ipaddress
from bisect import bisect_right
from collections.abc import Iterable

import attrs

REGISTRY_DATE = "2026-09-17"
"""The state of IANA's registries that the tables follow."""


@attrs.frozen
class Block:
    """One row of a table."""

    network: str
    name: str
    source: str
    """The RFC that set the block apart, or who did when no RFC does."""


REFUSED_V4: tuple[Block, ...] = (
    Block("0.0.0.0/8", "this network", "RFC 791, RFC 1122"),
    Block("10.0.0.0/8", "private use", "RFC 1918"),
    Block("100.64.0.0/10", "shared address space: carrier NAT, tailnets, Alibaba's metadata", "RFC 6598"),
    Block("127.0.0.0/8", "loopback", "RFC 1122"),
    Block("168.63.129.16/32", "Azure WireServer", "Microsoft; an ordinary number in the registry"),
    Block("169.254.0.0/16", "link-local, and the metadata services of most clouds", "RFC 3927"),
    Block("172.16.0.0/12", "private use", "RFC 1918"),
    # The registry calls two anycast addresses in here reachable. They host no page, and an exception is a hole to keep.
    Block("192.0.0.0/24", "protocol assignments, and Oracle's metadata", "RFC 6890"),
    Block("192.0.2.0/24", "documentation", "RFC 5737"),
    Block("192.31.196.0/24", "AS112", "RFC 7535"),
    Block("192.52.193.0/24", "multicast tunnelling", "RFC 7450"),
    Block("192.88.99.0/24", "former 6to4 relays", "RFC 7526"),
    Block("192.168.0.0/16", "private use", "RFC 1918"),
    Block("192.175.48.0/24", "AS112", "RFC 7534"),
    Block("198.18.0.0/15", "benchmarking", "RFC 2544"),
    Block("198.51.100.0/24", "documentation", "RFC 5737"),
    Block("203.0.113.0/24", "documentation", "RFC 5737"),
    Block("224.0.0.0/4", "multicast", "RFC 5771"),
    Block("240.0.0.0/4", "reserved, and limited broadcast", "RFC 1112, RFC 8190"),
)
"""IANA's IPv4 special-purpose registry without its exceptions, multicast, and one cloud's address."""

ALLOCATED_V6: tuple[str, ...] = (
    *("2001:200::/23", "2001:400::/23", "2001:600::/23", "2001:800::/22", "2001:c00::/23", "2001:e00::/23"),
    *("2001:1200::/23", "2001:1400::/22", "2001:1800::/23", "2001:1a00::/23", "2001:1c00::/22", "2001:2000::/19"),
    *("2001:4000::/23", "2001:4200::/23", "2001:4400::/23", "2001:4600::/23", "2001:4800::/23", "2001:4a00::/23"),
    *("2001:4c00::/23", "2001:5000::/20", "2001:8000::/19", "2001:a000::/20", "2001:b000::/20", "2003::/18"),
    *("2400::/12", "2410::/12", "2600::/12", "2610::/23", "2620::/23", "2630::/12", "2800::/12", "2a00::/12"),
    *("2a10::/12", "2c00::/12"),
)
"""IANA's IPv6 unicast allocations, less 2001::/23 (protocol assignments, Teredo) and 2002::/16 (6to4)."""

REFUSED_V6: tuple[Block, ...] = (
    Block("2001:db8::/32", "documentation", "RFC 3849"),
    Block("2620:4f:8000::/48", "AS112", "RFC 7534"),
)
"""What lies inside the allocations and is not public all the same."""

_ISATAP = (0x00005EFE, 0x02005EFE)
"""The upper half of an interface id that carries an IPv4 address in the lower half (RFC 5214 §6.1)."""

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


@attrs.frozen
class Ranges:
    """A set of addresses of one family, as sorted ranges that do not touch; looked up by bisection."""

    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    """The first address after each range."""

    @classmethod
    def of(cls, networks: Iterable[ipaddress.IPv4Network | ipaddress.IPv6Network]) -> "Ranges":
        """Merge networks of one family."""
        starts: list[int] = []
        ends: list[int] = []
        for first, count in sorted((int(network.network_address), network.num_addresses) for network in networks):
            end = first + count
            if ends and first <= ends[-1]:
                ends[-1] = max(ends[-1], end)
            else:
                starts.append(first)
                ends.append(end)
        return cls(tuple(starts), tuple(ends))

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self.starts, number) - 1
        return at >= 0 and number < self.ends[at]


_REFUSED_V4 = Ranges.of(ipaddress.IPv4Network(block.network) for block in REFUSED_V4)
_ALLOCATED_V6 = Ranges.of(ipaddress.IPv6Network(network) for network in ALLOCATED_V6)
_REFUSED_V6 = Ranges.of(ipaddress.IPv6Network(block.network) for block in REFUSED_V6)


def read_ip(text: str) -> IpAddress | None:
    """Return the address that `text` is, or None.

    Only the canonical dotted quad counts as IPv4: no leading zeros, no hexadecimal, no short form. A scope id is never
    part of a public address.
    """
    if "%" in text:
        return None
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def is_public(address: IpAddress) -> bool:
    """Say whether the table opens `address`.

    Security:
        Rule 2, public addresses only. Threat: request forgery, a fetch that reaches the machine itself, its network or
        a cloud's metadata service, in any notation and inside any transition form.
    """
    number = int(address)
    if address.version == 4:
        return number not in _REFUSED_V4
    return number in _ALLOCATED_V6 and number not in _REFUSED_V6 and (number >> 32) & 0xFFFFFFFF not in _ISATAP


def ip_text(address: IpAddress) -> str:
    """Return the one spelling of `address` (RFC 5952 §4, without the mixed notation of §5).

    `str` does not do: Python 3.13 began to write mapped addresses with dots, and the same run must read the same on
    every version.
    """
    if address.version == 4:
        return str(address)
    groups = [f"{(int(address) >> shift) & 0xFFFF:x}" for shift in range(112, -1, -16)]
    best_at = best_length = 0
    at = 0
    while at < 8:
        end = at
        while end < 8 and groups[end] == "0":
            end += 1
        if end - at > best_length:
            best_at, best_length = at, end - at
        at = max(end, at + 1)
    if best_length < 2:
        return ":".join(groups)
    return ":".join(groups[:best_at]) + "::" + ":".join(groups[best_at + best_length :])
