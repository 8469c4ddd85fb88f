"""Fragments of calls, as engines really send them."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostcall.data import CallFragment
from hostcall.engine.merge import MAX_CALLS, CallMerger, MergedCall, OpenCall, split_objects
from hostcall.engine.plain import read_object


def merged(*fragments: CallFragment, most: int = 1000) -> list[MergedCall]:
    merger = CallMerger(most)
    for fragment in fragments:
        merger.add(fragment)
    return merger.calls()


def fragment(
    index: int | None = None, id: str | None = None, name: str | None = None, arguments: object = None
) -> CallFragment:
    return CallFragment(index=index, id=id, name=name, arguments=arguments)  # type: ignore[arg-type]  # tests pass what engines send


GHENT = MergedCall("b", "get", '{"city":"Ghent"}')
UTRECHT = MergedCall("a", "get", '{"city":"Utrecht"}')


def test_id_and_name_come_first_and_arguments_in_letters() -> None:
    pieces = [fragment(0, arguments=letter) for letter in '{"city":"Utrecht"}']
    assert merged(fragment(0, "a", "get", ""), *pieces) == [UTRECHT]


def test_every_call_has_index_0_and_its_own_id() -> None:
    assert merged(fragment(0, "a", "get", UTRECHT.arguments), fragment(0, "b", "get", GHENT.arguments)) == [
        UTRECHT,
        GHENT,
    ]


def test_every_call_has_index_0_and_no_id() -> None:
    calls = merged(fragment(0, None, "get", UTRECHT.arguments), fragment(0, None, "get", GHENT.arguments))
    assert [call.arguments for call in calls] == [UTRECHT.arguments, GHENT.arguments]


def test_no_index_at_all() -> None:
    pieces = [fragment(id="a", name="get", arguments='{"city":'), fragment(id="b", name="get", arguments='{"city":"Gh')]
    assert merged(*pieces, fragment(id="a", arguments='"Utrecht"}'), fragment(id="b", arguments='ent"}')) == [
        UTRECHT,
        GHENT,
    ]


def test_neither_index_nor_id_goes_to_the_last_call() -> None:
    assert merged(fragment(name="get", id="a", arguments="{"), fragment(arguments='"city":"Utrecht"}')) == [UTRECHT]
    assert merged(fragment(arguments="{}")) == [MergedCall("", "", "{}")]


def test_pieces_of_two_calls_interleave() -> None:
    assert merged(
        fragment(0, "a", "get", ""),
        fragment(1, "b", "get", ""),
        fragment(0, arguments='{"city":'),
        fragment(1, arguments='{"city":"Gh'),
        fragment(0, arguments='"Utrecht"}'),
        fragment(1, arguments='ent"}'),
    ) == [UTRECHT, GHENT]


def test_the_first_call_may_have_index_1() -> None:
    assert merged(fragment(1, "a", "get", UTRECHT.arguments)) == [UTRECHT]


def test_a_name_is_taken_once_and_an_empty_one_is_none() -> None:
    pieces = [fragment(0, "a", "get", '{"city":'), fragment(0, None, "get", '"Utrecht"'), fragment(0, None, "", "}")]
    assert merged(*pieces) == [UTRECHT]


def test_an_object_for_arguments_is_complete() -> None:
    assert merged(fragment(0, "a", "get", {"city": "Utrecht"}), fragment(0, arguments="more")) == [
        MergedCall("a", "get", '{"city": "Utrecht"}')
    ]
    two = merged(fragment(0, None, "get", {"a": 1}), fragment(0, None, "get", {"a": 2}))
    assert [call.arguments for call in two] == ['{"a": 1}', '{"a": 2}']


def test_the_whole_object_sent_twice_is_one_call() -> None:
    assert merged(fragment(0, "a", "get", UTRECHT.arguments), fragment(0, arguments=UTRECHT.arguments)) == [UTRECHT]


def test_several_objects_in_a_row_are_several_calls() -> None:
    calls = merged(fragment(0, "a", "get", UTRECHT.arguments + GHENT.arguments))
    assert calls == [UTRECHT, MergedCall("", "get", GHENT.arguments)]


def test_arguments_over_the_bound_are_marked_and_cut() -> None:
    (call,) = merged(fragment(0, "a", "get", '{"x": "'), fragment(0, arguments="y" * 2000), most=100)
    assert call.oversize
    assert call.arguments == '{"x": "'


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", [""]),
        ("  ", ["  "]),
        ("{}", ["{}"]),
        ("{} ; {}", ["{}"]),
        ('{"a":1}\n{"a":2}', ['{"a":1}', '{"a":2}']),
        ('{"a":1}{"a":', ['{"a":1}{"a":']),
        ("[1]", ["[1]"]),
        ('{"a":1} trailing', ['{"a":1} trailing']),
    ],
)
def test_splitting_keeps_what_is_not_objects_in_a_row(text: str, parts: list[str]) -> None:
    assert split_objects(text) == parts


@pytest.mark.parametrize("text", ['{"a":"}{\\""}', '{"a":[1,{"b":"\\\\"}]}', "[]", '"x"', "12", "null", " {} \n"])
@given(data=st.data())
def test_arguments_are_complete_at_their_end_however_they_were_cut(data: st.DataObject, text: str) -> None:
    call = OpenCall(0)
    at = sorted(data.draw(st.sets(st.integers(1, len(text)))) | {0, len(text)})
    for start, end in itertools.pairwise(at):
        call.append(text[start:end])
        call.size = end
        if text[0] in '{["':
            assert call.complete() == (text[:end].strip() == text.strip())
    assert call.complete()


def test_what_ended_badly_is_not_parsed_again() -> None:
    call = OpenCall(0)
    call.append("{}x")
    assert not call.complete()
    call.append("{}")
    assert not call.complete()


def test_arguments_nested_beyond_any_use_are_no_json_whatever_the_stack() -> None:
    deep = '{"a":' * 5_000 + "1" + "}" * 5_000
    merger = CallMerger(100_000)
    merger.add(fragment(0, "a", "get", deep))
    merger.add(fragment(0, None, "get", "{}"))
    assert [read_object(call.arguments) for call in merger.calls()] == [None]


def test_only_so_many_calls_of_a_reply_are_kept() -> None:
    assert len(merged(*(fragment(None, f"c{number}", "get", "{}") for number in range(5_000)))) == MAX_CALLS
    assert len(split_objects("".join(f'{{"a":{number}}}' for number in range(5_000)))) == MAX_CALLS


def closed_and_rest(*fragments: CallFragment) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Merge fragments, looking after each for calls that are whole, and return those and the rest."""
    merger = CallMerger(1_000)
    found = []
    for one in fragments:
        merger.add(one)
        found += merger.closed()
    return [(call.id, call.arguments) for call in found], [(call.id, call.arguments) for call in merger.calls()]


