"""The growing conversation, and what is laid over it when it is sent."""

from typing import Any

from hostcall.answer.tools import fetch_tool, search_tool
from hostcall.answer.transcript import STUB_CHARS, Transcript, schema_of, schema_tail
from hostcall.engine.history import call_message, reply_message, validate
from hostcall.limits import Limits

USER = {"role": "user", "content": "Hi."}
LINE = "Searches used 1 of 16; pages read 0 of 12"


def test_the_system_line_ends_the_hosts_own_or_stands_alone() -> None:
    assert Transcript.begin([USER], "Line.").messages == [{"role": "system", "content": "Line."}, USER]
    own = {"role": "system", "content": "Own."}
    assert Transcript.begin([own, USER], "Line.").messages[0]["content"] == "Own.\n\nLine."
    assert Transcript.begin([own, USER], None).messages == [own, USER]


def test_directives_are_sent_and_not_kept() -> None:
    transcript = Transcript.begin([USER], None)
    transcript.direct("[D]")
    transcript.ask("Write.", "[A]")
    assert [message["content"] for message in transcript.to_send()] == ["Hi.\n\n[D]", "Write.\n\n[A]"]
    assert [message["content"] for message in transcript.copy()] == ["Hi.", "Write."]


def test_a_directive_under_parts_is_a_part() -> None:
    content: list[Any] = [{"type": "text", "text": "See."}]
    transcript = Transcript.begin([{"role": "user", "content": content}], None)
    transcript.direct("[D]")
    assert transcript.to_send()[0]["content"] == [*content, {"type": "text", "text": "[D]"}]


def test_a_tail_of_the_system_message_is_for_one_request() -> None:
    transcript = Transcript.begin([USER], "Line.")
    assert transcript.to_send(system_tail="Tail.")[0]["content"] == "Line.\n\nTail."
    assert transcript.to_send()[0]["content"] == "Line."
    assert Transcript.begin([USER], None).to_send(system_tail="Tail.")[0] == {"role": "system", "content": "Tail."}


def results(*sizes: int) -> Transcript:
    transcript = Transcript.begin([USER], None)
    for number, size in enumerate(sizes):
        transcript.add(
            [call_message("", [(f"c{number}", "get", "{}")]), reply_message(f"c{number}", "x" * size + f"\n\n{LINE}")]
        )
    return transcript


def test_the_oldest_results_become_stubs_and_the_users_words_stay() -> None:
    transcript = results(5000, 5000, 5000)
    assert transcript.shorten(keep=0.7)
    sizes = [len(message["content"]) for message in transcript.messages if message["role"] == "tool"]
    assert sizes[0] < STUB_CHARS * 2 < sizes[1] == sizes[2]
    assert transcript.messages[2]["content"].endswith(LINE)
    assert "4700 characters left out" in transcript.messages[2]["content"]
    assert transcript.messages[0] == USER
    validate(transcript.messages)


def test_at_least_one_result_is_shortened_and_a_short_one_is_none() -> None:
    assert results(5000).shorten(keep=1.0)
    assert not results(10, 20).shorten(keep=0.1)
    assert not Transcript.begin([USER], None).shorten(keep=0.1)


def test_a_result_without_the_budgets_line_is_stubbed_too() -> None:
    transcript = Transcript.begin([USER], None)
    transcript.add([call_message("", [("c", "get", "{}")]), reply_message("c", "y" * 4000)])
    assert transcript.shorten(keep=0.1)
    assert "3700 characters left out" in transcript.messages[2]["content"]


def test_the_forced_schema_leaves_optional_arguments_out() -> None:
    tools = [search_tool(research=True, limits=Limits()), fetch_tool()]
    forms = schema_of(tools)["anyOf"]
    assert [form["properties"]["name"]["const"] for form in forms] == ["web_search", "fetch_page_content_recursive"]
    assert list(forms[0]["properties"]["arguments"]["properties"]) == ["query"]
    assert forms[0]["properties"]["arguments"]["additionalProperties"] is False
    assert "web_search" in schema_tail(tools)
