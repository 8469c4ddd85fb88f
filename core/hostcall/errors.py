"""What can be raised, and by whom.

::

    HostcallError
    ├── LocalProtocolError    the driver or the host broke the contract between it and the core
    ├── ConversationError     the conversation handed to an answer is not one
    ├── SettingsError         a setting has no meaning; the message names it
    └── RecordingError        a recording cannot be read

What a model, a page, an engine or a resolver does wrong is never raised: it is a value (`Refused`, `Failed`) and the
answer goes on.
"""


class HostcallError(Exception):
    """The parent of every exception that hostcall raises on purpose."""


class LocalProtocolError(HostcallError):
    """The driver or the host did something that the contract does not allow.

    An event for an id that was never issued, an event that the state does not take, an event after `Finish`: each is
    a mistake in the code around the core, never the doing of a remote party.
    """


class ConversationError(HostcallError, ValueError):
    """The conversation is not a list of messages that an answer can start from. The message says which and why."""


class SettingsError(HostcallError, ValueError):
    """A setting is out of its range or names nothing. The message says which one and what it may be."""


class RecordingError(HostcallError, ValueError):
    """A recording holds something that this version cannot read. The message gives the line."""
