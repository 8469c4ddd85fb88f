"""The demo's pages and its index, made once for all tests."""

import functools

from hostcall_drivers.demo.pages import DocPage, all_pages
from hostcall_drivers.demo.search import Index


@functools.lru_cache(maxsize=1)
def library() -> dict[str, DocPage]:
    return all_pages()


@functools.lru_cache(maxsize=1)
def index() -> Index:
    return Index(library().values())
