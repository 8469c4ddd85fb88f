"""The tools that are offered, as the scanners need them: which names there are, and which type a parameter has."""

from collections.abc import Iterable, Mapping
from typing import Any

import attrs


@attrs.frozen(eq=False)
class Offer:
    """Names and schemas of the tools of one answer."""

    schemas: Mapping[str, Mapping[str, Any]]

    def known(self, name: str) -> bool:
        """Say whether a tool of this name is offered. Names are exact."""
        return name in self.schemas

    def properties(self, name: str) -> Mapping[str, Any]:
        """Return the parameters of a tool with their schemas; empty when it declares none or is not known."""
        properties = self.schemas.get(name, {}).get("properties")
        return properties if isinstance(properties, Mapping) else {}


def offer_of(tools: Iterable[Any]) -> Offer:
    """Read tools in the OpenAI shape; what has no name is left out."""
    schemas: dict[str, Mapping[str, Any]] = {}
    for tool in tools:
        if not isinstance(tool, Mapping):
            continue
        function = tool.get("function", tool)
        name = function.get("name") if isinstance(function, Mapping) else None
        if isinstance(name, str) and name:
            parameters = function.get("parameters")
            schemas[name] = parameters if isinstance(parameters, Mapping) else {}
    return Offer(schemas)
