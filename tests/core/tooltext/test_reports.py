"""What users of other parsers reported as broken, each as a text and its right reading.

Every text is fed whole, in single characters, and in pieces of three.
"""

from typing import Any, Literal

import pytest

from hostcall.tooltext import Reasoning, Remark, Text, TextFilter, ToolCall
from tests.bench.filter import chunked


def _tool(name: str, **properties: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


STRING = {"type": "string"}
TOOLS = [
    _tool("search", query=STRING, filters={"type": "object"}, zip=STRING),
    _tool("write", path=STRING, content=STRING),
    _tool("run", command=STRING),
    _tool("now"),
    _tool("add", a={"type": "number"}, b={"type": "integer"}, who={"anyOf": [STRING, {"type": "null"}]}),
]
QWEN = (
    "<tool_call>\n<function=write>\n<parameter=path>\np\n</parameter>\n"
    "<parameter=content>\n{}\n</parameter>\n</function>\n</tool_call>"
)


def write(content: str) -> tuple[str, dict[str, Any]]:
    return "write", {"path": "p", "content": content}


def search(query: str) -> tuple[str, dict[str, Any]]:
    return "search", {"query": query}


HERMES = '<tool_call>\n{"name": "search", "arguments": {"query": "q"}}\n</tool_call>'
Q = [search("q")]

REPORTS: dict[str, tuple[str, str, list[tuple[str, dict[str, Any]]], dict[str, Any]]] = {
    # name: (text in, text shown, calls, settings)
    "01-call-after-prose": ("Sure.\n\n" + QWEN.format("x"), "Sure.", [write("x")], {}),
    "02-missing-opener": (
        "<function=run>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>",
        "",
        [("run", {"command": "ls"})],
        {},
    ),
    "02-missing-opener-unknown-name": (
        "<function=exec>\n<parameter=cmd>\nls\n</parameter>\n</function>",
        "<function=exec>\n<parameter=cmd>\nls\n</parameter>\n</function>",
        [],
        {},
    ),
    "03-prefix-of-function": ("a <function", "a <function", [], {}),
    "04-second-call-after-a-cut-closer": (HERMES + "\n" + HERMES, "", Q * 2, {}),
    "05-wrapper-around-function": ("<tool_call><function=now></function></tool_call>", "", [("now", {})], {}),
    "06-doubled-closer": (
        QWEN.format("x").replace("x\n</parameter>", "x\n</parameter>\n</parameter>"),
        "",
        [write("x")],
        {},
    ),
    "07-blank-line-belongs-to-the-value": (QWEN.format("}\n"), "", [write("}\n")], {}),
    "08-text-between-reasoning-and-call": ("<think>t</think>\n\ntext\n" + HERMES, "text", Q, {"reasoning": "t"}),
    "09-literal-closer": (QWEN.format("a </parameter> b"), "", [write("a </parameter> b")], {}),
    "10-closed-by-function": (
        "<tool_call>\n<function=run>\n<parameter=command>\nls\n</function>\n</tool_call>",
        "",
        [("run", {"command": "ls"})],
        {},
    ),
    "11-literal-wrapper-closer": (
        QWEN.format("ends with </tool_call> on its own."),
        "",
        [write("ends with </tool_call> on its own.")],
        {},
    ),
    "12-closer-in-json-string": (HERMES.replace('"q"', '"a </tool_call> b"'), "", [search("a </tool_call> b")], {}),
    "13-several-tokens-at-once": (
        '<tool_call>{"name": "now", "arguments": {\n}\n}\n</tool_call>',
        "",
        [("now", {})],
        {},
    ),
    "14-cut-closer-on-length": (HERMES[:-8], "", [], {"reason": "length", "remark": "incomplete"}),
    "15-opener-in-many-pieces": (
        '<tool_call>\n{"name": "search", "arguments": {"query": "q"}}\n</tool_call>',
        "",
        Q,
        {},
    ),
    "16-mistral-parallel": (
        '[TOOL_CALLS] [{"name": "now", "arguments": {}}, {"name": "add", "arguments": {"b": 5}}]',
        "",
        [("now", {}), ("add", {"b": 5})],
        {},
    ),
    "17-mistral-split-args": ('[TOOL_CALLS]search[ARGS]{"query": "q"}', "", Q, {}),
    "18-mistral-bad-json": ("a[TOOL_CALLS]{bad}[/TOOL_CALLS]", "a", [], {"remark": "malformed"}),
    "19-mistral-marker-then-prose": (
        "[TOOL_CALLS] I cannot do that.",
        "[TOOL_CALLS] I cannot do that.",
        [],
        {},
    ),
    "19-mistral-marker-then-prose-hinted": (
        "[TOOL_CALLS] I cannot do that.",
        " I cannot do that.",
        [],
        {"model": "Ministral-3-14B-Instruct-2512"},
    ),
    "20-glm-no-arguments": ("<tool_call>now</tool_call>", "", [("now", {})], {}),
    "21-glm-missing-value-opener": (
        "<tool_call>search\n<arg_key>query</arg_key>how many</arg_value>\n</tool_call>",
        "",
        [search("how many")],
        {},
    ),
    "22-optional-string": (
        "<tool_call><function=add><parameter=who>Smith</parameter></function></tool_call>",
        "",
        [("add", {"who": "Smith"})],
        {},
    ),
    "23-name-in-pieces": ('<tool_call>{"name": "search", "arguments": {"query": "q"}}</tool_call>', "", Q, {}),
    "24-call-before-reasoning-ends": ("<think>hm\n" + HERMES, "", Q, {"reasoning": "hm", "remark": "parked"}),
    "25-draft-in-reasoning": (
        f"<think>maybe {HERMES} no</think>{HERMES}",
        "",
        Q,
        {"reasoning": f"maybe {HERMES} no", "remark": "draft"},
    ),
    "26-prose-in-reasoning": (
        "<think>some models use <function=...> here</think>ok",
        "ok",
        [],
        {"reasoning": "some models use <function=...> here"},
    ),
    "27-quoted-opener": (
        "The literal token `<tool_call>` does it.",
        "The literal token `<tool_call>` does it.",
        [],
        {},
    ),
    "27-no-tools": ("The <tool_call> does it.", "The <tool_call> does it.", [], {"tools": []}),
    "28-fenced-example": (f"```xml\n{HERMES}\n```\n", f"```xml\n{HERMES}\n```\n", [], {}),
    "29-lfm2": ('<|tool_call_start|>[search(query="q")]<|tool_call_end|>', "", Q, {}),
    "29-harmony-missing-brace": (
        '<|start|>assistant to=functions.search<|channel|>commentary<|message|>{"query": "q"',
        "",
        [],
        {"remark": "incomplete"},
    ),
    "30-distinct-calls-are-not-merged": (
        "".join(
            f'<|tool_call_begin|>functions.search:0<|tool_call_argument_begin|>{{"query": "{q}"}}<|tool_call_end|>'
            for q in "ab"
        ),
        "",
        [search("a"), search("b")],
        {},
    ),
    "31-parallel": (HERMES * 3, "", Q * 3, {}),
    "32-two-calls-in-coarse-pieces": (QWEN.format("1") + "\n" + QWEN.format("2"), "", [write("1"), write("2")], {}),
    "33-one-unknown-name": (
        '<tool_call>[{"name": "bad", "arguments": {}}, {"name": "now", "arguments": {}}]</tool_call>',
        "",
        [("now", {})],
        {"remark": "unknown"},
    ),
    "34-quoted-bracket": ('[search(query="hello]world")]', "", [search("hello]world")], {"dialects": ("pythonic",)}),
    "35-two-calls-at-once": (
        "<｜tool▁calls▁begin｜>"
        + '<｜tool▁call▁begin｜>search<｜tool▁sep｜>{"query": "q"}<｜tool▁call▁end｜>' * 2
        + "<｜tool▁calls▁end｜>",
        "",
        Q * 2,
        {},
    ),
    "36-dsml-unknown-tool-is-hidden": (
        '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="x">\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>',
        "",
        [],
        {"remark": "unknown"},
    ),
    "37-gemma-missing-delimiter": (
        '<|tool_call>call:search{query:weather in Tokyo<|"|>}<tool_call|>',
        "",
        [search("weather in Tokyo")],
        {},
    ),
    "38-opener-at-the-end": ("I will check.\n<tool_call>", "I will check.", [], {"remark": "incomplete"}),
    "39-gemma-null-and-exponent": (
        "<|tool_call>call:add{a:1e-05,who:null}<tool_call|>",
        "",
        [("add", {"a": 1e-05, "who": None})],
        {},
    ),
    "40-gemma-interior-delimiter": (
        '<|tool_call>call:write{content:<|"|>f(<|"|><|"|>)<|"|>,path:<|"|>p<|"|>}<tool_call|>',
        "",
        [write('f(<|"|><|"|>)')],
        {},
    ),
    "40-gemma-plain-quotes": (
        '<|tool_call>call:search{filters:{a:["x","y"]}}<tool_call|>',
        "",
        [("search", {"filters": {"a": ["x", "y"]}})],
        {},
    ),
    "41-gemma-key-with-spaces": (
        "<|tool_call>call:search{filters:{Basic LLM Chain:{n:1}}}<tool_call|>",
        "",
        [("search", {"filters": {"Basic LLM Chain": {"n": 1}}})],
        {},
    ),
    "42-dsml-other-bars": (
        'hello<‖DSML‖tool_calls>\n<‖DSML‖invoke name="now">\n</‖DSML‖invoke>\n</‖DSML‖tool_calls>',
        "hello",
        [("now", {})],
        {},
    ),
    "43-harmony-bad-header": (
        "<|channel|>??<|end|><|start|>assistant<|channel|>final<|message|>hi",
        "hi",
        [],
        {},
    ),
    "44-harmony-without-call": ('<|channel|>commentary to=functions.search<|message|>{"query": "q"}', "", Q, {}),
    "44-harmony-stripped": ('commentary to=functions.search json{"query": "q"}', "", Q, {"model": "gpt-oss-20b"}),
    "45-json-in-content": ('{"a": 1} is a dict', '{"a": 1} is a dict', [], {"model": "Llama-3.3-70B"}),
    "46-llama-json": ('{"name": "search", "parameters": {"query": "q"}}', "", Q, {"model": "Llama-3.3-70B"}),
    "47-llama4-json": (
        '{"type": "function", "name": "search", "parameters": {"query": "q"}}',
        "",
        Q,
        {"model": "Llama-4-Scout-17B"},
    ),
    "47-llama4-nested": (
        "[search(filters={'a': [[1], [2]]})]",
        "",
        [("search", {"filters": {"a": [[1], [2]]}})],
        {"model": "Llama-4-Scout-17B"},
    ),
    "48-harmony-header-alone": ("<|channel|>commentary to=functions.search", "", [], {}),
    "49-cut-argument": (QWEN.format("rm -rf /")[:-50], "", [], {"reason": "length", "remark": "incomplete"}),
    "50-entities-stay": (QWEN.format("<a>Tom &amp; Jerry</a>"), "", [write("<a>Tom &amp; Jerry</a>")], {}),
    "51-entities-stay-in-commands": (
        "<tool_call><function=run><parameter=command>a &amp;&amp; b</parameter></function></tool_call>",
        "",
        [("run", {"command": "a &amp;&amp; b"})],
        {},
    ),
    "52-zip": (
        "<tool_call><function=search><parameter=zip>020</parameter></function></tool_call>",
        "",
        [("search", {"zip": "020"})],
        {},
    ),
    "53-closer-in-pieces": (
        'think\n</think>{"l": 1}',
        '{"l": 1}',
        [],
        {"starts_in_reasoning": True, "reasoning": "think"},
    ),
    "54-empty-reasoning-in-the-prompt": (
        "Hello.",
        "Hello.",
        [],
        {"generation_prompt": "<|im_start|>assistant\n<think>\n\n</think>\n\n"},
    ),
    "55-kimi-id": (
        (
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.search:3<|tool_call_arg"
            'ument_begin|>{"query": "q"}<|tool_call_end|><|tool_calls_section_end|>'
        ),
        "",
        Q,
        {"ids": ["functions.search:3"]},
    ),
    "56-ids-are-kept": ('[TOOL_CALLS]search[CALL_ID]123456789[ARGS]{"query": "q"}', "", Q, {"ids": ["123456789"]}),
    "57-minimax-opener-missing": (
        '<invoke name="search">\n<parameter name="query">q</parameter>\n</invoke>\n</minimax:tool_call>',
        "",
        Q,
        {},
    ),
    "58-one-line-without-closers": (
        "<tool_call> <function=run> <parameter=command>ls </tool_call>",
        "",
        [("run", {"command": "ls "})],
        {},
    ),
    "59-unknown-name-is-told": (
        '<tool_call>{"name": "Apply tags", "arguments": {}}</tool_call>',
        "",
        [],
        {"remark": "unknown"},
    ),
    "60-stray-bracket": ('<tool_call>{"name": "search", "arguments": {"query": "q"}}]</tool_call>', "", Q, {}),
    "61-glm-newlines-and-closer": (
        (
            "<tool_call>write<arg_key>path</arg_key><arg_value>p</arg_value><arg_key>content<"
            "/arg_key><arg_value>\na </tool_call> b\n</arg_value></tool_call>"
        ),
        "",
        [write("\na </tool_call> b\n")],
        {},
    ),
    "62-kimi-underscores": (
        '<|tool_call_begin|>functions_search_2<|tool_call_argument_begin|>{"query": "q"}<|tool_call_end|>',
        "",
        Q,
        {},
    ),
    "64-lone-surrogates": ("a\ud83d b", "a\ud83d b", [], {}),
    "65-think-in-explained-code": ("```html\n<think>x</think>\n```\n", "```html\n<think>x</think>\n```\n", [], {}),
    "66-nothing-before-the-call": (HERMES, "", Q, {}),
    "67-narration-is-trimmed": (
        "Narration.  \n" + HERMES[:30],
        "Narration.",
        [],
        {"reason": "length", "remark": "incomplete"},
    ),
    "68-equal-ids": (
        '<tool_call>{"id": "1", "name": "now"}</tool_call><tool_call>{"id": "1", "name": "now"}</tool_call>',
        "",
        [("now", {})] * 2,
        {"ids": ["1", None]},
    ),
    "69-kimi-id-without-a-name": (
        "<|tool_call_begin|> call_0 <|tool_call_argument_begin|> {} <|tool_call_end|>",
        "",
        [],
        {"remark": "malformed"},
    ),
}


@pytest.mark.parametrize("size", [1, 3, 10_000])
@pytest.mark.parametrize("name", REPORTS)
def test_a_report_is_read_right(name: str, size: int) -> None:
    raw, text, calls, settings = REPORTS[name]
    reason: Literal["stop", "length"] = settings.get("reason", "stop")
    text_filter = TextFilter(
        settings.get("tools", TOOLS),
        dialects=settings.get("dialects", ("auto",)),
        model=settings.get("model"),
        generation_prompt=settings.get("generation_prompt"),
        starts_in_reasoning=settings.get("starts_in_reasoning"),
    )
    out = [found for piece in chunked(raw, size) for found in text_filter.feed(piece)] + text_filter.finish(reason)
    assert "".join(piece.text for piece in out if isinstance(piece, Text)) == text
    found = [piece for piece in out if isinstance(piece, ToolCall)]
    assert [(call.name, call.arguments) for call in found] == calls
    assert "".join(piece.text for piece in out if isinstance(piece, Reasoning)).strip() == settings.get("reasoning", "")
    if "remark" in settings:
        assert settings["remark"] in [piece.kind for piece in out if isinstance(piece, Remark)]
    if "ids" in settings:
        assert [call.id for call in found] == settings["ids"]


def test_63_a_long_argument_costs_as_much_as_its_length() -> None:
    searched = []
    for size in (150_000, 300_000):
        text_filter = TextFilter(TOOLS)
        for chunk in chunked(QWEN.format("a < b, " * (size // 7)), 50):
            text_filter.feed(chunk)
        searched.append(text_filter.scanned)
    assert searched[1] < searched[0] * 2.1
