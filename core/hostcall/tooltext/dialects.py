"""The table of dialects: every format in which a model is known to write calls, one row each.

A row says which mark opens a block, which body reads it, and what becomes of the white space before it. To add a
format, add a row, its markers to `hostcall.tokens`, its model names to `hints`, and its cases.
"""

from typing import Literal

from hostcall.tokens import marker
from hostcall.tooltext.dialect import NAME, Dialect, Opener
from hostcall.tooltext.fence_body import FenceBody
from hostcall.tooltext.gemma_body import GemmaBody
from hostcall.tooltext.glm_body import GlmBody
from hostcall.tooltext.harmony_body import HarmonyBody
from hostcall.tooltext.json_body import JsonBody
from hostcall.tooltext.lines_body import LinesBody
from hostcall.tooltext.m3_body import M3Body
from hostcall.tooltext.named_body import InlineBody, SectionBody
from hostcall.tooltext.objects import read_single_key
from hostcall.tooltext.pythonic_body import PythonicBody
from hostcall.tooltext.xml_body import XmlBody
from hostcall.tooltext.xtml_body import XtmlBody

_TAG = Opener(marker("<tool_call>"))
_TAG_END = (marker("</tool_call>"),)
_BRACKET = Opener(marker("[tool_call]"), folded=True)
_BRACKET_END = (marker("[/tool_call]"),)
_LEAKED = tuple(map(marker, ("<arguments>", "</arguments>", "<tool_call>", "</tool_call>")))
_BARS = ("｜DSML｜", "｜｜DSML｜｜", "|DSML|", "||DSML||", "‖DSML‖", "｜GCML｜")
_SPELLINGS = ("▁", "_", " ")


def _dsml(before: str, *after: str) -> tuple[str, ...]:
    return tuple(f"{marker(before + bars)}{space}{word}" for bars in _BARS for space in ("", " ") for word in after)


def _deepseek(words: str) -> tuple[str, ...]:
    return tuple(marker(f"<｜{words.replace(' ', gap)}｜>") for gap in _SPELLINGS)


def _token(*marks: str) -> tuple[Opener, ...]:
    return tuple(Opener(marker(mark), token=True) for mark in marks)


def _invoke(
    prefix: str,
    *,
    wrap: str,
    skipped: tuple[str, ...] = (),
    trim: Literal["nothing", "white"] = "nothing",
    folded: tuple[str, ...] = (),
) -> XmlBody:
    """Return the body of ``<invoke name="N"><parameter name="K">`` under a prefix."""
    return XmlBody(
        heads=(marker(f"<{prefix}invoke name="),),
        params=(marker(f"<{prefix}parameter name="),),
        param_ends=(marker(f"</{prefix}parameter>"),),
        call_ends=(marker(f"</{prefix}invoke>"),),
        wrap_ends=(marker(wrap),),
        skipped=skipped,
        named="attribute",
        trim=trim,
        folded=folded,
    )


def _function(wrap: tuple[str, ...], ends: tuple[str, ...]) -> XmlBody:
    """Return the body of ``<function=N><parameter=K>``."""
    return XmlBody(
        heads=(marker("<function="),),
        params=(marker("<parameter="),),
        param_ends=(marker("</parameter>"),),
        call_ends=(marker("</function>"),),
        wraps=wrap,
        wrap_ends=ends,
    )


_DSML = XmlBody(
    heads=_dsml("<", "invoke name="),
    params=_dsml("<", "parameter name="),
    param_ends=_dsml("</", "parameter>"),
    call_ends=_dsml("</", "invoke>"),
    wrap_ends=_dsml("</", "function_calls>", "tool_calls>", "calls>"),
    named="attribute",
    trim="nothing",
    unescape=True,
)
_STEP = _invoke(
    "steptml:",
    trim="white",
    skipped=(
        marker("<｜tool_call_begin｜>"), "function" + marker("<｜tool_sep｜>"), marker("<｜tool_sep｜>"),
        marker("<｜tool_call_end｜>"),
    ),
    wrap="<｜tool_calls_end｜>",
)  # fmt: skip

