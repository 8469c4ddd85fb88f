"""Events and commands as plain data and back, by class name: what a recording is made of.

``{"class": "Resolved", "id": "r2.c1.p0.h0.lookup", "addresses": ["93.184.215.14"]}``. Bytes that are UTF-8 stand as
text, so that a recording stays readable; other bytes stand as base64 under a key that ends in ``_base64``. Loading
checks what it builds: a `CheckedAddress` is checked anew, and an unknown class or member is an error that names it.
"""

import base64
import types
import typing
from collections.abc import Mapping
from typing import Any, Union, get_args, get_origin, get_type_hints

import attrs

from hostcall import commands, data, events
from hostcall.errors import RecordingError
from hostcall.limits import Limits
from hostcall.web.address import checked_addresses
from hostcall.web.networks import Networks
from hostcall.web.settings import Web

Plain = dict[str, Any]

CLASSES: dict[str, type] = {
    cls.__name__: cls
    for module in (data, events, commands)
    for cls in vars(module).values()
    if isinstance(cls, type) and attrs.has(cls) and cls.__module__ == module.__name__
}
"""Every class that can cross the border, by name."""

_BYTES = "_base64"


def dump(value: Any) -> Plain:
    """Return an event, a command or a value of `hostcall.data` as plain data that JSON can hold."""
    plain: Plain = {"class": type(value).__name__}
    for field in attrs.fields(type(value)):
        key, item = field.alias or field.name, getattr(value, field.name)
        if isinstance(item, bytes):
            try:
                plain[key] = item.decode("utf-8")
            except UnicodeDecodeError:
                plain[key + _BYTES] = base64.b64encode(item).decode("ascii")
        else:
            plain[key] = _plain(item)
    return plain


def load(plain: Mapping[str, Any], *, networks: Networks | None = None) -> Any:
    """Return what `dump` was given.

    Security:
        Rule 3. Threat: a recording, which is a file from anywhere, that names an address to connect to. Every address
        is judged anew by the table and by `networks`.

    Args:
        plain: What `dump` returned, perhaps through JSON.
        networks: What the operator refuses and opens beside the table.

    Raises:
        RecordingError: The data is no event or command of this version.
    """
    name = plain.get("class")
    cls = CLASSES.get(name) if isinstance(name, str) else None
    if cls is None:
        raise RecordingError(f"{name!r} is no event, command or value of this version")
    networks = networks if networks is not None else Networks.of(Web())
    if cls is data.CheckedAddress:
        return _checked(plain.get("ip"), networks)
    hints = get_type_hints(cls)
    values: dict[str, Any] = {}
    given = {key: value for key, value in plain.items() if key != "class"}
    for field in attrs.fields(cls):
        key = field.alias or field.name
        if key + _BYTES in given:
            values[key] = _decode(given.pop(key + _BYTES), name, key)
        elif key in given:
            values[key] = _build(given.pop(key), hints[field.name], networks, f"{name}.{key}")
    if given:
        raise RecordingError(f"{name} has no member {min(given)!r}")
    try:
        return cls(**values)
    except TypeError as error:
        raise RecordingError(f"{name} lacks a member: {error}") from error


def _plain(value: Any) -> Any:
    if attrs.has(type(value)):
        return dump(value)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return value


def _build(value: Any, hint: Any, networks: Networks, where: str) -> Any:
    """Return a member's value in the type that its class declares."""
    origin = get_origin(hint)
    if hint is Any:
        return value
    if origin in (Union, types.UnionType):
        return _one_of(value, get_args(hint), networks, where)
    if origin is typing.Literal:
        if value not in get_args(hint):
            raise RecordingError(f"{where} may not be {value!r}")
        return value
    if origin is tuple:
        return _tuple(value, get_args(hint), networks, where)
    if isinstance(hint, type) and attrs.has(hint):
        if not isinstance(value, Mapping) or value.get("class") != hint.__name__:
            raise RecordingError(f"{where} must be a {hint.__name__}")
        return load(value, networks=networks)
    if hint is bytes:
        if not isinstance(value, str):
            raise RecordingError(f"{where} must be bytes, written as text")
        try:
            return value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise RecordingError(f"{where} holds a lone surrogate") from error
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    plain = origin if isinstance(origin, type) else hint
    if isinstance(plain, type) and (not isinstance(value, plain) or (isinstance(value, bool) and plain is not bool)):
        raise RecordingError(f"{where} must be {getattr(plain, '__name__', plain)}, not {type(value).__name__}")
    return value


def _one_of(value: Any, hints: tuple[Any, ...], networks: Networks, where: str) -> Any:
    if value is None:
        if type(None) in hints:
            return None
        raise RecordingError(f"{where} may not be null")
    for hint in hints:
        if hint is type(None):
            continue
        try:
            return _build(value, hint, networks, where)
        except RecordingError:
            continue
    raise RecordingError(f"{where} may not be a {type(value).__name__}")


def _tuple(value: Any, args: tuple[Any, ...], networks: Networks, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise RecordingError(f"{where} must be a list")
    if len(args) == 2 and args[1] is Ellipsis:
        return tuple(_build(item, args[0], networks, where) for item in value)
    if len(value) != len(args):
        raise RecordingError(f"{where} must have {len(args)} members")
    return tuple(_build(item, hint, networks, where) for item, hint in zip(value, args, strict=True))


def _checked(ip: Any, networks: Networks) -> data.CheckedAddress:
    if not isinstance(ip, str):
        raise RecordingError("CheckedAddress.ip must be a text")
    checked = checked_addresses(ip, [ip], networks, Limits())
    if isinstance(checked, data.Refused):
        raise RecordingError(f"{ip!r} is not an address that may be connected to")
    return checked[0]


def _decode(text: Any, name: Any, key: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (TypeError, ValueError) as error:
        raise RecordingError(f"{name}.{key} is not base64") from error
