"""Ports of the skills package: switches, stored documents, server prompts, fetching, hook trust.

Each port is small and synchronous, so that tests and other stores can replace it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from wellkept.core.records import record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from wellkept.core.skills import GeneratedSkill, SkillRun, SkillVersion


@record(kw_only=True)
class StoredSkill:
    """A skill stored in a database and not in a file: its whole SKILL.md text.

    `enabled` is its own switch: a generated skill stays off until it is reviewed.
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
    """A prompt as an MCP server lists it; its text is requested when it is run."""

    server: str
    name: str
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


@record
class SkillUse:
    """How often a command was used in a project, and when last. `key` is `Skill.key`, or that of a
    built-in command."""

    key: str
    count: int
    last_used_at: datetime


# -- Parts of a storage engine --------------------------------------------------------------------


class SkillUseStore(Protocol):
    """Usage counts of commands, by project."""

    def record_skill_use(self, key: str, *, project: str, at: datetime) -> None:
        """Count one use; a use reported late does not move `last_used_at` back."""
        ...

    def skill_uses(self, *, project: str) -> dict[str, SkillUse]:
        """Every command ever used in a project, by key."""
        ...


class GeneratedSkillStore(Protocol):
    """Skills generated from sessions, with earlier versions and the sessions that used them."""

    def generated_skills(self, *, project: str | None) -> list[GeneratedSkill]:
        """Skills of one project, or of all, oldest first."""
        ...

    def put_generated_skill(self, skill: GeneratedSkill) -> None:
        """Write a skill whose revision is still the stored one, and increment the revision. The
        former text becomes a version; a new skill is logged as activity. ConflictError when the
        stored revision differs."""
        ...

    def delete_generated_skill(self, skill_id: str) -> bool:
        """Delete a skill with its versions and runs; returns whether it existed."""
        ...

    def skill_versions(self, skill_id: str) -> list[SkillVersion]:
        """Earlier texts of a skill, latest first."""
        ...

    def put_skill_run(self, run: SkillRun) -> None:
        """Record that a session used a skill; a repeated call updates only the outcome.
        NotFoundError for an unknown skill."""
        ...

    def skill_runs(
        self, *, skill_ids: Sequence[str] | None = None, session_id: str | None = None
    ) -> list[SkillRun]:
        """Runs by time; None means every skill and every session."""
        ...


# -- Outside sources ------------------------------------------------------------------------------


class SkillSwitches(Protocol):
    """Which skills were enabled or disabled, by `Skill.key`."""

    def switched(self) -> Mapping[str, bool]:
        """Every switch that was set."""
        ...

    def switch(self, key: str, *, on: bool | None) -> None:
        """Set a switch; None removes it."""
        ...


class SkillDocuments(Protocol):
    """Skills that are no files."""

    def documents(self) -> Sequence[StoredSkill]:
        """All of this project."""
        ...


class StoredSkills(SkillDocuments, Protocol):
    """Skills in a store, such as generated ones."""

    def remove(self, name: str) -> bool:
        """Remove one permanently; returns whether it existed."""
        ...


class PromptSource(Protocol):
    """Prompts of the connected MCP servers."""

    def prompts(self) -> Sequence[PromptDefinition]:
        """All prompts, without a request to a server."""
        ...


class SkillFetcher(Protocol):
    """Fetches one document from the network after the user agreed."""

    def fetch(self, url: str, *, limit_bytes: int) -> bytes:
        """The document. ProviderError when it cannot be fetched or is larger than the limit."""
        ...


class HookTrust(Protocol):
    """Which hooks the user allowed to run, on this machine only.

    Trust holds for one folder, one skill and one state of its files; `fingerprint` changes with any
    of them.
    """

    def trusted(self, root: Path) -> Mapping[str, str]:
        """Skill key -> the trusted fingerprint, for a project's folder."""
        ...

    def trust(self, root: Path, key: str, fingerprint: str | None) -> None:
        """Store a fingerprint as trusted; None removes the trust."""
        ...


class HookRunLog(Protocol):
    """Which once-only hooks already ran in a session."""

    def claim(self, session: str, hook: str) -> bool:
        """Record that a hook runs now; False when it ran before."""
        ...
