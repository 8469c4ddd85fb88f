"""Calls written in each dialect, the way the models' own templates write them."""

import json
from collections.abc import Callable
from typing import Any, TypeAlias

import attrs

Call: TypeAlias = tuple[str, dict[str, Any]]

TOOL: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "flag": {"type": "boolean"},
        "maybe": {"type": ["integer", "null"]},
        "items": {"type": "array", "items": {"type": "string"}},
        "extra": {"type": "object", "properties": {"deep": {"type": "integer"}}},
    },
}
NAMES = ("search", "get_time", "write_file")
TOOLS = [{"type": "function", "function": {"name": name, "parameters": TOOL}} for name in NAMES]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _bare(value: Any) -> str:
    """Write a value as bare text: strings as they are, everything else as JSON."""
    return value if isinstance(value, str) else _json(value)


def _named(name: str, arguments: dict[str, Any], key: str = "arguments") -> str:
    return _json({"name": name, key: arguments})


def _function(calls: list[Call], opener: str, closer: str) -> str:
    blocks = []
    for name, arguments in calls:
        values = "".join(f"<parameter={key}>\n{_bare(value)}\n</parameter>\n" for key, value in arguments.items())
        blocks.append(f"{opener}\n<function={name}>\n{values}</function>\n{closer}")
    return "\n".join(blocks)


def _invoke(calls: list[Call], opener: str, closer: str, prefix: str = "", attributes: bool = False) -> str:
    blocks = []
    for name, arguments in calls:
        values = []
        for key, value in arguments.items():
            typed = f' string="{"true" if isinstance(value, str) else "false"}"' if attributes else ""
            values.append(f'<{prefix}parameter name="{key}"{typed}>{_bare(value)}</{prefix}parameter>\n')
        blocks.append(f'<{prefix}invoke name="{name}">\n{"".join(values)}</{prefix}invoke>')
    return f"{opener}\n" + "\n".join(blocks) + f"\n{closer}"


def _dsml(calls: list[Call], words: str, space: str = "") -> str:
    text = _invoke(
        calls, f"<｜DSML｜{space}{words}>", f"</｜DSML｜{space}{words}>", f"｜DSML｜{space}", attributes=True
    )
    return text.replace(f"</{'｜DSML｜'}{space}", f"</｜DSML｜{space}")


def _pairs(arguments: dict[str, Any], line: str = "\n", tag: str = "") -> str:
    return line.join(
        f"<{tag}arg_key>{key}</{tag}arg_key>{line}<{tag}arg_value>{_bare(value)}</{tag}arg_value>"
        for key, value in arguments.items()
    )


def _gemma(value: Any, quote: str = '<|"|>') -> str:
    if isinstance(value, str):
        return f"{quote}{value}{quote}"
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_gemma(item, quote)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_gemma(item, quote) for item in value) + "]"
    return _json(value)


def _python(calls: list[Call]) -> str:
    written = (
        f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})" for name, arguments in calls
    )
    return "[" + ", ".join(written) + "]"


def _deepseek(calls: list[Call], body: Callable[[str, dict[str, Any]], str]) -> str:
    inner = "\n".join(f"<｜tool▁call▁begin｜>{body(*call)}<｜tool▁call▁end｜>" for call in calls)
    return f"<｜tool▁calls▁begin｜>{inner}<｜tool▁calls▁end｜>"


def _kimi(calls: list[Call]) -> str:
    inner = "".join(
        f"<|tool_call_begin|>functions.{name}:{index}<|tool_call_argument_begin|>{_json(arguments)}<|tool_call_end|>"
        for index, (name, arguments) in enumerate(calls)
    )
    return f"<|tool_calls_section_begin|>{inner}<|tool_calls_section_end|>"