DIALECTS: tuple[Dialect, ...] = (
    # <tool_call>: what follows decides.
    Dialect(
        name="qwen-xml",
        group="tag",
        openers=(_TAG, Opener(marker("<function="), kept=True)),
        starts=("<function=",),
        body=_function(("<tool_call>",), _TAG_END),
        orphans=(*_TAG_END, "</function>", "</parameter>"),
    ),
    Dialect(
        name="hermes",
        group="tag",
        openers=(_TAG,),
        starts=("{", "["),
        body=JsonBody(closers=_TAG_END, leaked=_LEAKED[:2]),
        orphans=_TAG_END,
    ),
    Dialect(
        name="glm",
        group="tag",
        openers=(_TAG,),
        starts=(NAME,),
        body=GlmBody(opener="<tool_call>", closers=_TAG_END),
        orphans=_TAG_END,
    ),
    Dialect(
        name="minicpm",
        group="tag",
        openers=(_TAG, Opener(marker("<function name="), kept=True)),
        starts=("<function name=",),
        body=XmlBody(
            heads=("<function name=",),
            params=(marker("<param name="),),
            param_ends=(marker("</param>"),),
            call_ends=("</function>",),
            wraps=("<tool_call>",),
            wrap_ends=_TAG_END,
            named="attribute",
            trim="nothing",
            cdata=True,
        ),
        orphans=(*_TAG_END, "</function>"),
    ),
    # [TOOL_CALL], with every body seen under it.
    Dialect(
        name="bracket",
        openers=(_BRACKET,),
        starts=("{", "[", *_LEAKED),
        body=JsonBody(closers=_BRACKET_END, folded=_BRACKET_END, leaked=_LEAKED),
        orphans=_BRACKET_END,
    ),
    Dialect(
        name="bracket-invoke",
        group="bracket",
        openers=(_BRACKET,),
        starts=("<invoke",),
        body=_invoke("", wrap="[/tool_call]", folded=_BRACKET_END),
        orphans=_BRACKET_END,
    ),
    Dialect(
        name="bracket-lines",
        group="bracket",
        openers=(_BRACKET,),
        starts=(NAME,),
        body=LinesBody(closers=_BRACKET_END, folded=_BRACKET_END),
        orphans=_BRACKET_END,
    ),
    Dialect(
        name="tool-request",
        openers=(Opener(marker("[TOOL_REQUEST]")),),
        body=JsonBody(closers=(marker("[END_TOOL_REQUEST]"),)),
        orphans=("[END_TOOL_REQUEST]",),
    ),
    # DeepSeek and Step share an opener.
    Dialect(
        name="deepseek",
        openers=_token(*_deepseek("tool calls begin"))
        + tuple(Opener(mark, token=True, kept=True) for mark in _deepseek("tool call begin")),
        body=SectionBody(
            sections=_deepseek("tool calls begin"),
            begins=_deepseek("tool call begin"),
            separators=_deepseek("tool sep"),
            ends=_deepseek("tool call end"),
            section_ends=_deepseek("tool calls end"),
            style="name",
        ),
        white="keep",
        orphans=_deepseek("tool calls end"),
    ),
    Dialect(
        name="step3",
        openers=_token("<｜tool_calls_begin｜>"),
        starts=("<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke", "<steptml:invoke"),
        body=_STEP,
        orphans=("<｜tool_calls_end｜>",),
    ),
    Dialect(
        name="dsml",
        openers=tuple(Opener(mark, token=True) for mark in _dsml("<", "function_calls>", "tool_calls>", "calls>")),
        body=_DSML,
        white="blank line",
        orphans=_DSML.wrap_ends,
    ),
    # Kimi.
    Dialect(
        name="kimi-k2",
        openers=(
            *_token("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"),
            Opener(marker("<|tool_call_begin|>"), token=True, kept=True),
        ),
        body=SectionBody(
            sections=("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"),
            begins=("<|tool_call_begin|>",),
            separators=(marker("<|tool_call_argument_begin|>"),),
            ends=(marker("<|tool_call_end|>"),),
            section_ends=tuple(map(marker, ("<|tool_calls_section_end|>", "<|tool_call_section_end|>"))),
            style="id",
        ),
        white="keep",
        orphans=("<|tool_calls_section_end|>", "<|tool_call_section_end|>", "<|tool_call_end|>"),
    ),
    Dialect(name="kimi-k3", openers=_token("<|open|>tools<|sep|>"), body=XtmlBody(), white="keep"),
    # gpt-oss.
    Dialect(
        name="harmony",
        openers=tuple(
            Opener(marker(mark), token=True, kept=True) for mark in ("<|start|>", "<|channel|>", "<|message|>")
        ),
        body=HarmonyBody(),
        white="keep",
        in_reasoning="text",
    ),
    Dialect(
        name="harmony-stripped",
        group="harmony",
        openers=tuple(Opener(f"{word}to=functions.", "start", kept=True) for word in ("commentary ", "")),
        body=HarmonyBody(stripped=True),
        auto=False,
        in_reasoning="text",
    ),
    # Gemma.
    Dialect(
        name="gemma4",
        openers=_token("<|tool_call>"),
        body=GemmaBody(closer=marker("<tool_call|>"), delimiter=marker('<|"|>')),
        white="keep",
        orphans=("<tool_call|>",),
    ),
    Dialect(
        name="function-gemma",
        openers=_token("<start_function_call>"),
        body=GemmaBody(closer=marker("<end_function_call>"), delimiter=marker("<escape>"), typed=True),
        orphans=("<end_function_call>",),
    ),
    # Mistral: one opener, two bodies.
    Dialect(
        name="mistral-v3",
        group="mistral",
        openers=(Opener(marker("[TOOL_CALLS]")),),
        starts=("[", "{"),
        body=JsonBody(sure=True, optional=(marker("[/TOOL_CALLS]"),), drops_opener=True),
        white="keep",
        in_reasoning="text",
        orphans=("[/TOOL_CALLS]",),
    ),
    Dialect(
        name="mistral",
        openers=(Opener(marker("[TOOL_CALLS]")),),
        starts=(NAME,),
        body=InlineBody(
            marks=(marker("[ARGS]"),), id_mark=marker("[CALL_ID]"), optional=("[/TOOL_CALLS]",), drops_opener=True
        ),
        white="keep",
        in_reasoning="text",
        orphans=("[/TOOL_CALLS]",),
    ),
    # Llama.
    Dialect(
        name="llama-json",
        openers=(Opener("{", "start", kept=True),),
        body=JsonBody(known_only=True),
        auto=False,
        in_reasoning="text",
    ),
    Dialect(
        name="python-tag",
        openers=_token("<|python_tag|>"),
        starts=("{",),
        body=JsonBody(sure=True),
        white="keep",
    ),
    Dialect(
        name="pythonic",
        openers=(Opener("[", "start", kept=True), *_token("<|python_start|>")),
        body=PythonicBody(optional=(marker("<|python_end|>"),)),
        white="keep",
        auto=False,
        orphans=("<|python_end|>",),
    ),
    Dialect(
        name="olmo",
        openers=(Opener(marker("<function_calls>")),),
        starts=(NAME, "[", "{"),
        body=PythonicBody(closers=(marker("</function_calls>"),), sure=True, bare=True),
        orphans=("</function_calls>",),
    ),
    Dialect(
        name="lfm2",
        openers=_token("<|tool_call_start|>"),
        body=PythonicBody(closers=(marker("<|tool_call_end|>"),), sure=True),
        in_reasoning="text",
        orphans=("<|tool_call_end|>",),
    ),
    # Tags of their own around bodies that others have too.
    Dialect(
        name="minimax-m2",
        openers=(Opener(marker("<minimax:tool_call>")), Opener(marker("<invoke name="), kept=True)),
        body=_invoke("", wrap="</minimax:tool_call>"),
        orphans=("</minimax:tool_call>", "</invoke>"),
    ),
    Dialect(
        name="minimax-m3",
        openers=_token("]<]minimax[>[<tool_call>"),
        body=M3Body(prefix=marker("]<]minimax[>[")),
        orphans=("]<]minimax[>[</tool_call>",),
    ),
    Dialect(
        name="seed-oss",
        openers=(Opener(marker("<seed:tool_call>")),),
        body=_function(("<seed:tool_call>",), (marker("</seed:tool_call>"),)),
        orphans=("</seed:tool_call>",),
    ),
    Dialect(
        name="longcat",
        openers=(Opener(marker("<longcat_tool_call>")),),
        body=JsonBody(closers=(marker("</longcat_tool_call>"),)),
        orphans=("</longcat_tool_call>",),
    ),
    Dialect(
        name="nemotron",
        openers=(Opener(marker("<TOOLCALL>")),),
        body=JsonBody(closers=(marker("</TOOLCALL>"),)),
        orphans=("</TOOLCALL>",),
    ),
    Dialect(
        name="jamba",
        group="tool_calls",
        openers=(Opener(marker("<tool_calls>")),),
        starts=("[", "{"),
        body=JsonBody(closers=(marker("</tool_calls>"),)),
        orphans=("</tool_calls>",),
    ),
    Dialect(
        name="hunyuan",
        group="tool_calls",
        openers=(Opener(marker("<tool_calls>")),),
        starts=("<tool_call>",),
        body=GlmBody(
            opener="<tool_call>",
            closers=_TAG_END,
            separators=(marker("<tool_sep>"),),
            section_end=("</tool_calls>",),
        ),
        orphans=("</tool_calls>",),
    ),
    Dialect(
        name="iquest",
        openers=(Opener(marker("<iquest_tool_call>")),),
        body=GlmBody(opener="<iquest_tool_call>", closers=(marker("</iquest_tool_call>"),)),
        orphans=("</iquest_tool_call>",),
    ),
    Dialect(
        name="k2-horizon",
        openers=_token("<ifm|tool_calls>"),
        body=GlmBody(
            opener=marker("<ifm|tool_call>"),
            closers=(marker("</ifm|tool_call>"),),
            key=(marker("<ifm|arg_key>"), marker("</ifm|arg_key>")),
            value=(marker("<ifm|arg_value>"), marker("</ifm|arg_value>")),
            types=(marker("<ifm|arg_type>"), marker("</ifm|arg_type>")),
            section_end=(marker("</ifm|tool_calls>"),),
        ),
        orphans=("</ifm|tool_calls>",),
    ),
    Dialect(
        name="granite",
        openers=(*_token("<|tool_call|>"), _TAG),
        body=JsonBody(array=True, sure=True, optional=("</tool_call>", marker("<|/tool_call|>"))),
        auto=False,
    ),
    Dialect(
        name="granite-token",
        group="granite",
        openers=_token("<|tool_call|>"),
        starts=("[", "{"),
        body=JsonBody(sure=True, optional=(marker("<|/tool_call|>"),)),
    ),
    Dialect(
        name="granite-20b-fc",
        openers=(Opener(marker("<function_call>")),),
        starts=("{", "["),
        body=JsonBody(optional=(marker("</function_call>"),)),
        orphans=("</function_call>",),
    ),
    Dialect(
        name="command-a",
        openers=_token("<|START_ACTION|>"),
        body=JsonBody(closers=(marker("<|END_ACTION|>"),), sure=True),
        orphans=("<|END_ACTION|>",),
    ),
    Dialect(
        name="command-r",
        openers=(Opener("Action:", "line"),),
        body=FenceBody(members=(("tool_name", "parameters"),), led=True),
        auto=False,
        in_reasoning="text",
    ),
    Dialect(
        name="apertus",
        openers=_token("<|tools_prefix|>"),
        body=JsonBody(closers=(marker("<|tools_suffix|>"),), sure=True, read=read_single_key),
        orphans=("<|tools_suffix|>",),
    ),
    Dialect(
        name="internlm",
        openers=_token("<|action_start|>"),
        starts=(marker("<|plugin|>"),),
        body=JsonBody(closers=(marker("<|action_end|>"),), sure=True, leaked=("<|plugin|>",)),
        orphans=("<|action_end|>",),
    ),
    Dialect(
        name="functionary-v3.2",
        openers=(Opener(">>>", "line"),),
        body=InlineBody(line=True, prose="all"),
        auto=False,
        in_reasoning="text",
    ),
    Dialect(
        name="functools",
        openers=(Opener("functools", "start"),),
        starts=("[",),
        body=JsonBody(array=True, known_only=True),
        auto=False,
        in_reasoning="text",
    ),
    Dialect(
        name="gigachat",
        openers=(
            *_token("<|function_call|>"),
            Opener("function call<|role_sep|>", "start"),
            Opener(f"{marker('<|message_sep|>')}\n\nfunction call<|role_sep|>", token=True),
        ),
        starts=("{",),
        body=JsonBody(sure=True),
    ),
    Dialect(
        name="dots",
        openers=(Opener(marker("<dots_function_call>")),),
        starts=("<invoke",),
        body=_invoke("", wrap="</dots_function_call>"),
        orphans=("</dots_function_call>",),
    ),
    Dialect(
        name="inkling",
        openers=_token("<|content_invoke_tool_json|>"),
        body=JsonBody(closers=(marker("<|end_message|>"),), sure=True),
        orphans=("<|end_message|>",),
    ),
    Dialect(
        name="muse",
        openers=(Opener(marker("<atem:function_calls>")),),
        body=_invoke("atem:", wrap="</atem:function_calls>"),
        orphans=("</atem:function_calls>",),
    ),
    Dialect(
        name="plamo",
        openers=_token("<|plamo:begin_tool_requests:plamo|>"),
        body=JsonBody(closers=(marker("<|plamo:end_tool_requests:plamo|>"),), sure=True),
        orphans=("<|plamo:end_tool_requests:plamo|>",),
    ),
    Dialect(
        name="tool-code",
        openers=(Opener("```tool_code", "line"),),
        body=PythonicBody(closers=("```",), bare=True),
        auto=False,
        in_reasoning="text",
    ),
    # Nothing but JSON, or JSON in a fence: only where the caller says so.
    Dialect(
        name="bare-json",
        openers=(Opener("{", "start", kept=True), Opener("[", "start", kept=True)),
        body=JsonBody(known_only=True, whole=True),
        auto=False,
        in_reasoning="text",
    ),
    Dialect(
        name="fenced",
        openers=(Opener("```", "line", kept=True),),
        body=FenceBody(members=(("tool", "input"),)),
        auto=False,
        in_reasoning="text",
    ),
    Dialect(
        name="fenced-json",
        openers=(Opener("```", "line", kept=True),),
        body=FenceBody(members=(("name", "arguments"),)),
        auto=False,
        in_reasoning="text",
    ),
)
