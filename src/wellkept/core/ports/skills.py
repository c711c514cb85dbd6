"""What skills need from outside: switches, kept documents, prompts of servers, and one fetch.

Each port is small and plain, so that tests and other stores can stand in. Nothing here says where
anything is kept. All of it is synchronous.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from wellkept.core.records import record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from pathlib import Path


@record(kw_only=True)
class StoredSkill:
    """A skill that lives in a store and not in a file: its whole SKILL.md text.

    `enabled` is its own switch: a generated skill stays off until somebody looked at it.
    """

    name: str
    text: str
    enabled: bool = True
    modified_ns: int | None = None
    note: str | None = None


@record(kw_only=True)
class PromptArgument:
    """One argument of a server's prompt."""

    name: str
    description: str = ""
    required: bool = False


@record(kw_only=True)
class PromptDefinition:
    """A prompt as an MCP server lists it; its text comes when it is asked for."""

    server: str
    name: str
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


@record
class SkillUse:
    """How often a command was used in a project, and when last. `key` is `Skill.key`, or that of
    a command of Wellkept's own."""

    key: str
    count: int
    last_used_at: datetime


class SkillSwitches(Protocol):
    """Which skills somebody switched on or off, by `Skill.key`."""

    def switched(self) -> Mapping[str, bool]:
        """Every switch that was set."""
        ...

    def switch(self, key: str, *, on: bool | None) -> None:
        """Set a switch; None forgets it."""
        ...


class StoredSkills(Protocol):
    """Skills in a store, such as those made from sessions."""

    def documents(self) -> Sequence[StoredSkill]:
        """All of this project's."""
        ...

    def remove(self, name: str) -> bool:
        """Remove one for good; tells whether it was there."""
        ...


class PromptSource(Protocol):
    """Prompts of the MCP servers that are connected."""

    def prompts(self) -> Sequence[PromptDefinition]:
        """All of them, without talking to a server."""
        ...


class SkillFetcher(Protocol):
    """Gets a document from the network, once, because somebody said yes."""

    def fetch(self, url: str, *, limit_bytes: int) -> bytes:
        """The document. ProviderError when it cannot be had or is larger than the limit."""
        ...


class HookTrust(Protocol):
    """Which hooks a person allowed to run, on this machine and for this person alone.

    A yes holds for one folder, one skill and one state of its files; `fingerprint` changes with
    any of them.
    """

    def trusted(self, root: Path) -> Mapping[str, str]:
        """Skill key -> the fingerprint that was agreed to, for a project's folder."""
        ...

    def trust(self, root: Path, key: str, fingerprint: str | None) -> None:
        """Note a yes; None takes it back."""
        ...


class HookRunLog(Protocol):
    """Which hooks that run once already ran in a session."""

    def claim(self, session: str, hook: str) -> bool:
        """Note that a hook runs now; False when it ran before."""
        ...
