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
import os
import re
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar, cast, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic_core import to_json

from wellkept.core.chat.messages import ImagePart, ToolDefinition
from wellkept.core.errors import ConflictError, UsageError
from wellkept.core.records import record, replace
from wellkept.core.session.events import Answer, Edit, ToolKind
from wellkept_agent.tools.schemas import model_schema

if TYPE_CHECKING:
    from wellkept_agent.control import RunControl, RunEnd
    from wellkept_agent.events import AgentEvent
    from wellkept_agent.session import AgentSession, ScopedState


@record(kw_only=True)
class ToolOutput:
    """What a tool gives back. `display` is for people; the fields after it are for the observer,
    in the form of `ToolCalled`. `ends_turn` says how the turn ends with it. `has_run` is False for
    a call that was refused or held: the observer does not hear of it."""

    content: str
    is_error: bool = False
    images: tuple[ImagePart, ...] = ()
    display: str = ""
    files: tuple[str, ...] = ()
    command: str | None = None
    query: str | None = None
    edits: tuple[Edit, ...] = ()
    answers: tuple[Answer, ...] = ()
    ends_turn: RunEnd | None = None
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
        raise misfit(tool, error) from error


def misfit(tool: str, error: ValidationError) -> UsageError:
    """What a model is told about arguments that do not fit."""
    problems = "; ".join(
        f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}"
        for one in error.errors(include_url=False, include_input=False)[:5]
    )
    return UsageError(f"{tool} was called with arguments that do not fit: {problems}.")


# -- Tools made of functions ----------------------------------------------------------------------


