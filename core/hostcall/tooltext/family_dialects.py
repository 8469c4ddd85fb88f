"""The rest of the table of dialects: families with tags of their own around bodies that others have too."""

from hostcall.tokens import marker
from hostcall.tooltext.dialect import Dialect, Opener
from hostcall.tooltext.fence_body import FenceBody
from hostcall.tooltext.glm_body import GlmBody
from hostcall.tooltext.json_body import JsonBody
from hostcall.tooltext.m3_body import M3Body
from hostcall.tooltext.named_body import InlineBody
from hostcall.tooltext.objects import read_single_key
from hostcall.tooltext.pythonic_body import PythonicBody
from hostcall.tooltext.spellings import TAG, TAG_END, function_tags, invoke_tags, tokens

FAMILY_DIALECTS: tuple[Dialect, ...] = (
    Dialect(
        name="minimax-m2",
        openers=(Opener(marker("<minimax:tool_call>")), Opener(marker("<invoke name="), kept=True)),
        body=invoke_tags("", wrap="</minimax:tool_call>"),
        orphans=("</minimax:tool_call>", "</invoke>"),
    ),
    Dialect(
        name="minimax-m3",
        openers=tokens("]<]minimax[>[<tool_call>"),
        body=M3Body(prefix=marker("]<]minimax[>[")),
        orphans=("]<]minimax[>[</tool_call>",),
    ),
    Dialect(
        name="seed-oss",
        openers=(Opener(marker("<seed:tool_call>")),),
        body=function_tags(("<seed:tool_call>",), (marker("</seed:tool_call>"),)),
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
            closers=TAG_END,
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
        openers=tokens("<ifm|tool_calls>"),
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
        openers=(*tokens("<|tool_call|>"), TAG),
        body=JsonBody(array=True, sure=True, optional=("</tool_call>", marker("<|/tool_call|>"))),
        auto=False,
    ),
    Dialect(
        name="granite-token",
        group="granite",
        openers=tokens("<|tool_call|>"),
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
        openers=tokens("<|START_ACTION|>"),
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
        openers=tokens("<|tools_prefix|>"),
        body=JsonBody(closers=(marker("<|tools_suffix|>"),), sure=True, read=read_single_key),
        orphans=("<|tools_suffix|>",),
    ),
    Dialect(
        name="internlm",
        openers=tokens("<|action_start|>"),
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
            *tokens("<|function_call|>"),
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
        body=invoke_tags("", wrap="</dots_function_call>"),
        orphans=("</dots_function_call>",),
    ),
    Dialect(
        name="inkling",
        openers=tokens("<|content_invoke_tool_json|>"),
        body=JsonBody(closers=(marker("<|end_message|>"),), sure=True),
        orphans=("<|end_message|>",),
    ),
    Dialect(
        name="muse",
        openers=(Opener(marker("<atem:function_calls>")),),
        body=invoke_tags("atem:", wrap="</atem:function_calls>"),
        orphans=("</atem:function_calls>",),
    ),
    Dialect(
        name="plamo",
        openers=tokens("<|plamo:begin_tool_requests:plamo|>"),
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
)
