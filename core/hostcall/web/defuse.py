"""Takes the power out of untrusted text before a model reads it.

A page, a title, a snippet or a tool's result can hold what a chat template or a dialect of tool calls uses as a marker.
An engine's tokenizer may read such a text as the real control token, and a model may copy it into its answer, where it
would be read as a call. So each marker gets brackets that look alike and mean nothing: ``<|im_start|>`` becomes
``‹¦im_start¦›`` and ``[TOOL_CALL]`` becomes ``⟦TOOL_CALL⟧``. A person and a model can still read what stood there, and
`undefuse` turns it back where a quotation is compared.

Characters that nobody sees are dropped: they carry instructions past a person who looks at the page (tag characters
spell ASCII), and they part a marker so that a filter does not see it.
"""

import re

from hostcall.tokens import MARKERS

_TURN_MARKERS = (
    "<s>",
    "</s>",
    "<bos>",
    "<eos>",
    "<pad>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<<SYS>>",
    "<</SYS>>",
    "[INST]",
    "[/INST]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[SYSTEM DIRECTIVE]",
    "[/SYSTEM DIRECTIVE]",
)
"""Markers that part one speaker's turn from the next. No dialect of calls is built from them, but a text that holds
one can pretend to be the user, or the system."""

_REAL = "<>|[]"
_LOOK_ALIKE = "‹›¦⟦⟧"
# None of the look-alikes folds back to its original under NFKC, which some tokenizers apply first; `［` would.
_TO_LOOK_ALIKE = str.maketrans(_REAL, _LOOK_ALIKE)
_TO_REAL = str.maketrans(_LOOK_ALIKE, _REAL)

_INVISIBLE = re.compile(
    "["
    "\x00-\x08\x0e-\x1f\x7f-\x9f"  # controls; tab, newline and the two page feeds are white space
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, joiners and fillers without a glyph
    "\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"  # zero width, bidirectional controls, invisible operators
    "\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # tags, and selectors that can spell bytes
    "]+"
)
# The two joiners shape Persian, Indic scripts and emoji, the two selectors choose an emoji's look. They do so after a
# character that is not ASCII (a keycap is the exception); after one that is, or in a row, they can only hide something.
_STRAY_JOINERS = re.compile(
    "(?<![^\x00-\x7f])(?:[\u200c\u200d]|[\ufe0e\ufe0f](?!\u20e3))[\u200c\u200d\ufe0e\ufe0f]*"
    "|(?<=[\u200c\u200d\ufe0e\ufe0f]{2})[\u200c\u200d\ufe0e\ufe0f]+"
)
_LINE_ENDS = re.compile("\r\n?|[\u2028\u2029]")
_PAGE_FEEDS = re.compile("[\x0b\x0c]")
_SURROGATES = re.compile("[\ud800-\udfff]")


def _spaced(text: str) -> str:
    """Return a pattern for a literal in which any white space stands for a blank."""
    return r"\s{1,4}".join(re.escape(word) for word in text.split(" "))


def _marker_pattern(marker: str) -> str:
    """Return a pattern for one marker, with the white space and attributes that lenient readers let pass.

    Every repeat is bounded, so a search is linear; and none takes a look-alike, so that what was defused once is never
    part of a later match, which makes `defuse` idempotent.
    """
    inner = marker[1:-1].lstrip("/")
    if not inner:
        return _spaced(marker)
    if marker[0] == "<" and marker[-1] == ">" and inner[0] not in "<|":
        return rf"<\s{{0,4}}/?\s{{0,4}}{_spaced(inner)}(?:\s[^<>‹›\n]{{0,200}})?/?>"
    if marker[0] == "[" and marker[-1] == "]" and "[" not in inner and "]" not in inner:
        return rf"\[\s{{0,4}}/?\s{{0,4}}{_spaced(inner)}\s{{0,4}}\]"
    if marker[0] == "<" and inner[0] not in "<|":
        return rf"<\s{{0,4}}/?\s{{0,4}}{_spaced(marker.lstrip('</'))}"
    return _spaced(marker)


def _patterns(markers: tuple[str, ...]) -> list[str]:
    """Return the patterns of all markers, each once; a marker without a bracket has no look-alike and is left out."""
    bracketed = (marker for marker in markers if any(sign in marker for sign in _REAL))
    return list(dict.fromkeys(_marker_pattern(marker) for marker in bracketed))


# Families that templates make new members of every month: <|anything|>, <|DSML|invoke name="x">, <|channel>,
# <channel|>, and the same with the full-width bars of DeepSeek's tokens.
_FAMILIES = (
    r"</?\|{1,2}[^\s<>|‹›¦]{1,64}\|{1,2}[^<>|‹›¦\n]{0,120}>",
    r"<\|/?[A-Za-z_][\w./:-]{0,63}>",
    r"</?[A-Za-z_][\w./:-]{0,63}\|>",
    r"</?[｜‖][^<>‹›\n]{1,120}>",
)
_MARKED = re.compile("|".join((*_FAMILIES, *_patterns((*MARKERS, *_TURN_MARKERS)))), re.IGNORECASE)


def _mirrored(pattern: str) -> str:
    """Return the pattern of what `defuse` makes of the texts that a pattern matches."""
    # Signs of the pattern language (classes, alternatives) stay; the literal brackets change, and in the classes the
    # two families change places.
    literal = pattern.replace(r"\|", "¦").replace(r"\[", "⟦").replace(r"\]", "⟧")
    swapped = literal.translate(str.maketrans("<>‹›", "‹›<>"))
    return swapped.replace("(?‹", "(?<")


_DEFUSED = re.compile(_mirrored("|".join((*_FAMILIES, *_patterns((*MARKERS, *_TURN_MARKERS))))), re.IGNORECASE)


def defuse(text: str) -> str:
    """Return a text in which nothing is a marker and nothing is invisible.

    Security:
        Rule 6, page text is data. Threat: a page that writes control tokens, to speak as the user or the system, or a
        tool call for the model to copy. What stays readable can still try to persuade; rule 1 holds then.

    Returns:
        A text that is never longer than the one given. Done twice, it changes nothing.
    """
    return defuse_counted(text)[0]


def defuse_counted(text: str) -> tuple[str, int]:
    """Return the defused text, and how many invisible characters were dropped from it."""
    if not text.isascii() or not text.isprintable():
        text = _LINE_ENDS.sub("\n", text)
        text = _PAGE_FEEDS.sub(" ", text)
        text = _SURROGATES.sub("\ufffd", text)
        visible = _STRAY_JOINERS.sub("", _INVISIBLE.sub("", text))
    else:
        visible = text
    return _MARKED.sub(_with_look_alikes, visible), len(text) - len(visible)


def undefuse(text: str) -> str:
    """Return a text with its markers as they stood before `defuse`: to compare a quotation, never for a model."""
    return _DEFUSED.sub(_with_real_signs, text)


def _with_look_alikes(match: re.Match[str]) -> str:
    return match[0].translate(_TO_LOOK_ALIKE)


def _with_real_signs(match: re.Match[str]) -> str:
    return match[0].translate(_TO_REAL)
