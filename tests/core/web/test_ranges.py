"""The table of rule 2: the edges of every block, and the two long lists against IANA's own files."""

import datetime as dt
import ipaddress
from pathlib import Path

import netaddr.ip
import pytest
from hypothesis import given
from lxml import etree

from hostcall.web.ranges import (
    ALLOCATED_V6,
    REFUSED_V4,
    REFUSED_V6,
    REGISTRY_DATE,
    Ranges,
    ip_text,
    is_public,
    read_ip,
)
from tests.strategies_web import v4_numbers, v6_numbers

# Blocks that the IPv6 list refuses without naming them, with what they are.
_UNNAMED_V6 = {
    "::/128": "unspecified (RFC 4291)",
    "::1/128": "loopback (RFC 4291)",
    "::/96": "IPv4-compatible (RFC 4291 §2.5.5.1)",
    "::ffff:0:0/96": "IPv4-mapped (RFC 4291 §2.5.5.2)",
    "::ffff:0:0:0/96": "IPv4-translated (RFC 2765)",
    "64:ff9b::/96": "NAT64, well-known (RFC 6052)",
    "64:ff9b:1::/48": "NAT64, local use (RFC 8215)",
    "100::/64": "discard-only (RFC 6666)",
    "100:0:0:1::/64": "dummy prefix (RFC 9780)",
    "200::/7": "reserved (RFC 4048)",
    "400::/6": "reserved (RFC 4291)",
    "800::/5": "reserved (RFC 4291)",
    "1000::/4": "reserved (RFC 4291)",
    "2001::/32": "Teredo (RFC 4380)",
    "2001:1::1/128": "PCP anycast (RFC 7723)",
    "2001:1::2/128": "TURN anycast (RFC 8155)",
    "2001:1::3/128": "DNS-SD anycast (RFC 9665)",
    "2001:2::/48": "benchmarking (RFC 5180)",
    "2001:3::/32": "AMT (RFC 7450)",
    "2001:4:112::/48": "AS112 (RFC 7535)",
    "2001:10::/28": "ORCHID (RFC 4843)",
    "2001:20::/28": "ORCHIDv2 (RFC 7343)",
    "2001:30::/28": "drone ids (RFC 9374)",
    "2002::/16": "6to4 (RFC 3056)",
    "2d00::/8": "not allocated",
    "2e00::/7": "not allocated",
    "3000::/4": "not allocated",
    "3ffe::/16": "returned 6bone (RFC 5156)",
    "3fff::/20": "documentation (RFC 9637)",
    "4000::/3": "reserved (RFC 4291)",
    "5f00::/16": "SRv6 (RFC 9602)",
    "f800::/6": "reserved (RFC 4291)",
    "fc00::/7": "unique local (RFC 4193)",
    "fe00::/9": "reserved (RFC 4291)",
    "fe80::/10": "link-local (RFC 4291)",
    "fec0::/10": "site-local (RFC 3879)",
    "ff00::/8": "multicast (RFC 4291)",
}


def _public(text: str) -> bool:
    address = read_ip(text)
    assert address is not None
    return is_public(address)


def _iana(name: str) -> etree._Element:
    path = Path(netaddr.ip.__file__).with_name(name)
    return etree.fromstring(path.read_bytes(), etree.XMLParser(resolve_entities=False))


def _records(name: str) -> list[dict[str, str]]:
    return [
        {etree.QName(field).localname: (field.text or "").strip() for field in record.iter()}
        for record in _iana(name).iter("{http://www.iana.org/assignments}record")
    ]


