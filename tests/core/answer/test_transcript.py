"""The growing conversation, and what is laid over it when it is sent."""

from typing import Any

from hostcall.answer import prompts
from hostcall.answer.tools import FETCH_DESCRIPTION, fetch_tool, search_tool
from hostcall.answer.transcript import STUB_CHARS, Transcript, reading_schema, schema_of, schema_tail
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


def stubbed(content: str) -> str:
    transcript = Transcript.begin([USER], None)
    transcript.add([call_message("", [("c", "get", "{}")]), reply_message("c", content)])
    transcript.shorten(keep=0.0)
    return str(transcript.messages[2]["content"])


def test_a_stub_holds_the_beginning_how_much_is_gone_and_the_budgets_line() -> None:
    note = "[shortened: the engine's context is full; 700 characters left out]"
    head = "x" * 300 + " …"
    assert stubbed("x" * 1000 + f"\n\n{LINE}") == f"{head}\n\n{note}\n\n{LINE}"
    assert stubbed("x" * 1000) == f"{head}\n\n{note}"
    assert stubbed("x" * 995 + "\n\nend") == f"{head}\n\n{note}", "what only stands last is no budget line"


def test_a_result_of_twice_a_stub_is_left_and_a_longer_one_is_not() -> None:
    assert stubbed("x" * 600) == "x" * 600
    assert stubbed("x" * 601) != "x" * 601


def test_no_more_is_shortened_than_must_be() -> None:
    transcript = results(5000, 5000, 5000)
    sizes = [transcript.size]
    for keep in (0.99, 0.5):
        transcript = results(5000, 5000, 5000)
        transcript.shorten(keep=keep)
        sizes.append(transcript.size)
    assert sizes[0] > sizes[1] > 0.66 * sizes[0] > sizes[2] > 0.3 * sizes[0]
    exact = results(5000, 5000, 5000)
    exact.shorten(keep=sizes[1] / sizes[0])
    assert exact.size == sizes[1], "what is wanted is reached, and no more is cut"


def test_the_last_question_is_the_users_last_words_and_ids_are_all_there_are() -> None:
    transcript = Transcript.begin([USER, {"role": "assistant", "content": "?"}], None)
    transcript.add([{"role": "user", "content": [{"type": "text", "text": "How hot?"}]}])
    transcript.add([call_message("", [("c1", "get", "{}")]), reply_message("c1", "x")])
    assert transcript.last_question == "How hot?"
    assert transcript.ids == {"c1"}
    transcript.direct("[D]")
    assert transcript.to_send()[2]["content"][-1] == {"type": "text", "text": "[D]"}
    assert transcript.to_send()[0] == USER


def test_an_ask_that_follows_unsent_results_is_one_message_with_them_on_rescue() -> None:
    def asked(*, sent: bool) -> list[str]:
        transcript = Transcript.begin([USER], None)
        transcript.to_rescue([])
        transcript.add([call_message("", [("c", "get", "{}")]), reply_message("c", "seen")])
        if sent:
            transcript.to_rescue([])
        transcript.ask("Write.")
        return [message["role"] for message in transcript.to_rescue([])]

    assert asked(sent=False)[-2:] == ["assistant", "user"]
    assert asked(sent=True)[-2:] == ["user", "user"]


def test_a_schema_names_each_tool_its_required_arguments_and_nothing_else() -> None:
    tools = [search_tool(research=True, limits=Limits())]
    assert schema_of(tools) == {
        "anyOf": [
            {
                "type": "object",
                "properties": {
                    "name": {"const": "web_search"},
                    "arguments": {
                        "type": "object",
                        "properties": {"query": {"type": "string", "description": "The search query"}},
                        "required": ["query"],
                        "additionalProperties": False,
                    },
                },
                "required": ["name", "arguments"],
                "additionalProperties": False,
            }
        ]
    }
    bare = {"type": "function", "function": {"name": "n", "description": "N.", "parameters": {"required": ["a"]}}}
    (form,) = schema_of([bare])["anyOf"]
    assert form["properties"]["arguments"]["properties"] == {"a": {}}


def test_the_pages_to_read_are_an_enum() -> None:
    (form,) = reading_schema(fetch_tool(), ["https://a.example.org/"])["anyOf"]
    assert form["properties"]["name"] == {"const": "fetch_page_content_recursive"}
    assert form["properties"]["arguments"] == {
        "type": "object",
        "properties": {"url": {"enum": ["https://a.example.org/"]}},
        "required": ["url"],
        "additionalProperties": False,
    }


def test_the_tail_shows_a_form_and_what_its_arguments_mean() -> None:
    bare = {"type": "function", "function": {"name": "née", "description": "N.", "parameters": {"type": "object"}}}
    lines = schema_tail([fetch_tool(), bare]).split("\n")
    assert lines[0] == prompts.SCHEMA_ROUND
    assert lines[1].startswith('{"name": "fetch_page_content_recursive", "arguments": {"url": ')
    assert lines[1].endswith(f" - {FETCH_DESCRIPTION}")
    assert lines[2] == "  url: An https address from this answer's search results"
    assert lines[3:] == ['{"name": "née", "arguments": {}} - N.']
