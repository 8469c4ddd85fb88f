"""The operator's settings on hosts and networks, and which word wins."""

import pytest
from hypothesis import given

from hostcall.data import Refused
from hostcall.errors import SettingsError
from hostcall.web.networks import Networks
from hostcall.web.ranges import is_public, read_ip
from hostcall.web.settings import Web
from tests.strategies_web import v4_numbers


def _opens(networks: Networks, text: str) -> bool:
    address = read_ip(text)
    assert address is not None
    return networks.opens(address)


def _code(networks: Networks, host: str) -> str | None:
    refused = networks.refuse_host(host)
    return None if refused is None else refused.code


@given(v4_numbers)
def test_without_settings_the_table_decides(number: int) -> None:
    address = read_ip(".".join(str(number >> shift & 0xFF) for shift in (24, 16, 8, 0)))
    assert address is not None
    assert Networks.of(Web()).opens(address) == is_public(address)


def test_a_network_that_the_operator_refuses_is_refused_beside_the_table() -> None:
    networks = Networks.of(Web(deny_networks=("93.184.215.0/24", "2606:4700::/32")))
    assert not _opens(networks, "93.184.215.14")
    assert not _opens(networks, "2606:4700::1")
    assert _opens(networks, "93.184.216.14")
    assert _opens(networks, "10.0.0.1") is False
    assert _opens(networks, "93.184.215.14") is False


def test_a_network_that_the_operator_opens_is_open_although_the_table_refuses_it() -> None:
    networks = Networks.of(Web(allow_networks=("198.18.0.0/15", "fd00:1::/32")))
    assert _opens(networks, "198.18.0.7")
    assert _opens(networks, "fd00:1::7")
    assert not _opens(networks, "fd00:2::7")
    assert not _opens(networks, "10.0.0.1")


def test_the_machines_own_networks_are_refused_unless_the_operator_opens_them() -> None:
    own = ("93.184.215.14/32", "2a00:1450:4001::/56")
    assert not _opens(Networks.of(Web(), own), "93.184.215.14")
    assert not _opens(Networks.of(Web(), own), "2a00:1450:4001:7f::1")
    assert _opens(Networks.of(Web(), own), "2a00:1450:4001:100::1")
    assert _opens(Networks.of(Web(allow_networks=("93.184.215.0/24",)), own), "93.184.215.14")


def test_what_the_operator_refuses_stays_refused_inside_what_the_operator_opens() -> None:
    networks = Networks.of(Web(allow_networks=("10.0.0.0/8",), deny_networks=("10.1.0.0/16",)))
    assert _opens(networks, "10.2.0.1")
    assert not _opens(networks, "10.1.0.1")


@pytest.mark.parametrize(
    ("prefix", "public", "inside"),
    [
        ("64:ff9b::/96", "64:ff9b::5db8:d70e", ["64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::5db8:d70e"]),
        ("64:ff9b:1::/96", "64:ff9b:1::5db8:d70e", ["64:ff9b:1::a00:1", "64:ff9b::5db8:d70e"]),
        ("64:ff9b:1:7:8::/80", "64:ff9b:1:7:8::5db8:d70e", ["64:ff9b:1:7:8::a00:1"]),
        # RFC 6052 §2.4 has the layouts: behind a short prefix the address stands at once, around the ninth byte.
        (
            "64:ff9b:1::/48",
            "64:ff9b:1:5db8:d7:e00::",
            [
                "64:ff9b:1:7f00:0:100::",
                "64:ff9b:1:a00:0:100:5db8:d70e",
                "64:ff9b:1::5db8:d70e",
                "64:ff9b:1::",
                "64:ff9b:1:c633:64:700::",
                "64:ff9b:1:5db8:d7:e7f::",
            ],
        ),
        ("64:ff9b:1:7f00::/56", "64:ff9b:1:7f5d:b8:d70e::", ["64:ff9b:1:7f7f:0:1::", "64:ff9b:1:7f0a:0:1:5db8:d70e"]),
        ("64:ff9b:1:7::/64", "64:ff9b:1:7:5d:b8d7:e00::", ["64:ff9b:1:7:7f:0:100::", "64:ff9b:1:7:a:0:15d:b8d7"]),
        # Something stands behind the address, so the prefix may be longer than the network that was opened.
        (
            "64:ff9b:1::/48",
            "64:ff9b:1:5db8:d7:e5d:b8d7:e5d",
            ["64:ff9b:1:5db8:d7:e00:7f00:1", "64:ff9b:1:5db8:7f:0:100:0"],
        ),
        ("64:ff9b:1:7::/64", "64:ff9b:1:7:5d:b8d7:e5d:b8d7", ["64:ff9b:1:7:5d:b8d7:7f00:1"]),
        # No prefix is so long: any that fits may be meant.
        (
            "64:ff9b:1::/52",
            "64:ff9b:1:5d:5d:b8d7:e5d:b8d7",
            ["64:ff9b:1:5d:7f:0:100::", "64:ff9b:1:5d:5d:b8d7:7f00:1"],
        ),
        ("::/0", "64:ff9b:1:5db8:d7:e5d:b8d7:e5d", ["64:ff9b:1:5db8:d7:e00::", "64:ff9b:1:7f00:0:15d:b8d7:e5d"]),
        ("64:ff9b::/32", "64:ff9b::5db8:d70e", ["64:ff9b:1:7f00:0:100:5db8:d70e", "64:ff9b::7f00:1"]),
        ("::ffff:0:0/96", "::ffff:5db8:d70e", ["::ffff:7f00:1", "::ffff:10.0.0.1"]),
        ("::ffff:0:0:0/96", "::ffff:0:5db8:d70e", ["::ffff:0:7f00:1"]),
        ("2002::/16", "2002:5db8:d70e::1", ["2002:7f00:1::", "2002:a00:1::5db8:d70e"]),
    ],
)
def test_an_opened_prefix_of_ipv4_addresses_opens_what_is_public_inside_and_nothing_else(
    prefix: str, public: str, inside: list[str]
) -> None:
    networks = Networks.of(Web(allow_networks=(prefix,)))
    assert _opens(networks, public)
    assert not any(_opens(networks, text) for text in inside)
    both = Networks.of(Web(allow_networks=(prefix, "10.0.0.0/8")))
    assert _opens(both, "::ffff:10.0.0.1") == (prefix in {"::ffff:0:0/96", "::/0"})


