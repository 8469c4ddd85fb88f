"""The links of a page that a crawl may follow: on the page's own site, the most promising first.

Links are resolved here only to be listed; what is opened is parsed and checked again as an address. So this resolver is
small and strict: what no browser would read the same way, or what cannot be read with certainty, is no link.
"""

import re
import unicodedata
from urllib.parse import quote

import attrs
import idna

from hostcall.web.page_blocks import Link
from hostcall.web.page_style import words

_LETTER = "[a-z0-9_\u00a1-\U0010ffff]"
_ADDRESS = re.compile(rf"(https?)://({_LETTER}(?:(?:{_LETTER}|[.-]){{0,252}}{_LETTER})?\.?|\[[0-9a-f:.]{{2,45}}\])"
                      r"(?::([0-9]{0,5}))?(/[^?#]*)?(?:\?([^#]*))?(?:#.*)?", re.DOTALL | re.IGNORECASE)  # fmt: skip
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2064\ufffd\ud800-\udfff]")
_STRIPPED = "".join(map(chr, range(0x21)))
_LINE_ENDS = re.compile("[\t\n\r]")
_MAX_ADDRESS = 2000
_DEFAULT_PORTS = {"https": "443", "http": "80"}

# What may stand in a path or a query; all else is written as percent and two digits, as a browser does.
_SAFE_PATH = "!$%&'()*+,-./:;=@_~|[]^"
_SAFE_QUERY = "!$%&()*+,-./:;=?@_~|[]^`{}"

_ASSETS = re.compile(
    r"\.(?:png|jpe?g|gif|webp|avif|svg|ico|bmp|tiff?|css|m?js|json|xml|rss|atom|woff2?|ttf|eot|pdf|zip|gz|tgz|bz2|xz|7z"
    r"|rar|tar|exe|msi|dmg|deb|rpm|apk|jar|whl|iso|mp[34]|m4[av]|webm|og[gv]|wav|avi|mov|mkv|docx?|xlsx?|pptx?|epub"
    r"|csv|bin|img|ics)\Z",
    re.IGNORECASE,
)
_SEPARATORS = re.compile("[/?&=._]+")
_UNWANTED = words(
    "login log-in logout log-out signin sign-in signup sign-up register cart basket checkout account share print "
    "search tag tags feed rss privacy privacy-policy terms imprint impressum cookies contact edit history oldid diff "
    "subscribe newsletter password wp-login wp-admin special:search special:recentchanges"
)
# Nearly every link of nearly every page: a path that no reader takes for anything else.
_SIMPLE = re.compile(r"/?[A-Za-z0-9_~-][A-Za-z0-9_~.-]*(?:/[A-Za-z0-9_~-][A-Za-z0-9_~.-]*)*+/?")


@attrs.frozen
class _Place:
    """An address in parts."""

    scheme: str
    host: str
    path: str
    query: str | None

    @property
    def site(self) -> str:
        return self.host.removeprefix("www.")


def page_links(
    links: list[Link], address: str, base: str, main: tuple[int, int], *, utf8: bool, most: int
) -> tuple[str, ...]:
    """Return the links that lead on within the page's site, best first.

    Security:
        Rule 1, only addresses the answer has seen. Threat: a page that sends the crawl to a site of its choice, by an
        address that two readers take apart differently. Only the page's own host (one leading ``www.`` aside) at the
        standard port is listed, with no user name, and nothing that had to be repaired to be read.

    Args:
        links: The links as met, each address once.
        address: The final address of the page.
        base: The ``href`` of the page's ``base`` element, or empty.
        main: The range of blocks that hold the main text.
        utf8: Whether the page is UTF-8: a browser writes queries in the page's own encoding.
        most: How many to list.
    """
    page = _absolute(address)
    if page is None or page.scheme != "https":
        return ()
    origin = page
    if base:
        origin = _resolved(base, page, utf8=utf8) or page
    directory = page.path[: page.path.rfind("/") + 1]
    ranked = sorted(links, key=lambda link: (-_score(link, main, directory), link.order))
    found: dict[str, str] = {}
    seen = {_key(page)}
    shown = _shown(page.site)
    for link in ranked:
        place = _resolved(link.href, origin, utf8=utf8)
        if place is not None and place.site == shown != page.site:
            place = attrs.evolve(place, host=place.host.replace(shown, page.site))
        if place is None or place.site != page.site or _ASSETS.search(place.path):
            continue
        key = _key(place)
        if key not in seen:
            seen.add(key)
            found[key] = f"https://{place.host}{key}"
            if len(found) == most:
                break
    return tuple(found.values())


