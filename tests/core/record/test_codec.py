"""Every event and command, as plain data and back."""

import json
from typing import Any, get_args

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostcall import commands, data, events
from hostcall.commands import Command, Connect
from hostcall.data import Bounds, CheckedAddress, HttpRequest
from hostcall.errors import RecordingError
from hostcall.events import BodyReceived, Event
from hostcall.record import codec
from hostcall.web.networks import Networks
from hostcall.web.settings import Web

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.text(max_size=6), JSON, max_size=3)


ADDRESSES = st.sampled_from([CheckedAddress("93.184.215.14"), CheckedAddress("2606:2800:220:1::1")])
FINITE = st.floats(allow_nan=False, allow_infinity=False)


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for a member's type."""
    if hint == data.JsonObject:
        return OBJECTS
    if hint is CheckedAddress:
        return ADDRESSES
    if hint is float:
        return FINITE
    if isinstance(hint, type) and attrs.has(hint):
        return instances(hint)
    arguments = get_args(hint)
    origin = getattr(hint, "__origin__", None)
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return st.lists(values(arguments[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values, arguments))
    if arguments and origin is None:
        return st.one_of(*map(values, arguments))
    return st.from_type(hint)


def instances(cls: type) -> st.SearchStrategy[Any]:
    """Return a strategy for a class of the border."""
    from typing import get_type_hints

    hints = get_type_hints(cls)
    return st.builds(cls, **{field.alias or field.name: values(hints[field.name]) for field in attrs.fields(cls)})


CLASSES = sorted((*get_args(Event), *get_args(Command)), key=lambda cls: cls.__name__)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
@settings(max_examples=15)
@given(draw=st.data())
def test_every_event_and_command_comes_back_the_same(cls: type, draw: st.DataObject) -> None:
    value = draw.draw(instances(cls))
    assert codec.load(json.loads(json.dumps(codec.dump(value)))) == value


def test_every_class_of_the_border_is_known() -> None:
    for module in (data, events, commands):
        for name, cls in vars(module).items():
            if isinstance(cls, type) and attrs.has(cls) and cls.__module__ == module.__name__:
                assert codec.CLASSES[name] is cls


def test_bytes_that_are_text_stay_readable() -> None:
    assert codec.dump(BodyReceived("a", "é\n".encode())) == {"class": "BodyReceived", "id": "a", "data": "é\n"}
    assert codec.dump(BodyReceived("a", b"\xff"))["data_base64"] == "/w=="


CONNECT = Connect(
    id="a",
    deadline=1.0,
    addresses=(CheckedAddress("10.0.0.7"),),
    port=443,
    server_name="x.example.org",
    request=HttpRequest("GET", "/"),
    bounds=Bounds(head_bytes=1, headers=1, wire_bytes=1, data_events=1, chunk_line_bytes=1, connect_seconds=1.0),
)


def test_an_address_in_a_recording_is_checked_anew() -> None:
    plain = codec.dump(CONNECT)
    with pytest.raises(RecordingError, match="not an address that may be connected to"):
        codec.load(plain)
    networks = Networks.of(Web(allow_networks=("10.0.0.0/8",)))
    assert codec.load(plain, networks=networks) == CONNECT


@pytest.mark.parametrize(
    ("plain", "says"),
    [
        ({}, "None is no event"),
        ({"class": "os.system"}, "is no event"),
        ({"class": ["x"]}, "is no event"),
        ({"class": "Woken"}, "lacks a member"),
        ({"class": "Woken", "id": 3}, "must be str, not int"),
        ({"class": "Woken", "id": "a", "more": 1}, "no member 'more'"),
        ({"class": "ResponseStarted", "id": "a", "status": True}, "must be int, not bool"),
        ({"class": "ResponseStarted", "id": "a", "status": 200, "headers": "x"}, "must be a list"),
        ({"class": "ResponseStarted", "id": "a", "status": 200, "headers": [["x"]]}, "must have 2 members"),
        ({"class": "ResponseStarted", "id": "a", "status": 200, "peer": 3}, "may not be a int"),
        ({"class": "Failed", "id": "a", "kind": "tired"}, "may not be 'tired'"),
        ({"class": "BodyReceived", "id": "a", "data": 3}, "must be bytes"),
        ({"class": "BodyReceived", "id": "a", "data": "\ud800"}, "lone surrogate"),
        ({"class": "BodyReceived", "id": "a", "data_base64": "!"}, "not base64"),
        ({"class": "LogFetch", "record": {"class": "Woken", "id": "a"}}, "must be a FetchRecord"),
        ({"class": "CheckedAddress", "ip": 3}, "must be a text"),
        ({"class": "ShowPage", "number": None, "title": "", "address": "", "asked_by": "host"}, "must be int"),
        ({"class": "ShowReasoning", "text": [], "round": 1}, "must be str"),
    ],
)
def test_what_is_no_event_or_command_says_why(plain: Any, says: str) -> None:
    with pytest.raises(RecordingError, match=says):
        codec.load(plain)
