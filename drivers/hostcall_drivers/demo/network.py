"""Where the demo's names and addresses lead: to the loopback, and nowhere else.

The names under ``example.org`` resolve to two public addresses, so that the address check has its real work; and the
two, at port 443, are the demo's own server. What is not in the map is not known.
"""

import ipaddress
import socket

import attrs

DOMAIN = "example.org"
PUBLIC_V4 = "93.184.215.14"
PUBLIC_V6 = "2606:2800:220:1::1"
PORT = 443


def resolve(host: str) -> list[str]:
    """Return the addresses of a name under ``example.org``, both families.

    Raises:
        socket.gaierror: Any other name: it has no address here.
    """
    name = host.lower().removesuffix(".")
    if not name.endswith(f".{DOMAIN}"):
        raise socket.gaierror(socket.EAI_NONAME, "the demo knows names under example.org only")
    return [PUBLIC_V4, PUBLIC_V6]


@attrs.frozen
class Mapping:
    """The demo's two public addresses, and the port of the server that stands for them."""

    tls_port: int

    def __call__(self, ip: str, port: int) -> tuple[str, int]:
        """Return the loopback address and port for a public one.

        Raises:
            KeyError: The address and port are not the demo's.
        """
        try:
            known = str(ipaddress.ip_address(ip)) in (PUBLIC_V4, PUBLIC_V6)
        except ValueError:
            known = False
        if not known or port != PORT:
            raise KeyError(f"{ip} port {port}")
        return "127.0.0.1", self.tls_port
