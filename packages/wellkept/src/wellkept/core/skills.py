"""Skills: named instructions that users, projects or sessions provide for agents.

`Skill` is one document as it was read, in any format, with every front-matter field typed.
`SkillIndex` is all skills available in one project: one winner for each name, and what it covers.

Invariant: records are complete and immutable. Problems of a document are in `findings`; unknown
fields are in `extra` as written. Knows nothing of files, YAML, or how a skill is chosen or run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Final, Literal, TypeAlias

from wellkept.core.records import field, record
from wellkept.core.text import estimate_tokens
from wellkept.core.types import Severity

ID_HASH_CHARS = 12


class SkillKind(StrEnum):
    """The kind of source a skill comes from; `PRIORITY_RANGES` says which kind wins."""

    BUILTIN = "builtin"
    EXTERNAL = "external"
    MCP = "mcp"
    PLUGIN = "plugin"
    GENERATED = "generated"
    USER = "user"
    PROJECT = "project"
    MANAGED = "managed"
    """Given by an organisation; nobody can switch it off."""


PRIORITY_RANGES: Mapping[SkillKind, tuple[int, int]] = {
    SkillKind.BUILTIN: (1, 50),
    SkillKind.EXTERNAL: (51, 100),
    SkillKind.MCP: (51, 100),
    SkillKind.PLUGIN: (51, 100),
    SkillKind.GENERATED: (51, 100),
    SkillKind.USER: (101, 200),
    SkillKind.PROJECT: (201, 300),
    SkillKind.MANAGED: (301, 400),
}
"""The lowest and highest priority of each kind; on a name clash the higher wins."""


class SkillFormat(StrEnum):
    """The format of a skill document."""

    FULL = "full"
    """A folder with SKILL.md."""
    LIGHT = "light"
    """A Markdown file of its own, as in `.skills/`."""
    CONVENTION = "convention"
    """CLAUDE.md, AGENTS.md and their like; front matter is not needed."""
    PROMPT = "prompt"
    """A prompt that an MCP server offers; there is no file."""


class InjectionPhase(StrEnum):
    """When a skill may be put into an agent's context."""

    PLANNING = "planning"
    IMPLEMENTATION = "implementation"
    RETRY = "retry"
    ALWAYS = "always"


class SkillContext(StrEnum):
    """Where an invoked skill runs: in the conversation, or in an agent of its own."""

    MAIN = "main"
    FORK = "fork"


class HookEvent(StrEnum):
    """When a skill's hook runs."""

    PRE_TOOL_USE = "PreToolUse"
    POST_TOOL_USE = "PostToolUse"
    STOP = "Stop"


@record
class SkillFinding:
    """One problem of a skill document or its source.

    `line` counts from 1 in the file `path`; `code` is stable and listed in docs/guides/skills.md.
    """

    severity: Severity
    code: str
    message: str
    line: int | None = None
    path: Path | None = None

    @property
    def is_error(self) -> bool:
        """Whether a rule of the format is broken."""
        return self.severity is Severity.ERROR


@record
class SkillSource:
    """A source of skills; `name` is how users know it (`.claude/skills`, `vercel`)."""

    kind: SkillKind
    name: str
    priority: int
    root: Path | None = None


@record
class SkillHook:
    """A shell command that belongs to a skill. An empty matcher fits every tool.

    `matcher` is a regular expression over tool names, as written.
    """

    event: HookEvent
    command: str
    matcher: str = ""
    once: bool = False
    timeout_s: float | None = None
    line: int | None = None


@record
class SkillDetection:
    """What makes a skill apply to a project: files that exist, patterns in them."""

    files: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()


@record
class SkillReminders:
    """Reminder texts at three lengths; None when the document has none."""

    sparse: str | None = None
    normal: str | None = None
    detailed: str | None = None


@record
class SkillInterface:
    """How a skill is displayed (SKILL.toml). Icons are files inside the skill's assets."""

    display_name: str | None = None
    short_description: str | None = None
    icon_small: Path | None = None
    icon_large: Path | None = None
    brand_color: str | None = None
    default_prompt: str | None = None


@record
class SkillInvocation:
    """How a skill is run as a command, and by whom."""

    user_invocable: bool = True
    disable_model_invocation: bool = False
    argument_hint: str | None = None
    aliases: tuple[str, ...] = ()
    allowed_tools: tuple[str, ...] = ()
    model: str | None = None
    context: SkillContext = SkillContext.MAIN
    agent: str | None = None

    @property
    def is_hidden(self) -> bool:
        """Whether the skill is not listed for users."""
        return not self.user_invocable


