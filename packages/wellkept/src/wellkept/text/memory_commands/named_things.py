"""What a rule names: files, a symbol and commands of the project.

The rule is tied to them when it is taught, so that it becomes stale when they go. Only what exists
at that moment is tied. Finding it is the caller's business.
"""

from __future__ import annotations

from collections.abc import Callable

from wellkept.core.records import record

COMMAND_TAG = "command:"


@record
class NamedThings:
    """Things of a project that a text names. `symbol` is a node of the code graph."""

    files: tuple[str, ...] = ()
    symbol: str | None = None
    commands: tuple[str, ...] = ()

    @property
    def tags(self) -> tuple[str, ...]:
        """The commands as tags."""
        return tuple(f"{COMMAND_TAG}{command}" for command in self.commands)


FindNamed = Callable[[str], NamedThings]
"""Finds what a text names in the project of the session."""


def nothing_named(text: str) -> NamedThings:  # noqa: ARG001
    """For callers without a project folder."""
    return NamedThings()


def tagged_commands(tags: tuple[str, ...]) -> list[str]:
    """The commands that tags name."""
    return [tag.removeprefix(COMMAND_TAG) for tag in tags if tag.startswith(COMMAND_TAG)]
