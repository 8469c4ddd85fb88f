"""A web of real pages, made at run time from the documentation that the installed Python carries.

Each module of a fixed list has a page, and so has each of its functions and classes; so have the topics of `help()`.
All stand on ``docs.example.org``, as HTML with a frame around it as pages have, so that what reads them has the work of
a real page. Nothing is made up: the texts are the docstrings, the signatures and the values of this very interpreter.
"""

import datetime as dt
import html
import importlib
import inspect
import platform
import pydoc
import re
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

import attrs

HOST = "docs.example.org"
# Cheap to import, skipped on a platform that lacks it, and without a window, a socket or a file of its own.
_NAMES = (
    "abc argparse array ast asyncio atexit base64 binascii bisect builtins bz2 calendar cmath codecs collections "
    "collections.abc colorsys configparser contextlib contextvars copy csv dataclasses datetime decimal difflib dis "
    "email.message enum errno fileinput fnmatch fractions functools gc getopt gettext glob graphlib gzip hashlib "
    "heapq hmac html html.parser http inspect io ipaddress itertools json keyword linecache locale logging lzma "
    "math mimetypes numbers operator os os.path pathlib pickle pprint queue random re reprlib sched secrets select "
    "selectors shelve shlex shutil signal socket ssl stat statistics string struct subprocess sys tempfile textwrap "
    "threading time timeit tokenize traceback types typing unicodedata urllib.parse uuid warnings weakref "
    "xml.etree.ElementTree zipfile zlib zoneinfo"
)
MODULES = tuple(_NAMES.split())


@attrs.frozen(kw_only=True)
class DocPage:
    """One page of the demo's web."""

    path: str
    title: str
    text: str
    """What the search knows of it: the documentation without markup."""
    html: str

    @property
    def address(self) -> str:
        """Where it stands."""
        return f"https://{HOST}{self.path}"


@attrs.frozen
class Section:
    """A part of a page: a heading, perhaps a signature, and documentation."""

    heading: str
    signature: str
    doc: str


def built() -> dt.date:
    """Return the day on which this Python was built: the date that its documentation has."""
    found = re.match(r"([A-Z][a-z]{2}) +([0-9]{1,2}) ([0-9]{4})", platform.python_build()[1])
    if found is None:
        return dt.date(2023, 10, 2)
    month = "JanFebMarAprMayJunJulAugSepOctNovDec".index(found[1]) // 3 + 1
    return dt.date(int(found[3]), month, int(found[2]))


def all_pages() -> dict[str, DocPage]:
    """Return every page by its path. Takes about a second: the modules are imported and looked through."""
    pages: list[DocPage] = []
    listed: list[tuple[str, str]] = []
    for name in MODULES:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue  # not on this platform, or built without it
        listed.append((f"/{name}", f"{name}: {_synopsis(module)}".rstrip(": ")))
        pages.extend(_module_pages(name, module))
    topics = list(_topic_pages())
    listed.extend((page.path, page.title) for page in topics)
    pages.extend(topics)
    version = platform.python_version()
    pages.append(
        _page(
            path="/",
            title=f"Python {version} documentation",
            sections=[Section("", "", f"The modules and topics that this Python {version} documents.")],
            links=listed,
        )
    )
    return {page.path: page for page in pages}


def _synopsis(module: ModuleType) -> str:
    return pydoc.splitdoc(pydoc.getdoc(module))[0]


def _module_pages(name: str, module: ModuleType) -> Iterator[DocPage]:
    links: list[tuple[str, str]] = []
    values: list[tuple[str, str]] = []
    for member in _public(module):
        value = inspect.getattr_static(module, member, None)
        value = getattr(module, member, value)
        if inspect.isroutine(value) or inspect.isclass(value):
            doc = _doc(value)
            if doc:
                path = f"/{name}/{member}"
                links.append((path, f"{name}.{member}: {pydoc.splitdoc(doc)[0] or _first_sentence(doc)}"))
                yield _member_page(path, f"{name}.{member}", value, doc)
        elif isinstance(value, int | float | complex) or (name == "string" and isinstance(value, str)):
            values.append((f"{name}.{member}", repr(value)))
            if isinstance(value, float):
                path = f"/{name}/{member}"
                links.append((path, f"{name}.{member}"))
                words = f"The value of {name}.{member} is {value!r}."
                yield _page(path=path, title=f"{name}.{member}", sections=[Section("", "", words)], links=[])
    yield _page(
        path=f"/{name}",
        title=f"{name} — {_synopsis(module)}" if _synopsis(module) else name,
        sections=[Section("", f"import {name}", _doc(module))],
        links=links,
        values=values,
    )


def _public(module: ModuleType) -> list[str]:
    names = getattr(module, "__all__", None)
    if names is not None:
        return sorted(set(names))
    return [
        name
        for name in dir(module)
        if not name.startswith("_")
        and not inspect.ismodule(getattr(module, name))
        and (getattr(getattr(module, name), "__module__", None) or module.__name__)
        in (module.__name__, f"_{module.__name__}", "builtins")
    ]


def _member_page(path: str, name: str, value: Any, doc: str) -> DocPage:
    sections = [Section("", _signature(name, value), doc)]
    if inspect.isclass(value):
        for member, raw in sorted(vars(value).items()):
            documented = _doc(raw) if not member.startswith("_") or member == "__init__" else ""
            if documented and not inspect.isclass(raw):
                bound = getattr(value, member, raw)
                sections.append(Section(f"{name}.{member}", _signature(member, bound), documented))
    module = name.rpartition(".")[0]
    return _page(path=path, title=name, sections=sections, links=[(path.rpartition("/")[0], f"Module {module}")])


