"""What reading verbs of skills answer: records with one text each, for people and models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from wellkept.core.records import field, record
from wellkept.core.session.injected_text import quoted, quoted_lines
from wellkept.core.skills import Skill, SkillFinding, SkillInterface, SkillRun
from wellkept.core.text import counted, shorten
from wellkept.core.verbs import Arg, Table

if TYPE_CHECKING:
    from wellkept.core.ports.skills import SkillUse
    from wellkept.skills.commands.table import Command
    from wellkept.skills.library.commands import CommandResult
    from wellkept.skills.selection.scoring import SkillScorePart

_LINE_CHARS = 240
_CELL_CHARS = 80


def one_line(text: str) -> str:
    """A text as one short line that cannot close the frame it may stand in."""
    return shorten(quoted(text), limit=_LINE_CHARS)


def finding_lines(findings: Iterable[SkillFinding]) -> Iterator[str]:
    """Findings as a compiler prints them: file:line: severity code: message."""
    for one in findings:
        where = f"{one.path or ''}{f':{one.line}' if one.line else ''}"
        text = f"{one.severity.value} {one.code}: {one.message}"
        yield quoted(f"{where}: {text}" if where else text)


# -- Lists ----------------------------------------------------------------------------------------


@record(kw_only=True)
class SkillRow:
    """A skill, or a command of our own, in a line. `why` it fits; `note` is why it is off, or what
    it waits for; on a name clash the higher `priority` wins; `findings` are wrong with it."""

    name: str
    kind: Literal["prompt", "local"] = "prompt"
    description: str
    source: str
    enabled: bool = True
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    argument_hint: str = ""
    for_people: bool = True
    for_models: bool = True
    why: str = ""
    score: float | None = None
    parts: tuple[SkillScorePart, ...] = ()
    files: tuple[str, ...] = ()
    findings: int = 0
    errors: int = 0
    priority: int = 0
    note: str = ""
    path: str = ""

    @classmethod
    def of(cls, skill: Skill, **more: Any) -> SkillRow:
        """The row of a skill."""
        how = skill.invocation
        return cls(
            name=skill.name,
            description=one_line(skill.description),
            source=f"{skill.source.kind.value}:{skill.source.name}",
            enabled=skill.enabled,
            tags=skill.tags,
            aliases=how.aliases,
            argument_hint=one_line(how.argument_hint or ""),
            for_people=how.user_invocable,
            for_models=not how.disable_model_invocation,
            findings=len(skill.findings),
            errors=sum(found.is_error for found in skill.findings),
            priority=skill.priority,
            note=one_line(skill.note or ""),
            path=str(skill.path or ""),
            **more,
        )

    @classmethod
    def of_command(cls, command: Command, score: float) -> SkillRow:
        """The row of something that can be typed after a slash; the score is its use."""
        if command.skill is not None:
            return cls.of(command.skill, score=round(score, 4))
        return cls(
            name=command.name,
            kind="local",
            description=one_line(command.description),
            source=command.source,
            aliases=command.aliases,
            argument_hint=one_line(command.argument_hint or ""),
            for_people=command.for_people,
            for_models=command.for_models,
            score=round(score, 4),
        )

    @property
    def usage(self) -> str:
        """As typed, without the slash."""
        return f"{self.name} {self.argument_hint}".rstrip()

    @property
    def state(self) -> str:
        """Whether it is on, what it waits for and what is wrong."""
        state = "on" if self.enabled else "off"
        state += f" ({shorten(self.note, limit=60)})" if self.note else ""
        return f"{state}, {self.errors} errors" if self.errors else state


@record
class SkillNameClash:
    """Several skills with one name: the winner is used, the covered ones are not."""

    name: str
    winner: str
    covered: tuple[str, ...]


@record(kw_only=True)
class SkillRows:
    """Skills, best first or highest priority first. `injected` is the text for an agent, with what
    of it was cut, only named or left out; `considered` is how many were looked at."""

    items: tuple[SkillRow, ...] = ()
    clashes: tuple[SkillNameClash, ...] = ()
    findings: tuple[SkillFinding, ...] = ()
    considered: int = 0
    injected: str | None = None
    cut: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def found(self) -> bool:
        """Whether anything fits."""
        return bool(self.injected) if self.injected is not None else bool(self.items)

    @property
    def ids(self) -> list[str]:
        """Names."""
        return [one.name for one in self.items]

    def as_text(
        self, *, explain: Annotated[bool, Arg("The parts of each score.", hidden=True)] = False
    ) -> str:
        """One line each."""
        if self.injected is not None:
            return self.injected or "Nothing would be injected."
        if not self.items:
            return f"None of {self.considered} skills fits." if self.considered else "None fits."
        return "\n".join(
            line
            for one in self.items
            for line in (
                f"{one.usage}: {one.description}",
                *(_explained(one) if explain else ()),
            )
        )

    def as_table(self, *, explain: bool = False) -> Table | None:
        """Rows for a terminal."""
        if self.injected is not None or explain or not self.items:
            return None
        if any(one.kind == "local" for one in self.items):
            return Table(
                ("command", "source", "use", "state", "description"),
                [
                    (f"/{one.usage}", one.source, f"{one.score or 0:.2f}", one.state, _cell(one))
                    for one in self.items
                ],
            )
        if any(one.why for one in self.items):
            return Table(
                ("name", "score", "source", "description", "why"),
                [
                    (one.name, f"{one.score or 0:.2f}", one.source, _cell(one), one.why)
                    for one in self.items
                ],
            )
        return Table(
            ("name", "source", "priority", "state", "description"),
            [
                (one.name, one.source, str(one.priority), one.state, _cell(one))
                for one in self.items
            ],
        )


def _cell(row: SkillRow) -> str:
    return shorten(row.description, limit=_CELL_CHARS)


def _explained(row: SkillRow) -> Iterator[str]:
    for one in row.parts:
        yield (
            f"  {one.name}\t{one.value:.3f} x {one.weight:.2f} = {one.effect:+.3f}"
            f"\t{quoted(one.detail)}"
        )
    if row.why and not row.parts:
        yield f"  {row.why}"


# -- One skill ------------------------------------------------------------------------------------


@record(kw_only=True)
class ShownSkill:
    """One skill, whole. `done` says what was done with it; `phases` are those it is given in, none
    for any; `covers` are those it hides; `runs` the latest sessions that used it."""

    skill: SkillRow
    done: str = ""
    id: str
    description: str
    body: str
    version: str = ""
    license: str = ""
    compatibility: str = ""
    author: str = ""
    phases: tuple[str, ...] = ()
    tokens: int = 0
    when_to_use: str = ""
    allowed_tools: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    extra: Mapping[str, str] = field(default_factory=dict[str, str])
    interface: SkillInterface | None = None
    sha256: str = ""
    findings: tuple[SkillFinding, ...] = ()
    covers: tuple[str, ...] = ()
    uses: int = 0
    last_used_at: datetime | None = None
    runs: tuple[SkillRun, ...] = ()
    reminder: str | None = None

    @classmethod
    def of(cls, skill: Skill, *, use: SkillUse | None = None, **more: Any) -> ShownSkill:
        """The record of a skill."""
        return cls(
            skill=SkillRow.of(skill),
            id=skill.id,
            description=skill.description,
            body=skill.body,
            version=skill.version or "",
            license=one_line(skill.license or ""),
            compatibility=one_line(skill.compatibility or ""),
            author=one_line(dict(skill.metadata).get("author", "")),
            phases=tuple(one.value for one in skill.inject_into),
            tokens=skill.body_tokens,
            when_to_use=skill.when_to_use or "",
            allowed_tools=skill.invocation.allowed_tools,
            hooks=tuple(f"{one.event.value} {one.matcher}".strip() for one in skill.hooks),
            metadata=dict(skill.metadata),
            extra=dict(skill.extra),
            interface=skill.interface,
            sha256=skill.sha256,
            findings=skill.findings,
            uses=use.count if use else 0,
            last_used_at=use.last_used_at if use else None,
            **more,
        )

    @property
    def ids(self) -> list[str]:
        """Its name."""
        return [self.skill.name]

    def as_text(self) -> str:
        """What was done; else its facts, findings and text; else the reminder."""
        if self.reminder is not None:
            return self.reminder
        findings = list(finding_lines(self.findings))
        if self.done:
            where = self.skill.path or self.skill.source
            return "\n".join([f"{self.done} {self.skill.name} ({where})", *findings])
        facts = [f"{label}: {one_line(text)}" for label, text in self._facts() if text]
        return "\n".join([*facts, *findings, "", quoted_lines(self.body)])

    def _facts(self) -> Iterator[tuple[str, str]]:
        row, used = self.skill, self.last_used_at
        yield "name", f"{row.name} ({'on' if row.enabled else 'off'})"
        yield "note", row.note
        yield "description", self.description
        yield "when to use", self.when_to_use
        yield "source", f"{row.source}, priority {row.priority}"
        yield "covers", ", ".join(self.covers)
        yield "file", row.path
        yield "version", self.version
        yield "license", self.license
        yield "compatibility", self.compatibility
        yield "tags", ", ".join(row.tags)
        yield "aliases", ", ".join(row.aliases)
        yield "arguments", row.argument_hint
        yield "allowed tools", ", ".join(self.allowed_tools)
        yield "hooks", ", ".join(self.hooks)
        yield "metadata", ", ".join(f"{key}={value}" for key, value in self.metadata.items())
        yield "other fields", ", ".join(self.extra)
        yield "size", f"about {self.tokens:,} tokens"
        yield "sha256", self.sha256
        yield "used", f"{counted(self.uses, 'time')}, last {used:%Y-%m-%d}" if used else ""


@record(kw_only=True)
class SkillText:
    """What a command came to: instructions to follow, or an answer; what it asks for with them."""

    name: str
    kind: Literal["prompt", "local"]
    source: str
    content: str
    words: tuple[str, ...] = ()
    tokens: int = 0
    is_cut: bool = False
    lines_left_out: int = 0
    allowed_tools: tuple[str, ...] = ()
    model: str = ""
    context: Literal["main", "fork"] = "main"
    agent: str = ""

    @classmethod
    def of(cls, done: CommandResult) -> SkillText:
        """The same as the library gives it."""
        known = cls(
            name=done.command.name,
            kind=done.kind.value,
            source=done.command.source,
            content=done.text,
            words=done.arguments.words,
        )
        prompt = done.prompt
        if prompt is None:
            return known
        from wellkept.core.records import replace

        return replace(
            known,
            tokens=prompt.tokens,
            is_cut=prompt.is_cut,
            lines_left_out=prompt.lines_left_out,
            allowed_tools=prompt.allowed_tools,
            model=prompt.model or "",
            context=prompt.context.value,
            agent=prompt.agent or "",
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """That it was cut."""
        return (f"Truncated: {self.lines_left_out} lines omitted.",) if self.is_cut else ()

    def as_text(self) -> str:
        """The text, after what it asks for."""
        tools = [f"tools: {' '.join(self.allowed_tools)}"] if self.allowed_tools else []
        model = [f"model: {self.model}"] if self.model else []
        fork = [f"in an agent of its own: {self.agent or 'any'}"] if self.context == "fork" else []
        asked = ", ".join([*tools, *model, *fork])
        return f"[{asked}]\n{self.content}" if asked else self.content
