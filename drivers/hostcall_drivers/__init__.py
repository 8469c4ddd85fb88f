"""The drivers: they carry out what the core asks, report what happened, and decide nothing.

`TrioDriver` for trio, `AsyncioDriver` for asyncio, `SyncDriver` for blocking programs. Each is imported when it is
first asked for, so that one can be used without the libraries of the others.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hostcall_drivers.asyncio import AsyncioDriver
    from hostcall_drivers.engines import EngineAt, Engines, known_rows
    from hostcall_drivers.functions import FunctionTool, tool
    from hostcall_drivers.journal import Journal, SystemdHandler
    from hostcall_drivers.sync import SyncDriver
    from hostcall_drivers.trio import TrioDriver

__all__ = [
    "AsyncioDriver",
    "EngineAt",
    "Engines",
    "FunctionTool",
    "Journal",
    "SyncDriver",
    "SystemdHandler",
    "TrioDriver",
    "known_rows",
    "tool",
]

_HOMES = {
    "AsyncioDriver": "asyncio",
    "EngineAt": "engines",
    "Engines": "engines",
    "known_rows": "engines",
    "FunctionTool": "functions",
    "tool": "functions",
    "Journal": "journal",
    "SystemdHandler": "journal",
    "SyncDriver": "sync",
    "TrioDriver": "trio",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