@record(kw_only=True)
class Skill:
    """One skill as it was read. `path` is its file, None when it has none; `base_dir` is the folder
    that relative paths in its body start from."""

    name: str
    description: str
    body: str
    source: SkillSource
    priority: int
    format: SkillFormat
    sha256: str
    path: Path | None = None
    base_dir: Path | None = None
    modified_ns: int | None = None
    version: str | None = None
    license: str | None = None
    compatibility: str | None = None
    when_to_use: str | None = None
    tags: tuple[str, ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()
    invocation: SkillInvocation = SkillInvocation()
    hooks: tuple[SkillHook, ...] = ()
    detection: SkillDetection | None = None
    inject_into: tuple[InjectionPhase, ...] = ()
    """Empty when the document does not say; then selection decides."""
    globs: tuple[str, ...] = ()
    """Files the skill is about (`globs`, `paths`): patterns relative to the project's folder."""
    reminders: SkillReminders = SkillReminders()
    interface: SkillInterface | None = None
    extra: tuple[tuple[str, str], ...] = ()
    """Unknown fields: key and value, both as written."""
    enabled: bool = True
    note: str | None = None
    """Why the skill is off, or what it waits for; shown to users."""
    findings: tuple[SkillFinding, ...] = ()

    @property
    def id(self) -> str:
        """Name and the beginning of the hash; changes whenever the document does."""
        return f"{self.name}-{self.sha256[:ID_HASH_CHARS]}"

    @property
    def key(self) -> str:
        """Kind, source and name: stays the same when the document changes. Switches are stored
        under it."""
        return f"{self.source.kind.value}:{self.source.name}:{self.name}"

    @property
    def body_tokens(self) -> int:
        """Estimated number of model tokens of the body."""
        return estimate_tokens(self.body)

    @property
    def is_valid(self) -> bool:
        """Whether no finding is an error. About half of public skills break a rule and can still be
        used, so check `is_usable` before using one."""
        return not any(finding.is_error for finding in self.findings)

    @property
    def is_usable(self) -> bool:
        """Whether there are instructions, or a prompt that a server provides when it is run. A
        skill with instructions always has a description: if need be, its first heading or line."""
        return bool(self.body) or (self.format is SkillFormat.PROMPT and bool(self.description))


@record
class SkillClash:
    """Several skills with one name: the winner is used, the covered ones are not."""

    name: str
    winner: Skill
    covered: tuple[Skill, ...]


@record(kw_only=True)
class SkillLimits:
    """How much of the skills an agent is given, as a list of skills says; None where it is silent.

    `skills` is for one prompt, `lines` for one skill.
    """

    skills: int | None = None
    lines: int | None = None


@record
class SkillIndex:
    """All skills of one project: one for each name, highest priority first, disabled ones too.

    `findings` are about sources, and documents that gave no skill; those of a skill are its own.
    """

    skills: tuple[Skill, ...] = ()
    clashes: tuple[SkillClash, ...] = ()
    findings: tuple[SkillFinding, ...] = ()
    sources: tuple[SkillSource, ...] = ()
    limits: SkillLimits = SkillLimits()
    _by_name: dict[str, Skill] = field(
        default_factory=dict[str, "Skill"], repr=False, compare=False
    )  # filled on first use

    def __len__(self) -> int:
        return len(self.skills)

    def __iter__(self) -> Iterator[Skill]:
        return iter(self.skills)

    @property
    def enabled(self) -> tuple[Skill, ...]:
        """The enabled skills."""
        return tuple(skill for skill in self.skills if skill.enabled)

    def get(self, name: str) -> Skill | None:
        """The skill with that name, alias or id; a name wins over an alias."""
        if not self._by_name:
            found: dict[str, Skill] = {skill.id: skill for skill in self.skills}
            for skill in reversed(self.skills):
                found.update(dict.fromkeys(skill.invocation.aliases, skill))
            found.update((skill.name, skill) for skill in self.skills)
            self._by_name.update(found)
        return self._by_name.get(name)


# -- Generated skills ------------------------------------------------------------------------------


FAILURES_TO_SWITCH_OFF: Final = 2
"""A skill is disabled after this many failed runs in a row."""

MadeBy: TypeAlias = Literal["rules", "model", "person"]


class SkillOrigin(StrEnum):
    """How a generated skill was made."""

    GENERATED = "generated"
    """From one session."""
    REFINED = "refined"
    """From several similar sessions."""


class SkillReview(StrEnum):
    """The user's review of a generated skill."""

    PENDING = "pending"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


@record(kw_only=True)
class GeneratedSkill:
    """One generated skill; `text` is its whole SKILL.md. `revision` counts how often it was
    written, 0 means never. `note` says why it is off."""

    id: str
    project: str
    name: str
    text: str
    created_at: datetime
    updated_at: datetime
    origin: SkillOrigin = SkillOrigin.GENERATED
    made_by: MadeBy = "rules"
    review: SkillReview = SkillReview.PENDING
    reviewed_at: datetime | None = None
    enabled: bool = False
    note: str | None = None
    session_ids: tuple[str, ...] = ()
    observation_ids: tuple[str, ...] = ()
    commit_sha: str | None = None
    revision: int = 0


@record
class SkillVersion:
    """What a skill said before it was written anew."""

    revision: int
    text: str
    made_by: MadeBy
    until: datetime


@record(kw_only=True)
class SkillRun:
    """One session in which a skill was used. `succeeded` is None until the session is judged."""

    skill_id: str
    session_id: str
    used_by: str
    at: datetime
    succeeded: bool | None = None


@record
class SkillStats:
    """In how many sessions a skill was used, judged and successful."""

    uses: int = 0
    judged: int = 0
    succeeded: int = 0
    failed_in_a_row: int = 0

    also_shown = ("success_rate",)

    @property
    def success_rate(self) -> float:
        """From 0 to 1; 1 while nothing was judged."""
        return self.succeeded / self.judged if self.judged else 1.0


def skill_stats(runs: Iterable[SkillRun], *, since: datetime | None = None) -> SkillStats:
    """The statistics of some runs; a streak of failures counts only after `since`, the time of the
    last review."""
    ordered = sorted(runs, key=lambda run: (run.at, run.session_id))
    judged = [run for run in ordered if run.succeeded is not None]
    streak = 0
    for run in judged:
        counts = since is None or run.at > since
        streak = streak + counts if not run.succeeded else 0
    return SkillStats(
        uses=len(ordered),
        judged=len(judged),
        succeeded=sum(bool(run.succeeded) for run in judged),
        failed_in_a_row=streak,
    )