class FunctionTool:
    """A tool made of a plain or async function. A first parameter named `context` gets the
    `ToolContext`; the others are the arguments. Whoever gives an agent a function allows its calls;
    with `asks` the person is asked before each that is not `read_only`."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        read_only: bool = False,
        is_long_running: bool = False,
        asks: bool = False,
        kind: ToolKind = ToolKind.OTHER,
    ) -> None:
        self._function = function
        self.name = name or function.__name__
        self.description = description or inspect.getdoc(function) or self.name
        self.read_only = read_only
        self.is_long_running = is_long_running
        self.asks = asks
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
        return result if isinstance(result, ToolOutput) else ToolOutput(content=_as_text(result))


def _as_text(result: object) -> str:
    """What a function returned, as a model reads it: a text as it is, anything else as JSON."""
    if isinstance(result, str):
        return result
    return "" if result is None else to_json(result, fallback=str).decode()


def as_tool(given: Tool | Callable[..., Any]) -> Tool:
    """A tool as it is; of a plain function one is made."""
    return FunctionTool(given) if inspect.isroutine(given) else cast("Tool", given)


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


# -- What the observer learns of a call from its arguments alone, also when it failed -------------


_FILE: Final = ("file_path", "notebook_path", "path")
_QUERY: Final = ("pattern", "query", "url")
_NAME_FILES: Final = frozenset({ToolKind.READ, ToolKind.EDIT, ToolKind.WRITE})
_SEARCHES: Final = frozenset({ToolKind.SEARCH, ToolKind.WEB})


def described(output: ToolOutput, kind: ToolKind, arguments: Mapping[str, object]) -> ToolOutput:
    """An output whose empty fields for the observer are filled from the arguments."""
    path = _text(arguments, *_FILE)
    changes: dict[str, object] = {}
    if kind in _NAME_FILES and path and not output.files:
        changes["files"] = (path,)
    if kind is ToolKind.SHELL and output.command is None and (command := arguments.get("command")):
        changes["command"] = str(command)
    if kind in _SEARCHES and output.query is None and (query := _text(arguments, *_QUERY)):
        changes["query"] = query
    if path and not output.edits and (edit := _edit(kind, path, arguments)) is not None:
        changes["edits"] = (edit,)
    return replace(output, **changes) if changes else output


def _edit(kind: ToolKind, path: str, arguments: Mapping[str, object]) -> Edit | None:
    if kind is ToolKind.EDIT and ("old_string" in arguments or "new_source" in arguments):
        after = _text(arguments, "new_string", "new_source")
        return Edit(path, _text(arguments, "old_string"), after)
    if kind is ToolKind.WRITE and "content" in arguments:
        return Edit(path, "", _text(arguments, "content"))
    return None


def _text(arguments: Mapping[str, object], *names: str) -> str:
    found = (arguments.get(name) for name in names)
    return next((value for value in found if isinstance(value, str) and value), "")


# -- What a tool is given, and the tools of a session by name --------------------------------------


# -- What a tool is given: the session's folders, state and person, and the signal to stop --------


class ToolContext:
    """One call's view of its session. `call_id` names the call in events."""

    def __init__(self, session: AgentSession, *, call_id: str) -> None:
        self.session = session
        self.call_id = call_id

    @property
    def session_id(self) -> str:
        """The session that the call belongs to."""
        return self.session.id

    @property
    def project_root(self) -> Path:
        """The project's folder."""
        return self.session.root

    @property
    def working_directory(self) -> Path:
        """Where relative paths and commands begin."""
        return self.session.working_directory

    @property
    def state(self) -> ScopedState:
        """The session's state by scope."""
        return self.session.state

    @property
    def cancellation(self) -> RunControl:
        """Says when the call should stop; what the tool awaits is cancelled by itself."""
        return self.session.control

    def emit(self, event: AgentEvent) -> None:
        """Tell a user interface something."""
        self.session.emit(event)

    def path(self, given: str) -> Path:
        """A path inside the session's folders, links followed; a UsageError for any other."""
        if not given.strip() or any(ord(character) < 32 for character in given):
            raise UsageError(f"{given!r} is no path.", hint="Give a path inside the project.")
        _refuse_foreign_form(given)
        try:
            path = Path(given).expanduser()
            full = (path if path.is_absolute() else self.working_directory / path).resolve()
            roots = [self.project_root, *self.session.extra_folders]
            if any(full.is_relative_to(folder.resolve()) for folder in roots):
                return full
        except (OSError, RuntimeError, ValueError) as error:  # a loop of links, an unknown ~user
            raise UsageError(f"{given} is no usable path: {error}.") from error
        leads = "" if full == path else f" (it leads to {full})"
        raise UsageError(
            f"{given} is outside of the project{leads}.", hint=f"Stay inside {self.project_root}."
        )

    def label(self, path: Path) -> str:
        """A path as it is shown: relative to the project where it is inside."""
        root = self.project_root.resolve()
        return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def _refuse_foreign_form(given: str) -> None:
    """Refuse a Windows path where it would be read as a plain name: `C:\\x`, `..\\x`."""
    if os.name == "nt" or not ("\\" in given or re.match(r"[A-Za-z]:", given)):
        return
    windows = PureWindowsPath(given)
    if windows.drive or windows.root or ".." in windows.parts:
        raise UsageError(
            f"{given} is a Windows path.", hint="Write paths with / here, relative to the project."
        )


class ToolRegistry:
    """Tools in the order in which they were registered. A disabled tool is neither told to the
    model nor run."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        self._disabled: set[str] = set()
        self.is_told: Callable[[str], bool] = lambda _name: True
        """Whether a model is told of a tool now; one that it is not told of can still be called."""
        for one in tools:
            self.register(one)

    def register(self, tool: Tool) -> None:
        """Add a tool; its name must be free."""
        if tool.name in self._tools:
            raise ConflictError(f"There is a tool named {tool.name!r} already.")
        self._tools[tool.name] = tool

    def unregister(self, name: str) -> Tool | None:
        """Take a tool out; None when there is none of that name."""
        return self._tools.pop(name, None)

    def enable(self, *names: str) -> None:
        """Switch tools on again."""
        self._disabled -= set(names)

    def disable(self, *names: str) -> None:
        """Switch tools off, whether they are registered yet or not."""
        self._disabled |= set(names)

    def get(self, name: str) -> Tool | None:
        """An enabled tool."""
        return None if name in self._disabled else self._tools.get(name)

    def names(self) -> list[str]:
        """The names of the enabled tools."""
        return [name for name in self._tools if name not in self._disabled]

    def definitions(self) -> tuple[ToolDefinition, ...]:
        """The enabled tools as a model is told about them, in a stable order."""
        return tuple(definition_of(one) for one in self if self.is_told(one.name))

    def __iter__(self) -> Iterator[Tool]:
        return (self._tools[name] for name in self.names())

    def __len__(self) -> int:
        return len(self.names())
