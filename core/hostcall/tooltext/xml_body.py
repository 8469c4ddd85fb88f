"""Bodies that are tags: a head with the name, parameters with bare text between tags, and closers.

A value may hold any text, closing tags too, so a closing tag closes only when what comes next fits: another parameter,
the end of the call, the end of the block. Where the format itself cannot tell, the first closing tag that fits closes.
"""

import re
from functools import cached_property
from typing import Any, Literal

import attrs

from hostcall.tooltext.coerce import clean, coerce, load_json
from hostcall.tooltext.json_body import Verdict, json_marks, scan_json
from hostcall.tooltext.lexicon import Lexicon, lexicon
from hostcall.tooltext.objects import read_arguments
from hostcall.tooltext.offer import Offer
from hostcall.tooltext.tape import Fault, Found, Scan, Tape

MAX_PARAMETERS = 1_000
"""Parameters of one call; a call with more is malformed."""

_BARE_END = re.compile(r"[>\r\n<]").search
_ATTRIBUTE = re.compile(r"""([\w.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""").finditer


@attrs.frozen
class _Value:
    """Where one parameter's text stands, and how it is typed."""

    key: str
    start: int
    end: int
    string: bool | None
    """What an attribute says: verbatim text, JSON, or nothing."""


@attrs.frozen
class _Close:
    """The mark that ended a value."""

    kind: str
    at: int
    behind: int
    key: str | None = None
    """The name of the next parameter, when its opening tag ended this one."""


