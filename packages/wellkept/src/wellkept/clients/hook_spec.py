"""Installer data: events to hook, folders of settings, programs to start.

The client modules and the command line fill it in; `install` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from wellkept.core.records import record


class HookMode(StrEnum):
    """What the hook process does at an event: capture it, answer it, or both."""

    CAPTURE = "capture"
    ANSWER = "answer"
    BOTH = "both"


class InstallScope(StrEnum):
    """Which settings to edit: the user's or a project's."""

    USER = "user"
    PROJECT = "project"


class InstallPart(StrEnum):
    """A part of Wellkept in a client."""

    HOOKS = "hooks"
    SERVER = "mcp"
    COMMANDS = "commands"
    RULES = "rules"
    PERMISSIONS = "permissions"


class Shell(StrEnum):
    """The shell that runs a client's hook commands."""

    SH = "sh"
    CMD = "cmd"
    POWERSHELL = "powershell"


@record
class Hook:
    """One event to hook. `matcher` limits it to some tools. A hook `before` a tool delays it, so it
    is installed only when enabled in the settings. `timeout_s` where the client allows less than
    usual."""

    event: str
    mode: HookMode = HookMode.CAPTURE
    matcher: str | None = None
    before: bool = False
    timeout_s: int | None = None


@record(kw_only=True)
class ClientFolders:
    """The folders that locate a client's settings."""

    home: Path
    project: Path
    environment: Mapping[str, str]

    def from_variable(self, name: str, fallback: str) -> Path:
        """The folder in a variable, else one below the home folder."""
        value = self.environment.get(name, "")
        return Path(value).expanduser() if value else self.home / fallback


@record(kw_only=True)
class Programs:
    """Programs that clients start, each with its first arguments; empty means not installed.

    `hook` gets client and event appended, `server` is the MCP server, slash commands call
    `wellkept`. With `before_tools` the hook also runs before tools.
    """

    hook: Sequence[str]
    server: Sequence[str] = ()
    wellkept: Sequence[str] = ()
    windows: bool = False
    before_tools: bool = False
