"""What an engine's ``/v1/models`` says: the models that it has, and who owns them."""

import json
from typing import Any


def read_models(body: bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the models and the owners that the answer gives, or nothing where it is none."""
    try:
        value: Any = json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return (), ()
    data = value.get("data") if isinstance(value, dict) else None
    models = [model for model in data if isinstance(model, dict)] if isinstance(data, list) else []
    names = [model["id"] for model in models if isinstance(model.get("id"), str)]
    owners = [model["owned_by"] for model in models if isinstance(model.get("owned_by"), str)]
    return tuple(names), tuple(dict.fromkeys(owners))