def test_a_call_is_whole_when_a_later_one_begins() -> None:
    a, b = fragment(0, "a", "get", '{"n": 1}'), fragment(1, "b", "get", '{"n": 2}')
    assert closed_and_rest(a) == ([], [("a", '{"n": 1}')])
    assert closed_and_rest(a, b) == ([("a", '{"n": 1}')], [("b", '{"n": 2}')])


def test_pieces_in_turns_close_in_the_order_of_the_calls() -> None:
    pieces = (
        fragment(0, "a", "get", '{"n":'),
        fragment(1, "b", "get", '{"n":'),
        fragment(2, "c", "get", '{"n":'),
        fragment(1, None, "", " 2}"),
        fragment(0, None, "", " 1}"),
        fragment(2, None, "", " 3}"),
    )
    assert closed_and_rest(*pieces) == ([("a", '{"n": 1}'), ("b", '{"n": 2}')], [("c", '{"n": 3}')])


def test_what_comes_for_a_call_that_was_whole_adds_calls_and_changes_none() -> None:
    a, b = fragment(0, "a", "get", '{"n": 1}'), fragment(1, "b", "get", '{"n": 2}')
    assert closed_and_rest(a, b, fragment(0, None, "", '{"n": 9}')) == (
        [("a", '{"n": 1}')],
        [("", '{"n": 9}'), ("b", '{"n": 2}')],
    )
    for same in ('{"n": 1}', "", " ", "}"):
        assert closed_and_rest(a, b, fragment(0, None, "", same)) == ([("a", '{"n": 1}')], [("b", '{"n": 2}')])


@pytest.mark.parametrize("arguments", ["[1]", "7", '"x"', '{"n": "' + "x" * 2_000 + '"}', {"n": "x" * 2_000}])
def test_what_is_no_object_within_bounds_is_judged_at_the_end_with_all_behind_it(arguments: Any) -> None:
    later = (fragment(1, "b", "get", '{"n": 2}'), fragment(2, "c", "get", '{"n": 3}'))
    found, rest = closed_and_rest(fragment(0, "a", "get", arguments), *later)
    assert found == []
    assert [id_ for id_, _ in rest] == ["a", "b", "c"]


def test_a_call_without_a_name_is_not_whole() -> None:
    assert closed_and_rest(fragment(0, "a", "", '{"n": 1}'), fragment(1, "b", "get", "{}"))[0] == []


