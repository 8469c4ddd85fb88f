"""Pages made to cost more than they should: one generator for each trap that is known in parsers or in our own rules.

`hostile_pages(size)` gives them all, each about `size` bytes. Real pages with these faults exist too; the generators
only make them large.
"""

from collections.abc import Iterator


def hostile_pages(size: int) -> Iterator[tuple[str, bytes]]:
    """Yield a name and a page for each trap."""
    for name, unit in _REPEATED.items():
        opening, _, repeated = unit.rpartition("…")
        yield name, (opening + repeated * (size // len(repeated.encode()) + 1)).encode()[:size]
    half = size // 2
    yield "stray end tags after many open elements", b"<b>" * (half // 3) + b"</zz>" * (half // 5)
    yield "stray end tags under 500 open elements", b"<b>" * 500 + b"</zz>" * (size // 5)
    yield "many attributes", ("<p " + " ".join(f"a{at}" for at in range(size // 7)) + ">x").encode()
    yield "many classes", "".join(f'<p class="a{at} toc-{at}">x' for at in range(size // 25)).encode()
    yield "many styles", "".join(f'<p style="width:{at}px;color:red">x' for at in range(size // 35)).encode()
    yield "many links", "".join(f"<a href=/{at}>x</a>" for at in range(size // 20)).encode()
    yield "links with dots", "".join(f"<a href='{at}{'/%2e%2e/a' * 200}'>x</a>" for at in range(size // 1800)).encode()
    yield "deferred in deferred", ("<div class=toc>x" * 300 + "</div>" * 300).encode() * (size // 6600 + 1)
    yield "one word", b"x" * size
    yield "nothing", b""
    yield "broken UTF-8", b"<p>" + b"\xff\xc3a" * (size // 3)
    yield "NULs", b"a\0b<p>\0" * (size // 7)
    yield "UTF-16", b"\xff\xfe" + "<p>潮".encode("utf-16-le") * (size // 8)


# What stands before the sign … comes once.
_REPEATED = {
    "a row of cells": "<table><tr>…<td>",
    "rows": "<table>…<tr><td>x<td>y",
    "rows without cells": "<table>…<tr>",
    "tables": "<table><tr><td>a<td>b</table>",
    "tables with links": "<table><tr><td><a href=/x>a</a><td>b</table>",
    "tables with code": "<table><tr><td><pre>a</pre><td>b</table>",
    "tables with captions": "<table><caption>c</caption><tr><td>a<td>b</table>",
    "tables in tables": "<table><tr><td>",
    "captions": "<table>…<caption>x",
    "a span bomb": "<table>…<tr><td rowspan=100 colspan=30>x<td rowspan=100>y",
    "a span bomb in one row": "<table>…<td rowspan=100 colspan=30>x",
    "spans past every number": "<table><tr><td colspan=1000000000000>x<td rowspan=99999999>y</table>",
    "cells of blocks": "<table><tr>…<td><p>x<p>y",
    "paragraphs": "<p>a",
    "headings": "<h1>x",
    "list items": "<li>",
    "lists in lists": "<ul><li>x",
    "reversed lists": "<ol reversed><li>x</ol>",
    "a long reversed list": "<ol reversed>…<li>x",
    "definitions": "<dd>",
    "quotations": "<blockquote>x",
    "superscripts in superscripts": "a…<sup>1",
    "superscripts": "a<sup>1</sup>",
    "inline code in inline code": "<code>x",
    "inline code with backticks": "<code>`a</code>",
    "inline code over blocks": "<code>…<p>x",
    "struck text over blocks": "<del>…<p>x",
    "inline elements out of order": "<code>a<sup>b<del>c",
    "code blocks": "<pre>x</pre>",
    "code blocks in code blocks": "<pre><code><span class=x>",
    "backticks": "<pre>…`",
    "backticks in inline code": "<code>…`a",
    "fences in code": "<pre>…```\n",
    "signs of quotation in code": "<pre>… > ",
    "blank lines in code": "<pre>a…\n",
    "links around blocks": "<a href=x>y<p>",
    "links up and up": f"<a href='{'/..' * 600}'>x</a>",
    "formulas in formulas": "<math>",
    "formulas": "<math><mi>x</mi></math>",
    "a deep formula": f"<math>{'<mrow>' * 400}…<mi>abc</mi>",
    "a wide formula": "<math>…<msup><mi>a</mi><mi>b</mi></msup>",
    "annotations": "<p>…<math><annotation encoding=tex>x",
    "formula scripts": '<script type="math/tex">x</script>',
    "opening signs": "<",
    "opening signs as entities": "&lt;",
    "opening signs and bars": "&lt;|",
    "turn markers": "&lt;s ",
    "control tokens": "&lt;|im_start|>",
    "brackets": "[a",
    "blanks": "<p>… ",
    "breaks": "<p>a…<br>",
    "a style": '<p style="…width:0;',
    "styles with comments": '<p style="a:b/*x">',
    "a class": '<p class="…toc ',
    "divisions": "<div>x</div>",
    "divisions in divisions": "<div>",
    "a script": "<script>…a<b ",
    "a comment": "<!--…-",
    "comments": "<!-- x -->",
    "an open button": "<button>…<p>hello world",
    "buttons": "<button>x",
    "an open selection": "<select>…<option>x",
    "drawings in drawings": "<svg>",
    "hidden paragraphs": "<p hidden>x",
    "pages without scripts": "<noscript>x</noscript>",
    "navigation": "<nav>x",
    "articles": "<article>x",
    "titles": "<title>x</title>",
    "an open title": "<title>",
    "linked data": '<script type="application/ld+json">…"datePublished"   ',
    "readings": "<ruby>a<rt>b",
    "images": "<img alt=x>",
    "checkboxes": "<ul><li>…<input type=checkbox>",
    "entities that nobody sees": "&#8206;",
    "joiners": "\u200d",
    "zero widths": "a\u200b\u200d",
    "controls": "\x01\x02a\x0b",
    "Chinese": "<p>潮の表",
    "a document type": "<!DOCTYPE …x",
    "character data sections": "<![CDATA[x",
    "half end tags": "</",
    "an open attribute": "<a href='…x",
}
