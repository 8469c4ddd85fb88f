"""Lookups through the system's resolver, and the machine's own networks."""

import errno
import ipaddress
import socket
import sys
from pathlib import Path

import pytest

from hostcall.web.networks import Networks
from hostcall.web.ranges import read_ip
from hostcall.web.settings import Web
from hostcall_drivers import resolve


def test_a_name_that_does_not_exist_is_not_found() -> None:
    with pytest.raises(socket.gaierror) as raised:
        resolve.look_up("no-such-name.invalid")
    assert resolve.failure_kind(raised.value) in {"not_found", "lookup"}  # without any network nobody knows


def test_a_name_that_is_not_canonical_is_never_looked_up() -> None:
    with pytest.raises(socket.gaierror) as raised:
        resolve.look_up("faß.de")
    assert resolve.failure_kind(raised.value) == "not_found"


def test_a_label_that_is_too_long_fails_as_a_lookup_does() -> None:
    with pytest.raises(socket.gaierror):
        resolve.look_up("a" * 70 + ".org")


def test_both_families_are_asked_for_with_a_dot_at_the_end_and_each_address_is_given_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[object, ...]] = []

    def getaddrinfo(
        host: bytes, port: int, *, type: int, flags: int
    ) -> list[tuple[int, int, int, str, tuple[object, ...]]]:
        asked.append((host, port, type, flags))
        return [
            (socket.AF_INET6, type, 6, "", ("2600::1", 443, 0, 0)),
            (socket.AF_INET, type, 6, "", ("93.184.215.14", 443)),
            (socket.AF_INET6, type, 6, "", ("fe80::1%eth0", 443, 0, 2)),
            (socket.AF_INET, type, 6, "", ("93.184.215.14", 443)),
        ]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    assert resolve.look_up("example.org") == ("2600::1", "93.184.215.14", "fe80::1%eth0")
    assert asked == [(b"example.org.", 443, socket.SOCK_STREAM, socket.AI_ADDRCONFIG)]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (socket.gaierror(socket.EAI_NONAME, "x"), "not_found"),
        (socket.gaierror(socket.EAI_NODATA, "x"), "not_found"),
        (socket.gaierror(socket.EAI_AGAIN, "x"), "lookup"),
        (socket.gaierror(socket.EAI_FAIL, "x"), "lookup"),
        (OSError(errno.ENETUNREACH, "x"), "lookup"),
        (TimeoutError("x"), "timeout"),
    ],
)
def test_what_a_failed_lookup_means(error: OSError, kind: str) -> None:
    assert resolve.failure_kind(error) == kind


def test_the_machines_own_networks_hold_its_own_addresses_and_can_be_read_as_settings() -> None:
    own = resolve.own_networks()
    assert "127.0.0.1/32" in own
    assert len(set(own)) == len(own)
    for text in own:
        ipaddress.ip_network(text)
    networks = Networks.of(Web(), own)
    address = read_ip("93.184.215.14")
    assert address is not None
    assert networks.opens(address)


def _tables(folder: Path, *, fib: str = "", v6: str = "") -> Path:
    (folder / "fib_trie").write_text(fib)
    (folder / "if_inet6").write_text(v6)
    return folder


_FIB = """
Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
        |-- 93.184.215.14
           /32 host LOCAL
        |-- 93.184.215.255
           /32 link BROADCAST
Local:
        |-- 93.184.215.14
           /32 host LOCAL
"""


def test_every_address_that_the_kernel_takes_as_its_own_is_found_and_no_other(tmp_path: Path) -> None:
    own = resolve.own_networks(_tables(tmp_path, fib=_FIB))
    assert own.count("93.184.215.14/32") == 1
    assert not any("93.184.215.255" in text for text in own)
    assert not any(text.startswith("0.0.0.0") for text in own)


def test_around_a_global_ipv6_address_the_delegated_network_is_taken_and_no_less(tmp_path: Path) -> None:
    v6 = (
        "2a0014504001081d0000000000000007 02 40 00 80     eth0\n"
        "2a0114500000000000000000000000ff 03 30 00 80     eth1\n"
        "fd00000000000000000000000000000a 02 40 00 80     eth0\n"
        "fe8000000000000000fc00fffe000001 02 40 20 80     eth0\n"
        "00000000000000000000000000000001 01 80 10 80       lo\n"
        "a line that is none\n"
    )
    own = resolve.own_networks(_tables(tmp_path, v6=v6))
    assert "2a00:1450:4001:800::/56" in own
    assert "2a00:1450:4001:81d::7/128" in own
    assert "2a01:1450::/48" in own
    assert "fd00::a/128" in own
    assert not any(text.startswith("fd00::/") for text in own)
    assert "fe80::fc:ff:fe00:1/128" in own
    assert "::1/128" in own


def test_a_machine_without_the_kernels_tables_still_knows_an_address(tmp_path: Path) -> None:
    assert resolve.own_networks(tmp_path / "nowhere")


def test_a_system_without_the_call_for_interfaces_or_without_a_route_has_fewer_sources(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    assert resolve.own_networks(tmp_path)

    def unreachable(*_: object) -> None:
        raise OSError(errno.ENETUNREACH, "no route")

    monkeypatch.setattr(socket.socket, "connect", unreachable)
    assert resolve.own_networks(tmp_path) == ()


@pytest.mark.parametrize(
    ("address", "length", "networks"),
    [
        ("93.184.215.14", 24, ["93.184.215.14/32", "93.184.215.0/24"]),
        ("93.184.215.14", 32, ["93.184.215.14/32"]),
        ("10.8.0.2", 1, ["10.8.0.2/32"]),  # a tunnel that takes in half the internet
        ("10.8.0.2", 0, ["10.8.0.2/32"]),
        ("2600::1", 64, ["2600::1/128", "2600::/56"]),
        ("fd00::1", 64, ["fd00::1/128"]),
    ],
)
def test_what_is_refused_around_an_address(address: str, length: int, networks: list[str]) -> None:
    assert list(resolve._networks(address, length)) == networks
