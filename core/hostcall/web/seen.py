"""Rule 1: which hosts and addresses an answer has seen, and where.

A model reads text by strangers, and an address can carry out whatever the model knows: one request to
``https://attacker.example/?q=`` with the conversation behind it, and it is gone, whether or not anything comes back.
So a page is opened only when its host stood where no stranger writes: in the address of a search result, or in the
user's own words. Titles and snippets of results, page text and the model's own text never count.

People write addresses in many ways: in brackets, in quotes, bold, without a scheme, at the end of a sentence, in a
sentence without blanks. The scanner below takes what they meant. A host too many costs nothing: the user wrote it.
"""

import re
from collections.abc import Generator, Iterable, Iterator
from typing import Literal, TypeAlias

import attrs

from hostcall.data import Refused
from hostcall.limits import Limits
from hostcall.web.address import Address, parse_address
from hostcall.web.hosts import NEWER_THAN_UNICODE_14, is_literal, read_host

SeenIn: TypeAlias = Literal["search_result", "user_message", "page_link", "unknown"]

NOT_SEEN = Refused(1, "not_seen", "not in this answer's search results")

# What ends an address in running text: blanks, quotes, general and CJK punctuation, full-width punctuation.
_ENDS = '\\s<>"`\u00ab\u00bb\u2000-\u206f\u3000-\u303f\ufeff\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65'
# Scripts that a name may touch: those written without blanks, and those that run from right to left, which join their
# prepositions to it. No label has letters of the second kind beside Latin ones (RFC 5893 §2).
_UNSPACED = "\u0590-\u08ff\u0e00-\u0eff\u1100-\u11ff\u2e80-\u2fff\u3040-\u9fff\ua960-\ua97f\uac00-\ud7ff"
_UNSPACED += "\uf900-\ufaff\ufb1d-\ufdff\ufe70-\ufefc\uff66-\uffdc"
_UNSPACED += "\U00020000-\U0003ffff"

# JSON may write a slash with a backslash before it, and a line end as one with a letter after it.
_SCHEME = re.compile(r"(?:(?<=\\)[nrt]|(?<![A-Za-z0-9]))(https?):(?://|\\/\\/)", re.ASCII | re.IGNORECASE)
# After one of these a scheme stands inside an address, as in https://web.archive.org/web/https://example.org/; after
# anything else it begins the next one.
_INSIDE = frozenset("/?#&=%:@.~_+$!-")
_AUTHORITY = re.compile(rf"\[[^\]{_ENDS}]*\](?::[0-9]*)?|[^{_ENDS}/?#\\'()\[\]{{}}*~|,;!&=]*")
_REST = re.compile(rf"[^{_ENDS}|\\()\[\]{{}}]*")
# What ends a sentence, in the scripts that end it otherwise than by a general or full-width mark.
_STOPS = ".,;:!?*~_'\u0589\u060c\u061b\u061f\u06d4\u0964\u0965\u104a\u104b\u1362\u17d4"
# A letter that only a newer Python knows counts as one on every version, so that all of them find the same names.
_NEWER = "".join(f"{chr(first)}-{chr(last)}" for first, last in NEWER_THAN_UNICODE_14)
# Marks are no letters to `re`. Without them a name would break at each accent that stands by itself, and what is left
# of école.fr is cole.fr: somebody else's. Whole blocks of the scripts that are written with marks, less their stops.
_MARKS = "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8"
_MARKS += "\u06ea-\u06ed\u0711\u0730-\u074a\u07a6-\u07b0\u0900-\u0963\u0966-\u0df3\u0e31-\u0e3a\u0e47-\u0e4e"
_MARKS += "\u0eb1-\u0ebc\u0ec8-\u0ece\u0f18-\u0f39\u0f3e-\u0f84\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u3099\u309a"
# Digits to `re`, and to the mapping of names too: a footnote after a name (example.org¹) or the number of a line before
# it (①example.org) would make it another.
_RAISED = (
    "\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u209f\u2150-\u2189\u2460-\u249b\u24ea-\u24ff\u2776-\u2793\u3192-\u3195"
)
_RAISED += "\u3220-\u3229\u3248-\u324f\u3251-\u325f\u3280-\u3289\u32b1-\u32bf\U0001f100-\U0001f10c"
# Between two l's a raised dot is a letter of Catalan (RFC 5892, appendix A.3). Elsewhere it parts names.
_NAME = re.compile(rf"(?:[^\W{_RAISED}]|[.\-{_NEWER}{_MARKS}]|(?<=[lL])\u00b7(?=[lL]))+")
# Where the last label ends in a word that goes on: ``example.org-Seite``, ``例え.jpを見て``. No label of the root does.
_LAST = re.compile(rf"(?!xn--)[A-Za-z]{{2,}}(?=[\-{_UNSPACED}])", re.IGNORECASE)
_PORT = re.compile(r"(?::[0-9]{1,5})?", re.ASCII)
_ESCAPE = re.compile("%[0-9A-Fa-f]{2}", re.ASCII)
_EMBEDDED = re.compile(
    rf"(?:^|(?<=[{_UNSPACED}])|(?<=[{_UNSPACED}]-))[A-Za-z0-9][A-Za-z0-9_.\-]*[A-Za-z0-9](?=$|[{_UNSPACED}])",
)
_CLOSERS = {")": "(", "]": "[", "}": "{"}
# Beside one of these a name is a piece of a longer one, of which a reader sees the whole. The last two are the @ of
# East Asian keyboards.
_JOINED_AFTER = frozenset("@\u00ad\u200d\u2060\ufe6b\uff20")
_JOINED_BEFORE = _JOINED_AFTER | frozenset("/\\%")


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
    for scheme, here, beyond in _schemes(text):
        if scheme.start() >= at:
            at = yield from _bare_names(text, at, scheme.start(), here)
        if scheme.start() < at:
            continue  # inside an address
        authority, at = _match(_AUTHORITY, text, scheme.end(), beyond)
        if "@" in authority:
            continue
        if authority.startswith("["):
            host, _, port = authority.rstrip(":").partition("]")
            host += "]"
        else:
            host, end = _match(_NAME, text, scheme.end(), at)
            if text[end : end + 1] in _JOINED_AFTER or _ESCAPE.match(text, end):
                continue
            # What is neither part of a name nor of an address ends it: an arrow, an emoji, the stop of a sentence.
            port, at = ("", end) if end < at and text[end] != ":" else (text[end:at].rstrip(".:_-"), at)
            host = host.rstrip("._-")
        rest, at = _rest(text, at, beyond)
        for found in _hosts(host):
            authority = f"[{found}]" if ":" in found else found
            yield _Mention(found, f"{scheme[1]}://{authority}{port}{rest}")
    yield from _bare_names(text, at, len(text), len(text))