def _xtml(calls: list[Call]) -> str:
    def kind(value: Any) -> str:
        return "string" if isinstance(value, str) else "object"

    inner = "".join(
        f'<|open|>call tool="{name}" index="{index}"<|sep|>'
        + "".join(
            f'<|open|>argument key="{key}" type="{kind(value)}"<|sep|>{_bare(value)}<|close|>argument<|sep|>'
            for key, value in arguments.items()
        )
        + "<|close|>call<|sep|>"
        for index, (name, arguments) in enumerate(calls)
    )
    return f"<|open|>tools<|sep|>{inner}<|close|>tools<|sep|>"


def _harmony(calls: list[Call]) -> str:
    return "".join(
        f"<|start|>assistant to=functions.{name}<|channel|>commentary <|constrain|>json<|message|>{_json(arguments)}"
        "<|call|>"
        for name, arguments in calls
    )


def _m3(calls: list[Call]) -> str:
    mark = "]<]minimax[>["

    def element(name: str, value: Any) -> str:
        if isinstance(value, dict):
            inner = "".join(element(key, item) for key, item in value.items())
        elif isinstance(value, list):
            inner = "".join(element("item", item) for item in value)
        else:
            inner = _bare(value)
        return f"{mark}<{name}>{inner}{mark}</{name}>"

    blocks = "".join(
        f'{mark}<invoke name="{name}">' + "".join(element(*pair) for pair in arguments.items()) + f"{mark}</invoke>"
        for name, arguments in calls
    )
    return f"{mark}<tool_call>{blocks}{mark}</tool_call>"


def _array(calls: list[Call], key: str = "arguments", name: str = "name") -> str:
    return _json([{name: call[0], key: call[1]} for call in calls])


def _each(calls: list[Call], opener: str, closer: str, key: str = "arguments", gap: str = "\n") -> str:
    return gap.join(f"{opener}{_named(name, arguments, key)}{closer}" for name, arguments in calls)


@attrs.frozen(kw_only=True)
class Render:
    """How calls are written in one dialect."""

    write: Callable[[list[Call]], str]
    hint: str | None = None
    """The name to choose it by; None: auto meets it."""
    closers: tuple[str, ...] = ()
    """Marks that may not stand in a string, because the format itself cannot tell them apart there."""
    exact: bool = True
    """Whether strings may hold line breaks, white space and marks at their ends, and look like other types."""
    one: bool = False
    """Only one call at a time."""
    end: str
    """The mark that closes a call."""
    shared: bool = False
    """One such mark closes all calls."""
    ambiguous: bool = False
    """The opener may be prose, so that a cut one is shown."""