def _key(place: _Place) -> str:
    return place.path if place.query is None else f"{place.path}?{place.query}"


def _shown(site: str) -> str:
    """Return the name of a site as people write it, which is how links to a name outside ASCII are written too."""
    try:
        return idna.decode(site)
    except idna.IDNAError:
        return site


def _score(link: Link, main: tuple[int, int], directory: str) -> int:
    score = 4 if main[0] <= link.block < main[1] and not link.boilerplate else 0
    if link.boilerplate:
        score -= 3
    if link.size < 3:
        score -= 2
    href = link.href[:400]
    if not _UNWANTED.isdisjoint(_SEPARATORS.split(href.lower())):
        score -= 6
    if href.startswith(directory) or href[:1].isalnum():
        score += 1
    if link.rel:
        rel = link.rel[:100].lower().split()
        if "next" in rel:
            score += 2
        if "ugc" in rel or "sponsored" in rel:
            score -= 6
    return score


def _resolved(href: str, origin: _Place, *, utf8: bool) -> _Place | None:
    """Return where a link leads, or None when that cannot be said with certainty."""
    if len(href) > _MAX_ADDRESS:
        return None
    if _SIMPLE.fullmatch(href):
        if href[0] != "/":
            href = origin.path[: origin.path.rfind("/") + 1] + href
        return _Place(origin.scheme, origin.host, href, None)
    # Browsers strip these at the ends, and drop line ends and tabs inside.
    href = _LINE_ENDS.sub("", href.strip(_STRIPPED))
    href = href.partition("#")[0]
    if not href or "\\" in href or _CONTROLS.search(href):
        return None
    if href.startswith("//"):
        return _absolute(f"https:{href}", utf8=utf8)
    if _SCHEME.match(href):
        return _absolute(href, utf8=utf8)
    path, mark, query = href.partition("?")
    if not path:
        path = origin.path
    elif not path.startswith("/"):
        path = origin.path[: origin.path.rfind("/") + 1] + path
    return _place(origin.scheme, origin.host, path, query if mark else None, utf8=utf8)


def _absolute(address: str, *, utf8: bool = True) -> _Place | None:
    found = _ADDRESS.fullmatch(address)
    if found is None:
        return None
    scheme, host, port, path, query = found.groups()
    scheme = scheme.lower()
    if port and port != _DEFAULT_PORTS[scheme]:
        return None
    host = unicodedata.normalize("NFC", host.lower()).removesuffix(".")
    return _place(scheme, host, path or "/", query, utf8=utf8)


def _place(scheme: str, host: str, path: str, query: str | None, *, utf8: bool) -> _Place | None:
    if query is not None and not utf8 and not query.isascii():
        return None
    path = _without_dots(quote(path, safe=_SAFE_PATH))
    return _Place(scheme, host, path, None if query is None else quote(query, safe=_SAFE_QUERY))


def _without_dots(path: str) -> str:
    """Return a path with its dot segments resolved, those written with ``%2e`` too, as browsers do."""
    if "/." not in path and "%2e" not in path.lower():
        return path
    kept: list[str] = []
    segments = path.split("/")[1:]
    for at, segment in enumerate(segments):
        plain = segment.lower().replace("%2e", ".") if len(segment) <= 6 else segment
        last = at == len(segments) - 1
        if plain == "..":
            del kept[-1:]
            if last:
                kept.append("")
        elif plain == ".":
            if last:
                kept.append("")
        else:
            kept.append(segment)
    return "/" + "/".join(kept)
