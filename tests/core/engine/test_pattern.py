"""Chunks read by their pattern: never anything but what decoding them gives."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostcall.engine.openai import OpenAIDecoder, _plain_text
from hostcall.engine.pattern import ChunkPattern
from hostcall.limits import Limits

HEAD, TAIL = '{"choices":[{"index":0,"delta":{"content":"', '"},"finish_reason":null}],"id":"x"}'


def learned(chunk: str | bytes) -> ChunkPattern:
    pattern = ChunkPattern(_plain_text)
    pattern.learn(chunk.encode() if isinstance(chunk, str) else chunk)
    return pattern


def decoded(data: bytes) -> str | None:
    try:
        return _plain_text(json.loads(data.decode("utf-8", "replace")))
    except ValueError:
        return None


strings = st.one_of(
    st.text(max_size=8).map(lambda text: json.dumps(text)[1:-1]),
    st.text(max_size=8).map(lambda text: json.dumps(text, ensure_ascii=False)[1:-1]),
    st.text('"\\{}[]:,ntu0123é\n\x00\x7f\u2028 ', max_size=8),
)


@settings(max_examples=600)
@given(first=strings, later=strings, gap=st.sampled_from(["", " "]), cut=st.integers(-3, 3))
def test_what_fits_reads_as_it_decodes(first: str, later: str, gap: str, cut: int) -> None:
    frame = HEAD.replace(':"', f':{gap}"')
    seed = (frame + first + TAIL).encode("utf-8", "surrogatepass")
    pattern = ChunkPattern(_plain_text)
    if decoded(seed) is not None:
        pattern.learn(seed)
    data = (frame + later + TAIL).encode("utf-8", "surrogatepass")
    data = data[:cut] if cut < 0 else data[cut:]
    found = pattern.text(data)
    assert found is None or found == decoded(data)


@given(st.binary(max_size=6), st.binary(max_size=6))
def test_bytes_that_are_no_text_read_as_they_decode(first: bytes, later: bytes) -> None:
    seed = HEAD.encode() + first + TAIL.encode()
    if decoded(seed) is None:
        return
    data = HEAD.encode() + later + TAIL.encode()
    found = learned(seed).text(data)
    assert found is None or found == decoded(data)


@pytest.mark.parametrize("text", ["", " word", "é\u2028", '\\"', "\\n", "\\ud83d\\ude00", "\\ud83d", "\\u00e9", "/\\/"])
def test_what_nearly_all_chunks_bring_is_read(text: str) -> None:
    pattern = learned(HEAD + "Hi" + TAIL)
    assert pattern.text((HEAD + text + TAIL).encode()) == json.loads(f'"{text}"')


@pytest.mark.parametrize(
    "chunk",
    [
        '{"choices":[{"delta":{"cont\\u0065nt":"a"}}],"content":"b"}',  # the key is another one's
        '{"choices":[{"delta":{"content":"a"}}],"x":{"content":"b"}}',  # there are two
        '{"choices":[{"delta":{"content":"a","content":"b"}}]}',  # the last one counts
        '{"choices":[{"delta":{"content":["a"]}}]}',
        '{"choices":[{"delta":{"content":"a"}}],"content":7}',
        "[1]",
    ],
)
def test_where_the_text_stands_must_be_plain(chunk: str) -> None:
    pattern = learned(chunk)
    assert pattern.text(chunk.encode()) is None


@pytest.mark.parametrize("overlap", [HEAD + TAIL[1:], HEAD, TAIL, HEAD[:-1] + TAIL])
def test_the_two_sides_never_overlap(overlap: str) -> None:
    assert learned(HEAD + "a" + TAIL).text(overlap.encode()) is None


def test_a_pattern_that_never_fits_is_not_learned_for_ever() -> None:
    read: list[Any] = []

    def count(value: Any) -> str | None:
        read.append(value)
        return _plain_text(value)

    pattern = ChunkPattern(count)
    for number in range(100):
        chunk = (HEAD + "a" + TAIL.replace('"x"', str(number))).encode()
        assert pattern.text(chunk) is None
        pattern.learn(chunk)
    assert len(read) == 16


def test_one_that_fits_in_between_is_worth_learning_again() -> None:
    """llama-server's chunks carry the second they were made in."""
    pattern = ChunkPattern(_plain_text)
    for number in range(100):
        chunk = (HEAD + "a" + TAIL.replace('"x"', str(number))).encode()
        pattern.learn(chunk)
        assert pattern.text(chunk) == "a"


def test_a_reply_whose_frame_changes_reads_the_same() -> None:
    frames = [HEAD + "@" + TAIL, HEAD.replace("index", "i") + "@" + TAIL, HEAD + "@" + TAIL.replace("x", "y")]
    words = ["a", "b\\n", "c", '\\"', "d", "é"]
    body = ""
    for number, word in enumerate(words * 5):
        frame = frames[number // 4 % 3]
        body += f"data: {frame.replace('@', word)}\n\n"
    decoder = OpenAIDecoder("r1.e0", Limits())
    decoder.head(200, (("Content-Type", "text/event-stream"),))
    text = "".join(chunk.text for chunk in decoder.feed(body.encode()))
    assert text == "".join(json.loads(f'"{word}"') for word in words * 5)


def test_bytes_that_are_no_text_are_read_beside_escapes_and_around_the_text() -> None:
    tail = TAIL.encode().replace(b'"x"', b'"\xff"')
    pattern = learned(HEAD.encode() + b"a" + tail)
    assert pattern.text(HEAD.encode() + b"b\xff\\n" + tail) == "b\ufffd\n"
    assert pattern.text(HEAD.encode() + b"b\xff" + tail) == "b\ufffd"
