"""What an element's own attributes say about it: hidden, boilerplate, a gutter, a language of code.

Style sheets are not read. What is judged is the element's ``style``, its classes and its id, and of each only the first
400 characters: a page can make one attribute of 2 MB. Verdicts are kept by the attribute's text, because pages say
the same few hundred things over and over; a verdict depends on nothing else.
"""

import functools
import re

import attrs

LOOKED_AT = 400
_CACHE_ENTRIES = 2048


def words(text: str) -> frozenset[str]:
    """Return the words of a text: the tables of names read better so."""
    return frozenset(text.split())


@attrs.frozen(kw_only=True)
class ClassVerdict:
    """What the classes of an element say."""

    drop: bool = False
    """The element and all inside are no content: a permalink, a prompt, text for screen readers only."""
    drop_small: bool = False
    """The same, but only for a span or a table cell: these words also stand on whole code blocks."""
    boilerplate: bool = False
    """A block of this class is boilerplate, unless the page has little else."""
    admonition: bool = False
    """A note or a warning that belongs to the text, although it may stand in an ``aside``."""
    language: str = ""
    """The language of the code inside."""


PLAIN = ClassVerdict()
"""The verdict on most elements."""

_DROP = words(
    "sr-only visually-hidden visuallyhidden screen-reader-text screenreader-text screen-reader-only u-hidden-visually "
    "headerlink permalink heading-anchor header-anchor hash-link anchorjs-link direct-link "
    "katex-html mathjax_preview mathjax mathjax_svg mathjax_chtml mwe-math-mathml-a11y "
    "mw-editsection mw-jump-link skip-link skip-to-content "
    "jp-inputprompt jp-outputprompt input_prompt output_prompt "
    "copybtn copy-btn copy-button copy-code-button btn-copy btn-clipboard clipboard-button code-copy "
    "rouge-gutter hljs-ln-numbers blob-num linenodiv line-numbers-wrapper line-numbers-rows"
)
_DROP_SMALL = words(
    "lineno linenos linenumber linenumbers line-number line-numbers line_number line_numbers lnum lnt ln hljs-ln-n "
    "gutter gl code-line-number react-syntax-highlighter-line-number"
)
# The short list. Longer ones (sidebar, menu, banner, related) were measured and lose more than they gain, because
# wrappers of whole pages are called `has-sidebar` and `main-nav-open`.
_BOILERPLATE = words("cookie cookies consent gdpr breadcrumb breadcrumbs navbar newsletter share footer toc pagination")
_ADMONITION = words(
    "admonition callout note tip warning caution danger important starlight-aside alert infobox sidenote"
)
_LANGUAGE = re.compile(r"(?:language|lang|highlight-source|highlight|brush|hl)[-:]([a-z0-9+#_.-]{1,20})\Z")
_NO_LANGUAGE = words("default none text plaintext plain txt notranslate wrapper source nohighlight auto")
_SEGMENTS = re.compile(r"[-_]+")


@functools.lru_cache(maxsize=_CACHE_ENTRIES)
def judge_classes(text: str) -> ClassVerdict:
    """Return the verdict on a ``class`` attribute, of which the caller gives no more than `LOOKED_AT` characters."""
    classes = text.lower().split()
    language = ""
    boilerplate = False
    for word in classes:
        if not language and (found := _LANGUAGE.match(word)) and found[1] not in _NO_LANGUAGE:
            language = found[1]
        if not boilerplate:
            boilerplate = not _BOILERPLATE.isdisjoint(_SEGMENTS.split(word))
    if "sourcecode" in classes[:1] and len(classes) > 1 and classes[1].isalnum():
        language = language or classes[1]
    verdict = ClassVerdict(
        drop=not _DROP.isdisjoint(classes),
        drop_small=not _DROP_SMALL.isdisjoint(classes),
        boilerplate=boilerplate,
        admonition=not _ADMONITION.isdisjoint(classes),
        language=language,
    )
    return PLAIN if verdict == PLAIN else verdict


def boilerplate_id(text: str) -> bool:
    """Return whether an ``id`` says that its element is boilerplate. Not kept: no two elements share one."""
    return not _BOILERPLATE.isdisjoint(_SEGMENTS.split(text[:100].lower()))


# Hidden by style. Every pattern is matched at the start of one declaration, white space gone, so nothing is searched.

