"""What a page says about itself: its title, language, date and base address."""

import re
from collections.abc import Mapping

from hostcall.web.page_blocks import END_BLOCK, Attributes, Ending, Handler, Reader, Skip
from hostcall.web.page_math import start_math_script
from hostcall.web.page_style import words

_MAX_FIELD = 300


def _script(reader: Reader, attributes: Attributes) -> "Ending | type[Skip]":
    kind = attributes.get("type", "")[:60].strip().lower() if attributes else ""
    if kind.startswith("math/tex"):
        return start_math_script(reader)
    if kind == "application/ld+json" and not reader.published:
        return (_end_linked_data, len(reader.buffer))
    reader.scripts += 1
    return Skip


_PUBLISHED = re.compile(r'"datePublished"\s{0,9}:\s{0,9}"([^"]{4,40})"')
_DATE = re.compile(r"\s{0,9}([12][0-9]{3}-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12][0-9]|3[01]))?)(?![0-9-])")
_LOOKED_AT = 20_000


def _end_linked_data(reader: Reader, begun: int) -> None:
    text = reader.taken(begun)[:_LOOKED_AT]
    if found := _PUBLISHED.search(text):
        _publish(reader, found[1])


def _publish(reader: Reader, text: str) -> None:
    if not reader.published and (found := _DATE.match(text)):
        reader.published = found[1]


_PUBLISHED_NAMES = words(
    "article:published_time og:article:published_time datepublished date dc.date dc.date.issued dcterms.date "
    "dcterms.issued dcterms.created pubdate publishdate publish_date publish-date parsely-pub-date "
    "citation_publication_date citation_date sailthru.date"
)


def _meta(reader: Reader, attributes: Attributes) -> Ending:
    name = attributes.get("property") or attributes.get("name") or attributes.get("itemprop") or ""
    if name[:40].lower() in _PUBLISHED_NAMES:
        _publish(reader, attributes.get("content", "")[:40].replace("/", "-"))
    return None


def _time(reader: Reader, attributes: Attributes) -> Ending:
    stamp = attributes.get("datetime", "")[:40] if attributes else ""
    if stamp:
        if attributes.get("itemprop") == "datePublished" or "pubdate" in attributes:
            _publish(reader, stamp)
        elif not reader.time and reader.article and (found := _DATE.match(stamp)):
            reader.time = found[1]
    return None


def _base(reader: Reader, attributes: Attributes) -> Ending:
    if not reader.base:
        reader.base = attributes.get("href", "")
    return None


_TAG = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8}){0,4}")


def _html(reader: Reader, attributes: Attributes) -> Ending:
    language = (attributes.get("lang") or attributes.get("xml:lang") or "")[:40].strip().replace("_", "-")
    if _TAG.fullmatch(language):
        reader.language = language
    return END_BLOCK


def _title(reader: Reader, _: Attributes) -> Ending:
    return (_end_title, len(reader.buffer))


def _end_title(reader: Reader, begun: int) -> None:
    text = " ".join(reader.taken(begun).split())
    reader.title = reader.title or text[:_MAX_FIELD]


HEAD_HANDLERS: Mapping[str, Handler] = {
    "base": _base,
    "html": _html,
    "meta": _meta,
    "script": _script,
    "time": _time,
    "title": _title,
}
"""The handlers of elements that say something about the page."""
