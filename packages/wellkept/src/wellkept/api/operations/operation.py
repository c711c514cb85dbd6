"""One operation: its name, schemas, effect and function.

An operation may be listed for models under another name (`tool`), and answers to further names
(`aliases`). A toolset says where it is listed; without one it is for people and programs only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from pydantic import ValidationError

from wellkept.api.operations.inputs import Input
from wellkept.api.operations.outputs import Output
from wellkept.core.errors import UsageError
from wellkept.core.records import record
from wellkept.core.team.people import Role
from wellkept.core.verbs import Effect

if TYPE_CHECKING:
    from wellkept.api import Wellkept

MAX_DESCRIPTION_BYTES: Final = 2048
"""Clients cut descriptions after this."""

_In = TypeVar("_In", bound=Input)
_Out = TypeVar("_Out", bound=Output)


_USUAL_ROLE: Final = {
    Effect.READS: Role.READER,
    Effect.ADDS: Role.WRITER,
    Effect.REMOVES: Role.REVIEWER,
}


@record(kw_only=True)
class Operation(Generic[_In, _Out]):
    """One operation on a project."""

    name: str
    title: str
    description: str
    takes: type[_In]
    gives: type[_Out]
    run: Callable[[Wellkept, _In], _Out]
    effect: Effect = Effect.READS
    repeatable: bool = True
    """Whether doing it twice leaves the memory as doing it once does."""
    toolset: str | None = None
    """The set of MCP tools that lists it; each costs every session its description."""
    needs_toolset: bool = False
    """Whether agents may call it only where its toolset is listed; others answer unlisted."""
    tool: str = ""
    """The name that MCP lists, where it differs."""
    aliases: tuple[str, ...] = ()
    """Other names that are answered over MCP but not listed."""
    role: Role | None = None
    """The least role of who asks; without one, the usual one of its effect."""
    on_files: bool = False
    """Whether it works on files of this machine; a team's server does not offer it."""

    @property
    def needed_role(self) -> Role:
        """The least role of who asks."""
        return self.role or _USUAL_ROLE[self.effect]

    def call(self, wk: Wellkept, request: _In) -> _Out:
        """Run it, for whoever asks; ForbiddenError when they may not."""
        from wellkept.api.operations.access import access_of, require_access

        require_access(access_of(self), what=self.title)
        return self.run(wk, request)

    def read(
        self, arguments: Mapping[str, object], *, unlisted: frozenset[str] = frozenset()
    ) -> _In:
        """The arguments, checked; a UsageError names each one that does not fit, and those that it
        takes but for `unlisted` ones."""
        try:
            return self.takes.model_validate(dict(arguments))
        except ValidationError as error:
            raise UsageError(
                f"{self.tool_name} cannot take these arguments: {self._problems(error)}.",
                hint="It takes: "
                + ", ".join(name for name in self.takes.model_fields if name not in unlisted)
                + ".",
            ) from None

    def accepts(self, field: str) -> bool:
        """Whether the input has this field."""
        return field in self.takes.model_fields

    @property
    def tool_name(self) -> str:
        """The name that MCP lists."""
        return self.tool or self.name

    def names(self) -> tuple[str, ...]:
        """Every name it answers to, the listed one first."""
        return tuple(dict.fromkeys((self.tool_name, self.name, *self.aliases)))

    def _problems(self, error: ValidationError) -> str:
        return "; ".join(
            self._problem(one["type"], one["loc"], one["msg"])
            for one in error.errors(include_url=False)[:5]
        )

    def _problem(self, kind: str, place: tuple[Any, ...], message: str) -> str:
        name = ".".join(map(str, place)) or "arguments"
        if kind != "extra_forbidden":
            return f"{name}: {message}"
        close = get_close_matches(name, list(self.takes.model_fields), n=1)
        return f"{name} is unknown" + (f" (did you mean {close[0]}?)" if close else "")
