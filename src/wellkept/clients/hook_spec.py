"""What an installer needs to know: which events to hook, where settings lie, what is to be started.

Data only: the client modules and the command line fill it in, `install` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from wellkept.core.records import record


class HookMode(StrEnum):
    """What the hook process does at an event: note it, answer it, or both."""

    CAPTURE = "capture"
    ANSWER = "answer"
    BOTH = "both"


class InstallScope(StrEnum):
    """Whose settings are meant: the person's own, or those of one project."""

    USER = "user"
    PROJECT = "project"


class InstallPart(StrEnum):
    """What Wellkept puts into a client."""

    HOOKS = "hooks"
    SERVER = "mcp"
    COMMANDS = "commands"


class Shell(StrEnum):
    """What runs a client's hook commands."""

    SH = "sh"
    CMD = "cmd"
    POWERSHELL = "powershell"


@record
class Hook:
    """One event to be told of. `matcher` narrows it to some tools; one that comes `before` a tool
    makes the tool wait, and is installed only when that is asked for."""

    event: str
    mode: HookMode = HookMode.CAPTURE
    matcher: str | None = None
    before: bool = False


@record(kw_only=True)
class ClientFolders:
    """Where a client may look for its settings."""

    home: Path
    project: Path
    environment: Mapping[str, str]

    def from_variable(self, name: str, fallback: str) -> Path:
        """The folder that a variable names, else one below the home folder."""
        given = self.environment.get(name, "")
        return Path(given).expanduser() if given else self.home / fallback


@record(kw_only=True)
class Programs:
    """What clients start, each as a program and its first arguments; empty for what is left out.

    `hook` gets client and event added to it, `server` speaks MCP, `wellkept` is the command line
    that slash commands call. With `before_tools` the hook is also started before tools run.
    """

    hook: Sequence[str]
    server: Sequence[str] = ()
    wellkept: Sequence[str] = ()
    windows: bool = False
    before_tools: bool = False
