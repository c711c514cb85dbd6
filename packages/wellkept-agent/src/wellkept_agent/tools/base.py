"""What a tool is, and how one is made of a function or of a class with typed arguments.

    class Add(TypedTool[AddArguments]):
        name = "Add"
        read_only = True

        async def run(self, context, arguments): ...

    @tool(read_only=True)
    def add(a: int, b: int) -> str: ...

The schema that a model is told comes from the types. A tool returns a `ToolOutput`; what it raises
becomes an error result, so that a run goes on.
"""

from __future__ import annotations

import asyncio
import inspect
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from wellkept.core.chat.messages import ImagePart, ToolDefinition
from wellkept.core.errors import UsageError
from wellkept.core.records import record
from wellkept.core.session.events import Answer, Edit, ToolKind
from wellkept_agent.tools.schemas import model_schema

if TYPE_CHECKING:
    from wellkept_agent.tools.context import ToolContext


@record(kw_only=True)
class ToolOutput:
    """What a tool gives back. `display` is for people; the fields after it are for the observer,
    in the form of `ToolCalled`. `has_run` is False for a call that was refused or held: the
    observer does not hear of it."""

    content: str
    is_error: bool = False
    images: tuple[ImagePart, ...] = ()
    display: str = ""
    files: tuple[str, ...] = ()
    command: str | None = None
    query: str | None = None
    edits: tuple[Edit, ...] = ()
    answers: tuple[Answer, ...] = ()
    ends_turn: bool = False
    has_run: bool = True


def failure(message: str) -> ToolOutput:
    """An error result; the message says what to do."""
    return ToolOutput(content=message, is_error=True)


class Tool(Protocol):
    """A tool. `read_only` ones may run side by side and need no permission; a long-running one has
    no time limit of the loop."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def parameters(self) -> Mapping[str, object]: ...

    @property
    def kind(self) -> ToolKind: ...

    @property
    def read_only(self) -> bool: ...

    @property
    def is_long_running(self) -> bool: ...

    async def execute(
        self, context: ToolContext, arguments: Mapping[str, object]
    ) -> ToolOutput: ...


def not_run(content: str) -> ToolOutput:
    """The result of a call that was kept from running."""
    return ToolOutput(content=content, is_error=True, has_run=False)


def definition_of(tool: Tool) -> ToolDefinition:
    """A tool as a model is told about it."""
    return ToolDefinition(tool.name, tool.description, tool.parameters)


class Arguments(BaseModel):
    """Base of a tool's arguments: unknown names are refused, so that a typo is noticed."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=False)


_A = TypeVar("_A", bound=BaseModel)


class TypedTool(Generic[_A]):
    """A tool whose arguments are a pydantic model."""

    name: str
    description: str
    kind: ToolKind = ToolKind.OTHER
    read_only: bool = False
    is_long_running: bool = False

    @classmethod
    def arguments_type(cls) -> type[_A]:
        """The model of the arguments, read from the class's type parameter."""
        for base in getattr(cls, "__orig_bases__", ()):
            for argument in get_args(base):
                if isinstance(argument, type) and issubclass(argument, BaseModel):
                    return cast("type[_A]", argument)
        raise TypeError(f"{cls.__name__} must name its arguments: TypedTool[SomeArguments]")

    @property
    def parameters(self) -> Mapping[str, object]:
        """The JSON schema of the arguments."""
        return model_schema(self.arguments_type())

    async def execute(self, context: ToolContext, arguments: Mapping[str, object]) -> ToolOutput:
        """Check the arguments and run the tool."""
        return await self.run(context, checked(self.arguments_type(), arguments, tool=self.name))

    @abstractmethod
    async def run(self, context: ToolContext, arguments: _A) -> ToolOutput:
        """Do the work."""


def checked(kind: type[_A], arguments: Mapping[str, object], *, tool: str) -> _A:
    """Arguments as their model; a UsageError that a model can act on when they do not fit."""
    try:
        return kind.model_validate(arguments)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}"
            for one in error.errors(include_url=False, include_input=False)[:5]
        )
        raise UsageError(
            f"{tool} was called with arguments that do not fit: {problems}."
        ) from error


# -- Tools made of functions ----------------------------------------------------------------------


class FunctionTool:
    """A tool made of a plain or async function. A first parameter named `context` gets the
    `ToolContext`; the others are the arguments."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        read_only: bool = False,
        is_long_running: bool = False,
        kind: ToolKind = ToolKind.OTHER,
    ) -> None:
        self._function = function
        self.name = name or function.__name__
        self.description = description or inspect.getdoc(function) or self.name
        self.read_only = read_only
        self.is_long_running = is_long_running
        self.kind = kind
        signature = inspect.signature(function, eval_str=True)
        self._wants_context = next(iter(signature.parameters), None) == "context"
        self._arguments = _arguments_of(self.name, signature)

    @property
    def parameters(self) -> Mapping[str, object]:
        """The JSON schema of the arguments."""
        return model_schema(self._arguments)

    async def execute(self, context: ToolContext, arguments: Mapping[str, object]) -> ToolOutput:
        """Check the arguments and call the function."""
        given = checked(self._arguments, arguments, tool=self.name)
        values = {name: getattr(given, name) for name in type(given).model_fields}
        places = (context,) if self._wants_context else ()
        if inspect.iscoroutinefunction(self._function):
            result = await self._function(*places, **values)
        else:
            result = await asyncio.to_thread(self._function, *places, **values)
            if inspect.isawaitable(result):
                result = await cast("Awaitable[object]", result)
        return result if isinstance(result, ToolOutput) else ToolOutput(content=str(result))


def tool(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Make a tool of a function, as a decorator with or without options of `FunctionTool`."""

    def made(plain: Callable[..., Any]) -> FunctionTool:
        return FunctionTool(plain, **options)

    return made if function is None else made(function)


def _arguments_of(name: str, signature: inspect.Signature) -> type[BaseModel]:
    known: dict[str, Any] = {}
    for parameter in list(signature.parameters.values()):
        if parameter.name == "context" and not known:
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise UsageError(f"Tool {name!r}: *args and **kwargs cannot be described to a model.")
        hint = Any if parameter.annotation is parameter.empty else parameter.annotation
        default = ... if parameter.default is parameter.empty else parameter.default
        known[parameter.name] = (hint, default)
    return create_model(f"{name}_arguments", __base__=Arguments, **known)
