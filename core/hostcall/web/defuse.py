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

from hostcall.tokens import MARKERS, TURN_MARKERS

_REAL = "<>|[]"
_LOOK_ALIKE = "‹›¦⟦⟧"
# None of the look-alikes folds back to its original under NFKC, which some tokenizers apply first; `［` would.
_TO_LOOK_ALIKE = str.maketrans(_REAL, _LOOK_ALIKE)

# The shapes of markers. Families are taken whole, because templates make new members of them every month: <|anything|>,
# <|DSML|invoke name="x">, <|channel>, <channel|>, and the same with the full-width bars of DeepSeek's tokens. Of tags
# and bracketed names only those are taken that are in the list; white space and attributes do not save them.
#
# Every repeat is bounded and none runs over another opening sign, so a search is linear; and none takes a look-alike,
# so that what was defused once is never part of a later match, which makes `defuse` idempotent.
_TAG_SHAPE = (
    r"L(?:/?B{1,2}[^\sLGBlgb]{1,64}B{1,2}[^LGBlgb\n]{0,120}G"
    r"|B/?[A-Za-z_][\w./:-]{0,63}G"
    r"|/?[A-Za-z_][\w./:-]{0,63}BG"
    r"|/?[｜‖][^LGlg\n]{1,120}G"
    r"|/?[B｜‖]{1,2}(?P<barred>[A-Za-z]{1,16})[B｜‖]{1,2}"
    r"|L?\s{0,4}/?\s{0,4}(?P<name>[^\sLGlgb=/\[\]]{1,64})"
    r"(?:(?P<whole>(?:\s[^LGlg\n]{0,200})?/?G{1,2})|(?:\s{1,4}(?P<attribute>[A-Za-z]{1,16}))?\s{0,4}=))"
)
_BRACKET = re.compile(r"\[(?P<name>[^\[\]⟦⟧\n]{1,48})\]")
_DEFUSED_BRACKET = re.compile(r"⟦(?P<name>[^\[\]⟦⟧\n]{1,48})⟧")
_TAG_ENTRY = re.compile(r"<{1,2}/?(?P<name>[^\s<>=/\[\]]{1,64})>{1,2}")
_VALUE_ENTRY = re.compile(r"<(?P<name>[^\s<>=/\[\]]{1,64})(?: (?P<attribute>[a-z]{1,16}))?=")
_BARRED_ENTRY = re.compile(r"</?[|｜‖]{1,2}(?P<barred>[A-Za-z]{1,16})[|｜‖]{1,2}")
_BEFORE_LETTERS = re.compile("[a-z]")
_BRACKET_ENTRY = re.compile(r"\[/?(?P<name>[^\[\]]{1,48})\]")


def _shape(pattern: str, signs: str, others: str) -> re.Pattern[str]:
    """Return one shape, written in the real signs or in the look-alikes."""
    letters = dict(zip("LGB", (re.escape(sign) for sign in signs), strict=True))
    letters |= dict(zip("lgb", others, strict=True))
    return re.compile(re.sub(r"[LGB]|(?<=[LGBlgb])[lgb]", lambda found: letters[found[0]], pattern))


def _listed(markers: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str], tuple[str, ...]]:
    """Return the keys of tags, those of bracketed markers, and the markers that have no shape."""
    tags: set[str] = set()
    bracketed: set[str] = set()
    others: list[str] = []
    for marker in markers:
        if found := _TAG_ENTRY.fullmatch(marker):
            tags.add(found["name"].lower())
        elif found := _VALUE_ENTRY.fullmatch(marker):
            tags.add(_valued_name(found))
        elif found := _BARRED_ENTRY.fullmatch(marker):
            tags.add("|" + found["barred"].lower())
        elif found := _BRACKET_ENTRY.fullmatch(marker):
            bracketed.add(_bracketed_name(found))
        elif not marker.startswith("<") and any(sign in marker for sign in _REAL):
            others.append(marker.lower())
    return frozenset(tags), frozenset(bracketed), tuple(dict.fromkeys(others))


def _valued_name(found: re.Match[str]) -> str:
    attribute = f" {found['attribute']}" if found["attribute"] else ""
    return f"{found['name']}{attribute}=".lower()


def _bracketed_name(found: re.Match[str]) -> str:
    return " ".join(found["name"].replace("/", " ").split()).lower()


_TAGS, _BRACKETED, _OTHERS = _listed((*MARKERS, *TURN_MARKERS))


