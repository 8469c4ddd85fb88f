"""Corners of the bodies that are tags and sections."""

import pytest

from tests.core.tooltext.corners import Case, check

DEEP = "[" * 140
MANY = "<parameter=text>\nx\n</parameter>\n" * 1_002
PAIRS = "<arg_key>text</arg_key><arg_value>x</arg_value>" * 1_002
KIMI = "<|tool_call_begin|>functions.search:0<|tool_call_argument_begin|>"

CASES: dict[str, Case] = {
    # Tags.
    "xml-wrapper-again": (
        "qwen-xml",
        "<tool_call><function=search></function><tool_call><function=get_time></function>",
        "",
        [("search", {}), ("get_time", {})],
        set(),
    ),
    "xml-extra-closers": (
        "qwen-xml",
        "<tool_call><function=search></function></function></tool_call>",
        "",
        [("search", {})],
        set(),
    ),
    "xml-end-of-call-left-out": (
        "qwen-xml",
        "<tool_call><function=search><function=get_time></function></tool_call>",
        "",
        [("search", {}), ("get_time", {})],
        set(),
    ),
    "xml-name-never-closed": (
        "qwen-xml",
        "<tool_call><function=search\n<parameter=text\nx</parameter></function></tool_call>",
        "",
        [("search", {"text": "x"})],
        set(),
    ),
    "xml-json-cut": ("qwen-xml", '<function=search>{"text": "x"', "", [], {"incomplete"}),
    "xml-json-then-nothing": ("qwen-xml", '<function=search>{"text": "x"}', "", [], {"incomplete"}),
    "xml-json-junk-before-the-end": (
        "qwen-xml",
        '<tool_call><function=search>{"text": "x"}</parameter></tool_call>',
        "",
        [("search", {"text": "x"})],
        set(),
    ),
    "xml-too-many": ("qwen-xml", f"<tool_call><function=search>{MANY}</function></tool_call>", "", [], {"malformed"}),
    "xml-unknown-parameter-at-a-line": (
        "qwen-xml",
        "<function=search><parameter=text>\na\n<parameter=zzz>\nb\n</parameter></function>",
        "",
        [("search", {"text": "a\n<parameter=zzz>\nb"})],
        set(),
    ),
    "xml-crlf": (
        "qwen-xml",
        "<function=search>\r\n<parameter=text>\r\na\r\n</parameter>\r\n</function>",
        "",
        [("search", {"text": "a"})],
        set(),
    ),
    "xml-wrapper-without-a-call": ("qwen-xml", "<tool_call></tool_call>", "<tool_call></tool_call>", [], set()),
    "dsml-not-json": (
        "dsml",
        (
            '<｜DSML｜tool_calls><｜DSML｜invoke name="search"><｜DSML｜parameter name="count" string="false">x y<'
            "/｜DSML｜parameter></｜DSML｜invoke></｜DSML｜tool_calls>"
        ),
        "",
        [("search", {"count": "x y"})],
        set(),
    ),
    "dsml-cut-in-a-tag": ("dsml", '<｜DSML｜tool_calls><｜DSML｜invoke name="sea', "", [], {"incomplete"}),
    "minicpm-cdata": (
        "minicpm",
        '<function name="search"><param name="text"><![CDATA[<a>]]></param></function>',
        "",
        [("search", {"text": "<a>"})],
        set(),
    ),
    "invoke-bare-name": ("minimax-m2", "<invoke name=search></invoke>", "", [("search", {})], set()),
    "invoke-endless-tag": ("minimax-m2", "<invoke name=" + "x" * 600, "<invoke name=" + "x" * 600, [], set()),
    # GLM.
    "glm-too-many": ("glm", f"<tool_call>search{PAIRS}</tool_call>", "", [], {"malformed"}),
    "glm-prose": ("glm", "<tool_call> wraps <b>calls</b>", "<tool_call> wraps <b>calls</b>", [], set()),
    "glm-late": (
        "glm",
        "<tool_call>" + " " * 600 + "search</tool_call>",
        "<tool_call>" + " " * 600 + "search</tool_call>",
        [],
        set(),
    ),
    "glm-cut-in-a-key": ("glm", "<tool_call>search<arg_key>te", "", [], {"incomplete"}),
    "glm-no-value": ("glm", "<tool_call>search<arg_key>text</arg_key></tool_call>", "", [], {"malformed"}),
    "glm-key-with-a-tag": (
        "glm",
        "<tool_call>search<arg_key>a<arg_key>b</arg_key><arg_value>1</arg_value></tool_call>",
        "",
        [("search", {"a<arg_key>b": "1"})],
        set(),
    ),
    "hunyuan-bad-name": (
        "hunyuan-v3",
        "<tool_calls><tool_call>? <b></tool_calls>",
        "<tool_calls><tool_call>? <b></tool_calls>",
        [],
        set(),
    ),
    "horizon-types": (
        "k2-horizon",
        "<ifm|tool_calls><ifm|tool_call>search<ifm|arg_key>count</ifm|arg_key><ifm|arg_type>integer</ifm|arg_type><ifm|arg_value>3</ifm|arg_value></ifm|tool_call></ifm|tool_calls>",
        "",
        [("search", {"count": 3})],
        set(),
    ),
    # Sections and inline names.
    "kimi-begin-twice": (
        "kimi-k2",
        f"<|tool_calls_section_begin|><|tool_call_begin|>x{KIMI}{{}}<|tool_call_end|>",
        "",
        [("search", {})],
        {"malformed"},
    ),
    "kimi-head-cut": ("kimi-k2", "<|tool_call_begin|>functions.sea", "", [], {"incomplete"}),
    "kimi-end-left-out": ("kimi-k2", f"{KIMI}{{}}{KIMI}{{}}<|tool_call_end|>", "", [("search", {})] * 2, set()),
    "kimi-end-eaten-by-stop": ("kimi-k2", f"{KIMI}{{}}", "", [("search", {})], set()),
    "kimi-separator-behind": (
        "kimi-k2",
        f"{KIMI}{{}}<|tool_call_argument_begin|><|tool_call_end|>",
        "",
        [("search", {})],
        set(),
    ),
    "kimi-too-deep": ("kimi-k2", f'{KIMI}{{"a": {DEEP}<|tool_call_end|>', "", [], {"malformed"}),
    "deepseek-name-cut": ("deepseek", "<｜tool▁call▁begin｜>function<｜tool▁sep｜>sea", "", [], {"incomplete"}),
    "deepseek-no-json": (
        "deepseek",
        "<｜tool▁call▁begin｜>function<｜tool▁sep｜>search\n```json\n",
        "",
        [],
        {"incomplete"},
    ),
    "mistral-cut-before-json": ("mistral", "a[TOOL_CALLS]search[ARGS]", "a", [], {"incomplete"}),
    "mistral-too-deep": (
        "mistral",
        'a[TOOL_CALLS]search[ARGS]{"a": ' + DEEP + "]" * 140 + "}b",
        "ab",
        [],
        {"malformed"},
    ),
    "mistral-closer": ("mistral", "a[TOOL_CALLS]search[ARGS]{}[/TOOL_CALLS]b", "ab", [("search", {})], set()),
    "mistral-no-json": ("mistral", "a[TOOL_CALLS]search[ARGS] none", "asearch[ARGS] none", [], set()),
    "mistral-late": (
        "mistral",
        "[TOOL_CALLS]" + " " * 600 + "search[ARGS]{}",
        "[TOOL_CALLS]" + " " * 600 + "search[ARGS]{}",
        [],
        set(),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_corner_is_read_as_written_here(name: str) -> None:
    check(CASES[name])
