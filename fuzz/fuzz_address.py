"""Any text is an address or refused; what is read reads back the same, in ASCII, on the host that was checked."""

import sys

from hostcall.data import Refused
from hostcall.limits import Limits
from hostcall.web.address import Address, join, parse_address
from hostcall.web.hosts import is_literal, read_host
from hostcall.web.seen import SeenHosts

LIMITS = Limits()
BASE = Address("example.org", "/a/b?c")


def test_one_input(data: bytes) -> None:
    """Read `data` as an address, as a Location and as a user's words."""
    text = data.decode("utf-8", "surrogateescape")
    for address in (parse_address(text, LIMITS), parse_address(f"https://{text}", LIMITS), join(BASE, text, LIMITS)):
        if isinstance(address, Refused):
            assert address.code
            assert address.reason
            continue
        assert parse_address(address.text, LIMITS) == address, address
        assert join(BASE, address.text, LIMITS) == address, address
        # What goes on the request line and into Host: nothing that ends it, parts it or leads elsewhere.
        assert address.text.isascii()
        assert address.text.isprintable()
        assert not set(' "<>#').intersection(address.text)
        assert "\\" not in address.text.partition("?")[0]
        assert address.target.startswith("/")
        assert address.authority == address.host or address.literal
        assert "@" not in address.authority
        assert len(address.text) <= LIMITS.address_chars
        assert address.literal == is_literal(address.host)
        assert read_host(address.authority) == address.host
    seen = SeenHosts(LIMITS)
    seen.add_user_text(text)
    seen.add_result(text)


def main() -> None:
    """Fuzz until told to stop."""
    import atheris

    atheris.instrument_all()
    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
