"""Inputs and outputs of skill operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from wellkept.api.operations import argument_names
from wellkept.api.operations.inputs import Input, Model, Texts
from wellkept.api.operations.outputs import Output
from wellkept.context.packing import quoted
from wellkept.core.skills import Skill
from wellkept.core.text import shorten

if TYPE_CHECKING:
    from wellkept.core.generated_skills import SkillRun
    from wellkept.core.ports.skills import SkillUse
    from wellkept.skills.commands.table import Command
    from wellkept.skills.library.commands import CommandResult

PROMPT_ARGUMENT = "arguments"
_LINE_CHARS = 240
_MAX_ARGUMENT_CHARS = 64_000


def one_line(text: str) -> str:
    """A text as one short line that cannot close the frame it may stand in."""
    return shorten(quoted(text), limit=_LINE_CHARS)


# -- Inputs ----------------------------------------------------------------------------------------


class FindSkillsInput(Input):
    """A question for skills."""

    synonyms: ClassVar[Mapping[str, str]] = argument_names.SKILL_TASK
    unlisted: ClassVar[frozenset[str]] = frozenset({"tags"})

    query: str = Field(
        default="",
        max_length=20_000,
        description="The task at hand. Empty: those that this project calls for.",
    )
    limit: int = Field(default=5, ge=1, le=50)
    tags: Texts = Field(default_factory=list, description="Only with one of these tags.")


class RunSkillInput(Input):
    """A skill to run."""

    name: str = Field(min_length=1, max_length=200, description="Name or alias.")
    arguments: str = Field(
        default="",
        max_length=_MAX_ARGUMENT_CHARS,
        description='What follows the name; quote a word with spaces: fix "a b".',
    )
    session: str = ""


class SkillNameInput(Input):
    """One skill."""

    name: str = Field(min_length=1, max_length=200, description="Name, alias or id.")


class ListSkillsInput(Input):
    """Which skills to list."""

    source: Literal[
        "", "builtin", "external", "mcp", "plugin", "generated", "user", "project", "managed"
    ] = ""
    enabled_only: bool = False


class SwitchSkillInput(SkillNameInput):
    """A skill to be switched on or off in this project."""

    on: bool


class DeleteSkillInput(SkillNameInput):
    """A skill to be removed from disk."""

    confirm: bool = Field(default=False, description="Without it nothing is removed, only shown.")


class CreateSkillInput(Input):
    """A skill to be made."""

    name: str = Field(min_length=1, max_length=64)
    description: str = Field(min_length=1, max_length=1024)
    body: str = Field(min_length=1, max_length=1 << 20)
    tags: Texts = Field(default_factory=list)
    folder: str = Field(default=".skills", description=".skills, .claude/skills, ... or user.")


class NoInput(Input):
    """Nothing but the project."""


# -- Outputs --------------------------------------------------------------------------------------


class SkillRowOutput(Model):
    """A skill in a line."""

    name: str
    description: str
    source: str
    enabled: bool = True
    tags: list[str] = Field(default_factory=list)
    argument_hint: str = ""
    why: str = Field(default="", description="Why it fits.")
    score: float | None = None
    findings: int = Field(default=0, description="How many things are wrong with its document.")
    priority: int = Field(default=0, description="On a name clash the higher one wins.")
    note: str = Field(default="", description="Why it is off, or what it waits for.")

    @classmethod
    def of(cls, skill: Skill, *, why: str = "", score: float | None = None) -> SkillRowOutput:
        """The row of a skill."""
        return cls(
            name=skill.name,
            description=one_line(skill.description),
            source=f"{skill.source.kind.value}:{skill.source.name}",
            enabled=skill.enabled,
            tags=list(skill.tags),
            argument_hint=one_line(skill.invocation.argument_hint or ""),
            why=one_line(why),
            score=None if score is None else round(score, 2),
            findings=len(skill.findings),
            priority=skill.priority,
            note=one_line(skill.note or ""),
        )

    def line(self) -> str:
        """The row as text."""
        hint = f" {self.argument_hint}" if self.argument_hint else ""
        return f"{self.name}{hint}: {self.description}"


class SkillRowsOutput(Output):
    """Skills, best first or highest priority first."""

    skills: list[SkillRowOutput] = Field(default_factory=list[SkillRowOutput])
    clashes: list[str] = Field(default_factory=list, description="Names that several skills have.")
    notes: list[str] = Field(default_factory=list)

    def text(self) -> str:
        lines = [skill.line() for skill in self.skills] or ["No skill fits."]
        return "\n".join([*lines, *self.notes])


class SkillTextOutput(Output):
    """What a command came to: instructions to follow, or an answer."""

    name: str
    kind: Literal["prompt", "local"]
    content: str
    is_cut: bool = False
    allowed_tools: list[str] = Field(default_factory=list, description="Empty: all.")
    model: str = ""
    context: Literal["main", "fork"] = "main"
    agent: str = ""

    @classmethod
    def of(cls, done: CommandResult) -> SkillTextOutput:
        """The same as the library gives it."""
        prompt = done.prompt
        if prompt is None:
            return cls(name=done.command.name, kind="local", content=done.text)
        return cls(
            name=done.command.name,
            kind="prompt",
            content=done.text,
            is_cut=prompt.is_cut,
            allowed_tools=list(prompt.allowed_tools),
            model=prompt.model or "",
            context=prompt.context.value,
            agent=prompt.agent or "",
        )

    def text(self) -> str:
        head = [f"[{', '.join(self._requirements())}]"] if self._requirements() else []
        return "\n".join([*head, self.content])

    def _requirements(self) -> list[str]:
        tools = [f"tools: {' '.join(self.allowed_tools)}"] if self.allowed_tools else []
        model = [f"model: {self.model}"] if self.model else []
        fork = [f"in an agent of its own: {self.agent or 'any'}"] if self.context == "fork" else []
        return [*tools, *model, *fork]


class SkillRunOutput(Model):
    """A session that used a skill; `succeeded` is null until it was judged."""

    session: str
    at: datetime
    succeeded: bool | None = None


class SkillOutput(Output):
    """One skill, whole."""

    skill: SkillRowOutput
    id: str
    body: str
    path: str = ""
    version: str = ""
    license: str = ""
    author: str = ""
    phases: list[str] = Field(default_factory=list, description="Given in these. Empty: any.")
    tokens: int = Field(default=0, description="What the whole text costs, estimated.")
    aliases: list[str] = Field(default_factory=list)
    when_to_use: str = ""
    hooks: int = 0
    problems: list[str] = Field(default_factory=list)
    covers: list[str] = Field(default_factory=list)
    uses: int = Field(default=0, description="How often it was run in this project.")
    last_used_at: datetime | None = None
    runs: list[SkillRunOutput] = Field(
        default_factory=list["SkillRunOutput"], description="Latest sessions that used it."
    )

    @classmethod
    def of(
        cls,
        skill: Skill,
        *,
        covers: Sequence[str] = (),
        use: SkillUse | None = None,
        runs: Sequence[SkillRun] = (),
    ) -> SkillOutput:
        """The record of a skill."""
        return cls(
            skill=SkillRowOutput.of(skill),
            id=skill.id,
            body=skill.body,
            path=str(skill.path or ""),
            version=skill.version or "",
            license=one_line(skill.license or ""),
            author=one_line(dict(skill.metadata).get("author", "")),
            phases=[one.value for one in skill.inject_into],
            tokens=skill.body_tokens,
            aliases=list(skill.invocation.aliases),
            when_to_use=skill.when_to_use or "",
            hooks=len(skill.hooks),
            problems=[f"{one.severity.value}: {one.message}" for one in skill.findings],
            covers=list(covers),
            uses=use.count if use else 0,
            last_used_at=use.last_used_at if use else None,
            runs=[
                SkillRunOutput(session=one.session_id, at=one.at, succeeded=one.succeeded)
                for one in runs
            ],
        )

    def text(self) -> str:
        return f"{self.skill.line()}\n\n{self.body}"


class CommandRowOutput(Model):
    """A command in a line."""

    name: str
    kind: Literal["prompt", "local"]
    source: str
    usage: str
    description: str
    use_score: float = 0.0

    @classmethod
    def of(cls, command: Command, score: float) -> CommandRowOutput:
        """The row of a command."""
        return cls(
            name=command.name,
            kind=command.kind.value,
            source=command.source,
            usage=one_line(command.usage),
            description=one_line(command.description),
            use_score=round(score, 4),
        )


class CommandRowsOutput(Output):
    """Commands, the most used first."""

    commands: list[CommandRowOutput]

    def text(self) -> str:
        return "\n".join(f"{row.usage}: {row.description}" for row in self.commands)


class SkillOverviewOutput(Output):
    """How many skills there are, from where, and what is wrong."""

    total: int
    enabled: int
    by_kind: dict[str, int]
    errors: int
    warnings: int

    def text(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.by_kind.items())
        return f"{self.total} skills, {self.enabled} on ({kinds}); {self.errors} errors"


class DeleteSkillOutput(Output):
    """What was removed, or would be."""

    name: str
    done: bool
    files: list[str] = Field(default_factory=list)

    def text(self) -> str:
        return "\n".join(["Removed:" if self.done else "Would be removed:", *self.files])


class SkillPromptsOutput(Output):
    """The skills that a person may pick in a client."""

    prompts: list[SkillRowOutput]

    def text(self) -> str:
        return "\n".join(row.line() for row in self.prompts)
