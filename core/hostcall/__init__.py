"""hostcall: the deciding part of a host that runs tools for a language model.

A model can only ask for a tool; the host decides. `Answer` is that decision, as a machine: it takes *events* (a piece
of the engine's stream, a resolved name, a page's bytes) and gives *commands* (call the engine, resolve a name, connect
to a checked address), and it touches nothing else. A driver of `hostcall_drivers` carries the commands out::

    from hostcall import Answer, ShowText
    from hostcall_drivers import SyncDriver

    with SyncDriver("http://127.0.0.1:8080", "http://127.0.0.1:8888") as driver:
        with driver.run(Answer([{"role": "user", "content": "What is new in Python 3.13?"}])) as notices:
            for notice in notices:
                if isinstance(notice, ShowText):
                    print(notice.text, end="", flush=True)
"""

from typing import TYPE_CHECKING, Any

from hostcall.commands import (
    AskApproval,
    CallEngine,
    CallSearch,
    Cancel,
    Command,
    Connect,
    Finish,
    LogFetch,
    Notice,
    Request,
    Resolve,
    RunTool,
    ShowPage,
    ShowProgress,
    ShowReasoning,
    ShowRefusal,
    ShowSearch,
    ShowText,
    Wait,
)
from hostcall.data import (
    Bounds,
    CallFragment,
    Capabilities,
    CheckedAddress,
    Citation,
    FetchRecord,
    HttpRequest,
    Quote,
    Receipt,
    Refused,
    Result,
    Rewrite,
    SearchResult,
    Source,
    Spent,
    Usage,
)
from hostcall.errors import (
    ConversationError,
    HostcallError,
    LocalProtocolError,
    RecordingError,
    SettingsError,
)
from hostcall.events import (
    ApprovalGiven,
    BodyReceived,
    Event,
    Failed,
    HostCancelled,
    ModelChunk,
    ModelEnded,
    Resolved,
    ResponseEnded,
    ResponseStarted,
    ToolFinished,
    Woken,
)
from hostcall.limits import Limits
from hostcall.web.settings import Web

if TYPE_CHECKING:
    from hostcall.answer.answer import Answer
    from hostcall.answer.reading import Reading
    from hostcall.answer.tools import Tool
    from hostcall.engine.capabilities import Row, read_rows, write_row
    from hostcall.engine.settings import Engine

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "ApprovalGiven",
    "AskApproval",
    "BodyReceived",
    "Bounds",
    "CallEngine",
    "CallFragment",
    "CallSearch",
    "Cancel",
    "Capabilities",
    "CheckedAddress",
    "Citation",
    "Command",
    "Connect",
    "ConversationError",
    "Engine",
    "Event",
    "Failed",
    "FetchRecord",
    "Finish",
    "HostCancelled",
    "HostcallError",
    "HttpRequest",
    "Limits",
    "LocalProtocolError",
    "LogFetch",
    "ModelChunk",
    "ModelEnded",
    "Notice",
    "Quote",
    "Reading",
    "Receipt",
    "RecordingError",
    "Refused",
    "Request",
    "Resolve",
    "Resolved",
    "ResponseEnded",
    "ResponseStarted",
    "Result",
    "Rewrite",
    "Row",
    "RunTool",
    "SearchResult",
    "SettingsError",
    "ShowPage",
    "ShowProgress",
    "ShowReasoning",
    "ShowRefusal",
    "ShowSearch",
    "ShowText",
    "Source",
    "Spent",
    "Tool",
    "ToolFinished",
    "Usage",
    "Wait",
    "Web",
    "Woken",
    "read_rows",
    "write_row",
]

_HOMES = {
    "Answer": "answer.answer",
    "Reading": "answer.reading",
    "Tool": "answer.tools",
    "Engine": "engine.settings",
    "Row": "engine.capabilities",
    "read_rows": "engine.capabilities",
    "write_row": "engine.capabilities",
}
"""What is loaded when it is first asked for: the machines bring the page reader and forty dialects with them, and a
program that only passes events and commands on needs neither."""


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