def _doc(value: Any) -> str:
    try:
        return (inspect.getdoc(value) or "").strip()
    except Exception:  # noqa: BLE001  a descriptor may raise what it likes when it is looked at
        return ""


def _signature(name: str, value: Any) -> str:
    try:
        text = str(inspect.signature(value))
    except Exception:  # noqa: BLE001  `inspect` evaluates what stands in a docstring; in Python 3.13 one of them fails
        return ""
    # What has an address in its form is of no use to a reader, and differs from run to run.
    return re.sub(r" at 0x[0-9A-Fa-f]+>", ">", f"{name}{text}")


def _topic_pages() -> Iterator[DocPage]:
    """Yield the topics of `help()`: the reference of the language itself."""
    from pydoc_data.topics import topics

    for name, text in sorted(topics.items()):
        title, body = _topic_parts(text)
        yield _page(path=f"/topics/{name}", title=title, sections=[Section("", "", body)], links=[])


def _topic_parts(text: str) -> tuple[str, str]:
    lines = text.strip().split("\n")
    if len(lines) > 1 and set(lines[1]) in ({"*"}, {"="}, {"-"}):
        return lines[0].strip(), "\n".join(lines[2:]).strip()
    return lines[0].strip(), "\n".join(lines[1:]).strip()


def _first_sentence(doc: str) -> str:
    return " ".join(doc.partition("\n\n")[0].split())[:160]


# Writing a page down.

_FRAME = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="date" content="{date}">
<title>{title}</title>
<style>body {{ max-width: 46rem; margin: auto }} nav {{ font-size: small }}</style>
</head>
<body>
<header><nav>Documentation of Python {version}</nav></header>
<main>
<h1>{title}</h1>
{body}
</main>
<footer><p>Made from the documentation of Python {version}, as it is installed here.</p></footer>
</body>
</html>
"""


def _page(
    *,
    path: str,
    title: str,
    sections: Iterable[Section],
    links: Iterable[tuple[str, str]],
    values: Iterable[tuple[str, str]] = (),
) -> DocPage:
    body: list[str] = []
    text: list[str] = []
    for section in sections:
        if section.heading:
            body.append(f"<h2>{html.escape(section.heading)}</h2>")
            text.append(section.heading)
        if section.signature:
            body.append(f'<pre><code class="language-python">{html.escape(section.signature)}</code></pre>')
            text.append(section.signature)
        body.append(markup(section.doc))
        text.append(section.doc)
    rows = [f"<tr><td>{html.escape(name)}</td><td>{html.escape(value)}</td></tr>" for name, value in values]
    if rows:
        body.append(f"<h2>Values</h2>\n<table>\n<tr><th>Name</th><th>Value</th></tr>\n{chr(10).join(rows)}\n</table>")
        text.extend(f"{name} {value}" for name, value in values)
    items = [f'<li><a href="{html.escape(target)}">{html.escape(words)}</a></li>' for target, words in links]
    if items:
        body.append(f"<h2>See</h2>\n<ul>\n{chr(10).join(items)}\n</ul>")
    page = _FRAME.format(
        date=built().isoformat(), title=html.escape(title), body="\n".join(body), version=platform.python_version()
    )
    return DocPage(path=path, title=title, text="\n".join(text), html=page)


# What an indented block is code by; without any of these it is a note that was indented.
_CODE_SIGNS = re.compile(r"[={}\[\];\\|]|>>>|^ *(?:def|class|for|import|from|return|with|if|try|print)\b", re.MULTILINE)
_ITEM = re.compile(r"(?:[-*•]|[0-9]{1,2}[.)])[ ]+")


def markup(doc: str) -> str:
    """Return a docstring as HTML: what is indented or a session is code, lines with marks are lists, all else prose."""
    parts: list[str] = []
    for block in re.split(r"\n[ \t]*\n", doc.strip("\n")):
        lines = block.split("\n")
        if lines[0].startswith(" ") and not _CODE_SIGNS.search(block):
            lines = [line.strip() for line in lines]
        if any(line.startswith((" ", "\t", ">>>")) for line in lines) and not _ITEM.match(lines[0]):
            split = next(at for at, line in enumerate(lines) if line.startswith((" ", "\t", ">>>")))
            if split:
                parts.append(f"<p>{html.escape(' '.join(lines[:split]))}</p>")
            parts.append(f"<pre>{html.escape(chr(10).join(lines[split:]))}</pre>")
        elif _ITEM.match(lines[0]):
            parts.append(_items(lines))
        elif block.strip():
            parts.append(f"<p>{html.escape(' '.join(line.strip() for line in lines))}</p>")
    return "\n".join(parts)


def _items(lines: list[str]) -> str:
    items: list[str] = []
    for line in lines:
        found = _ITEM.match(line.strip())
        if found is not None:
            items.append(line.strip()[found.end() :])
        elif items:
            items[-1] += " " + line.strip()
    return "<ul>\n" + "\n".join(f"<li>{html.escape(item)}</li>" for item in items) + "\n</ul>"


# Serving.


def respond(pages: dict[str, DocPage], host: str, target: str) -> tuple[int, tuple[tuple[str, str], ...], bytes]:
    """Return status, header fields and body for one request to the demo's web."""
    path = target.partition("?")[0]
    page = pages.get(path) or pages.get(path.rstrip("/")) if host == HOST else None
    if page is None:
        body = f"<!DOCTYPE html><title>Not found</title><h1>Not found</h1><p>{html.escape(host)} has no such page."
        return 404, (("Content-Type", "text/html; charset=utf-8"),), body.encode()
    return 200, (("Content-Type", "text/html; charset=utf-8"),), page.html.encode()
