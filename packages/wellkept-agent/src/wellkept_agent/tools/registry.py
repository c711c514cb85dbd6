"""The tools of a session by name."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING

from wellkept.core.chat.messages import ToolDefinition
from wellkept.core.errors import ConflictError, UsageError
from wellkept_agent.tools.base import Tool, definition_of

if TYPE_CHECKING:
    from wellkept_agent.control import RunControl
    from wellkept_agent.events import AgentEvent
    from wellkept_agent.session import AgentSession, ScopedState


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

    def subset(self, names: Iterable[str]) -> ToolRegistry:
        """A registry of some of the enabled tools; unknown names are left out."""
        wanted = set(names)
        return ToolRegistry(one for one in self if one.name in wanted)

    def __iter__(self) -> Iterator[Tool]:
        return (self._tools[name] for name in self.names())

    def __len__(self) -> int:
        return len(self.names())
