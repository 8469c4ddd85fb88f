"""What may be connected to: the table of rule 2 and the operator's own words, put together and checked once."""

import ipaddress
import re
from collections.abc import Iterable, Iterator

import attrs

from hostcall.data import Refused
from hostcall.errors import SettingsError
from hostcall.web.hosts import is_literal, is_special_name, read_host
from hostcall.web.ranges import IpAddress, Ranges, is_public, read_ip
from hostcall.web.settings import Web

NOT_PUBLIC = "That address is not on the public internet."
"""What a reader is told of rule 2; never which address."""

_CONTACT = re.compile(r"[!-'*-\[\]-~][ !-'*-\[\]-~]{0,199}", re.ASCII)
"""What may stand in a comment of the user agent (RFC 9110 §5.6.5)."""

_EMBEDDING = (
    (ipaddress.IPv6Network("64:ff9b::/96"), 0),  # NAT64, RFC 6052 §2.1
    (ipaddress.IPv6Network("::ffff:0:0/96"), 0),  # mapped, RFC 4291 §2.5.5.2
    (ipaddress.IPv6Network("::ffff:0:0:0/96"), 0),  # translated, RFC 2765
    (ipaddress.IPv6Network("2002::/16"), 80),  # 6to4, RFC 3056
)
"""Prefixes under which an address means an IPv4 address, and how many bits to the right of it there are."""

_LOCAL_NAT64 = ipaddress.IPv6Network("64:ff9b:1::/48")
"""RFC 8215: under which prefix in it, and so where in it the IPv4 address stands, is the operator's to say."""
_NAT64_LENGTHS = (48, 56, 64, 96)
"""The lengths that a prefix there may have (RFC 6052 §2.2)."""


@attrs.frozen
class _Both:
    """Ranges of both families."""

    v4: Ranges
    v6: Ranges
    given_v6: tuple[ipaddress.IPv6Network, ...]
    """As they were given, each with its length."""

    @classmethod
    def of(cls, networks: Iterable[str], setting: str) -> "_Both":
        v4: list[ipaddress.IPv4Network] = []
        v6: list[ipaddress.IPv6Network] = []
        for text in networks:
            network = _network(text, setting)
            if isinstance(network, ipaddress.IPv4Network):
                v4.append(network)
            else:
                v6.append(network)
        return cls(Ranges.of(v4), Ranges.of(v6), tuple(v6))

    def __contains__(self, address: IpAddress) -> bool:
        return int(address) in (self.v4 if address.version == 4 else self.v6)


@attrs.frozen
class Networks:
    """Which hosts and addresses an answer may reach.

    The most deliberate word wins: what the operator refuses, then what the operator opens, then the machine's own
    networks, then the table. The operator comes before the machine, because a machine whose resolver answers everything
    from 198.18.0.0/15 has an interface in that very network.
    """

    _refused: _Both
    _opened: _Both
    _own: _Both
    _deny_hosts: tuple[str, ...]
    _allow_hosts: tuple[str, ...]

    @classmethod
    def of(cls, web: Web, deny_networks: Iterable[str] = ()) -> "Networks":
        """Read the settings once.

        Args:
            web: The operator's settings.
            deny_networks: The machine's own addresses and their neighbours in CIDR form, from the driver.

        Raises:
            SettingsError: A setting cannot be read; the message names it and the text.
        """
        if web.contact is not None and not _CONTACT.fullmatch(web.contact):
            raise SettingsError(f"contact: {web.contact!r} must be printable ASCII without brackets, at most 200 long")
        return cls(
            _Both.of(web.deny_networks, "deny_networks"),
            _Both.of(web.allow_networks, "allow_networks"),
            _Both.of(deny_networks, "deny_networks of the driver"),
            tuple(_pattern(text, "deny_hosts") for text in web.deny_hosts),
            tuple(_pattern(text, "allow_hosts") for text in web.allow_hosts),
        )

    def refuse_host(self, host: str) -> Refused | None:
        """Return why a canonical host is not opened, or None. Asked before a name is looked up.

        Security:
            Rule 2, public addresses only. Threat: names that a resolver answers from the inside, and hosts that the
            operator has closed.
        """
        if _matches(host, self._deny_hosts) or (self._allow_hosts and not _matches(host, self._allow_hosts)):
            return Refused(2, "host_denied", "That site is not opened here.", "closed by deny_hosts or allow_hosts")
        if not is_literal(host) and is_special_name(host):
            return Refused(2, "not_public", NOT_PUBLIC, "a special name")
        return None

    def opens(self, address: IpAddress) -> bool:
        """Say whether `address` may be connected to.

        Security:
            Rule 2, public addresses only. Threat: request forgery. Whoever opens a prefix whose addresses mean IPv4
            addresses (a machine behind NAT64 needs that) has not opened the loopback by another spelling.
        """
        if address in self._refused:
            return False
        if address in self._opened:
            return all(self.opens(inner) for inner in self._embedded(address))
        return address not in self._own and is_public(address)

    def _embedded(self, address: IpAddress) -> Iterator[ipaddress.IPv4Address]:
        """Yield the IPv4 address that `address` means, if it means one; each that it may mean, if that is not sure."""
        if address.version == 6:
            for prefix, shift in _EMBEDDING:
                if address in prefix:
                    yield ipaddress.IPv4Address(int(address) >> shift & 0xFFFFFFFF)
            for network in self._opened.given_v6:
                if address in _LOCAL_NAT64 and address in network:
                    yield from _translated(address, network.prefixlen)


def _translated(address: ipaddress.IPv6Address, length: int) -> Iterator[ipaddress.IPv4Address]:
    """Yield what an address in a network of `length` bits means behind each NAT64 prefix that may be meant.

    A length that such a prefix has is its length. It need not be where something stands behind the IPv4 address, which
    has zeros there, or where no prefix is so long: then each longer prefix may be the one. The ninth byte is left out.

    Security:
        Rule 2, public addresses only. Threat: an inner address that is read at another place than the gateway reads it.
    """
    for prefix in _NAT64_LENGTHS:
        if prefix >= min(length, _NAT64_LENGTHS[-1]):
            behind = address.packed[prefix // 8 : 8] + address.packed[max(prefix // 8, 9) :]
            yield ipaddress.IPv4Address(behind[:4])
            if prefix == length and not any(behind[4:]):
                return


def _network(text: str, setting: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    address, _, length = text.partition("/")
    plain = read_ip(address)
    if plain is None or (length and not (length.isascii() and length.isdigit())):
        raise SettingsError(f"{setting}: {text!r} is not a network like 10.0.0.0/8 or 2001:db8::/32")
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise SettingsError(f"{setting}: {text!r} is not a network: {error}") from None


def _pattern(text: str, setting: str) -> str:
    host = read_host(text.removeprefix("."))
    if host is None:
        raise SettingsError(f"{setting}: {text!r} is not a host like example.org or, with all below it, .example.org")
    return "." + host if text.startswith(".") else host


def _matches(host: str, patterns: tuple[str, ...]) -> bool:
    return any(
        host == pattern.removeprefix(".") or (pattern.startswith(".") and host.endswith(pattern))
        for pattern in patterns
    )
