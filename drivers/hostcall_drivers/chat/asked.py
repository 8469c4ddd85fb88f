"""What a client asks for, read from the body of its request. Nothing here acts."""

import json
import math
from collections.abc import Mapping
from typing import Any

import attrs

from hostcall.data import Source
from hostcall_drivers.chat.faults import ApiError

MAX_SOURCES = 400
MAX_ADDRESS_CHARS = 8_192
MAX_TITLE_CHARS = 500
MAX_EXTRA_CHARS = 262_144

OURS = ("thor_web_search", "thor_research", "thor_sources")
"""The members of a request that are this service's own."""

LOOP_ONLY = ("tools", "tool_choice", "parallel_tool_calls", "functions", "function_call", "response_format", "grammar",
             "json_schema", "logprobs", "top_logprobs", "audio", "modalities", "prediction")  # fmt: skip
"""Members that a request with the web on cannot have: the tools and the form of each reply are the loop's own."""

NOT_FOR_THE_ENGINE = frozenset({"messages", "model", "stream", "stream_options", "n", "max_completion_tokens", *OURS})


@attrs.frozen(kw_only=True)
class Asked:
    """One request for a completion."""

    model: str | None
    stream: bool
    usage: bool
    """Whether a stream ends with a chunk of token counts."""
    web: bool
    research: bool
    messages: list[Any]
    sources: tuple[Source, ...]
    extra: dict[str, Any]
    """What the engine is told beside the messages: sampling, seed, max_tokens, chat_template_kwargs, …"""
    body: dict[str, Any]
    """The whole request, as it was read."""


def read_asked(data: bytes, *, max_messages: int) -> Asked:
    """Return what the body of a request asks for.

    Raises:
        ApiError: It is no request; the message names the member.
    """
    body = _object(data)
    model = body.get("model")
    if model is not None and (not isinstance(model, str) or not model):
        raise _wrong("model", "the name of a model", model)
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise _wrong("messages", "a list of messages that is not empty", messages)
    if len(messages) > max_messages:
        raise ApiError(400, f"messages holds {len(messages)}; at most {max_messages} are taken", param="messages")
    options = body.get("stream_options")
    if options is not None and not isinstance(options, Mapping):
        raise _wrong("stream_options", "an object", options)
    web = _switch(body, "thor_web_search", default=False)
    return Asked(
        model=model,
        stream=_switch(body, "stream", default=False),
        usage=_switch(options or {}, "include_usage", default=False, within="stream_options."),
        web=web,
        research=_switch(body, "thor_research", default=True),
        messages=messages,
        sources=_sources(body.get("thor_sources")),
        extra=_extra(body) if web else {},
        body=body,
    )


def passed_body(asked: Asked, data: bytes, *, model: str | None) -> bytes:
    """Return the body that a request without the switch is passed on with: the client's bytes, where they can be.

    Args:
        asked: What was read.
        data: The client's bytes.
        model: The engine's own name for the model.
    """
    if model == asked.model and not any(name in asked.body for name in OURS):
        return data
    body = {name: value for name, value in asked.body.items() if name not in OURS}
    if model is not None:
        body["model"] = model
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data.decode("utf-8"), parse_constant=_no_constant, parse_float=_finite)
    except UnicodeDecodeError as error:
        raise ApiError(400, f"the body is not UTF-8 (byte {error.start})") from error
    except json.JSONDecodeError as error:
        raise ApiError(
            400, f"the body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from error
    except (ValueError, RecursionError) as error:
        why = (
            "is nested too deeply" if isinstance(error, RecursionError) else "holds a number that is none, or too large"
        )
        raise ApiError(400, f"the body {why}") from error
    if not isinstance(value, dict):
        raise ApiError(400, f"the body must be a JSON object, and is {_kind(value)}")
    return value


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        # It would be written as Infinity, which no engine reads.
        raise ValueError(text)
    return number


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _extra(body: Mapping[str, Any]) -> dict[str, Any]:
    for name in LOOP_ONLY:
        value = body.get(name)
        if value in (None, [], False) or (name == "response_format" and value == {"type": "text"}):
            continue
        raise ApiError(400, f"{name} cannot be used together with thor_web_search", param=name)
    count = body.get("n")
    if count is not None and (type(count) is not int or count != 1):
        raise ApiError(400, "n must be 1 together with thor_web_search", param="n")
    extra = {name: value for name, value in body.items() if name not in NOT_FOR_THE_ENGINE and name not in LOOP_ONLY}
    if len(json.dumps(extra)) > MAX_EXTRA_CHARS:
        # They go along with every round.
        raise ApiError(400, f"the members beside messages are larger than {MAX_EXTRA_CHARS} characters together")
    # The loop bounds max_tokens in a forced round, and so has one name for it.
    extra.pop("max_tokens", None)
    for name in ("max_completion_tokens", "max_tokens"):
        most = body.get(name)
        if most is None:
            continue
        if type(most) is not int or most < 1:
            raise _wrong(name, "a whole number of at least 1", most)
        extra["max_tokens"] = most
    return extra


def _sources(value: Any) -> tuple[Source, ...]:
    """Read the sources of earlier answers: they count as the user's own words, so their hosts may be opened."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise _wrong("thor_sources", "the list of sources of the answer before", value)
    if len(value) > MAX_SOURCES:
        raise ApiError(400, f"thor_sources holds {len(value)}; at most {MAX_SOURCES} are taken", param="thor_sources")
    return tuple(_source(item, f"thor_sources[{index}]", index + 1) for index, item in enumerate(value))


def _source(item: Any, where: str, number: int) -> Source:
    if not isinstance(item, Mapping):
        raise _wrong(where, "an object with number, address and title", item)
    if item.get("number", number) != number:
        why = "send the sources of the last answer whole and in order: the numbers in its text stand"
        raise ApiError(400, f"{where}.number must be {number}; {why}", param=f"{where}.number")
    texts = {}
    for name, most in (("address", MAX_ADDRESS_CHARS), ("title", MAX_TITLE_CHARS), ("published", 100),
                       ("final_address", MAX_ADDRESS_CHARS)):  # fmt: skip
        text = item.get(name, "")
        if not isinstance(text, str) or len(text) > most or (name == "address" and not text):
            raise _wrong(f"{where}.{name}", f"a text of at most {most} characters", text)
        texts[name] = text
    grade = item.get("grade", "snippet")
    if grade not in ("snippet", "read"):
        raise _wrong(f"{where}.grade", "snippet or read", grade)
    return Source(number=number, grade=grade, **texts)


def _switch(body: Mapping[str, Any], name: str, *, default: bool, within: str = "") -> bool:
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise _wrong(within + name, "true or false", value)
    return value


def _wrong(param: str, expected: str, value: Any) -> ApiError:
    return ApiError(400, f"{param} must be {expected}, and is {_kind(value)}", param=param)


def _kind(value: Any) -> str:
    match value:
        case None:
            return "missing"
        case bool():
            return "true" if value else "false"
        case str():
            return "a text" if value else "an empty text"
        case int() | float():
            return f"the number {value}" if abs(value) < 1e15 else "a large number"
        case list():
            return "a list" if value else "an empty list"
        case _:
            return "an object"