def test_where_two_opened_prefixes_overlap_each_reading_must_be_public() -> None:
    address = "64:ff9b:1:5db8:a::"  # 93.184.10.0 behind the first, 10.0.0.0 behind the second
    assert _opens(Networks.of(Web(allow_networks=("64:ff9b:1::/48",))), address)
    assert not _opens(Networks.of(Web(allow_networks=("64:ff9b:1::/48", "64:ff9b:1:5db8::/64"))), address)


def test_a_single_address_is_a_network_too() -> None:
    assert not _opens(Networks.of(Web(deny_networks=("93.184.215.14",))), "93.184.215.14")


@pytest.mark.parametrize(
    "text",
    ["", "example.org", "10.0.0.0/33", "10.0.0.1/8", "10/8", "10.0.0.0/255.0.0.0", "10.0.0.0/٨", "fe80::1%eth0",
     "::/129", "10.0.0.0/-1", "10.0.0.0/8/8", "010.0.0.0/8"],
)  # fmt: skip
@pytest.mark.parametrize("setting", ["deny_networks", "allow_networks"])
def test_what_is_no_network_is_an_error_that_names_the_setting_and_the_text(setting: str, text: str) -> None:
    with pytest.raises(SettingsError, match=setting) as raised:
        Networks.of(Web(**{setting: (text,)}))  # type: ignore[arg-type]  # the setting is one of two with one type
    assert str(raised.value).startswith(f"{setting}: {text!r} is not a network")


def test_a_network_of_the_driver_that_cannot_be_read_is_an_error_too() -> None:
    with pytest.raises(SettingsError, match=r"^deny_networks of the driver: "):
        Networks.of(Web(), ("here",))


def test_a_special_name_is_refused_before_any_lookup() -> None:
    networks = Networks.of(Web())
    assert _code(networks, "metadata.google.internal") == "not_public"
    assert _code(networks, "instance-data") == "not_public"
    assert _code(networks, "example.org") is None


def test_a_literal_is_no_special_name() -> None:
    networks = Networks.of(Web())
    assert _code(networks, "1.1.1.1") is None
    assert _code(networks, "2606:4700::1111") is None


def test_a_closed_host_is_refused_and_with_a_dot_all_below_it() -> None:
    networks = Networks.of(Web(deny_hosts=("example.org", ".BÜCHER.de")))
    assert networks.refuse_host("example.org") == Refused(
        2, "host_denied", "That site is not opened here.", "closed by deny_hosts or allow_hosts"
    )
    assert _code(networks, "www.example.org") is None
    assert _code(networks, "xn--bcher-kva.de") == "host_denied"
    assert _code(networks, "a.xn--bcher-kva.de") == "host_denied"
    assert _code(networks, "notxn--bcher-kva.de") is None


def test_with_open_hosts_named_no_other_is_opened() -> None:
    networks = Networks.of(Web(allow_hosts=(".example.org",), deny_hosts=("a.example.org",)))
    assert _code(networks, "example.org") is None
    assert _code(networks, "b.example.org") is None
    assert _code(networks, "a.example.org") == "host_denied"
    assert _code(networks, "example.net") == "host_denied"


def test_naming_a_special_name_as_open_does_not_open_it() -> None:
    assert _code(Networks.of(Web(allow_hosts=("wiki.internal",))), "wiki.internal") == "not_public"


@pytest.mark.parametrize("text", ["", ".", "*.example.org", "https://example.org", "example.org:443", "a b"])
@pytest.mark.parametrize("setting", ["deny_hosts", "allow_hosts"])
def test_what_is_no_host_is_an_error_that_names_the_setting(setting: str, text: str) -> None:
    with pytest.raises(SettingsError, match=f"^{setting}: "):
        Networks.of(Web(**{setting: (text,)}))  # type: ignore[arg-type]  # the setting is one of two with one type


def test_a_refusal_tells_the_reader_nothing_of_the_inside() -> None:
    refused = Networks.of(Web()).refuse_host("router.local")
    assert refused == Refused(2, "not_public", "That address is not on the public internet.", "a special name")


@pytest.mark.parametrize("contact", ["https://example.org/bot", "ops@example.org", "a b", "x" * 200])
def test_a_contact_that_can_stand_in_a_field_is_taken(contact: str) -> None:
    Networks.of(Web(contact=contact))


@pytest.mark.parametrize("contact", ["", "a\r\nCookie: b", "a(b", "a)b", "é", " a", "a" * 201, "a\\b"])
def test_a_contact_that_could_break_the_field_is_an_error(contact: str) -> None:
    with pytest.raises(SettingsError, match=r"^contact: "):
        Networks.of(Web(contact=contact))
