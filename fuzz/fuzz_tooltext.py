"""Invariant: whatever a model writes and however it is cut, the filter raises nothing and gives the same pieces.

With a trace on, what it shows, reads, drops and hides is the input, character for character. Run ``python -m
fuzz.fuzz_tooltext fuzz/corpus/tooltext -runs=5000000 -max_len=200`` where atheris is installed.
"""

import random
import sys
from itertools import pairwise
from types import FunctionType

from hostcall.tokens import MARKERS
from hostcall.tooltext import Decision, Piece, Reasoning, Remark, Text, TextFilter, ToolCall
from hostcall.tooltext.hints import FAMILIES, ROWS

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {
                "type": "object",
                "properties": {"q": {"type": "string"}, "n": {"type": "integer"}, "o": {"type": "object"}},
            },
        },
    }
    for name in ("f", "search", "get_time")
]
CHOICES = (("auto",), ("all",), *((name,) for name in (*ROWS, *FAMILIES)))
WORDS = (
    *MARKERS, "{", "}", "[", "]", "\"", "'", "\\", ":", ",", "\n", " ", "\r\n", "```json\n", "```", "`", "~~~",

    "f", "search", '{"name": "f", "arguments": {"q": "x"}}',
    '{"tool": "f", "input": {}}', '"name"', '"arguments"',
    "<function=f>", "<parameter=q>", 'name="f"', 'key="q" type="string"', "functions.f:0", "to=functions.f",
    "commentary", "analysis", "final", "call:f{", "q:", "f(q='x')", "functools", ">>>f\n",
    "Action:\n", "0", "null", "é",
    "\ud83d", "\u2028", "text ", "f\n", "functions.", "<query>", "</query>", "<item>", "<‖DS", "/>", ">",
)  # fmt: skip


def merged(pieces: list[Piece]) -> list[object]:
    """Join neighbouring pieces of one kind, so that cut streams compare equal."""
    out: list[object] = []
    for piece in pieces:
        last = out[-1] if out else None
        if isinstance(piece, Text) and isinstance(last, Text):
            out[-1] = Text(last.text + piece.text)
        elif isinstance(piece, Reasoning) and isinstance(last, Reasoning):
            out[-1] = Reasoning(last.text + piece.text)
        else:
            out.append(piece)
    return out


def text_of(data: bytes) -> str:
    """Turn fuzzer bytes into a text: a byte below 128 is a character, a higher one and the next are a word."""
    parts: list[str] = []
    at = 0
    while at < len(data):
        if data[at] < 128:
            parts.append(chr(data[at]))
            at += 1
        else:
            parts.append(WORDS[((data[at] & 127) << 8 | int.from_bytes(data[at + 1 : at + 2])) % len(WORDS)])
            at += 2
    return "".join(parts)


def bytes_of(text: str) -> bytes:
    """Turn a text into fuzzer bytes that give it back; for seeds. Characters that no word holds are left out."""
    longest_first = sorted(range(len(WORDS)), key=lambda number: -len(WORDS[number]))
    out, at = bytearray(), 0
    while at < len(text):
        number = next((number for number in longest_first if text.startswith(WORDS[number], at)), None)
        if number is not None and len(WORDS[number]) > 1:
            out += bytes([128 | number >> 8, number & 255])
            at += len(WORDS[number])
        else:
            out += bytes([ord(text[at])]) if ord(text[at]) < 128 else b""
            at += 1
    return bytes(out)


def check(text: str, dialects: tuple[str, ...], reason: str, *, reasoning: bool, cuts: random.Random) -> None:
    """Run one text whole and in pieces, every other time with a trace."""

    def filtered(pieces: list[str], trace: list[Decision] | None) -> list[object]:
        text_filter = TextFilter(TOOLS, dialects=dialects, starts_in_reasoning=reasoning, max_hold=65_536, trace=trace)
        out = [found for piece in pieces for found in text_filter.feed(piece)]
        out += text_filter.finish("stop" if reason == "stop" else "length" if reason == "length" else None)
        assert text_filter.finish("stop") == []
        assert text_filter.feed("x") == []
        return merged(out)

    whole = filtered([text], None)
    for piece in whole:
        assert isinstance(piece, Text | Reasoning | ToolCall | Remark)
    pieces, at = [], 0
    most = cuts.choice((1, 2, 4, 30))
    while at < len(text):
        size = cuts.randint(0 if most < 4 else 1, most)
        pieces.append(text[at : at + size])
        at += size
    if cuts.random() < 0.5:
        assert filtered(pieces, None) == whole, (dialects, text)
        return
    decisions: list[Decision] = []
    assert filtered(pieces, decisions) == whole, (dialects, text)
    assert "".join(decision.raw for decision in decisions) == text, (dialects, text)
    assert all(one.offset + len(one.raw) == other.offset for one, other in pairwise(decisions))


def test_one_input(data: bytes) -> None:
    """Run one input: three bytes of settings, then the text."""
    if len(data) < 4:
        return
    dialects = CHOICES[data[0] % len(CHOICES)] if data[1] & 4 else ("auto",)
    reason = ("stop", "length", "")[data[2] % 3]
    check(text_of(data[3:]), dialects, reason, reasoning=bool(data[1] & 1), cuts=random.Random(data[2]))


def main() -> None:
    """Fuzz until told to stop. Only the filter's own functions are watched: everything else would only slow it down."""
    import atheris

    modules = [(name, module) for name, module in sys.modules.items() if name.startswith("hostcall.tooltext")]
    for name, module in modules:
        for owner in (module, *(item for item in vars(module).values() if isinstance(item, type))):
            for item in vars(owner).values():
                if isinstance(item, FunctionType) and item.__module__ == name:
                    atheris.instrument_func(item)
    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
