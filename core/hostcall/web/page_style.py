"""What an element's own attributes say about it: hidden, boilerplate, a gutter, a language of code.

Style sheets are not read. What is judged is the element's ``style``, its classes and its id, all in one pass over
their characters: a page can make one attribute of 2 MB. Verdicts on short ones are kept by the attribute's text,
because pages say the same few hundred things over and over; a verdict depends on nothing else.
"""

import functools
import re

import attrs

LOOKED_AT = 400
"""Characters of an attribute whose verdict is kept."""
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


def judge_classes(text: str) -> ClassVerdict:
    """Return the verdict on a ``class`` attribute."""
    return _kept_classes(text) if len(text) <= LOOKED_AT else _judge_classes(text)


def _judge_classes(text: str) -> ClassVerdict:
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


_kept_classes = functools.lru_cache(maxsize=_CACHE_ENTRIES)(_judge_classes)


def boilerplate_id(text: str) -> bool:
    """Return whether an ``id`` says that its element is boilerplate. Not kept: no two elements share one."""
    return not _BOILERPLATE.isdisjoint(_SEGMENTS.split(text[:100].lower()))


# Hidden by style. Each pattern is matched at the start of one declaration's value; nothing is searched.

_ZERO = r"[-+]?(?:0+\.?0*|\.0+)(?:[a-z]{1,4}|%)?\Z"
_FAR = (
    r"(?:-(?:[5-9][0-9]{2}|[0-9]{4,})|[5-9][0-9]{3}|[0-9]{5,})(?:\.[0-9]*)?(?:px|pt)"
    r"|-[0-9]{3,}(?:\.[0-9]*)?(?:r?em|%|v[wh])"
)
_FAR_AWAY = re.compile(_FAR)
_HIDING = {
    "display": re.compile(r"none\Z"),
    "visibility": re.compile(r"(?:hidden|collapse)\Z"),
    "content-visibility": re.compile(r"hidden\Z"),
    "opacity": re.compile(r"[-+]?(?:0*\.0[0-9]*|0+\.?|0*\.?0+%|[0-4](?:\.[0-9]*)?%)\Z"),
    "filter": re.compile(r"opacity\((?:0?\.0[0-9]*|0|[0-4]%)\)"),
    "font-size": re.compile(
        rf"(?:{_ZERO}|(?:[01](?:\.[0-9]*)?|\.[0-9]+)(?:px|pt)\Z|0?\.[0-2][0-9]*r?em\Z|[0-9](?:\.[0-9]*)?%\Z|calc\(0)"
    ),
    "font": re.compile(r"0(?:px|pt)?(?:/|[a-z])"),
    "-webkit-text-fill-color": re.compile(r"transparent\Z"),
    "clip": re.compile(r"rect\((?:[01](?:px)?,?){4}\)\Z"),
    "clip-path": re.compile(r"(?:inset\((?:50|100)%|circle\(0|polygon\(0(?:px)?0(?:px)?,?0)"),
    "transform": re.compile(rf"(?:scale[xy]?\(0(?:\.0*)?[,)]|rotate[xy]\(90deg|translate[xy]?\((?:{_FAR}))"),
    "text-indent": _FAR_AWAY,
    "zoom": re.compile(r"0(?:\.0*)?\Z"),
    **dict.fromkeys(("left", "top", "right", "bottom", "margin-left", "margin-top", "inset-inline-start"), _FAR_AWAY),
}
_NOTHING = re.compile(_ZERO + r"|1px\Z")
_SIZES = ("height", "width", "max-height", "max-width")
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:([0-9a-f]{1,6})\s?|(.))", re.DOTALL)


@attrs.frozen
class StyleVerdict:
    """What a ``style`` says."""

    hidden: bool
    colours: tuple[str, ...]
    """The colours of the text that it gives, any of which may be the one that a browser takes."""
    background: str
    """Empty where none is given."""


def judge_style(text: str) -> StyleVerdict:
    """Return the verdict on a ``style`` attribute.

    A declaration that hides counts even where a later one takes it back: a browser passes over values that it does not
    know, and which those are is not known here.
    """
    return _kept_style(text) if len(text) <= LOOKED_AT else _judge_style(text)