_ZERO = r"[-+]?(?:0+\.?0*|\.0+)(?:[a-z]{1,4}|%)?\Z"
_HIDING = {
    "display": re.compile(r"none\Z"),
    "visibility": re.compile(r"(?:hidden|collapse)\Z"),
    "content-visibility": re.compile(r"hidden\Z"),
    "opacity": re.compile(r"[-+]?(?:0*\.0[0-9]*|0+\.?|0*\.?0+%|[0-4](?:\.[0-9]*)?%)\Z"),
    "font-size": re.compile(rf"(?:{_ZERO}|[01](?:\.[0-9]*)?(?:px|pt)\Z|\.[0-9]+(?:px|pt)\Z|0?\.[0-2][0-9]*r?em\Z)"),
    "font": re.compile(r"0(?:px|pt)?(?:/|[a-z])"),
    "color": re.compile(r"transparent\Z"),
    "clip": re.compile(r"rect\((?:[01](?:px)?,?){4}\)\Z"),
    "clip-path": re.compile(r"(?:inset\((?:50|100)%|circle\(0|polygon\(0(?:px)?0(?:px)?,?0)"),
    "transform": re.compile(r"(?:scale[xy]?\(0(?:\.0*)?[,)]|translate[xy]?\(-(?:[5-9][0-9]{2}|[0-9]{4,})(?:px|vw|vh))"),
    "text-indent": re.compile(r"-(?:[5-9][0-9]{2}|[0-9]{4,})(?:\.[0-9]*)?(?:px|em|rem|%|vw)"),
    "zoom": re.compile(r"0(?:\.0*)?\Z"),
}
_FAR_AWAY = re.compile(
    r"-(?:(?:[5-9][0-9]{2}|[0-9]{4,})(?:\.[0-9]*)?(?:px|pt)|[0-9]{3,}(?:\.[0-9]*)?(?:em|rem|%|vw|vh))"
)
_OFFSETS = ("left", "top", "right", "bottom", "margin-left", "margin-top", "inset-inline-start")
_NOTHING = re.compile(_ZERO + r"|1px\Z")


@functools.lru_cache(maxsize=_CACHE_ENTRIES)
def judge_style(text: str) -> tuple[bool, str, str]:
    """Return whether a ``style`` hides its element, its text colour and its background, empty where not given.

    The caller gives no more than `LOOKED_AT` characters.
    """
    declarations = _declarations(text.lower())
    hidden = any(
        pattern.match(declarations[name]) is not None for name, pattern in _HIDING.items() if name in declarations
    )
    if not hidden:
        hidden = any(_FAR_AWAY.match(declarations[name]) is not None for name in _OFFSETS if name in declarations)
    if not hidden and declarations.get("overflow", "").startswith(("hidden", "clip")):
        sizes = [declarations[name] for name in ("height", "width", "max-height", "max-width") if name in declarations]
        hidden = any(_NOTHING.match(size) is not None for size in sizes)
    background = _colour(declarations.get("background-color", "") or declarations.get("background", ""))
    return hidden, _colour(declarations.get("color", "")), background


def _declarations(text: str) -> dict[str, str]:
    """Return the declarations of a style attribute, white space, comments and ``!important`` gone."""
    while (opened := text.find("/*")) >= 0:
        closed = text.find("*/", opened + 2)
        text = text[:opened] + (text[closed + 2 :] if closed >= 0 else "")
    declarations = {}
    for declaration in "".join(text.split()).split(";"):
        name, _, value = declaration.partition(":")
        declarations[name] = value.removesuffix("!important")
    return declarations


_NAMED = {"white": "ffffff", "black": "000000", "snow": "fffafa", "ivory": "fffff0", "whitesmoke": "f5f5f5",
          "ghostwhite": "f8f8ff", "transparent": "", "red": "ff0000", "yellow": "ffff00", "gray": "808080"}  # fmt: skip
_HEX = re.compile(r"#([0-9a-f]{3,8})(?![0-9a-f])")
_RGB = re.compile(r"rgba?\(([0-9]{1,3}),?([0-9]{1,3}),?([0-9]{1,3})")
WHITE = "ffffff"


def _colour(text: str) -> str:
    """Return a colour as six hexadecimal digits, as far as it is a plain one; another background as it is written."""
    if found := _HEX.search(text):
        digits = found[1]
        return digits[:6] if len(digits) >= 6 else "".join(digit * 2 for digit in digits[:3])
    if found := _RGB.search(text):
        return "".join(f"{min(int(part), 255):02x}" for part in found.groups())
    return _NAMED.get(text, text)


def named_colour(text: str) -> str:
    """Return the colour of a ``color`` or ``bgcolor`` attribute, in the form that `judge_style` gives."""
    text = text[:40].strip().lower()
    return _colour(text)


def same_colour(one: str, other: str) -> bool:
    """Return whether text of one colour cannot be read on the other."""
    try:
        pairs = [(int(one[at : at + 2], 16), int(other[at : at + 2], 16)) for at in (0, 2, 4)]
    except ValueError:
        return one == other != ""
    return len(one) == len(other) == 6 and all(abs(first - second) <= 16 for first, second in pairs)


def is_language(word: str) -> bool:
    """Return whether a ``data-lang`` value can stand after a code fence."""
    return re.fullmatch(r"[a-z0-9+#_.-]{1,20}", word) is not None and word not in _NO_LANGUAGE
