"""An address as a model, a page or a server writes it, read strictly and given one canonical spelling.

The grammar is WHATWG's URL for https, less everything that it repairs: slashes that are missing or lean the wrong way,
control characters, numbers in odd notations, user names. What is left is read alike by every parser that was compared,
and that is the point: the classic hole in such a guard is one text that the check and the connection read as two hosts.
For the same reason nothing after this module parses an address again: the request line, Host, the server name and the
addresses to connect to are all built from the parts found here.
"""

import re
from collections.abc import Sequence

import attrs

from hostcall.data import CheckedAddress, Refused
from hostcall.limits import Limits
from hostcall.web.hosts import is_literal, read_host
from hostcall.web.networks import NOT_PUBLIC, Networks
from hostcall.web.ranges import ip_text, read_ip

_BLANKS = " \t\r\n"
_CONTROL = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):", re.ASCII)
_AUTHORITY = re.compile(r"[^/?#]*")

# WHATWG's percent-encode sets (URL §1.3), beside all that is not ASCII.
_ENCODED_IN_PATH = frozenset(' "<>`{}^')
_ENCODED_IN_QUERY = frozenset(" \"<>'")

_DOT = frozenset({".", "%2e"})
_DOTS = frozenset({"..", ".%2e", "%2e.", "%2e%2e"})

_MALFORMED = Refused(2, "address_malformed", "That is not an address that can be opened.")
_NOT_HTTPS = Refused(2, "address_not_https", "Only https addresses can be opened.")
_STEPS_DOWN = attrs.evolve(_NOT_HTTPS, rule=4)
_PORT = Refused(2, "address_port", "Only the usual https port can be opened.")
_USER = Refused(2, "address_user", "An address with a user name cannot be opened.")


@attrs.frozen
class Address:
    """An https address on port 443, without user name and fragment. Only `parse_address` and `join` make one."""

    host: str
    """The canonical name in ASCII, or a literal without brackets."""
    target: str
    """Path and query, as they stand on the request line."""
    literal: bool = False
    """Whether `host` is an IP address."""

    @property
    def authority(self) -> str:
        """The host as it stands in an address and in the Host field: an IPv6 literal in brackets."""
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def text(self) -> str:
        """The canonical spelling of the whole."""
        return f"https://{self.authority}{self.target}"


def parse_address(text: str, limits: Limits) -> Address | Refused:
    """Read an address that a model, a user or a page wrote. An http address is read as the https one.

    Security:
        Rule 2, public addresses only. Threat: a text that two parsers take for two hosts, and other services reached by
        scheme, port or user name.
    """
    text = text.strip(_BLANKS)
    if len(text) > limits.address_chars or _CONTROL.search(text):
        return _MALFORMED
    scheme = _SCHEME.match(text)
    if scheme is None:
        return _MALFORMED
    name = scheme[1].lower()
    if name not in {"http", "https"}:
        return _NOT_HTTPS
    if not text.startswith("//", scheme.end()):
        return _MALFORMED
    address = _after_slashes(text[scheme.end() + 2 :], ("", "443", "80") if name == "http" else ("", "443"))
    # Escaping makes a text longer, and the canonical spelling must itself be one that can be read.
    return _MALFORMED if isinstance(address, Address) and len(address.text) > limits.address_chars else address


def join(base: Address, location: str, limits: Limits) -> Address | Refused:
    """Read a `Location` as the server at `base` means it: an address, or a part of one.

    Security:
        Rule 4, every redirect is a new request, https only. Threat: a public page that leads inside, by a spelling that
        looks relative to one parser and absolute to another. A step down to http is refused and not repaired: what the
        next hop would send in the clear, anybody on the way could answer.
    """
    location = location.strip(_BLANKS)
    if not location or len(location) > limits.address_chars or _CONTROL.search(location):
        return _MALFORMED
    if scheme := _SCHEME.match(location):
        return parse_address(location, limits) if scheme[1].lower() == "https" else _STEPS_DOWN
    if location.startswith("//"):
        return parse_address("https:" + location, limits)
    if location.startswith("#"):
        return base
    path = base.target.partition("?")[0]
    if location.startswith("?"):
        location = path + location
    elif not location.startswith("/"):
        location = path[: path.rindex("/") + 1] + location
    return parse_address(f"https://{base.authority}{location}", limits)


