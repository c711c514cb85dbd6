"""The tools of a session by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wellkept.core.chat.messages import ToolDefinition
from wellkept.core.errors import ConflictError
from wellkept_agent.tools.base import Tool, definition_of


class ToolRegistry:
    """Tools in the order in which they were registered. A disabled tool is neither told to the
    model nor run."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        self._disabled: set[str] = set()
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
        return tuple(definition_of(one) for one in self)

    def subset(self, names: Iterable[str]) -> ToolRegistry:
        """A registry of some of the enabled tools; unknown names are left out."""
        wanted = set(names)
        return ToolRegistry(one for one in self if one.name in wanted)

    def __iter__(self) -> Iterator[Tool]:
        return (self._tools[name] for name in self.names())

    def __len__(self) -> int:
        return len(self.names())
