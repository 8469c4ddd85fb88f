"""Every marker that models and chat templates use, once.

The dialects of `hostcall.tooltext` take their markers from here, and `hostcall.web.defuse` takes the power out of each
of them in untrusted text, so that what one of the two knows the other cannot forget.
"""

MARKERS: tuple[str, ...] = (
    # Calls, in the formats that several families share.
    "<tool_call>", "</tool_call>", "<tool_calls>", "</tool_calls>", "<function=", "</function>", "<parameter=",
    "</parameter>", "<function name=", "<param name=", "</param>", "<invoke name=", "</invoke>", "<parameter name=",
    "<function_call>", "</function_call>", "<function_calls>", "</function_calls>", "<tool_response>",
    "</tool_response>", "<arguments>", "</arguments>", "<parameters>", "</parameters>",
    "[TOOL_CALL]", "[/TOOL_CALL]", "[tool_call]", "[/tool_call]", "[TOOL_REQUEST]", "[END_TOOL_REQUEST]",
    "<TOOLCALL>", "</TOOLCALL>", "<|tool_call|>", "<|/tool_call|>",
    # GLM, Hunyuan, iQuest, K2-Horizon.
    "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "<tool_sep>", "<iquest_tool_call>",
    "</iquest_tool_call>", "<ifm|tool_calls>", "</ifm|tool_calls>", "<ifm|tool_call>", "</ifm|tool_call>",
    "<ifm|arg_key>", "</ifm|arg_key>", "<ifm|arg_type>", "</ifm|arg_type>", "<ifm|arg_value>", "</ifm|arg_value>",
    "<|assistant|>", "<|user|>", "<|system|>", "<|observation|>",
    # DeepSeek and Step.
    "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>",
    "<｜tool_calls_begin｜>", "<｜tool_calls_end｜>", "<｜tool_call_begin｜>", "<｜tool_call_end｜>", "<｜tool_sep｜>",
    "<｜tool calls begin｜>", "<｜tool calls end｜>", "<｜tool call begin｜>", "<｜tool call end｜>", "<｜tool sep｜>",
    "<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>", "<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>",
    "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>",
    "<｜DSML｜", "</｜DSML｜", "<｜｜DSML｜｜", "</｜｜DSML｜｜", "<|DSML|", "</|DSML|", "<‖DSML‖", "</‖DSML‖",
    "<||DSML||", "</||DSML||", "<｜GCML｜", "</｜GCML｜",
    "<steptml:invoke name=", "</steptml:invoke>", "<steptml:parameter name=", "</steptml:parameter>",
    # Kimi.
    "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_section_begin|>",
    "<|tool_call_section_end|>", "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>",
    "<|im_middle|>", "<|im_assistant|>", "<|im_user|>", "<|im_system|>", "<|open|>", "<|close|>", "<|sep|>",
    "<|open|>tools<|sep|>", "<|close|>tools<|sep|>", "<|open|>think<|sep|>", "<|close|>think<|sep|>",
    "<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|close|>message<|sep|>", "<|end_of_msg|>",
    # gpt-oss.
    "<|start|>", "<|channel|>", "<|message|>", "<|constrain|>", "<|end|>", "<|call|>", "<|return|>",
    # Gemma.
    "<|tool_call>", "<tool_call|>", "<|tool_response>", "<tool_response|>", "<|\"|>", "<|channel>", "<channel|>",
    "<|channel>thought", "<|turn>", "<turn|>", "<start_function_call>", "<end_function_call>",
    "<start_function_response>", "<end_function_response>", "<escape>", "<start_of_turn>", "<end_of_turn>",
    # Mistral.
    "[TOOL_CALLS]", "[/TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]", "[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[THINK]", "[/THINK]",
    # Llama.
    "<|python_tag|>", "<|python_start|>", "<|python_end|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>",
    "<|eom_id|>", "<|begin_of_text|>", "<|end_of_text|>", "<|header_start|>", "<|header_end|>", "<|eot|>", "<|eom|>",
    # MiniMax, Seed, LongCat, LFM2, Apertus, InternLM, GigaChat, dots and others.
    "<minimax:tool_call>", "</minimax:tool_call>", "]<]minimax[>[", "]<]minimax[>[<tool_call>",
    "]<]minimax[>[</tool_call>", "<mm:think>", "</mm:think>", "<seed:tool_call>", "</seed:tool_call>", "<seed:think>",
    "</seed:think>", "<longcat_tool_call>", "</longcat_tool_call>", "<longcat_think>", "</longcat_think>",
    "<|tool_call_start|>", "<|tool_list_start|>", "<|tool_list_end|>",
    "<|tools_prefix|>", "<|tools_suffix|>", "<|inner_prefix|>", "<|inner_suffix|>", "<|action_start|>",
    "<|action_end|>", "<|plugin|>", "<|interpreter|>", "<|function_call|>", "<|role_sep|>", "<|message_sep|>",
    "<dots_function_call>", "</dots_function_call>", "<|content_invoke_tool_json|>", "<|end_message|>",
    "<atem:function_calls>", "</atem:function_calls>", "<atem:invoke name=", "</atem:invoke>", "<atem:parameter name=",
    "</atem:parameter>", "<|plamo:begin_tool_requests:plamo|>", "<|plamo:end_tool_requests:plamo|>",
    "<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>",
    # Command.
    "<|START_ACTION|>", "<|END_ACTION|>", "<|START_THINKING|>", "<|END_THINKING|>", "<|START_RESPONSE|>",
    "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>", "<|START_TOOL_RESULT|>", "<|END_TOOL_RESULT|>",
    "<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>", "<|USER_TOKEN|>", "<|SYSTEM_TOKEN|>",
    # Reasoning, answers, turns.
    "<think>", "</think>", "<ifm|think>", "</ifm|think>", "<ifm|think_fast>", "</ifm|think_fast>", "<response>",
    "</response>", "<answer>", "</answer>", "[BEGIN FINAL RESPONSE]", "[END FINAL RESPONSE]", "<|im_start|>",
    "<|im_end|>", "<|endoftext|>", "<|start_of_role|>", "<|end_of_role|>", "<s>", "</s>",
)  # fmt: skip
"""Literal markers, as written by a model. Words that are markers only by their place (`functools[`) are not here."""

TURN_MARKERS: tuple[str, ...] = (
    "<bos>",
    "<eos>",
    "<pad>",
    "<<SYS>>",
    "<</SYS>>",
    "[SYSTEM DIRECTIVE]",
    "[/SYSTEM DIRECTIVE]",
)
"""Markers that part one speaker's turn from the next and that no dialect of calls needs: a text that holds one can
pretend to be the user, or the system."""


def marker(text: str) -> str:
    """Return a marker as it is, after making sure that it stands in `MARKERS`.

    Security:
        No rule of its own; it keeps the two readers of this list together. Threat: a dialect that the filter reads and
        that untrusted text can still write.

    Raises:
        LookupError: The list does not hold it.
    """
    if text not in _ALL:
        raise LookupError(f"{text} is not among the markers")
    return text


_ALL = frozenset(MARKERS)
