"""Which wire an engine speaks."""

from hostcall.engine.ollama import OllamaWire
from hostcall.engine.openai import OpenAIWire
from hostcall.engine.reply import Wire
from hostcall.engine.settings import Engine
from hostcall.errors import SettingsError
from hostcall.limits import Limits


def wire_of(engine: Engine, limits: Limits) -> Wire:
    """Return the wire of an engine.

    Raises:
        SettingsError: No wire has that name.
    """
    if engine.wire == "openai":
        return OpenAIWire(engine, limits)
    if engine.wire == "ollama":
        return OllamaWire(engine, limits)
    raise SettingsError(f"the wire {engine.wire!r} is not known; it may be openai or ollama")
