"""Tools of a host made from typed functions: the schema comes from the annotations, the handler is the function.

::

    @tool(side_effects=False)
    def get_time(city: str, clock: Literal["12h", "24h"] = "24h") -> str:
        \"\"\"Get the current time in a city.\"\"\"
        ...

    driver = SyncDriver(engine_url, handlers=[get_time])
    driver.run(Answer(conversation, tools=[get_time.tool]))

Schemas and conversion are pydantic's. The core knows nothing of it: it sees a `Tool` like any other.
"""

import functools
import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar

import attrs

from hostcall.answer.tools import Tool
from hostcall.errors import SettingsError

Given = ParamSpec("Given")
Returned = TypeVar("Returned")

_MOST_FAULTS = 3


@attrs.frozen(eq=False)
class FunctionTool(Generic[Given, Returned]):
    """A function that a model can ask for. Calling it is calling the function."""

    tool: Tool
    """What `Answer` is told of it."""
    function: Callable[Given, Returned]
    _adapter: Any = attrs.field(repr=False)

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.tool.name

    def __call__(self, *args: Given.args, **kwargs: Given.kwargs) -> Returned:
        """Call the function, as if it had never become a tool."""
        return self.function(*args, **kwargs)

    @property
    def handler(self) -> Callable[[Mapping[str, Any]], Any]:
        """What a driver runs: takes a model's arguments, returns the content; what is no text, as JSON.

        It is async where the function is. Arguments that the schema lets through and the annotations do not (a date
        that is none) are a fault that names the field, and the function is not run.
        """
        return self._handle_async if inspect.iscoroutinefunction(_under(self.function)) else self._handle

    def _handle(self, arguments: Mapping[str, Any]) -> Any:
        values, fault = self._values(arguments)
        return (fault, True) if fault else content_of(self.function(**values))  # type: ignore[call-arg]  # made from its own parameters

    async def _handle_async(self, arguments: Mapping[str, Any]) -> Any:
        values, fault = self._values(arguments)
        return (fault, True) if fault else content_of(await self.function(**values))  # type: ignore[call-arg,misc]  # an async function

    def _values(self, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        from pydantic import ValidationError
        from pydantic_core import ArgsKwargs

        try:
            return self._adapter.validate_python(ArgsKwargs((), dict(arguments))), ""
        except ValidationError as error:
            return {}, _faults(error)


Handlers: TypeAlias = Mapping[str, Callable[..., Any]] | Iterable[FunctionTool[..., Any]]
"""What a driver takes for handlers: name to function, or functions that `tool` made tools of."""


def tool(
    *,
    side_effects: bool,
    name: str | None = None,
    description: str | None = None,
    repeatable: bool = False,
    timeout: float = 30.0,
    max_result_chars: int = 24_000,
) -> Callable[[Callable[Given, Returned]], FunctionTool[Given, Returned]]:
    """Make a tool of a typed function.

    Each parameter needs an annotation that pydantic can make a schema of; ``Annotated[str, Field(description="…")]``
    tells the model what it is. A parameter with a default need not be given. A method, a `functools.partial` or an
    object with ``__call__`` will do as well.

    Args:
        side_effects: Whether a run changes anything. With True each call waits for an approval.
        name: The tool's name; else the function's.
        description: What the model is told; else the first paragraph of the docstring.
        repeatable: Whether the same call may run again in one answer.
        timeout: Seconds that a run may take.
        max_result_chars: Characters of a result that reach the model.

    Raises:
        SettingsError: It is no function, or has a parameter without annotation, ``*args`` or the like, no signature or
            no docstring.
    """

    def make(function: Callable[Given, Returned]) -> FunctionTool[Given, Returned]:
        if not callable(function):
            raise SettingsError(f"{function!r} is no function, and no tool can be made of it")
        within = _within(function)
        called = name or str(getattr(within, "__name__", type(within).__name__))
        told = description or _first_paragraph(inspect.getdoc(within))
        if not told:
            raise SettingsError(f"the tool {called!r} needs a description: give the function a docstring")
        adapter, schema = _adapter(called, function)
        made = Tool(
            called,
            told,
            schema,
            side_effects=side_effects,
            repeatable=repeatable,
            timeout=timeout,
            max_result_chars=max_result_chars,
        )
        return FunctionTool(made, function, adapter)

    return make


def handlers_of(handlers: Handlers | None) -> dict[str, Callable[..., Any]]:
    """Return handlers by name, of whichever form they were given in.

    Raises:
        SettingsError: Something among them is no function that `tool` made a tool of.
    """
    if handlers is None:
        return {}
    if isinstance(handlers, Mapping):
        return {
            name: handler.handler if isinstance(handler, FunctionTool) else handler
            for name, handler in handlers.items()
        }
    found = {}
    for handler in handlers:
        if not isinstance(handler, FunctionTool):
            raise SettingsError(f"{handler!r} has no name as a tool; give handlers by name, or decorate it with @tool")
        found[handler.name] = handler.handler
    return found


def content_of(value: Any) -> Any:
    """Return a function's result as a driver takes it: texts and pairs as they are, all else as JSON."""
    if value is None or isinstance(value, str) or _is_pair(value):
        return value
    from pydantic_core import to_json

    return to_json(value, fallback=str).decode()


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], bool)