def _judge_style(text: str) -> StyleVerdict:
    declarations = _declarations(text.lower())
    hidden = any(name in _HIDING and _HIDING[name].match(value) is not None for name, value in declarations)
    if not hidden and any(
        name.startswith("overflow") and value.startswith(("hidden", "clip")) for name, value in declarations
    ):
        hidden = any(name in _SIZES and _NOTHING.match(value) is not None for name, value in declarations)
    colours = tuple(dict.fromkeys(colour_of(value) for name, value in declarations if name == "color"))
    backgrounds = [colour_of(value) for name, value in declarations if name in ("background", "background-color")]
    given = [colour for colour in backgrounds if colour not in _NO_COLOUR]
    return StyleVerdict(hidden or TRANSPARENT in colours, colours, given[-1] if given else "")


_kept_style = functools.lru_cache(maxsize=_CACHE_ENTRIES)(_judge_style)


def _declarations(text: str) -> list[tuple[str, str]]:
    """Return the declarations of a style attribute: white space, comments, escapes and ``!important`` gone."""
    if "/*" in text:
        text = _COMMENT.sub("", text)
    if "\\" in text:
        text = _ESCAPE.sub(_unescaped, text)
    parts = [declaration.partition(":") for declaration in "".join(text.split()).split(";")]
    return [(name, value.removesuffix("!important")) for name, _, value in parts]


def _unescaped(found: re.Match[str]) -> str:
    if found[1] is None:
        return found[2]
    code = int(found[1], 16)
    return chr(code).lower() if 0 < code < 0xD800 else "\ufffd"


# Colours.

WHITE = "ffffff"
TRANSPARENT = "transparent"
_NO_COLOUR = words("transparent none inherit initial unset revert currentcolor") | {""}
_WHITES = words("white snow ivory whitesmoke ghostwhite floralwhite azure mintcream honeydew aliceblue seashell")
_NAMED = {"black": "000000", "red": "ff0000", "yellow": "ffff00", "gray": "808080", "grey": "808080", "lime": "00ff00",
          "blue": "0000ff", "silver": "c0c0c0", **dict.fromkeys(_WHITES, WHITE)}  # fmt: skip
_HEX = re.compile(r"#([0-9a-f]{3,8})(?![0-9a-f])")
_RGB = re.compile(r"rgba?\(([0-9]{1,3}%?),?([0-9]{1,3}%?),?([0-9]{1,3}%?)(?:[,/]([0-9.]{1,9}%?))?\)")
_HSL = re.compile(r"hsla?\([0-9.]{1,9}(?:deg)?,?[0-9.]{1,9}%,?([0-9]{1,3})(?:\.[0-9]*)?%(?:[,/]([0-9.]{1,9}%?))?\)")
_OTHER_WHITE = re.compile(r"(?:ok(?:lch|lab)\((?:1|0?\.9[6-9]|100%|9[6-9])|(?:lab|lch)\((?:100|9[6-9])|color\(srgb111)")


def colour_of(text: str) -> str:
    """Return a colour as six hexadecimal digits as far as it is a plain one, and any other as it is written."""
    if found := _HEX.search(text):
        digits = found[1] if len(found[1]) >= 6 else "".join(digit * 2 for digit in found[1])
        return TRANSPARENT if digits[6:8] in ("00", "11") else digits[:6]
    if found := _RGB.search(text):
        if _is_clear(found[4]):
            return TRANSPARENT
        return "".join(f"{_part(part):02x}" for part in found.groups()[:3])
    if found := _HSL.search(text):
        if _is_clear(found[2]):
            return TRANSPARENT
        lightness = int(found[1])
        return WHITE if lightness >= 97 else "000000" if lightness <= 3 else text
    return WHITE if _OTHER_WHITE.match(text) else _NAMED.get(text, text)


def _part(text: str) -> int:
    return min(int(text[:-1]) * 255 // 100 if text.endswith("%") else int(text), 255)


def _is_clear(alpha: str | None) -> bool:
    """Return whether an alpha value is next to nothing."""
    return alpha is not None and re.fullmatch(r"0*\.?0[0-9]*|0+|[0-9](?:\.[0-9]*)?%", alpha) is not None


def same_colour(one: str, other: str) -> bool:
    """Return whether text of one colour cannot be read on the other."""
    try:
        pairs = [(int(one[at : at + 2], 16), int(other[at : at + 2], 16)) for at in (0, 2, 4)]
    except ValueError:
        return one == other
    return all(abs(first - second) <= 16 for first, second in pairs)


def is_language(word: str) -> bool:
    """Return whether a ``data-lang`` value can stand after a code fence."""
    return re.fullmatch(r"[a-z0-9+#_.-]{1,20}", word) is not None and word not in _NO_LANGUAGE
