"""Skill authoring operations: edit, validate, generate, review, refine.

Not for agents: only a person may accept a generated skill.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from wellkept.api.operations.inputs import Input, Model
from wellkept.api.operations.outputs import Output
from wellkept.api.operations.skill_records import SkillNameInput, SkillOutput, one_line
from wellkept.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wellkept.api import Wellkept
    from wellkept.core.generated_skills import GeneratedSkill
    from wellkept.core.skills import SkillFinding
    from wellkept.skills.authoring.edit_fields import FieldValue
    from wellkept.skills.authoring.validate import ValidationReport
    from wellkept.skills.library.catalog import GeneratedSkillView
    from wellkept.skills.library.generate import SkippedSession

MAX_TEXT_CHARS = 1 << 20

# -- Inputs ----------------------------------------------------------------------------------------


class EditSkillInput(SkillNameInput):
    """Fields of a skill's document to be set."""

    fields: dict[str, str | bool | int | list[str] | dict[str, str] | None] = Field(
        default_factory=dict, description="By name; null removes a field."
    )
    body: str | None = Field(default=None, max_length=MAX_TEXT_CHARS)


class CheckSkillsInput(Input):
    """Which skills to look over."""

    name: str = Field(default="", max_length=200, description="Empty: all of them.")
    strict: bool = False


class GeneratedSkillInput(Input):
    """Which skills that were made from sessions are meant."""

    name: str = Field(default="", max_length=200, description="Empty: all, without their texts.")


class GenerateSkillsInput(Input):
    """Sessions to make skills of."""

    session: str = Field(default="", max_length=200, description="Empty: the recent ones.")
    dry_run: bool = False


class ReviewSkillInput(SkillNameInput):
    """What a person says of a skill that was made from sessions."""

    answer: Literal["accept", "reject", "edit"]
    text: str | None = Field(
        default=None, max_length=MAX_TEXT_CHARS, description="With edit: the whole SKILL.md."
    )


class RefineSkillInput(SkillNameInput):
    """A skill to be made anew from all good sessions that used or resemble it."""

    dry_run: bool = False
    replace_edits: bool = Field(default=False, description="Also when it was edited by hand.")


# -- Outputs --------------------------------------------------------------------------------------


class SkillFindingOutput(Model):
    """One thing that is wrong with a document."""

    severity: str
    code: str
    message: str
    line: int | None = None
    path: str = ""

    @classmethod
    def of(cls, found: SkillFinding) -> SkillFindingOutput:
        """The same as the library gives it."""
        return cls(
            severity=found.severity.value,
            code=found.code,
            message=one_line(found.message),
            line=found.line,
            path=str(found.path or ""),
        )


class SkillCheckOutput(Model):
    """One document that was looked over."""

    name: str = ""
    path: str = ""
    is_valid: bool
    problems: list[SkillFindingOutput] = Field(default_factory=list[SkillFindingOutput])

    @classmethod
    def of(cls, seen: ValidationReport) -> SkillCheckOutput:
        """The same as the library gives it."""
        return cls(
            name=seen.skill.name if seen.skill else "",
            path=str(seen.path or ""),
            is_valid=seen.is_valid,
            problems=[SkillFindingOutput.of(found) for found in seen.findings],
        )


class SkillChecksOutput(Output):
    """What is wrong with skills."""

    checked: list[SkillCheckOutput]

    def text(self) -> str:
        lines = [
            f"{one.name or one.path}: {found.severity} {found.code}: {found.message}"
            for one in self.checked
            for found in one.problems
        ]
        return "\n".join(lines) or "Nothing is wrong."


class GeneratedSkillOutput(Model):
    """A skill that was made from sessions, and how it fares."""

    name: str
    review: str
    enabled: bool
    note: str = ""
    origin: str
    made_by: str
    sessions: list[str] = Field(default_factory=list)
    created_at: str
    updated_at: str
    document: str = Field(default="", description="The whole SKILL.md; not in lists.")
    uses: int = 0
    judged: int = 0
    success_rate: float | None = Field(default=None, description="Null while nothing was judged.")

    @classmethod
    def of(cls, skill: GeneratedSkill, *, with_text: bool = True) -> GeneratedSkillOutput:
        """One without its record."""
        return cls(
            name=skill.name,
            review=skill.review.value,
            enabled=skill.enabled,
            note=one_line(skill.note or ""),
            origin=skill.origin.value,
            made_by=skill.made_by,
            sessions=list(skill.session_ids),
            created_at=skill.created_at.isoformat(),
            updated_at=skill.updated_at.isoformat(),
            document=skill.text if with_text else "",
        )

    @classmethod
    def viewed(cls, view: GeneratedSkillView, *, with_text: bool = False) -> GeneratedSkillOutput:
        """One with its record."""
        seen = view.record
        known = {
            "uses": seen.uses,
            "judged": seen.judged,
            "success_rate": round(seen.success_rate, 4) if seen.judged else None,
        }
        return cls.of(view.skill, with_text=with_text).model_copy(update=known)

    def line(self) -> str:
        """The skill as text."""
        return f"{self.name}: {self.review}, {'on' if self.enabled else 'off'} {self.note}".rstrip()