def test_objects_in_a_row_may_be_parted_by_any_space_or_mark_and_equal_ones_are_one() -> None:
    for mark in " \t\r\n;,":
        assert split_objects(f'{mark}{{"a":1}}{mark}{{"a":2}}{mark}') == ['{"a":1}', '{"a":2}']
    assert split_objects('{"a":1}X{"a":2}') == ['{"a":1}X{"a":2}']
    assert split_objects('{"a":1,"b":2} {"b":2,"a":1}') == ['{"a":1,"b":2}']
    assert split_objects('{"a":1} [1]') == ['{"a":1} [1]']
    assert split_objects('{"a":1} {"a":NaN}') == ['{"a":1} {"a":NaN}']
    assert (split_objects(""), split_objects(" ")) == ([""], [" "])
    many = "".join(f'{{"a":{number}}}' for number in range(MAX_CALLS + 1))
    assert len(split_objects(many)) == MAX_CALLS == 256


def test_a_name_begins_a_new_call_only_where_the_arguments_before_it_are_complete() -> None:
    whole, half = fragment(0, None, "get", '{"a":1}'), fragment(0, None, "get", '{"a":')
    empty, named = fragment(0, None, "get", ""), fragment(0, None, "put", "{}")
    assert [(call.name, call.arguments) for call in merged(whole, named)] == [("get", '{"a":1}'), ("put", "{}")]
    assert [(call.name, call.arguments) for call in merged(half, named)] == [("get", '{"a":{}')]
    assert [(call.name, call.arguments) for call in merged(empty, named)] == [("get", "{}")]
    unnamed = fragment(0, None, None, '{"a":1}')
    assert [call.name for call in merged(unnamed, named)] == ["put", "put"], "a name that comes late is the call's own"


def test_a_number_is_complete_at_any_digit_and_a_long_one_is_none() -> None:
    def complete(text: str) -> bool:
        call = OpenCall(0)
        call.append(text)
        call.size = len(text)
        return call.complete()

    for text in ("1", "-2.5", "true", "null", '"a"', "[]", "{}", ' {"a": "}"} ', '{"a": "\\""}', "[[1], {}]"):
        assert complete(text)
    for text in ("", "-", "tru", '"a', '"a\\"', "[", '{"a": [}', "]", "{}}", '{"a": "\\\\" "}'):
        assert not complete(text)


def test_a_value_that_ended_badly_stays_so_and_one_that_did_not_end_may_still() -> None:
    call = OpenCall(0)
    for text, complete in (("tr", False), ("ue", True)):
        call.append(text)
        assert call.complete() is complete
    broken = OpenCall(0)
    for text in ("{]", "}"):
        broken.append(text)
        assert not broken.complete()
    whole = OpenCall(0, whole=True)
    assert whole.complete()


def test_an_id_or_a_name_that_comes_late_is_taken_and_a_second_one_is_not() -> None:
    assert merged(fragment(0), fragment(0, "a"), fragment(0, None, "get"), fragment(0, "a", "put", "{}")) == [
        MergedCall("a", "get", "{}")
    ]
    by_id = merged(fragment(0, "a", "get", "{"), fragment(1, "b", "put", "{"), fragment(None, "a", None, "}"))
    assert by_id == [MergedCall("a", "get", "{}"), MergedCall("b", "put", "{")]


def test_the_bound_of_arguments_is_met_to_the_character() -> None:
    text = '{"a":"' + "x" * 1200 + '"}'
    assert merged(fragment(0, "a", "get", text), most=len(text)) == [MergedCall("a", "get", text)]
    (cut,) = merged(fragment(0, "a", "get", text[:1100]), fragment(0, None, None, text[1100:]), most=len(text) - 1)
    assert cut == MergedCall("a", "get", text[:1000], oversize=True)


def test_an_object_that_json_cannot_hold_is_said_to_be_none() -> None:
    (call,) = merged(fragment(0, "a", "get", {"a": float("nan")}))
    assert call.arguments == "<not JSON>"
    (call,) = merged(fragment(0, "a", "get", {"a": "é"}), fragment(0, None, None, "more"))
    assert call.arguments == '{"a": "é"}'


def test_a_merger_is_as_long_as_its_calls() -> None:
    merger = CallMerger(10)
    assert not merger
    merger.add(fragment(0))
    merger.add(fragment(1))
    assert len(merger) == 2


@pytest.mark.parametrize(("digits", "complete"), [(63, True), (64, False)])
def test_a_number_that_is_longer_than_any_is_given_up(digits: int, complete: bool) -> None:
    call = OpenCall(0)
    call.append("1" * digits + "e")
    call.size = digits + 1
    assert not call.complete()
    call.append("5")
    assert call.complete() is complete
