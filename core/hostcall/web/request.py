"""What is asked of a stranger's server, and how much is taken in answer."""

from hostcall.data import Bounds, HttpRequest
from hostcall.limits import Limits
from hostcall.web.address import Address
from hostcall.web.settings import Web


def user_agent(web: Web) -> str:
    """Return the fixed name that every site is given, with the operator's contact if there is one."""
    return (
        f"Mozilla/5.0 (compatible; hostcall; +{web.contact})" if web.contact else "Mozilla/5.0 (compatible; hostcall)"
    )


def page_request(address: Address, web: Web) -> HttpRequest:
    """Return the request for a page: these fields, in this order, and no other.

    Security:
        Rule 7, nothing of the user's goes out. Threat: cookies, credentials, a referrer or the user's language telling
        a site who asks. The address is all that is sent.
    """
    return HttpRequest(
        "GET",
        address.target,
        (
            ("Host", address.authority),
            ("User-Agent", user_agent(web)),
            ("Accept", "text/html, text/markdown, text/plain"),
            ("Accept-Encoding", "gzip"),
            ("Connection", "close"),
        ),
    )


def page_bounds(limits: Limits) -> Bounds:
    """Return what a driver may take in for one page.

    Security:
        Rule 5, limits on size. Threat: a head without end, chunk lines that outweigh their chunks, a body cut into so
        many pieces that taking them in is the attack.
    """
    return Bounds(
        head_bytes=limits.head_bytes,
        headers=limits.headers,
        wire_bytes=limits.page_wire_bytes,
        data_events=limits.data_events,
        chunk_line_bytes=limits.chunk_line_bytes,
        connect_seconds=limits.connect_seconds,
    )