class _Translation:
    """One direction of the bijection."""

    def __init__(self, signs: str, others: str, bracket: re.Pattern[str], markers: tuple[str, ...]) -> None:
        self._table = str.maketrans(signs, others)
        self._tag = _shape(_TAG_SHAPE, signs[:3], others[:3])
        self._tag_opening = signs[0]
        self._bracket = bracket
        self._bracket_opening = signs[3]
        # What stands before a marker's first letter is looked for first: it has no case, and no pattern is needed.
        self._others = tuple(
            (_BEFORE_LETTERS.split(marker)[0], re.compile(re.escape(marker), re.IGNORECASE)) for marker in markers
        )

    def __call__(self, text: str) -> str:
        for opening, pattern in self._others:
            if opening in text:
                text = pattern.sub(self._whole, text)
        if self._tag_opening in text:
            text = self._tag.sub(self._if_listed_tag, text)
        if self._bracket_opening in text:
            text = self._bracket.sub(self._if_listed_bracket, text)
        return text

    def _whole(self, found: re.Match[str]) -> str:
        return found[0].translate(self._table)

    def _if_listed_tag(self, found: re.Match[str]) -> str:
        name, barred = found["name"], found["barred"]
        if name is not None:
            key = (name.lower() if found["whole"] is not None else _valued_name(found)).replace("¦", "|")
        elif barred is not None:
            key = "|" + barred.lower()
        else:
            return found[0].translate(self._table)
        return found[0].translate(self._table) if key in _TAGS else found[0]

    def _if_listed_bracket(self, found: re.Match[str]) -> str:
        return found[0].translate(self._table) if _bracketed_name(found) in _BRACKETED else found[0]


_DEFUSED = _Translation(_REAL, _LOOK_ALIKE, _BRACKET, _OTHERS)
_UNDEFUSED = _Translation(
    _LOOK_ALIKE, _REAL, _DEFUSED_BRACKET, tuple(marker.translate(_TO_LOOK_ALIKE) for marker in _OTHERS)
)


def defuse(text: str) -> str:
    """Return a text in which nothing is a marker and nothing is invisible.

    Security:
        Rule 6, page text is data. Threat: a page that writes control tokens, to speak as the user or the system, or a
        tool call for the model to copy. What stays readable can still try to persuade; rule 1 holds then.

    Returns:
        A text that is never longer than the one given. Done twice, it changes nothing.
    """
    return _DEFUSED(_visible(text)[0])


def defuse_counted(text: str) -> tuple[str, int]:
    """Return the defused text, and how many invisible characters were dropped from it."""
    visible, dropped = _visible(text)
    return _DEFUSED(visible), dropped


def undefuse(text: str) -> str:
    """Return a text with its markers as they stood before `defuse`: to compare a quotation, never for a model."""
    return _UNDEFUSED(text)


# Characters that nobody sees.

_INVISIBLE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls; only tab and newline mean something
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, joiners and fillers without a glyph
    "\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"  # zero width, bidirectional controls, invisible operators
    "\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # tags, and selectors that can spell bytes
)
_DROPPED = re.compile(f"[{_INVISIBLE}]+")
# The two joiners shape Persian, Indic scripts and emoji, the two selectors choose an emoji's look. They do so after a
# character that is not ASCII (a keycap is the exception); after one that is, or in a row, they can only hide something.
_STRAY_JOINERS = re.compile(
    "(?<![^\x00-\x7f])(?:[\u200c\u200d]|[\ufe0e\ufe0f](?!\u20e3))[\u200c\u200d\ufe0e\ufe0f]*"
    "|(?<=[\u200c\u200d\ufe0e\ufe0f]{2})[\u200c\u200d\ufe0e\ufe0f]+"
)
_CONTROLS = bytes(code for code in (*range(0x20), 0x7F) if code not in (0x09, 0x0A))
_SUSPECT = re.compile(f"[{_INVISIBLE}\u200c\u200d\u2028\u2029\ufe0e\ufe0f\ud800-\udfff]")
_LINE_ENDS = re.compile("\r\n?|[\u2028\u2029]")
_PAGE_FEEDS = re.compile("[\x0b\x0c]")
_SURROGATES = re.compile("[\ud800-\udfff]")


def _visible(text: str) -> tuple[str, int]:
    """Return a text without the characters that nobody sees, line ends written as newlines, and how many are gone."""
    # Nearly every text is clean. That is told fast: controls by a count of bytes, all else by a search of those lines
    # that are not ASCII.
    plain = text.encode("ascii", "ignore")
    clean = len(plain.translate(None, _CONTROLS)) == len(plain)
    if clean and (len(plain) == len(text) or _SUSPECT.search(_not_ascii(text)) is None):
        return text, 0
    text = _LINE_ENDS.sub("\n", text)
    lines = text.split("\n")
    visible = "\n".join(line if _SUSPECT.search(line) is None else _visible_line(line) for line in lines)
    return visible, len(text) - len(visible)


def _not_ascii(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if not line.isascii())


def _visible_line(line: str) -> str:
    line = _PAGE_FEEDS.sub(" ", line)
    line = _SURROGATES.sub("\ufffd", line)
    return _STRAY_JOINERS.sub("", _DROPPED.sub("", line))
