"""The page reader: what stays, what goes, what it costs. The dialect stands in the case file, the rules here."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostcall.web.defuse import defuse
from hostcall.web.page import MAX_LINKS, Page, cut_text, read_page
from hostcall.web.page_blocks import Reader
from hostcall.web.page_elements import HANDLERS
from hostcall.web.page_target import Target
from tests.cases.html import cases, failure
from tests.growth import FACTOR, LINEAR, growth
from tests.hostile_pages import hostile_pages

ADDRESS = "https://docs.example.org/guide/page.html"
CASES = Path(__file__).parents[2] / "cases" / "html-open.jsonl"
PROSE = "The harbour master keeps a record of every barge that ties up overnight, copied by hand each Friday. " * 3


def page(html: str, max_chars: int = 12_000, content_type: str = "text/html; charset=utf-8") -> Page:
    return read_page(html.encode("utf-8"), content_type, ADDRESS, max_chars=max_chars)


def text(html: str) -> str:
    return page(html).text


@pytest.mark.parametrize("case", list(cases(CASES)), ids=lambda case: str(case["id"]))
def test_case(case: dict[str, str]) -> None:
    assert failure(case) == ""


class TestAboutThePage:
    def test_title_language_and_date(self) -> None:
        read = page(
            "<html lang=en-GB><head><title> Tide \n tables </title><title>second</title>"
            '<meta property="article:published_time" content="2026-05-03T10:00:00Z"></head><body><p>x'
        )
        assert (read.title, read.language, read.published) == ("Tide tables", "en-GB", "2026-05-03")
        assert read.address == ADDRESS

    @pytest.mark.parametrize(
        ("html", "published"),
        [
            ('<script type="application/ld+json">{"datePublished": "2026-02-03T00:00"}</script>', "2026-02-03"),
            ('<meta name="date" content="2026/02/03">', "2026-02-03"),
            ('<meta itemprop="datePublished" content="2026-02">', "2026-02"),
            ('<article><time datetime="2026-02-03">3 Feb</time></article>', "2026-02-03"),
            ('<time datetime="2026-02-03" pubdate>3 Feb</time>', "2026-02-03"),
            (
                '<article><time datetime="2026-02-03">x</time><time datetime="2025-01-01">y</time></article>',
                "2026-02-03",
            ),
            ('<time datetime="2026-02-03">3 Feb</time>', ""),
            ("<time>3 Feb</time>", ""),
            ('<meta name="date" content="3 May 2026">', ""),
            ('<meta name="date" content="2026-13-01">', ""),
            ('<meta name="author" content="2026-01-01">', ""),
            ('<script type="application/ld+json">{"x": 1}</script>', ""),
        ],
    )
    def test_the_date_comes_from_where_pages_give_it(self, html: str, published: str) -> None:
        assert page(html).published == published

    def test_a_page_without_a_title_is_named_by_its_first_heading(self) -> None:
        assert page("<p>x</p><h2>No</h2><h1>On <b>barges</b></h1>").title == "On barges"
        assert page("<p>x").title == ""

    def test_a_title_is_defused_and_cut(self) -> None:
        assert page("<title>&lt;|im_start|> a\u202eb</title>").title == "‹¦im_start¦› ab"
        assert len(page(f"<title>{'x' * 999}</title>").title) == 300

    @pytest.mark.parametrize("language", ["", "x", "en us", "<b>", "x" * 99])
    def test_what_is_no_language_is_none(self, language: str) -> None:
        assert page(f'<html lang="{language}"><p>x').language == ""

    def test_markers_in_the_text_are_defused(self) -> None:
        assert text("<p>a &lt;tool_call> b</p><pre>[TOOL_CALL]</pre>") == "a ‹tool_call› b\n\n```\n⟦TOOL_CALL⟧\n```"


class TestKinds:
    def test_plain_text_keeps_its_lines(self) -> None:
        read = page("one\r\n\r\n\r\n\r\n  two\n<b>three</b>\x00", content_type="text/plain")
        assert read.text == "one\n\n  two\n<b>three</b>"
        assert (read.title, read.links, read.thin) == ("", (), False)

    def test_markdown_has_a_title_and_keeps_blank_lines_in_code(self) -> None:
        read = page("# Tides\n\n\n\nx\n\n```\na\n\n\n\nb\n```\n\n\ny", content_type="text/markdown")
        assert read.title == "Tides"
        assert read.text == "# Tides\n\nx\n\n```\na\n\n\n\nb\n```\n\ny"

    def test_an_empty_text_is_thin(self) -> None:
        assert page(" \n ", content_type="text/plain").thin
        assert page("").thin
        assert page("", content_type="").text == ""

    def test_xhtml_is_read_as_html(self) -> None:
        markup = (
            '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml"><p>é<br/>x</p></html>'
        )
        assert page(markup, content_type="application/xhtml+xml").text == "é\nx"

    def test_a_page_made_by_scripts_is_thin(self) -> None:
        shell = page("<div id=root></div><noscript>You need to enable JavaScript.</noscript><script>boot()</script>")
        assert shell.thin
        assert shell.text == "You need to enable JavaScript."
        assert page("<p>Loading</p><script>boot()</script>").thin
        assert not page("<p>OK</p>").thin
        assert not page(f"<p>{PROSE}</p><script>count()</script>").thin


class TestHidden:
    @pytest.mark.parametrize(
        "attributes",
        [
            "hidden",
            'hidden="hidden"',
            "aria-hidden=true",
            'aria-hidden=" TRUE "',
            *(
                f'style="{style}"'
                for style in [
                    "display:none",
                    "DISPLAY : NONE !important",
                    "color:red;display:/* x */none",
                    "visibility:hidden",
                    "visibility:collapse",
                    "content-visibility:hidden",
                    "opacity:0",
                    "opacity:0.0",
                    "opacity: .01",
                    "opacity:0%",
                    "font-size:0",
                    "font-size:1px",
                    "font-size:0.1em",
                    "font:0/0 a",
                    "position:absolute;left:-9999px",
                    "position:fixed;top:-100em",
                    "margin-left:-5000px",
                    "text-indent:-9999px",
                    "transform:translateX(-9999px)",
                    "transform:scale(0)",
                    "clip:rect(0,0,0,0)",
                    "clip:rect(0 0 0 0)",
                    "clip:rect(1px, 1px, 1px, 1px)",
                    "clip-path:inset(50%)",
                    "width:0;height:0;overflow:hidden",
                    "max-height:0px;overflow:hidden",
                    "width:1px;overflow:clip",
                    "color:transparent",
                    "color:#fff",
                    "color:white",
                    "color:rgb(255, 255, 255)",
                    "color:#fefefe",
                    "color:black;background:#000",
                    "color:#ABCDEF;background-color:#abcdef",
                    "color:red;background:red",
                    "color:blue;background:blue",
                    "display:none;display:bogus",
                    "display:none !important;display:block",
                    "d\\69 splay:n\\6fne",
                    "dis\\play:none",
                    "color:red;/* never closed */;opacity:0 /*",
                    "filter:opacity(0)",
                    "font-size:5%",
                    "font-size:calc(0px)",
                    "position:absolute;left:9999px",
                    "margin-left:-100vw",
                    "transform:rotateX(90deg)",
                    "-webkit-text-fill-color:transparent",
                    "color:rgba(0,0,0,0)",
                    "color:rgb(255 255 255)",
                    "color:rgb(100%,100%,100%)",
                    "color:#ffffffee",
                    "color:#0000",
                    "color:hsl(0,0%,100%)",
                    "color:hsl(0 0% 0% / 0)",
                    "color:oklch(1 0 0)",
                    "color:ghostwhite",
                    "color:white;background:none",
                    "color:white;background:transparent",
                    "color:white;background:rgba(0,0,0,0)",
                    "color:white;color:bogus",
                    "color:hsl(0,0%,1%);background:black",
                    f"{'width:100%;' * 60}display:none",
                ]
            ),
            "class=sr-only",
            'class="x visually-hidden"',
            f'class="{"x" * 500} sr-only"',
        ],
    )
    def test_hidden_text_never_arrives(self, attributes: str) -> None:
        for tag in ("p", "div", "span", "td"):
            got = text(
                f"<main><p>{PROSE}</p><{tag} {attributes}>gho<b>st</b><i style='display:block'>ghost</i></{tag}>"
            )
            assert "gho" not in got
            assert "st " not in got.removeprefix(PROSE.strip())

    @pytest.mark.parametrize(
        "attributes",
        [
            "hidden=until-found",
            "aria-hidden=false",
            'class="hidden-gem"',
            "data-hidden=true",
            *(
                f'style="{style}"'
                for style in [
                    "display:block",
                    "opacity:0.9",
                    "opacity:1",
                    "font-size:10px",
                    "font-size:1.2em",
                    "color:red",
                    "color:#fff;background:#333",
                    "color:blue;background:teal",
                    "color:inherit",
                    "color:white;background:url(dark.png)",
                    "color:hsl(200,50%,50%)",
                    "color:rgb(255,255,255);background:rgba(0,0,0,.8)",
                    "left:300px",
                    "\\0;\\ffffff;\\",
                    f"{'width:100%;' * 60}color:red",
                    "left:-20px",
                    "text-indent:-1.5em",
                    "overflow:hidden",
                    "overflow:hidden;width:100px",
                    "transform:translateX(-50%)",
                    "clip:auto",
                    "nonsense",
                    "",
                ]
            ),
        ],
    )
    def test_what_a_person_can_see_stays(self, attributes: str) -> None:
        assert "plain words" in text(f"<p {attributes}>plain words")

    def test_white_text_is_read_on_a_dark_ground(self) -> None:
        assert text('<div style="background:#222"><p style="color:white">seen</p></div>') == "seen"
        assert text('<table bgcolor="#000000"><tr><td><font color="#fff">seen</font></table>') == "seen"
        assert text('<font color="white">ghost</font><p>seen') == "seen"
        assert text('<div style="background:#222">a</div><p style="color:white">ghost</p>') == "a"
        assert text('<body style="color:#fff"><p>seen') == "seen"
        assert text('<button style="background:#000">x</button><p style="color:white">ghost</p><p>seen') == "seen"

    def test_controls_scripts_comments_and_closed_dialogs_go(self) -> None:
        got = text(
            "<p>a<!-- ghost --><script>ghost</script><style>ghost</style><template>ghost</template></p>"
            "<dialog><p>ghost</dialog><dialog open>b</dialog><svg><text>ghost</text></svg><object>ghost</object>"
            "<select><option>ghost</select><textarea>ghost</textarea><video>ghost</video><img width=1 alt=ghost>"
        )
        assert got == "a\n\nb"

    @given(
        st.lists(
            st.sampled_from(["div", "p", "ul><li", "table><tr><td", "b", "pre", "code", "a href=x", "h2", "svg"]),
            max_size=6,
        ),
        st.sampled_from(["hidden", "aria-hidden=true", "style=display:none", "class=sr-only"]),
        st.lists(
            st.sampled_from(["<p>", "</p>", "</div>", "<b>", "</b>", "ghost", "<br>", "<td>", "</ul>", "<pre>"]),
            max_size=8,
        ),
    )
    @settings(max_examples=150, deadline=None)
    def test_nothing_in_a_hidden_element_arrives_wherever_it_stands(
        self, around: list[str], how: str, inside: list[str]
    ) -> None:
        html = "".join(f"<{tag}>" for tag in around)
        # A section is closed by nothing that stands inside.
        inner = "".join(piece for piece in inside if not piece.startswith("</"))
        assert "ghost" not in text(f"{html}<section {how}>{inner}ghost</section><p>{PROSE}")


class TestMainContent:
    def test_the_frame_of_a_page_goes(self) -> None:
        got = text(
            "<header>SITE</header><nav>MENU</nav><div role=navigation>MENU</div><div role=search>FIND</div>"
            f"<div class='cookie-banner'><p>COOKIES</p></div><article><h1>On barges</h1><p>{PROSE}</p>"
            "<aside class=related>RELATED</aside><aside class=admonition>Mind the gap.</aside></article>"
            "<div id=site-footer>IMPRINT</div><footer>END</footer>"
        )
        assert got == f"# On barges\n\n{PROSE.strip()}\n\nMind the gap."

    def test_a_short_page_keeps_all(self) -> None:
        assert text("<nav>Docs</nav><p>Moved.</p>") == "Docs\n\nMoved."

    def test_a_class_that_sounds_like_boilerplate_does_not_cost_the_page(self) -> None:
        assert text(f"<div class='share-page'><p>{PROSE}</p></div><p>x</p>").startswith(PROSE.strip())

    def test_an_article_with_little_of_the_text_is_not_taken_for_the_page(self) -> None:
        got = text(f"<article>{'word ' * 12}</article><div><p>{PROSE}</p><p>{PROSE}</p></div>")
        assert PROSE.strip() in got

    def test_the_largest_main_wins(self) -> None:
        assert text(f"<main>x</main><p>outside</p><div role=main><p>{PROSE}</p></div>") == PROSE.strip()

    def test_links_count_as_navigation(self) -> None:
        menu = "<div>" + "".join(f"<a href=/{at}>entry number {at}</a> " for at in range(60)) + "</div>"
        assert text(f"{menu}<div><p>{PROSE}</p></div>") == PROSE.strip()

    def test_a_range_with_too_little_text_is_not_chosen(self) -> None:
        short = "".join(f"<p>line number {at}</p>" for at in range(20))
        got = text(f"<header>top</header>{short}<article><p>{'word ' * 15}</p></article><div class='toc x'>t</div>")
        assert "line number 19" in got
        assert "top" not in got

    def test_a_short_article_on_a_short_page_keeps_the_page(self) -> None:
        got = text(f"<nav>menu</nav><article><p>{'word ' * 15}</p></article><p>x</p>")
        assert got == f"menu\n\n{('word ' * 15).strip()}\n\nx"

    def test_a_page_of_links_is_kept(self) -> None:
        links = "".join(f"<li><a href=/{at}>entry number {at}</a>" for at in range(60))
        assert text(f"<ul>{links}</ul>").count("entry number") == 60

    def test_an_open_button_does_not_take_the_page(self) -> None:
        assert PROSE.strip() in text(f"<p>Menu <button>open<div><p>{PROSE}</p></div>")

    def test_a_button_in_a_heading_is_the_heading(self) -> None:
        assert text("<h3><button>Why?</button></h3><p>Because.</p><button>Copy</button>") == "### Why?\n\nBecause."


class TestBlocks:
    @pytest.mark.parametrize(
        ("html", "expected"),
        [
            ("<p>a&nbsp;b   c</p>", "a b c"),
            ("a<br><br>b<br>", "a\n\nb"),
            ("<h1>a<br>b</h1>", "# a b"),
            ("<h2>Name<a class=headerlink href=#n>¶</a></h2><h3>B <a href=#b>#</a></h3>", "## Name\n\n### B"),
            ("<h2><div>a</div><div>b</div></h2>", "## a\n\nb"),
            ("<ul><li><h3>T</h3><p>x</ul>", "- ### T\n\n  x"),
            ("<ul><li></li><li>a</ul>", "- a"),
            ("<ul><li><ul><li>deep</ul></ul>", "- - deep"),
            ("<ul><li>a</li><ul><li>b</li></ul><li>c</li></ul>", "- a\n  - b\n- c"),
            ("<ol start=x><li value=7>a<li>b</ol>", "7. a\n8. b"),
            ("<ol reversed start=5><li>a<li>b</ol>", "5. a\n4. b"),
            ("<ol reversed><li>a<ol reversed><li>x<li>y</ol><li>b</ol>", "2. a\n   2. x\n   1. y\n1. b"),
            ("<ol reversed><li value=9>a<li>b</ol>", "9. a\n8. b"),
            ("<li>loose", "- loose"),
            ("<ul>\n<li>a</li>\n <li>b</li>\n</ul>\n", "- a\n- b"),
            (
                "<ul><li><input type=checkbox checked> done<li><input type=checkbox>open<input type=text value=x></ul>",
                "- [x] done\n- [ ] open",
            ),
            ("<ul><li>a<p>b</p><ul><li>c</ul>d</ul>", "- a\n\n  b\n  - c\n\n  d"),
            ("<dl><dt>a<dd><p>b</p><p>c</p><dt>d<dd>e</dl>", "a\n: b\n\n  c\n\nd\n: e"),
            ("<dl><dt>a<dt>b<dd>c<dt>d</dl>", "a\nb\n: c\n\nd"),
            ("<dl><dt>a</dt><dt>b</dt><dd>c</dd></dl>", "a\nb\n: c"),
            ("<dl><dd>a<dd>b<dl><dt>c<dd>d</dl><dt>e</dl>", ": a\n: b\n\n  c\n  : d\n\ne"),
            ("<dd>a<dd>b", ": a\n  : b"),
            ("<blockquote><p>a</p><p>b<br>c</p><ul><li>d</ul></blockquote>e", "> a\n>\n> b\n> c\n>\n> - d\n\ne"),
            ("<blockquote>a<blockquote>b</blockquote></blockquote>", "> a\n>\n> > b"),
            ("<ul><li><blockquote>q</blockquote></ul>", "- > q"),
            ("<p>x<noscript>no</noscript>y</p>", "x\n\ny"),
            ("<details><summary>s</summary>t</details>", "s\n\nt"),
            ("<figure><img alt='A  map'><figcaption>Fig. 1</figcaption></figure>", "[image: A map]\n\nFig. 1"),
            ("<p>Hi <img class=emoji alt='😀'> <img alt='E=mc' class=latex></p>", "Hi 😀 $E=mc$"),
            ("<p>He said <q>no</q>. <ruby>潮<rp>(</rp><rt>しお</rt></ruby></p>", "He said “no”. 潮(しお)"),
            ("<p>\u200b</p><p>a</p><p>\u2060</p>", "a"),
            ("<div>\n<br>a<br></div>", "a"),
            ("<ol reversed><li>a<li></ol>", "2. a"),
            ("<article><aside></aside><p>x</article>", "x"),
            ("<blockquote>x<footer>— y</footer></blockquote>", "> x\n>\n> — y"),
            ("<fieldset><legend>L</legend>x</fieldset><hr><address>y</address>", "L\n\nx\n\ny"),
        ],
    )
    def test_form(self, html: str, expected: str) -> None:
        assert text(html) == expected

    def test_deep_lists_stop_indenting(self) -> None:
        got = text("<ul><li>x" * 60)
        assert max(len(line) - len(line.lstrip()) for line in got.split("\n")) <= 42
        assert got.count("- x") == 60
        assert text("<ul><li>x</li>" * 60).count("- x") == 60


class TestInline:
    @pytest.mark.parametrize(
        ("html", "expected"),
        [
            ("Call <code>f(x)</code> now", "Call `f(x)` now"),
            ("<code> f  x </code>y", "`f x` y"),
            ("<code>a`b</code> <code>`x`</code> <code></code><code> </code>", "``a`b`` `` `x` ``"),
            ("<code>a <code>b</code></code>", "`a b`"),
            ("<code>a<p>b</p></code>", "`a`\n\n`b`"),
            ("<code>a <del>b<p>c</p></del></code>", "~~`a b`~~\n\n~~`c`~~"),
            ("<code>a<b>b</code>c", "`ab`c"),
            ("<p>was <del>10</del> <s> </s><strike>x </strike>9</p>", "was ~~10~~ ~~x~~ 9"),
            ("<del>a<p>b</p></del>c", "~~a~~\n\n~~b~~\n\nc"),
            ("<del>a <del>b</del></del>", "~~a b~~"),
            ("10<sup>6</sup> x<sup>n+1</sup> e<sup>−x</sup> a<sub>i</sub>", "10^6 x^(n+1) e^−x ai"),
            ("1<sup>st</sup> ACME<sup>™</sup> fact<sup>[3]</sup> 2<sup></sup><sup>9</sup>", "1st ACME™ fact[3] 2^9"),
            ("<sup>1</sup> note; a <sup>2</sup>", "1 note; a 2"),
            ("2<sup>3<sup>4</sup></sup>", "2^34"),
            ("x<sup>2<p>y</p></sup>", "x2\n\ny"),
            ("<a href=/x>the <b>tables</b></a> <a name=y>z</a>", "the tables z"),
            ("<a href=/x>a<p>b</p>c</a>", "a\n\nb\n\nc"),
            ("<a href=#x>a<p>b</p>c</a>", "a\n\nb\n\nc"),
            ("<code>a<a href=/x>b</code>c</a>", "`ab`c"),
        ],
    )
    def test_form(self, html: str, expected: str) -> None:
        assert text(html) == expected


class TestCode:
    @pytest.mark.parametrize(
        ("html", "expected"),
        [
            ("<pre>\n\na\n\n\n\n  b\n\n</pre>", "```\n\na\n\n\n\n  b\n```"),
            ("<pre>a<br>b\u00a0c</pre>", "```\na\nb\u00a0c\n```"),
            ("<pre><code class='language-js'>x</code></pre>", "```js\nx\n```"),
            ("<pre class='lang-c++'>x</pre>", "```c++\nx\n```"),
            (
                "<div class='highlight-python3 notranslate'><div class=highlight><pre>x</pre></div></div><pre>y</pre>",
                "```python3\nx\n```\n\n```\ny\n```",
            ),
            ("<div class='highlight highlight-source-rust'><pre>x</pre></div>", "```rust\nx\n```"),
            ("<div class='highlight-default'><pre>x</pre></div>", "```\nx\n```"),
            ("<pre class='sourceCode haskell'><code>x</code></pre>", "```haskell\nx\n```"),
            (
                "<pre data-lang=TOML>x</pre><pre><code data-language=go>y</code></pre>",
                "```toml\nx\n```\n\n```go\ny\n```",
            ),
            ("<pre><code data-lang='<b>'>y</code></pre>", "```\ny\n```"),
            ("<pre>a ``` b</pre>", "````\na ``` b\n````"),
            ("<pre> \n </pre><pre></pre><p>x", "x"),
            ("<pre><div>a</div><div>b</div></pre>", "```\na\nb\n```"),
            ("<pre><span class=ln>1</span>a<button>Copy</button><script>x</script></pre>", "```\na\n```"),
            ("<pre class='line-numbers'>a</pre>", "```\na\n```"),
            (
                "<table><tr><td class=linenos><pre>1\n2</pre></td><td class=code><pre>a\nb</pre></td></tr></table>",
                "```\na\nb\n```",
            ),
            ("<xmp><b>x</b></xmp>", "```\n<b>x</b>\n```"),
            ("<blockquote><pre>a\n\nb</pre></blockquote>", "> ```\n> a\n>\n> b\n> ```"),
            ("<pre>a <a href=/next>b</a></pre>", "```\na b\n```"),
        ],
    )
    def test_form(self, html: str, expected: str) -> None:
        assert text(html) == expected

    @given(st.text(alphabet="ab \t\n`<&", min_size=1, max_size=40))
    @settings(max_examples=150, deadline=None)
    def test_code_arrives_exactly(self, code: str) -> None:
        escaped = code.replace("&", "&amp;").replace("<", "&lt;")
        got = text(f"<p>x</p><pre>{escaped}</pre>")
        body = code.removeprefix("\n").rstrip()
        if body.strip():
            fence = got.partition("\n\n")[2].partition("\n")[0]
            assert got == f"x\n\n{fence}\n{body}\n{fence}"
            assert fence.strip("`") == ""
            assert fence not in body
        else:
            assert got == "x"


class TestTables:
    @pytest.mark.parametrize(
        ("html", "expected"),
        [
            ("<table><tr><th>a<th>b<tr><td>1|2<td>x<br>y</table>", "| a | b |\n| --- | --- |\n| 1\\|2 | x y |"),
            (
                "<table><tr><th colspan=2>a<th>b<tr><td>1<td>2<td>3</table>",
                "| a |  | b |\n| --- | --- | --- |\n| 1 | 2 | 3 |",
            ),
            ("<table><tr><td>a<td>b<tr><td>c</table>", "| a | b |\n| --- | --- |\n| c |  |"),
            ("<table><tr><td>a<td><td>b<tr><td>c<td><td>d</table>", "| a | b |\n| --- | --- |\n| c | d |"),
            (
                "<table><tr><td rowspan=3 colspan=2>a<td>b<tr><td>c<tr><td>d</table>",
                "| a | b |\n| --- | --- |\n| a | c |\n| a | d |",
            ),
            ("<table><tr><td>a<tr><td>b</table>", "a\n\nb"),
            ("<table role=none><tr><td>a<td>b</table>", "a\n\nb"),
            ("<table><tr><td><h2>a</h2><td>b</table>", "## a\n\nb"),
            ("<table><tr><td><pre>x</pre><td>b</table>", "| `x` | b |\n| --- | --- |"),
            ("<table><tr><td><pre>x\ny</pre><td>b</table>", "```\nx\ny\n```\n\nb"),
            ("<table><tr><td>a<td><ul><li>b<li>c</ul></table>", "| a | b c |\n| --- | --- |"),
            ("<table><td>a<td>b</table>", "| a | b |\n| --- | --- |"),
            ("<table><tr><td colspan=x rowspan=-1>a<td>b</table>", "| a | b |\n| --- | --- |"),
            ("<ul><li><table><tr><td>a<td>b</table><li>c</ul>", "- | a | b |\n  | --- | --- |\n- c"),
            ("<tr><td>a<td>b", "a\n\nb"),
            ("<table>loose<tr><td>a<td>b</table>", "loose\n\na\n\nb"),
            ("<table></table><table><tr></table>x", "x"),
            ("<caption>c</caption>", "c"),
        ],
    )
    def test_form(self, html: str, expected: str) -> None:
        assert text(html) == expected

    def test_a_long_cell_makes_blocks(self) -> None:
        assert text(f"<table><tr><td>a<td>{'word ' * 70}</table>") == f"a\n\n{('word ' * 70).strip()}"

    def test_cells_of_a_page_are_bounded(self) -> None:
        bomb = "<table>" + "<tr><td rowspan=100 colspan=30>x<td rowspan=100>y" * 2000 + "</table>"
        small = "<table><tr><td>a<td>b</table>"
        read = page(small + bomb + small, max_chars=10_000_000)
        assert read.text.count(" | ") < 100_000
        assert read.text.startswith("| a | b |")

    def test_past_the_budget_tables_are_blocks(self) -> None:
        read = page("<table>" + "<tr>" * 100_001 + "<td>a<td>b</table>")
        assert read.text == "a\n\nb"
        assert not read.truncated

    def test_links_of_a_table_belong_to_it(self) -> None:
        rows = "".join(f"<tr><td>{at}<td><a href=/row/{at}>row {at}</a>" for at in range(3))
        read = page(f"<nav><a href=/a>xxx</a></nav><main><p>{PROSE}</p><table>{rows}</table></main>")
        assert read.links[:3] == tuple(f"https://docs.example.org/row/{at}" for at in range(3))


class TestMath:
    @pytest.mark.parametrize(
        ("html", "expected"),
        [
            ('<math alttext="x^2"><mi>x</mi><mn>2</mn></math>', "$x^2$"),
            (
                (
                    "<math><semantics><mi>x</mi><annotation encoding='application/x-tex'>\\alpha  x</annotation>"
                    "</semantics></math>"
                ),
                "$\\alpha x$",
            ),
            (
                (
                    "<math><semantics><mi>x</mi><annotation encoding='text/plain'>no</annotation>"
                    "<annotation-xml>no</annotation-xml></semantics></math>"
                ),
                "$x$",
            ),
            ("<math><msup><mi>x</mi><mn>2</mn></msup><mo>+</mo><mn>1</mn></math>", "$x^2+1$"),
            ("<math><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>10</mn></mfrac></math>", "$\\frac{a+b}{10}$"),
            ("<math><msub><mi>x</mi><mrow><mi>i</mi><mi>j</mi></mrow></msub></math>", "$x_{ij}$"),
            (
                "<math><msubsup><mo>∑</mo><mn>0</mn><mi>n</mi></msubsup><msqrt><mi>k</mi></msqrt></math>",
                "$∑_0^n\\sqrt{k}$",
            ),
            ("<math><mroot><mi>x</mi><mn>3</mn></mroot><mi>sin</mi><mi>y</mi></math>", "$\\sqrt[3]{x}sin y$"),
            (
                "<math><mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr><mtr><mtd><mn>3</mn></mtd></mtr></mtable></math>",
                "$1 & 2 \\\\ 3$",
            ),
            ("<math></math>x", "x"),
            (
                "Let <span class=MathJax_Preview>x</span><script type='math/tex; mode=display'>\\pi</script> be",
                "Let $\\pi$ be",
            ),
            ("<span class=mwe><img class='mwe-math-fallback-image-inline' alt='{x}'></span>", "${x}$"),
        ],
    )
    def test_form(self, html: str, expected: str) -> None:
        assert text(html) == expected


class TestLinks:
    def test_links_are_on_the_same_site_absolute_and_each_once(self) -> None:
        hrefs = [
            "other.html", "./other.html", "../guide/other.html#part", "/guide/other.html", "//docs.example.org/top",
            "https://docs.example.org/abs?q=1", "HTTPS://DOCS.EXAMPLE.ORG:443/Case", "http://docs.example.org/plain",
            "https://www.docs.example.org/www", "?page=2", "a b/ü?x=ü", " /spaced\n/x ", "x/%2E%2e/y", "z/..",
            # None of these is followed.
            "", "#here", "page.html", "javascript:x", "mailto:a@b", "data:text/html,x", "https://example.org/",
            "//evil.example/x", "https://docs.example.org:8443/x", "https://user@docs.example.org/x",
            "https://docs.example.org.evil.example/",
            "\\\\docs.example.org\\x", "/a\\b", "https:/docs.example.org/x", "https:x", "http:///x", "//[x",
            "https://docs.example.org%2f/x",
            "/manual.pdf", "/logo.PNG", "/a\x00b", "https://notdocs.example.org/", "ftp://docs.example.org/x",
            "/\ufffd", f"/{'x' * 2001}",
        ]  # fmt: skip
        html = f"<p>{PROSE}</p>" + "".join(f'<p>text <a href="{href}">a link</a>' for href in hrefs)
        site = "https://docs.example.org"
        assert set(page(html).links) == {
            f"{site}/guide/other.html", f"{site}/top", f"{site}/abs?q=1", f"{site}/Case", f"{site}/plain",
            "https://www.docs.example.org/www", f"{site}/guide/page.html?page=2", f"{site}/guide/a%20b/%C3%BC?x=%C3%BC",
            f"{site}/spaced/x", f"{site}/guide/y", f"{site}/guide/",
        }  # fmt: skip

    @pytest.mark.parametrize(
        ("site", "hrefs", "links"),
        [
            ("my_bucket.example.org", ["b", "https://my_bucket.example.org/c"], ["b", "c"]),
            (
                "xn--bcher-kva.de",
                ["b", "https://BÜCHER.de/c", "//bu\u0308cher.de/d", "http://bücher.de./e", "//bücher.de.evil.net/f"],
                ["b", "c", "d", "e"],
            ),
            ("example.org", ["//example.org./b", "https://example.org:/c", "//example.org../d"], ["b", "c"]),
            ("1.1.1.1", ["b", "//1.1.1.1/c", "//1.1.1.10/d"], ["b", "c"]),
            ("[2606:4700::1111]", ["b", "//[2606:4700::1111]/c", "//[2606:4700::1112]/d"], ["b", "c"]),
        ],
    )  # fmt: skip
    def test_the_site_of_every_kind_of_host_is_known_as_pages_write_it(
        self, site: str, hrefs: list[str], links: list[str]
    ) -> None:
        html = "".join(f'<p>text <a href="{href}">a link</a>' for href in hrefs)
        read = read_page(html.encode(), "text/html; charset=utf-8", f"https://{site}/a", max_chars=1000)
        assert sorted(read.links) == [f"https://{site}/{link}" for link in links]

    def test_the_www_of_a_name_that_people_write_in_letters_is_its_site(self) -> None:
        html = "<p>text <a href='https://www.bücher.de/c'>a link</a>".encode()
        read = read_page(html, "text/html; charset=utf-8", "https://xn--bcher-kva.de/", max_chars=1000)
        assert read.links == ("https://www.xn--bcher-kva.de/c",)

    def test_the_base_of_the_page_counts(self) -> None:
        assert page("<base href=/b/><base href=/c/><a href=x>link").links == ("https://docs.example.org/b/x",)
        assert page("<base href=https://evil.example/><a href=x>link").links == ()
        assert page("<base href='javascript:x'><a href=x>link").links == ("https://docs.example.org/guide/x",)

    def test_the_text_comes_before_the_frame_and_before_what_leads_nowhere(self) -> None:
        read = page(
            "<nav><a href=/nav>navigation</a><a href=/twice>twice</a></nav>"
            f"<main><p>{PROSE} <a href=/login>log in here</a> <a href=/a>a</a> <a href=/text>in the text</a>"
            " <a href=near>near by</a> <a href=/next rel=next>the next one</a> <a href=/twice>twice in the text</a>"
            " <a href=/paid rel='nofollow ugc'>a comment's link</a></p></main>"
        )
        names = [link.rpartition("/")[2] for link in read.links]
        assert names == ["next", "near", "text", "twice", "a", "login", "paid", "nav"]

    def test_no_more_than_24(self) -> None:
        html = "".join(f"<a href=/{at}>link number {at}</a> " for at in range(6000))
        assert len(page(html).links) == MAX_LINKS == 24

    def test_a_page_that_is_not_utf8_gives_no_links_with_foreign_queries(self) -> None:
        html = "<a href='/ü'>one</a> <a href='/x?q=ü'>two</a>"
        read = read_page(html.encode("latin-1"), "text/html; charset=latin1", ADDRESS, max_chars=1000)
        assert read.links == ("https://docs.example.org/%C3%BC",)

    @pytest.mark.parametrize("address", ["http://docs.example.org/", "https://", "nonsense", "https://a b/"])
    def test_an_address_that_is_none_gives_no_links(self, address: str) -> None:
        assert read_page(b"<a href=/x>link", "text/html", address, max_chars=100).links == ()

    @given(
        st.lists(
            st.sampled_from(
                [*"/.?#\\:@%[]a é", "..", "//", "https:", "http://", "docs.example.org", "%2e", "\t", "www."]
            ),
            max_size=9,
        )
    )
    @settings(max_examples=400, deadline=None)
    def test_whatever_the_href_a_link_is_on_the_site(self, pieces: list[str]) -> None:
        href = "".join(pieces).replace("&", "").replace('"', "")
        for link in page(f'<p>x <a href="{href}">a link</a>').links:
            assert link.startswith(("https://docs.example.org/", "https://www.docs.example.org/"))
            assert link.isascii()
            assert not set(link) & set(' \\"<>#\t\n')
            path = link.partition("?")[0]
            assert "/../" not in path
            assert "/./" not in path


class TestCut:
    def test_a_cut_says_how_much_is_missing(self) -> None:
        read = page("".join(f"<p>paragraph number {at}</p>" for at in range(1000)), max_chars=500)
        body, _, note = read.text.rpartition("\n\n")
        assert read.truncated
        assert len(read.text) <= 500
        whole = page("".join(f"<p>paragraph number {at}</p>" for at in range(1000)), max_chars=10**9)
        assert not whole.truncated
        assert whole.text.startswith(body)
        assert note == f"(Cut here: {len(whole.text) - len(body):,} more characters.)"

    def test_an_open_fence_is_closed(self) -> None:
        read = page(f"<p>x</p><pre>{'line of code' + chr(10)}" + "more code\n" * 200 + "</pre>", max_chars=300)
        assert read.text.count("```") == 2
        assert read.text.split("\n\n")[-2].endswith("more code\n```")

    def test_a_fence_in_a_list_is_closed_where_it_stands(self) -> None:
        read = page("<ol><li>Run<pre>" + "make all\n" * 200 + "</pre></ol>", max_chars=300)
        assert "\n   ```\n\n(Cut here" in read.text

    def test_one_long_block_is_cut_at_a_word(self) -> None:
        read = page(f"<p>{'word ' * 1000}", max_chars=200)
        assert read.text.partition("\n\n")[0].endswith("word")

    @pytest.mark.parametrize("max_chars", [0, 1, 20, 40, 60])
    def test_tiny_limits_hold(self, max_chars: int) -> None:
        assert len(page("<pre>" + "code " * 100, max_chars=max_chars).text) <= max_chars

    def test_a_page_past_its_bounds_is_marked(self) -> None:
        deep = page("<p>start</p>" + "<div>" * 40_000 + "end")
        assert deep.truncated
        assert deep.text == "start\n\n(The rest of this page could not be read.)"
        assert page("<b>" * 40_000).text == "(The rest of this page could not be read.)"
        many = page("<p>x" * 150_000, max_chars=10**9)
        assert many.truncated
        assert many.text.endswith("could not be read.)")

    @given(
        st.lists(st.sampled_from(["word ", "\n", "\n\n", "```", "~~~", "> ", "- ", "x" * 30, "`"]), max_size=60),
        st.integers(0, 300),
    )
    @settings(max_examples=300, deadline=None)
    def test_a_cut_text_is_never_longer_than_its_limit(self, pieces: list[str], max_chars: int) -> None:
        whole = "".join(pieces)
        kept, cut = cut_text(whole, max_chars)
        assert len(kept) <= max(max_chars, 0)
        assert cut == (len(whole) > max_chars)


def test_an_end_that_nothing_began_is_nothing() -> None:
    target = Target(Reader(HANDLERS, False))
    target.end("p")
    target.data("x")
    target.close()
    assert [block.text for block in target.reader.blocks] == ["x"]


SOUP = st.lists(
    st.sampled_from(
        [
            "<p>",
            "</p>",
            "<div>",
            "</div>",
            "<b>",
            "</b>",
            "<a/href=/x>",
            "</a>",
            "<ul>",
            "<li>",
            "</ul>",
            "<ol/reversed>",
            "</ol>",
            "<table>",
            "<tr>",
            "<td/colspan=3>",
            "<th/rowspan=2>",
            "</table>",
            "<caption>",
            "<pre>",
            "</pre>",
            "<code>",
            "</code>",
            "<sup>",
            "</sup>",
            "<del>",
            "</del>",
            "<math>",
            "<mi>",
            "</math>",
            "<title>",
            "</title>",
            "<script>",
            "</script>",
            "<!--",
            "-->",
            "<h1>",
            "</h1>",
            "<br>",
            "<img/alt=x>",
            "<dl>",
            "<dt>",
            "<dd>",
            "<blockquote>",
            "</blockquote>",
            "<main>",
            "</main>",
            "<nav>",
            "<article>",
            "</article>",
            "<noscript>",
            "</noscript>",
            "<button>",
            "</button>",
            "<p/hidden>",
            "<div/style='color:#fff'>",
            "<div/class=toc>",
            "<div/class=language-js>",
            "<svg>",
            "</svg>",
            "<input/type=checkbox>",
            "<base/href=/b/>",
            "<aside>",
            "</aside>",
            "<header>",
            "</body>",
            "</html>",
            "word",
            "10",
            "`",
            "|",
            "&lt;|x|>",
            "[INST]",
            "é",
            " ",
            "\n",
            "\x00",
            "\u200b",
        ]
    ),
    max_size=60,
)


@given(SOUP, st.integers(0, 400))
@settings(max_examples=500, deadline=None)
def test_any_page_gives_a_text_within_its_limit_and_links_on_its_site(pieces: list[str], max_chars: int) -> None:
    read = page("".join(pieces), max_chars=max_chars)
    assert len(read.text) <= max_chars
    assert defuse(read.text) == read.text
    assert len(read.links) <= MAX_LINKS
    assert all(link.startswith("https://docs.example.org/") for link in read.links)
    assert "\x00" not in read.text


@given(st.binary(max_size=300), st.sampled_from(["text/html", "text/plain", "text/html; charset=utf-16", ""]))
@settings(max_examples=200, deadline=None)
def test_any_bytes_give_a_text(data: bytes, content_type: str) -> None:
    assert len(read_page(data, content_type, ADDRESS, max_chars=100).text) <= 100


_HOSTILE = {size: dict(hostile_pages(size)) for size in (100_000, 100_000 // FACTOR)}


@pytest.mark.parametrize("name", _HOSTILE[100_000])
def test_a_hostile_page_costs_no_more_than_its_length(name: str) -> None:
    """`tests.bench.page` holds pages of 2 MB to the real bound."""

    def read_of(size: int) -> Page:
        type_ = "text/html; charset=utf-8" if name != "UTF-16" else "text/html"
        return read_page(_HOSTILE[size][name], type_, ADDRESS, max_chars=12_000)

    assert growth(read_of, 100_000) < LINEAR
    read = read_of(100_000)
    assert len(read.text) <= 12_000
    assert len(read.links) <= MAX_LINKS