@pytest.mark.parametrize("network", [block.network for block in REFUSED_V4])
def test_an_ipv4_block_is_refused_from_its_first_address_to_its_last_and_no_further(network: str) -> None:
    block = ipaddress.IPv4Network(network)
    others = [ipaddress.IPv4Network(other.network) for other in REFUSED_V4]
    assert not is_public(block[0])
    assert not is_public(block[block.num_addresses // 2])
    assert not is_public(block[-1])
    for number in (int(block[0]) - 1, int(block[-1]) + 1):
        if 0 <= number < 2**32:
            neighbour = ipaddress.IPv4Address(number)
            assert is_public(neighbour) == (not any(neighbour in other for other in others))


@pytest.mark.parametrize("network", ALLOCATED_V6)
def test_an_allocated_ipv6_block_opens_from_its_first_address_to_its_last(network: str) -> None:
    block = ipaddress.IPv6Network(network)
    assert is_public(block[0])
    assert is_public(block[-1])
    for number in (int(block[0]) - 1, int(block[-1]) + 1):
        neighbour = ipaddress.IPv6Address(number)
        assert is_public(neighbour) == any(neighbour in ipaddress.IPv6Network(other) for other in ALLOCATED_V6)


@pytest.mark.parametrize("network", [block.network for block in REFUSED_V6])
def test_a_block_cut_from_the_allocations_is_refused_and_its_neighbours_open(network: str) -> None:
    block = ipaddress.IPv6Network(network)
    assert not is_public(block[0])
    assert not is_public(block[-1])
    assert is_public(ipaddress.IPv6Address(int(block[0]) - 1))
    assert is_public(ipaddress.IPv6Address(int(block[-1]) + 1))


@pytest.mark.parametrize("network", _UNNAMED_V6)
def test_a_special_ipv6_block_is_refused_without_being_named(network: str) -> None:
    block = ipaddress.IPv6Network(network)
    for at in (0, block.num_addresses // 2, -1):
        assert not is_public(block[at])


def test_the_ipv4_list_refuses_each_whole_block_that_iana_does_not_hand_out_for_unicast() -> None:
    # 6, 7, 11 and others belong to single owners and are ordinary; "reserved" names what nobody may use in public.
    for record in _records("ipv4-address-space.xml"):
        first = int(record["prefix"].partition("/")[0])
        last_address = ipaddress.IPv4Address(first << 24 | 0xFFFF00)
        reserved = record.get("status") == "RESERVED"
        assert is_public(last_address) != reserved, record


def test_the_ipv6_list_is_ianas_unicast_list_less_protocol_assignments_and_6to4() -> None:
    allocated = {
        record["prefix"].lower()
        for record in _records("ipv6-unicast-address-assignments.xml")
        if record.get("status") == "ALLOCATED"
    }
    ours = {ipaddress.IPv6Network(network) for network in ALLOCATED_V6}
    theirs = {ipaddress.IPv6Network(prefix.lower()) for prefix in allocated}
    theirs -= {ipaddress.IPv6Network("2001::/23"), ipaddress.IPv6Network("2002::/16")}
    missing = [network for network in theirs if not any(network.subnet_of(own) for own in ours)]
    assert missing == []
    # What is newer than that file is named here, so that nothing gets onto the list unseen.
    newer = {own for own in ours if not any(own.subnet_of(network) for network in theirs)}
    assert newer <= {ipaddress.IPv6Network("2410::/12"), ipaddress.IPv6Network("2630::/12")}


def test_no_multicast_address_that_iana_lists_opens() -> None:
    seen = 0
    for record in _records("multicast-addresses.xml"):
        first = (record.get("address") or record.get("addr") or "").split("-")[0].split("/")[0]
        address = read_ip(first)
        if address is not None:
            seen += 1
            assert not is_public(address)
    assert seen > 100


def test_both_isatap_interface_ids_are_refused_under_an_open_prefix() -> None:
    assert not _public("2606:4700::5efe:7f00:1")
    assert not _public("2606:4700::200:5efe:7f00:1")
    assert _public("2606:4700::100:5efe:7f00:1")
    assert _public("2606:4700::5eff:7f00:1")


@pytest.mark.parametrize(
    "text",
    ["", "1", "127.1", "0177.0.0.1", "0x7f.0.0.1", "1.2.3.4.5", "1.2.3.256", "１.2.3.4", "example.org", "fe80::1%2",
     "::1%lo", "[::1]", " 1.2.3.4", "1.2.3.4 ", "1::2::3", "12345::", "1.2.3.4/8"],
)  # fmt: skip
def test_what_is_not_an_address_in_plain_notation_is_none(text: str) -> None:
    assert read_ip(text) is None


def test_the_text_of_an_address_does_not_depend_on_the_version_of_python() -> None:
    for text, canonical in {
        "::ffff:1.2.3.4": "::ffff:102:304",
        "0:0:0:0:0:0:0:0": "::",
        "1:0:0:2:0:0:0:3": "1:0:0:2::3",
        "1:0:0:2:0:0:4:3": "1::2:0:0:4:3",
        "2001:DB8:0:1:1:1:1:1": "2001:db8:0:1:1:1:1:1",
        "2001:db8::": "2001:db8::",
        "::2": "::2",
        "1:2:3:4:5:6:7:8": "1:2:3:4:5:6:7:8",
        "8.8.8.8": "8.8.8.8",
    }.items():
        address = read_ip(text)
        assert address is not None
        assert ip_text(address) == canonical


@given(v6_numbers)
def test_the_text_of_an_address_reads_back_as_the_same_address(number: int) -> None:
    address = ipaddress.IPv6Address(number)
    assert read_ip(ip_text(address)) == address


@given(v4_numbers)
def test_the_merged_ipv4_ranges_say_what_the_rows_say(number: int) -> None:
    address = ipaddress.IPv4Address(number)
    refused = any(address in ipaddress.IPv4Network(block.network) for block in REFUSED_V4)
    assert is_public(address) == (not refused)


@given(v6_numbers)
def test_the_merged_ipv6_ranges_say_what_the_rows_say(number: int) -> None:
    address = ipaddress.IPv6Address(number)
    allocated = any(address in ipaddress.IPv6Network(network) for network in ALLOCATED_V6)
    refused = any(address in ipaddress.IPv6Network(block.network) for block in REFUSED_V6)
    isatap = (number >> 32) & 0xFDFFFFFF == 0x5EFE
    assert is_public(address) == (allocated and not refused and not isatap)


def test_ranges_merge_what_touches_or_overlaps() -> None:
    ranges = Ranges.of(
        ipaddress.IPv4Network(text) for text in ("10.1.0.0/16", "10.0.0.0/16", "10.0.0.0/8", "12.0.0.0/8")
    )
    assert ranges == Ranges((10 << 24, 12 << 24), (11 << 24, 13 << 24))
    assert (10 << 24) - 1 not in ranges
    assert 0 not in Ranges()


def test_every_row_says_where_it_comes_from_and_the_registry_has_a_date() -> None:
    assert all(block.name and block.source for block in (*REFUSED_V4, *REFUSED_V6))
    assert dt.date.fromisoformat(REGISTRY_DATE) >= dt.date(2026, 9, 17)


def test_ranges_that_touch_or_overlap_are_one() -> None:
    networks = ["10.0.0.0/9", "10.128.0.0/9", "10.1.0.0/16", "12.0.0.0/8"]
    ranges = Ranges.of(ipaddress.IPv4Network(network) for network in networks)
    assert ranges == Ranges((10 << 24, 12 << 24), (11 << 24, 13 << 24))
