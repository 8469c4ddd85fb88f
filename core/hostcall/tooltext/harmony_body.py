"""Messages of gpt-oss: a header that says for whom a message is, the message, an end.

The whole answer is such messages, so this body holds prose as well: the final channel and preambles are text, the
analysis channel is reasoning, and both stream. A message ends at an end token only when a header or the end of the text
follows, for models think about these tokens too.
"""

import re
from functools import cached_property

import attrs

from hostcall.tooltext.json_body import Verdict, json_marks, scan_json
from hostcall.tooltext.lexicon import Lexicon, lexicon
from hostcall.tooltext.objects import read_arguments
from hostcall.tooltext.offer import Offer
from hostcall.tooltext.tape import Fault, Scan, Shown, Tape

_RECIPIENT = re.compile(r"\bto=\s*([^\s<]+)").search
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)").findall
_STRIPPED = re.compile(r"\s*(?:analysis|commentary)?\s*to=functions\.([\w.\-]+)\s*(?:json|code)?\s*$").match
_BRACE = re.compile(r"\{").search


@attrs.frozen(kw_only=True, eq=False, slots=False)
class HarmonyBody:
    """The rest of an answer in harmony."""

    stripped: bool = False
    """The special tokens were removed on the way; only a call can be told, by its words."""

    @cached_property
    def _marks(self) -> Lexicon:
        kinds = dict.fromkeys(("<|end|>", "<|call|>", "<|return|>"), "end")
        return lexicon(kinds | {"<|start|>": "start", "<|channel|>": "channel", "<|message|>": "message"})

    @cached_property
    def _json(self) -> Lexicon:
        return json_marks()

    def scan(self, tape: Tape, offer: Offer) -> Scan[Verdict]:
        """Read messages to the end of the answer, beginning in or before a header."""
        if self.stripped:
            return (yield from self._stripped_call(tape, offer))
        tape.confirm()
        while True:
            header = yield from self._header(tape)
            if header is None:
                return "done"
            recipient = _RECIPIENT(header)
            channels = _CHANNEL(header)
            channel = channels[-1] if channels else ""
            name = recipient[1] if recipient is not None else ""
            if name.startswith("functions."):
                more = yield from self._call(tape, name.removeprefix("functions."))
            elif name and name != "assistant":
                more = yield from self._hidden(tape)
            else:
                shown: dict[str, Shown] = {"analysis": "reasoning", "final": "text", "commentary": "text", "": "text"}
                more = yield from self._prose(tape, shown.get(channel))
            if not more:
                return "done"

    def _header(self, tape: Tape) -> Scan[str | None]:
        """Read up to the next message. None: the text ended. A header that never gets to a message is skipped."""
        parts: list[str] = []
        while True:
            start = tape.here
            match = yield from tape.find(self._marks)
            if match is None:
                return None
            kind, mark = self._marks.kind(match), match.group()
            at = tape.here - len(mark)
            if kind in ("start", "end") or at - start > 2_000:
                parts = []
            else:
                parts.append(tape.text(start, at))
            if kind == "channel":
                parts.append(mark)
            elif kind == "message":
                tape.cut(None)
                return "".join(parts)

    def _ends(self, tape: Tape) -> Scan[bool]:
        """Say whether an end token that is behind was one: a header or the end of the text must follow."""
        first = yield from tape.skip_white()
        return not first or (yield from tape.sees(self._marks)) in ("start", "channel")

    def _prose(self, tape: Tape, shown: Shown | None) -> Scan[bool]:
        while True:
            match = yield from tape.stream(self._marks, shown)
            if match is None:
                tape.cut(shown)
                return False
            if self._marks.kind(match) != "end":
                continue
            at = tape.here - len(match.group())
            if (yield from self._ends(tape)):
                tape.cut(shown, at)
                tape.cut(None)
                return True

    def _hidden(self, tape: Tape) -> Scan[bool]:
        return (yield from self._prose(tape, None))

    def _call(self, tape: Tape, name: str) -> Scan[bool]:
        first = yield from tape.skip_white()
        if first != "{":
            more = yield from self._hidden(tape)
            if more:
                tape.cut(Fault(kind="malformed", name=name))
            return more
        start = tape.here
        end = yield from scan_json(tape, self._json)
        if end == "cut":
            return False
        stop = tape.here
        first = yield from tape.skip_white()
        if first and (yield from tape.sees(self._marks)) == "end":
            yield from tape.match(self._marks)
        if end == "deep":
            tape.cut(Fault(kind="malformed", name=name))
        else:
            tape.cut(read_arguments(tape.text(start, stop), name))
        return bool(first)

    def _stripped_call(self, tape: Tape, offer: Offer) -> Scan[Verdict]:
        head = yield from tape.until(_BRACE, 200)
        match = _STRIPPED(head) if head is not None else None
        if match is None or not offer.known(match[1]) or not tape.confirm():
            return "release"
        start = tape.here
        end = yield from scan_json(tape, self._json)
        if end == "whole":
            tape.cut(read_arguments(tape.text(start, tape.here), match[1]))
        return "done"
