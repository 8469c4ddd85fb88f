"""Rule 1: which hosts and addresses an answer has seen, and where.

A model reads text by strangers, and an address can carry out whatever the model knows: one request to
``https://attacker.example/?q=`` with the conversation behind it, and it is gone, whether or not anything comes back.
So a page is opened only when its host stood where no stranger writes: in the address of a search result, or in the
user's own words. Titles and snippets of results, page text and the model's own text never count.

People write addresses in many ways: in brackets, in quotes, bold, without a scheme, at the end of a sentence, in a
sentence without blanks. The scanner below takes what they meant. A host too many costs nothing: the user wrote it.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

import attrs

from hostcall.data import Refused
from hostcall.limits import Limits
from hostcall.web.address import Address, parse_address
from hostcall.web.hosts import NEWER_THAN_UNICODE_14, is_literal, read_host

SeenIn: TypeAlias = Literal["search_result", "user_message", "page_link", "unknown"]

NOT_SEEN = Refused(1, "not_seen", "not in this answer's search results")

# What ends an address in running text: blanks, quotes, general and CJK punctuation, full-width punctuation.
_ENDS = '\\s<>"`\u00ab\u00bb\u2000-\u206f\u3000-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65'
# Scripts that a name may touch: those written without blanks, and those that run from right to left, which join their
# prepositions to it. No label has letters of the second kind beside Latin ones (RFC 5893 §2).
_UNSPACED = "\u0590-\u08ff\u0e00-\u0eff\u1100-\u11ff\u2e80-\u2fff\u3040-\u9fff\ua960-\ua97f\uac00-\ud7ff"
_UNSPACED += "\uf900-\ufaff\ufb1d-\ufdff\ufe70-\ufefc\uff66-\uffdc"
_UNSPACED += "\U00020000-\U0003ffff"

# JSON may write a slash with a backslash before it.
_SCHEME = re.compile(r"(?<![A-Za-z0-9])(https?):(?://|\\/\\/)", re.ASCII | re.IGNORECASE)
_AUTHORITY = re.compile(rf"\[[^\]{_ENDS}]*\](?::[0-9]*)?|[^{_ENDS}/?#\\'()\[\]{{}}*~|,;!&=]*")
_REST = re.compile(rf"(?:[/?#](?:(?!,https?://)[^{_ENDS}|])*)?", re.IGNORECASE)
# A letter that only a newer Python knows counts as one on every version, so that all of them find the same names.
_NEWER = "".join(f"{chr(first)}-{chr(last)}" for first, last in NEWER_THAN_UNICODE_14)
# Marks are no letters to `re`. Without them a name would break at each accent that stands by itself, and what is left
# of école.fr is cole.fr: somebody else's. Whole blocks of the scripts that are written with marks, less their stops.
_MARKS = "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8"
_MARKS += "\u06ea-\u06ed\u0711\u0730-\u074a\u07a6-\u07b0\u0900-\u0963\u0966-\u0df3\u0e31-\u0e3a\u0e47-\u0e4e"
_MARKS += "\u0eb1-\u0ebc\u0ec8-\u0ece\u0f18-\u0f39\u0f3e-\u0f84\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u3099\u309a"
_NAME = re.compile(rf"[\w.\-{_NEWER}{_MARKS}]+")
# Where the last label ends in a word that goes on: ``example.org-Seite``, ``例え.jpを見て``. No label of the root does.
_LAST = re.compile(rf"(?!xn--)[A-Za-z]{{2,}}(?=[\-{_UNSPACED}])", re.IGNORECASE)
_PORT = re.compile(r"(?::[0-9]{1,5})?", re.ASCII)
_EMBEDDED = re.compile(
    rf"(?:^|(?<=[{_UNSPACED}])|(?<=[{_UNSPACED}]-))[A-Za-z0-9][A-Za-z0-9_.\-]*[A-Za-z0-9](?=$|[{_UNSPACED}])",
)
_CLOSERS = {")": "(", "]": "[", "}": "{"}
# Beside one of these a name is a piece of a longer one, of which a reader sees the whole.
_JOINED_BEFORE = frozenset("@/\\\u00ad\u200d\u2060")
_JOINED_AFTER = frozenset("@\u00ad\u200d\u2060")


@attrs.frozen
class _Mention:
    """A host that a text names."""

    host: str
    address: str
    """The address in which it stands."""
    bare: bool = False
    """It was written without a scheme."""


@attrs.define
class SeenHosts:
    """What this answer may open, by host or, more strictly, by address."""

    _limits: Limits
    _provenance: Literal["host", "address"] = "host"
    _hosts: dict[str, SeenIn] = attrs.field(factory=dict, init=False)
    _addresses: dict[str, SeenIn] = attrs.field(factory=dict, init=False)

    def add_result(self, address: str) -> None:
        """Note the address of a search result that was shown. Nothing else of a result ever counts.

        Security:
            Rule 1, only addresses the answer has already seen. Threat: a snippet or a query string, which are text by
            strangers, naming the host that data is to be carried to.
        """
        parsed = parse_address(address, self._limits)
        if isinstance(parsed, Address):
            self._hosts.setdefault(parsed.host, "search_result")
            self._addresses.setdefault(parsed.text, "search_result")

    def add_user_text(self, text: str) -> None:
        """Note every address and every bare name in the user's own words. The host of an e-mail address is none."""
        for mention in _mentions(text):
            self._hosts.setdefault(mention.host, "user_message")
            parsed = parse_address(mention.address, self._limits)
            if isinstance(parsed, Address):
                self._addresses.setdefault(parsed.text, "user_message")

    def add_host(self, text: str) -> bool:
        """Note a host that the program around us vouches for. Return whether `text` is a host at all.

        By address, that opens its front page only.
        """
        host = read_host(text)
        if host is None:
            return False
        self._hosts.setdefault(host, "user_message")
        self._addresses.setdefault(Address(host, "/", is_literal(host)).text, "user_message")
        return True

    def add_page_links(self, asked: Address, links: Iterable[str]) -> None:
        """Note the links of a page that was read, as far as they stay on the site of the address asked for.

        They matter by address only: by host, a link on a site that was seen needs no note.

        Security:
            Rule 1, links. Threat: a page that sends the next fetch to another site.
        """
        for link in links:
            parsed = parse_address(link, self._limits)
            if isinstance(parsed, Address) and same_site(asked, parsed):
                self._addresses.setdefault(parsed.text, "page_link")

    def check(self, address: Address) -> Refused | None:
        """Return why `address` may not be opened, or None.

        Security:
            Rule 1, only addresses the answer has already seen. Threat: data carried out in an address that a model made
            up or found in a page. Hosts are compared whole: no suffix, no prefix, no ``www.``.
        """
        return NOT_SEEN if self.source(address) == "unknown" else None

    def source(self, address: Address) -> SeenIn:
        """Return where `address` was seen, for the journal; ``unknown`` when it was not."""
        if self._provenance == "address":
            return self._addresses.get(address.text, "unknown")
        return self._hosts.get(address.host, "unknown")