RENDERS: dict[str, Render] = {
    "hermes": Render(end="</tool_call>", write=lambda calls: _each(calls, "<tool_call>\n", "\n</tool_call>")),
    "qwen-xml": Render(
        end="</function>", write=lambda calls: _function(calls, "<tool_call>", "</tool_call>"), closers=("<",)
    ),
    "seed-oss": Render(
        end="</function>", write=lambda calls: _function(calls, "<seed:tool_call>", "</seed:tool_call>"), closers=("<",)
    ),
    "glm": Render(
        end="</tool_call>",
        write=lambda calls: "\n".join(f"<tool_call>{name}\n{_pairs(args)}\n</tool_call>" for name, args in calls),
        closers=("<",),
    ),
    "glm-compact": Render(
        end="</tool_call>",
        write=lambda calls: "".join(f"<tool_call>{name}{_pairs(args, '')}</tool_call>" for name, args in calls),
        closers=("<",),
    ),
    "bracket": Render(end="[/TOOL_CALL]", write=lambda calls: _each(calls, "[TOOL_CALL]", "[/TOOL_CALL]")),
    "tool-request": Render(
        end="[END_TOOL_REQUEST]", write=lambda calls: _each(calls, "[TOOL_REQUEST]", "[END_TOOL_REQUEST]")
    ),
    "deepseek-v3": Render(
        end="<｜tool▁call▁end｜>",
        write=lambda calls: _deepseek(
            calls, lambda name, args: f"function<｜tool▁sep｜>{name}\n```json\n{_json(args)}\n```"
        ),
    ),
    "deepseek-v3.1": Render(
        end="<｜tool▁call▁end｜>",
        write=lambda calls: _deepseek(calls, lambda name, args: f"{name}<｜tool▁sep｜>{_json(args)}"),
    ),
    "dsml-v3.2": Render(end="</｜DSML｜invoke>", write=lambda calls: _dsml(calls, "function_calls"), closers=("<",)),
    "dsml-v4": Render(end="</｜DSML｜invoke>", write=lambda calls: _dsml(calls, "tool_calls"), closers=("<",)),
    "dsml-v4.1": Render(end="</｜DSML｜ invoke>", write=lambda calls: _dsml(calls, "calls", " "), closers=("<",)),
    "kimi-k2": Render(end="<|tool_call_end|>", write=_kimi),
    "kimi-k3": Render(end="<|close|>call<|sep|>", write=_xtml, closers=("<|",)),
    "harmony": Render(end="}", write=_harmony),
    "gemma4": Render(
        end="<tool_call|>",
        write=lambda calls: "".join(f"<|tool_call>call:{name}{_gemma(args)}<tool_call|>" for name, args in calls),
        closers=("<|",),
    ),
    "mistral-v3": Render(end="}}]", shared=True, write=lambda calls: f"[TOOL_CALLS] {_array(calls)}"),
    "mistral": Render(
        end="}", write=lambda calls: "".join(f"[TOOL_CALLS]{name}[ARGS]{_json(args)}" for name, args in calls)
    ),
    "llama-json": Render(
        end="}}",
        write=lambda calls: "; ".join(_named(name, args, "parameters") for name, args in calls),
        hint="llama-json",
    ),
    "python-tag": Render(end="}}", write=lambda calls: f"<|python_tag|>{_named(*calls[0], 'parameters')}", one=True),
    "pythonic": Render(end=")]", shared=True, write=_python, hint="pythonic"),
    "lfm2": Render(
        end="<|tool_call_end|>",
        shared=True,
        write=lambda calls: f"<|tool_call_start|>{_python(calls)}<|tool_call_end|>",
    ),
    "olmo": Render(
        end="</function_calls>",
        shared=True,
        write=lambda calls: (
            "<function_calls>\n" + "\n".join(_python([call])[1:-1] for call in calls) + "\n</function_calls>"
        ),
    ),
    "minimax-m2": Render(
        end="</invoke>",
        write=lambda calls: _invoke(calls, "<minimax:tool_call>", "</minimax:tool_call>"),
        closers=("<",),
    ),
    "minimax-m3": Render(end="</invoke>", write=_m3, closers=("]<",), exact=False),
    "longcat": Render(
        end="</longcat_tool_call>", write=lambda calls: _each(calls, "<longcat_tool_call>\n", "\n</longcat_tool_call>")
    ),
    "nemotron": Render(end="</TOOLCALL>", shared=True, write=lambda calls: f"<TOOLCALL>{_array(calls)}</TOOLCALL>"),
    "jamba": Render(end="</tool_calls>", shared=True, write=lambda calls: f"<tool_calls>{_array(calls)}</tool_calls>"),
    "hunyuan-v3": Render(
        end="</tool_call>",
        write=lambda calls: (
            "<tool_calls>\n"
            + "\n".join(f"<tool_call>{name}<tool_sep>\n{_pairs(args)}\n</tool_call>" for name, args in calls)
            + "\n</tool_calls>"
        ),
        closers=("<",),
    ),
    "hunyuan-v4": Render(
        end="</tool_call>",
        write=lambda calls: (
            "<tool_calls>\n"
            + "\n".join(f"<tool_call>{name}\n{_pairs(args)}\n</tool_call>" for name, args in calls)
            + "\n</tool_calls>"
        ),
        closers=("<",),
    ),
    "iquest": Render(
        end="</iquest_tool_call>",
        write=lambda calls: "\n".join(
            f"<iquest_tool_call>{name}\n{_pairs(args)}\n</iquest_tool_call>" for name, args in calls
        ),
        closers=("<",),
    ),
    "k2-horizon": Render(
        end="</ifm|tool_call>",
        write=lambda calls: (
            "<ifm|tool_calls>"
            + "".join(f"<ifm|tool_call>{name}\n{_pairs(args, '', 'ifm|')}</ifm|tool_call>" for name, args in calls)
            + "</ifm|tool_calls>"
        ),
        closers=("<",),
    ),
    "step3": Render(
        end="</steptml:invoke>",
        write=lambda calls: (
            "<｜tool_calls_begin｜>"
            + "".join(
                f"<｜tool_call_begin｜>function<｜tool_sep｜>{_invoke([call], '', '', 'steptml:').strip()}"
                "<｜tool_call_end｜>"
                for call in calls
            )
            + "<｜tool_calls_end｜>"
        ),
        closers=("<",),
        exact=False,
    ),
    "granite": Render(end="}}]", shared=True, write=lambda calls: f"<|tool_call|>{_array(calls)}"),
    "granite-20b-fc": Render(end="}}", write=lambda calls: _each(calls, "<function_call> ", "", gap="")),
    "command-a": Render(
        end="<|END_ACTION|>",
        shared=True,
        write=lambda calls: f"<|START_ACTION|>{_array(calls, 'parameters', 'tool_name')}<|END_ACTION|>",
    ),
    "command-r": Render(
        end="]\n```",
        shared=True,
        write=lambda calls: f"Action:\n```json\n{_array(calls, 'parameters', 'tool_name')}\n```",
        hint="command-r",
    ),
    "apertus": Render(
        end="<|tools_suffix|>",
        shared=True,
        write=lambda calls: f"<|tools_prefix|>{_json([{name: args} for name, args in calls])}<|tools_suffix|>",
    ),
    "internlm": Render(
        end="<|action_end|>",
        write=lambda calls: f"<|action_start|><|plugin|>\n{_named(*calls[0], 'parameters')}<|action_end|>",
        one=True,
    ),
    "functionary-v3.1": Render(
        end="</function>",
        ambiguous=True,
        write=lambda calls: "".join(f"<function={name}>{_json(args)}</function>" for name, args in calls),
    ),
    "functionary-v3.2": Render(
        end="}",
        write=lambda calls: "\n".join(f">>>{name}\n{_json(args)}" for name, args in calls),
        hint="functionary-v3.2",
    ),
    "functools": Render(end="}}]", shared=True, write=lambda calls: f"functools{_array(calls)}", hint="functools"),
    "gigachat": Render(end="}}", write=lambda calls: f"<|function_call|>{_named(*calls[0])}", one=True),
    "dots": Render(
        end="</invoke>",
        write=lambda calls: _invoke(calls, "<dots_function_call>", "</dots_function_call>"),
        closers=("<",),
    ),
    "inkling": Render(
        end="<|end_message|>",
        write=lambda calls: "".join(
            f"<|content_invoke_tool_json|>{_named(name, args, 'args')}<|end_message|>" for name, args in calls
        ),
    ),
    "muse": Render(
        end="</atem:invoke>",
        write=lambda calls: _invoke(calls, "<atem:function_calls>", "</atem:function_calls>", "atem:"),
        closers=("<",),
    ),
    "minicpm": Render(
        end="</function>",
        ambiguous=True,
        write=lambda calls: "\n".join(
            f'<function name="{name}">'
            + "".join(f'<param name="{key}">{_bare(value)}</param>' for key, value in args.items())
            + "</function>"
            for name, args in calls
        ),
        closers=("<",),
    ),
    "bare-json": Render(end="}}", write=lambda calls: "\n".join(_named(*call) for call in calls), hint="bare-json"),
    "fenced": Render(
        end="\n```",
        write=lambda calls: "\n\n".join(
            f"```json\n{_json({'tool': name, 'input': args})}\n```" for name, args in calls
        ),
        hint="fenced",
    ),
    "fenced-json": Render(
        end="\n```",
        write=lambda calls: "\n\n".join(f"```json\n{_named(*call)}\n```" for call in calls),
        hint="fenced-json",
    ),
}