def _adapter(name: str, function: Callable[..., Any]) -> tuple[Any, dict[str, Any]]:
    """Return what turns a model's arguments into the function's, and their schema."""
    try:
        from pydantic import TypeAdapter
        from pydantic.errors import PydanticUserError
        from pydantic.json_schema import GenerateJsonSchema
    except ImportError as error:
        raise SettingsError("tools made of functions need pydantic: pip install 'hostcall[tools]'") from error

    class Schema(GenerateJsonSchema):
        """A schema without a title for each field, which would only repeat its name."""

        def field_title_should_be_set(self, schema: Any) -> bool:
            return False

    try:
        signature = _open_signature(function)
        hints = typing.get_type_hints(_under(function), include_extras=True)
    except NameError as error:
        raise SettingsError(f"the tool {name!r} has an annotation that names nothing: {error}") from error
    except (TypeError, ValueError) as error:
        raise SettingsError(f"the tool {name!r} has no signature to make a schema of: {error}") from error
    hints.pop("return", None)
    for parameter in signature.parameters.values():
        if parameter.kind not in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY):
            raise SettingsError(f"the tool {name!r} takes {parameter}, and a model can only give arguments by name")
        if parameter.name not in hints:
            raise SettingsError(f"the tool {name!r} has no annotation for {parameter.name!r}")

    def collect(**values: Any) -> dict[str, Any]:
        return values

    collect.__signature__ = signature.replace(return_annotation=inspect.Signature.empty)  # type: ignore[attr-defined]  # what pydantic reads
    collect.__annotations__ = hints
    try:
        adapter: Any = TypeAdapter(collect)  # type: ignore[arg-type]  # of a function it adapts the arguments
        schema = adapter.json_schema(schema_generator=Schema)
    except PydanticUserError as error:
        raise SettingsError(f"the tool {name!r} cannot be described: {str(error).splitlines()[0]}") from error
    return adapter, schema


def _open_signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature without what a partial has bound: that is the host's to give, and not a model's."""
    signature = inspect.signature(function)
    bound = function.keywords if isinstance(function, functools.partial) else {}
    left = [parameter for name, parameter in signature.parameters.items() if name not in bound]
    return signature.replace(parameters=left)


def _within(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that a partial is of."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _under(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return what has the annotations: a function itself, of an object the method that it is called by."""
    function = _within(function)
    if inspect.isroutine(function):
        return function
    called: Callable[..., Any] = function.__init__ if inspect.isclass(function) else type(function).__call__
    return called


def _first_paragraph(doc: str | None) -> str:
    return " ".join((doc or "").strip().split("\n\n", 1)[0].split())


def _faults(error: Any) -> str:
    """Say which fields do not fit, without the values."""
    lines = []
    for fault in error.errors(include_url=False, include_input=False, include_context=False)[:_MOST_FAULTS]:
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault["loc"]).lstrip(".")
        lines.append(f"`{where or 'arguments'}`: {fault['msg']}")
    return "; ".join(lines) + "."