def first_address(text: str, limits: Limits) -> Address | None:
    """Return the first address with a scheme that `text` names and that can be read, or None. A bare name is none."""
    for mention in _mentions(text):
        address = None if mention.bare else parse_address(mention.address, limits)
        if isinstance(address, Address):
            return address
    return None


def same_site(one: Address, other: Address) -> bool:
    """Say whether two addresses are on one site: the same host, one leading ``www.`` aside.

    Not the registrable domain: that takes a list of public suffixes, and without it two strangers on ``github.io`` are
    one site.

    Security:
        Rule 1, links. Threat: a page whose links lead a crawl to somebody else's host.
    """
    return site_of(one) == site_of(other)


def site_of(address: Address) -> str:
    """Return the name of the site that an address is on."""
    return address.host.removeprefix("www.")


def _mentions(text: str) -> Iterator[_Mention]:
    """Yield what `text` names, in order."""
    at = 0
    for scheme in _SCHEME.finditer(text):
        if scheme.start() < at:
            continue  # inside an address, as in https://web.archive.org/web/https://example.org/
        yield from _bare_names(text, at, scheme.start())
        authority, at = _match(_AUTHORITY, text, scheme.end())
        rest, at = _match(_REST, text, at)
        authority = authority.rstrip(".:_-")
        if "@" in authority:
            continue
        host, port = authority, ""
        if colon := authority.find(":", authority.find("]") + 1) + 1:
            host, port = authority[: colon - 1], authority[colon - 1 :]
        for found in _hosts(host):
            authority = f"[{found}]" if ":" in found else found
            yield _Mention(found, f"{scheme[1]}://{authority}{port}{_trimmed(rest)}")
    yield from _bare_names(text, at, len(text))


def _bare_names(text: str, start: int, end: int) -> Iterator[_Mention]:
    """Yield the names without a scheme between `start` and `end`: ``example.org``, ``example.org/docs``."""
    at = start
    while (match := _NAME.search(text, at, end)) is not None:
        at = match.end()
        name = match[0].strip("_").rstrip(".-")
        if "." not in name or text[match.start() - 1 : match.start()] in _JOINED_BEFORE:
            continue
        if text[at : at + 1] in _JOINED_AFTER:
            continue
        hosts = [host for host in _hosts(name) if _ends_in_a_word(host)]
        if hosts:
            port, at = _match(_PORT, text, at)
            rest, at = _match(_REST, text, at)
            yield from (_Mention(host, f"https://{host}{port}{_trimmed(rest)}", bare=True) for host in hosts)


def _hosts(text: str) -> Iterator[str]:
    """Yield the plain names in `text` that a script without blanks surrounds, and the host that it is as a whole."""
    start = text.rfind(".") + 1
    if start and (last := _LAST.match(text, start)) is not None:
        text = text[: last.end()]
    host = read_host(text)
    for match in _EMBEDDED.finditer(text):
        embedded = read_host(match[0])
        if embedded is not None and embedded != host and "." in embedded:
            yield embedded
    if host is not None:
        yield host


def _ends_in_a_word(host: str) -> bool:
    """Say whether the last label begins with a letter and is longer than one: not a version, not ``e.g``."""
    last = host.rpartition(".")[2]
    return len(last) > 1 and last[0].isalpha()


def _trimmed(rest: str) -> str:
    """Return the path and query of an address without the closing bracket and punctuation of the sentence around it."""
    depth: dict[str, int] = {}
    for at, character in enumerate(rest):
        if character in "([{":
            depth[character] = depth.get(character, 0) + 1
        elif character in _CLOSERS:
            opener = _CLOSERS[character]
            if not depth.get(opener):
                rest = rest[:at]
                break
            depth[opener] -= 1
    return rest.rstrip(".,;:!?*~_'")


def _match(pattern: re.Pattern[str], text: str, at: int) -> tuple[str, int]:
    """Return what `pattern`, which matches the empty text too, takes at `at`, and where it ends."""
    match = pattern.match(text, at)
    if match is None:
        raise AssertionError("the pattern matches the empty text, so it matches everywhere")
    return match[0], match.end()