class SkippedSessionOutput(Model):
    """A session that no skill was made of."""

    session: str
    title: str = ""
    reason: str

    @classmethod
    def of(cls, passed: SkippedSession) -> SkippedSessionOutput:
        """The same as the library gives it."""
        title = one_line(passed.title or "")
        return cls(session=passed.session_id, title=title, reason=one_line(passed.reason))


class GeneratedSkillsOutput(Output):
    """Skills that were made from sessions, and the sessions that gave none."""

    skills: list[GeneratedSkillOutput] = Field(default_factory=list[GeneratedSkillOutput])
    passed: list[SkippedSessionOutput] = Field(default_factory=list[SkippedSessionOutput])

    def text(self) -> str:
        made = [skill.line() for skill in self.skills] or ["No skills."]
        return "\n".join([*made, *(f"{one.session}: {one.reason}" for one in self.passed)])


class GeneratedSkillDetailOutput(Output):
    """One skill that was made from sessions; `before` is what it said until now."""

    skill: GeneratedSkillOutput
    before: str = ""

    def text(self) -> str:
        return f"{self.skill.line()}\n\n{self.skill.document}"


# -- Operations -----------------------------------------------------------------------------------


def skill_edit(wk: Wellkept, request: EditSkillInput) -> SkillOutput:
    """Set fields or the text of a skill's document."""
    if not request.fields and request.body is None:
        raise UsageError("Nothing is to be changed.", hint="Give fields, or a body.")
    changes: Mapping[str, FieldValue | None] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in request.fields.items()
    }
    return SkillOutput.of(wk.skills.edit(request.name, changes, body=request.body))


def skill_validate(wk: Wellkept, request: CheckSkillsInput) -> SkillChecksOutput:
    """Look over one skill by name, or all; never a path, which is for the command line."""
    skills = wk.skills
    if not request.name:
        return SkillChecksOutput(checked=[SkillCheckOutput.of(one) for one in skills.validate()])
    skill = skills.get(request.name)
    seen = skills.validate(skill.path or skill.name, strict=request.strict)
    return SkillChecksOutput(checked=[SkillCheckOutput.of(one) for one in seen])


def skill_generate(wk: Wellkept, request: GenerateSkillsInput) -> GeneratedSkillsOutput:
    """Make skills of sessions that went well."""
    done = wk.skills.generate(request.session or None, dry_run=request.dry_run)
    return GeneratedSkillsOutput(
        skills=[GeneratedSkillOutput.of(skill) for skill in done.made],
        passed=[SkippedSessionOutput.of(one) for one in done.passed],
    )


def skill_generated(wk: Wellkept, request: GeneratedSkillInput) -> GeneratedSkillsOutput:
    """Kept skills with how they fared; the text only of one that is named."""
    library = wk.skills.library
    if request.name:
        return GeneratedSkillsOutput(
            skills=[GeneratedSkillOutput.viewed(library.view(request.name), with_text=True)]
        )
    return GeneratedSkillsOutput(
        skills=[GeneratedSkillOutput.viewed(view) for view in library.views()]
    )


def skill_review(wk: Wellkept, request: ReviewSkillInput) -> GeneratedSkillDetailOutput:
    """Say yes or no to a kept skill, or put another text in its place."""
    wk.skills.review(request.name, request.answer, text=request.text)
    view = wk.skills.library.view(request.name)
    return GeneratedSkillDetailOutput(skill=GeneratedSkillOutput.viewed(view, with_text=True))


def skill_refine(wk: Wellkept, request: RefineSkillInput) -> GeneratedSkillDetailOutput:
    """Make a kept skill anew from several sessions."""
    done = wk.skills.generator.refine(
        request.name, dry_run=request.dry_run, replace_edits=request.replace_edits
    )
    return GeneratedSkillDetailOutput(skill=GeneratedSkillOutput.of(done.skill), before=done.before)