def checked_addresses(
    host: Address | str, answers: Sequence[str], networks: Networks, limits: Limits
) -> tuple[CheckedAddress, ...] | Refused:
    """Return the addresses that may be connected to, in the order to try them.

    The families take turns, beginning with that of the first answer, so that one broken family costs one attempt.

    Args:
        host: The address or host that was looked up; a literal answers for itself.
        answers: Everything that the lookup gave.
        networks: What may be reached.
        limits: How many answers are accepted and how many are tried.

    Security:
        Rule 2, public addresses only: every answer is checked and one bad one refuses them all. Threat: a name whose
        answers mix a public address with one inside. Rule 3, one lookup, one connection: nothing else makes a
        `CheckedAddress`, and a driver connects to nothing else. Threat: a second answer that differs (rebinding).
    """
    name = host if isinstance(host, str) else host.host
    if is_literal(name):
        answers = (name,)
    if not answers:
        return Refused(0, "name_not_found", "No site has that name.", "the lookup gave no address")
    if len(answers) > limits.answers_a_name:
        return Refused(2, "not_public", NOT_PUBLIC, f"{len(answers)} addresses, at most {limits.answers_a_name}")
    families: dict[int, list[str]] = {}
    for answer in answers:
        address = read_ip(answer)
        if address is None or not networks.opens(address):
            return Refused(2, "not_public", NOT_PUBLIC, f"{name} leads to {answer!r}")
        text = ip_text(address)
        family = families.setdefault(address.version, [])
        if text not in family:
            family.append(text)
    return tuple(CheckedAddress(text) for text in _in_turns(*families.values())[: limits.addresses_tried])


def same_ip(one: str, other: str) -> bool:
    """Say whether two texts are the same IP address, however each is written."""
    first = read_ip(one)
    return first is not None and (one == other or first == read_ip(other))


def _after_slashes(rest: str, ports: tuple[str, ...]) -> Address | Refused:
    """Read authority, path and query."""
    authority = _AUTHORITY.match(rest)[0]  # type: ignore[index]  # the pattern matches the empty text too
    if "\\" in authority or not authority:
        return _MALFORMED
    if "@" in authority:
        return _USER
    host, port = _split_port(authority)
    # Compared as text. int() would take ４４３, ٤٤٣, 44_3 and +443 for the usual port.
    if port not in ports:
        return _PORT if port.isdigit() else _MALFORMED
    canonical = read_host(host)
    if canonical is None:
        return _MALFORMED
    path, mark, query = rest[len(authority) :].partition("#")[0].partition("?")
    # Browsers turn a backslash in a path into a slash, other parsers do not: one text, two paths, and after a redirect
    # two hosts.
    if "\\" in path:
        return _MALFORMED
    target = _without_dots(_encoded(path, _ENCODED_IN_PATH)) + mark + _encoded(query, _ENCODED_IN_QUERY)
    return Address(canonical, target, is_literal(canonical))


def _split_port(authority: str) -> tuple[str, str]:
    if authority.startswith("["):
        inside, bracket, after = authority.partition("]")
        if after and not after.startswith(":"):
            return "", ""
        return inside + bracket, after[1:]
    host, _, port = authority.partition(":")
    return host, port


def _encoded(text: str, also: frozenset[str]) -> str:
    """Escape what may not stand on a request line. Escapes that are there are left as they are."""
    if text.isascii() and also.isdisjoint(text):
        return text
    return "".join(
        character
        if character.isascii() and character not in also
        else "".join(f"%{byte:02X}" for byte in character.encode())
        for character in text
    )


def _without_dots(path: str) -> str:
    """Resolve the dot segments of a path, so that one page has one address (URL §4.4, path state)."""
    if not path:
        return "/"
    segments = path.split("/")[1:]
    last = segments[-1].lower()
    kept: list[str] = []
    for segment in segments:
        lowered = segment.lower()
        if lowered in _DOTS:
            if kept:
                kept.pop()
        elif lowered not in _DOT:
            kept.append(segment)
    if last in _DOT or last in _DOTS:
        kept.append("")
    return "/" + "/".join(kept)


def _in_turns(*families: list[str]) -> list[str]:
    taken: list[str] = []
    for at in range(max(len(family) for family in families)):
        taken.extend(family[at] for family in families if at < len(family))
    return taken