def _schemes(text: str) -> list[tuple[re.Match[str], int, int]]:
    """Return each scheme in `text`, with where an address that began before it ends at the latest, and one at it."""
    found: list[tuple[re.Match[str], int, int]] = []
    beyond = len(text)
    for scheme in reversed(list(_SCHEME.finditer(text))):
        here = beyond if text[scheme.start() - 1 : scheme.start()] in _INSIDE else scheme.start()
        found.append((scheme, here, beyond))
        beyond = here
    return found[::-1]


def _bare_names(text: str, start: int, end: int, beyond: int) -> Generator[_Mention, None, int]:
    """Yield the names without a scheme between `start` and `end`: ``example.org``, ``example.org/docs``.

    Returns:
        Where the last one ends with its path, which may hold a scheme and so lie between `end` and `beyond`.
    """
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
            port, at = _match(_PORT, text, at, beyond)
            rest, at = _rest(text, at, beyond)
            yield from (_Mention(host, f"https://{host}{port}{rest}", bare=True) for host in hosts)
    return at


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


def _rest(text: str, start: int, end: int) -> tuple[str, int]:
    """Return the path and query that begin at `start`, if any do, and where they end.

    The closing bracket and the punctuation of the sentence around them are no part of them.
    """
    if not text.startswith(("/", "?", "#"), start, end):
        return "", start
    depth = dict.fromkeys(_CLOSERS.values(), 0)
    _, at = _match(_REST, text, start, end)
    while at < end:
        if (bracket := text[at]) in depth:
            depth[bracket] += 1
        elif depth.get(opener := _CLOSERS.get(bracket, "")):
            depth[opener] -= 1
        else:
            break
        _, at = _match(_REST, text, at + 1, end)
    return text[start:at].rstrip(_STOPS), at


def _match(pattern: re.Pattern[str], text: str, at: int, end: int) -> tuple[str, int]:
    """Return what `pattern` takes at `at`, and where it ends; nothing when it takes nothing."""
    match = pattern.match(text, at, end)
    return ("", at) if match is None else (match[0], match.end())