@attrs.frozen(kw_only=True, eq=False, slots=False)
class XmlBody:
    """Calls as tags. Each field holds the spellings of one mark."""

    heads: tuple[str, ...]
    params: tuple[str, ...]
    param_ends: tuple[str, ...]
    call_ends: tuple[str, ...]
    wraps: tuple[str, ...] = ()
    """Openers around calls; none for a format that has only the closers left."""
    wrap_ends: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    """Marks between calls that say nothing."""
    named: Literal["bare", "attribute"] = "bare"
    trim: Literal["newline", "nothing", "white"] = "newline"
    unescape: bool = False
    """Names are attributes with `&amp;` and `&quot;`."""
    cdata: bool = False
    folded: tuple[str, ...] = ()

    @cached_property
    def _marks(self) -> Lexicon:
        kinds = dict.fromkeys(self.skipped, "skip") | dict.fromkeys(self.wraps, "wrap")
        kinds |= dict.fromkeys(self.wrap_ends, "wrap end") | dict.fromkeys(self.heads, "head")
        kinds |= dict.fromkeys(self.params, "param") | dict.fromkeys(self.param_ends, "param end")
        kinds |= dict.fromkeys(self.call_ends, "call end")
        return lexicon(kinds, folded=self.folded)

    @cached_property
    def _json(self) -> Lexicon:
        return json_marks((*self.call_ends, *self.wrap_ends), folded=self.folded)

    def scan(self, tape: Tape, offer: Offer) -> Scan[Verdict]:
        """Read the block: one call after the other until the closer around them, or until something else comes."""
        while True:
            first = yield from tape.skip_white()
            end = tape.here
            kind = (yield from tape.match(self._marks)) if first else None
            if kind == "head":
                verdict = yield from self._call(tape, offer)
                if verdict is not None:
                    return verdict
                continue
            if kind == "skip":
                continue
            if not tape.confirmed:
                cut = tape.cut_off(self._marks) and not tape.ambiguous
                return "done" if cut or not first else "release"
            if kind == "wrap end":
                tape.cut(None)
                return "done"
            if kind in ("call end", "param end"):
                continue
            if kind == "wrap":
                tape.pos = end - tape.base
            return "done"

    def _call(self, tape: Tape, offer: Offer) -> Scan[Verdict | None]:
        """Read one call, its head's mark behind. None: read, and more may follow."""
        closed = False
        if self.named == "bare":
            name = yield from self._bare(tape)
        else:
            tag = yield from tape.tag()
            closed = tag is not None and tag.rstrip().endswith("/")
            name = None if tag is None else self._unquote(tag.rstrip().rstrip("/"))
        if not name:
            return "done" if tape.confirmed or (tape.ended and not tape.ambiguous) else "release"
        if not tape.confirmed and ((tape.ambiguous and not offer.known(name)) or not tape.confirm()):
            return "release"
        if closed:
            self._emit(tape, offer, name, [], tape.here)
            return None
        first = yield from tape.skip_white()
        if first == "{" and self.named == "bare":
            return (yield from self._json_call(tape, name))
        return (yield from self._parameters(tape, offer, name))

    def _json_call(self, tape: Tape, name: str) -> Scan[Verdict | None]:
        """Read a call whose arguments are one JSON object."""
        start = tape.here
        json = yield from scan_json(tape, self._json)
        end = tape.here
        if json == "cut":
            return "done"
        while (match := (yield from tape.find(self._marks))) is not None:
            kind = self._marks.kind(match)
            if kind in ("call end", "wrap end"):
                tape.cut(
                    Fault(kind="malformed", name=name)
                    if json == "deep"
                    else read_arguments(tape.text(start, end), name)
                )
                return "done" if kind == "wrap end" else None
        return "done"

    def _parameters(self, tape: Tape, offer: Offer, name: str) -> Scan[Verdict | None]:
        """Read the parameters of a call and its end."""
        values: list[_Value] = []
        key: str | None = None  # of a parameter whose opening tag also closed the one before
        while True:
            string: bool | None = None
            if key is None:
                match = yield from tape.find(self._marks)
                if match is None:
                    return "done"
                kind = self._marks.kind(match)
                if kind in ("call end", "wrap end"):
                    self._emit(tape, offer, name, values, tape.here)
                    return "done" if kind == "wrap end" else None
                if kind == "head":  # the end of the call was left out
                    tape.pos = match.start()
                    self._emit(tape, offer, name, values, tape.here)
                    return None
                if kind != "param":
                    continue
                key, string = yield from self._key(tape)
                if key is None:
                    return "done"
            start = tape.here
            close = yield from self._value_end(tape, offer, name)
            if close is None:
                return "done"
            if len(values) <= MAX_PARAMETERS:
                values.append(_Value(key, start, close.at, string))
            key = close.key
            if close.kind in ("call end", "wrap end"):
                self._emit(tape, offer, name, values, close.behind)
                return "done" if close.kind == "wrap end" else None

    def _key(self, tape: Tape) -> Scan[tuple[str | None, bool | None]]:
        if self.named == "bare":
            return (yield from self._bare(tape)), None
        tag = yield from tape.tag()
        if tag is None:
            return None, None
        string = next((match[2] or match[3] for match in _ATTRIBUTE(tag) if match[1] == "string"), None)
        return self._unquote(tag), {"true": True, "false": False}.get(string or "")

    def _bare(self, tape: Tape) -> Scan[str | None]:
        """Read a name that runs to the end of its tag, and go past that where it is there."""
        name = yield from tape.until(_BARE_END)
        if name is not None and tape.window[tape.pos] == ">":
            tape.pos += 1
        return name.strip() if name is not None else None

    def _value_end(self, tape: Tape, offer: Offer, name: str) -> Scan[_Close | None]:
        """Go past the text of a value and the mark that ends it. None: the text ended first."""
        properties = offer.properties(name)
        while True:
            match = yield from tape.find(self._marks)
            if match is None:
                return None
            kind, behind = self._marks.kind(match), tape.here
            at = behind - len(match.group())
            if kind == "param" and self.named == "bare" and tape.window[match.start() - 1] == "\n":
                key = yield from self._bare(tape)
                if key and (not properties or key in properties):
                    return _Close(kind, at, behind, key)
                continue
            fits: tuple[str, ...]
            if kind == "param end":
                fits = ("param", "call end", "wrap end", "param end")
            elif kind == "call end":
                fits = ("wrap end", "wrap", "head", "call end")
            elif kind == "wrap end":
                fits = ("wrap",)
            else:
                continue
            first = yield from tape.skip_white()
            if (first == "" and kind != "param end") or (yield from tape.sees(self._marks)) in fits:
                return _Close(kind, at, behind)

    def _emit(self, tape: Tape, offer: Offer, name: str, values: list[_Value], end: int) -> None:
        if len(values) > MAX_PARAMETERS:
            tape.cut(Fault(kind="malformed", name=name), end)
            return
        properties = offer.properties(name)
        arguments: dict[str, Any] = {}
        twice = False
        for value in values:
            text = self._trim(tape.text(value.start, value.end))
            twice = twice or value.key in arguments
            arguments[clean(value.key)] = self._typed(text, value.string, properties.get(value.key))
        tape.cut(Found(name=clean(name), arguments=arguments, twice=twice), end)

    def _typed(self, text: str, string: bool | None, schema: Any) -> Any:
        if string is None:
            return coerce(text, schema)
        if not string:
            try:
                return load_json(text)
            except (ValueError, RecursionError):
                pass
        return clean(text)

    def _trim(self, text: str) -> str:
        if self.cdata and text.strip().startswith("<![CDATA[") and text.strip().endswith("]]>"):
            return text.strip()[9:-3]
        if self.trim == "white":
            return text.strip()
        if self.trim == "newline":
            text = text[2:] if text.startswith("\r\n") else text.removeprefix("\n")
            return text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")
        return text

    def _unquote(self, tag: str) -> str:
        """Return the name at the beginning of the rest of a tag: in quotes of either kind, or bare."""
        tag = tag.strip()
        if tag[:1] in ("'", '"') and (close := tag.find(tag[0], 1)) > 0:
            name = tag[1:close]
        else:
            name = tag.split(None, 1)[0] if tag else ""
        return name.replace("&quot;", '"').replace("&amp;", "&") if self.unescape else name
