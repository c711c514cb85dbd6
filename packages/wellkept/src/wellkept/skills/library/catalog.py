"""The generated skills of one project: list, review, enable, count and remove.

It is also the source from which the catalog reads generated skills. Rejected skills stay stored, so
that they are not suggested again, but are not listed as skills.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from wellkept.core.clock import to_ms
from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.ports.skills import StoredSkill
from wellkept.core.records import record, replace
from wellkept.core.skills import (
    FAILURES_TO_SWITCH_OFF,
    GeneratedSkill,
    SkillReview,
    SkillRun,
    SkillStats,
    SkillVersion,
    skill_stats,
)
from wellkept.skills.sources.catalog import GENERATED_SOURCE

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from wellkept.core.skills import Skill
    from wellkept.memory.workspace import Workspace
    from wellkept.skills.authoring.edit_fields import FieldValue

ReviewAnswer: TypeAlias = Literal["accept", "reject", "edit"]
PENDING_NOTE = "Waits for review: `wellkept skill review {name}`."
_NS_PER_MS = 1_000_000


@record
class GeneratedSkillView:
    """A generated skill, its statistics and its earlier texts."""

    skill: GeneratedSkill
    record: SkillStats
    editions: tuple[SkillVersion, ...] = ()


@record(kw_only=True)
class LibraryOverview:
    """Counts of the generated skills of a project."""

    total: int
    pending: int
    accepted: int
    rejected: int
    enabled: int
    record: SkillStats


class GeneratedSkills:
    """The library of one project."""

    def __init__(self, services: Workspace) -> None:
        self._services = services

    # -- As a source of skills --------------------------------------------------------------------

    def documents(self) -> list[StoredSkill]:
        """All that were not rejected, for the catalog."""
        return [
            StoredSkill(
                name=skill.name,
                text=skill.text,
                enabled=skill.enabled,
                modified_ns=to_ms(skill.updated_at) * _NS_PER_MS,
                note=skill.note,
            )
            for skill in self.all()
            if skill.review is not SkillReview.REJECTED
        ]

    def remove(self, name: str) -> bool:
        """Remove one permanently, with its history."""
        return self._services.store.delete_generated_skill(self.get(name).id)

    def runs_of(self, name: str, *, limit: int) -> list[SkillRun]:
        """The latest sessions that used a generated skill, oldest first; none for any other."""
        ids = [skill.id for skill in self.all() if skill.name == name]
        return self._services.store.skill_runs(skill_ids=ids)[-limit:] if ids else []

    # -- Reading ----------------------------------------------------------------------------------

    def all(self) -> list[GeneratedSkill]:
        """Every generated skill of this project, rejected ones too, the oldest first."""
        return self._services.store.generated_skills(project=self._services.project)

    def get(self, name: str) -> GeneratedSkill:
        """The generated skill with that name; a rejected one only when there is no other."""
        named = [skill for skill in self.all() if skill.name == name]
        named.sort(key=lambda skill: skill.review is SkillReview.REJECTED)
        if not named:
            raise NotFoundError(
                f"No generated skill {name!r} in this project.",
                hint="Run `wellkept skill review`.",
            )
        return named[0]

    def view(self, name: str) -> GeneratedSkillView:
        """One generated skill with its statistics and earlier texts."""
        skill = self.get(name)
        return GeneratedSkillView(
            skill, self.stats_of(skill), tuple(self._services.store.skill_versions(skill.id))
        )

    def views(
        self, *, reviews: Collection[SkillReview] = tuple(SkillReview)
    ) -> list[GeneratedSkillView]:
        """Generated skills with their statistics, without earlier texts."""
        found = [skill for skill in self.all() if skill.review in reviews]
        runs = self._services.store.skill_runs(skill_ids=[skill.id for skill in found])
        return [
            GeneratedSkillView(s, _stats(s, [run for run in runs if run.skill_id == s.id]))
            for s in found
        ]

    def overview(self) -> LibraryOverview:
        """Counts, and the combined results of those that were used."""
        views = self.views()
        reviews = [view.skill.review for view in views]
        tracks = [view.record for view in views]
        return LibraryOverview(
            total=len(views),
            pending=reviews.count(SkillReview.PENDING),
            accepted=reviews.count(SkillReview.ACCEPTED),
            rejected=reviews.count(SkillReview.REJECTED),
            enabled=sum(view.skill.enabled for view in views),
            record=SkillStats(
                uses=sum(one.uses for one in tracks),
                judged=sum(one.judged for one in tracks),
                succeeded=sum(one.succeeded for one in tracks),
            ),
        )

    def stats_of(self, skill: GeneratedSkill) -> SkillStats:
        """The statistics of a skill."""
        return _stats(skill, self._services.store.skill_runs(skill_ids=[skill.id]))

    # -- Review -----------------------------------------------------------------------------------

    def review(self, name: str, answer: ReviewAnswer, *, text: str | None = None) -> GeneratedSkill:
        """Accept or reject a generated skill, or replace its text, which accepts it too."""
        skill = self.get(name)
        if answer == "reject":
            return self._decide(skill, SkillReview.REJECTED, enabled=False, note=None)
        if answer == "accept" and text is None:
            return self._decide(skill, SkillReview.ACCEPTED, enabled=True, note=None)
        if answer != "edit" or text is None:
            raise UsageError(
                "A review is accept, reject, or edit with the new text.",
                hint="Give the whole SKILL.md.",
            )
        written = self._checked(skill, text)
        return self._decide(written, SkillReview.ACCEPTED, enabled=True, note=None)

    def switch(self, name: str, *, on: bool) -> GeneratedSkill:
        """Enable or disable a generated skill; enabling a pending one accepts it."""
        skill = self.get(name)
        if on:
            return self._decide(skill, SkillReview.ACCEPTED, enabled=True, note=None)
        return self.put(replace(skill, enabled=False))

    def rewrite(self, name: str, text: str) -> GeneratedSkill:
        """Replace the text by the user's; the switch stays as it is."""
        return self.put(self._checked(self.get(name), text))

    def edit_document(
        self, name: str, changes: Mapping[str, FieldValue | None], *, body: str | None = None
    ) -> str:
        """The text of a generated skill with some fields set or removed."""
        from wellkept.skills.authoring.edit_fields import edit_document

        return edit_document(self.get(name).text, changes, body=body)

    def text_of(self, skill: Skill) -> str | None:
        """The document of a generated skill; None for all others."""
        if skill.source != GENERATED_SOURCE:
            return None
        return self.get(skill.name).text

    def put(self, skill: GeneratedSkill) -> GeneratedSkill:
        """Store a generated skill."""
        now = max(self._services.clock(), skill.updated_at)
        self._services.store.put_generated_skill(replace(skill, updated_at=now))
        return self.get(skill.name)

    def _checked(self, skill: GeneratedSkill, text: str) -> GeneratedSkill:
        # Lazy: listing skills does not need the document reader.
        from wellkept.skills.generation.generate import require_valid
        from wellkept.text.secrets.redaction import redact

        if redact(text).changed:
            raise UsageError(
                "The text contains a secret or a private part.", hint="Remove it and try again."
            )
        require_valid(text, name=skill.name)
        return replace(skill, text=text, made_by="person")

    def _decide(
        self, skill: GeneratedSkill, review: SkillReview, *, enabled: bool, note: str | None
    ) -> GeneratedSkill:
        now = self._services.clock()
        return self.put(replace(skill, review=review, reviewed_at=now, enabled=enabled, note=note))

    # -- Runs -------------------------------------------------------------------------------------

    def record_use(self, name: str, *, session_id: str, used_by: str) -> None:
        """Record that a session used a generated skill; other names are ignored."""
        skill = next((one for one in self.all() if one.name == name), None)
        if skill is not None:
            run = SkillRun(
                skill_id=skill.id, session_id=session_id, used_by=used_by, at=self._services.clock()
            )
            self._services.store.put_skill_run(run)

    def judge_runs(
        self, session_id: str, *, used: Collection[str], used_by: str, succeeded: bool | None
    ) -> list[GeneratedSkill]:
        """Judge the runs of a finished session; returns the skills that were disabled."""
        for name in used:
            self.record_use(name, session_id=session_id, used_by=used_by)
        by_id = {skill.id: skill for skill in self.all()}
        for run in self._services.store.skill_runs(session_id=session_id):
            if run.skill_id in by_id and succeeded is not None:
                self._services.store.put_skill_run(replace(run, succeeded=succeeded))
        judged = {run.skill_id for run in self._services.store.skill_runs(session_id=session_id)}
        return [
            off
            for skill_id in judged & by_id.keys()
            if (off := self._disable_if_failing(by_id[skill_id])) is not None
        ]

    def _disable_if_failing(self, skill: GeneratedSkill) -> GeneratedSkill | None:
        failed = self.stats_of(skill).failed_in_a_row
        if not skill.enabled or failed < FAILURES_TO_SWITCH_OFF:
            return None
        note = (
            f"Disabled: the last {failed} sessions that used it failed. "
            f"Enable it with `wellkept skill enable {skill.name}`."
        )
        return self.put(replace(skill, enabled=False, note=note))


def _stats(skill: GeneratedSkill, runs: list[SkillRun]) -> SkillStats:
    return skill_stats(runs, since=skill.reviewed_at)
