"""Conformance: generated skills with versions and runs, and usage counts of commands."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.conformance.fixtures import ConformanceFixture
from tests.support.samples import START
from wellkept.core.errors import ConflictError, NotFoundError, UsageError
from wellkept.core.ports.skills import SkillUse
from wellkept.core.ports.store import Store
from wellkept.core.records import replace
from wellkept.core.session.activity import ActivityKind
from wellkept.core.skills import (
    GeneratedSkill,
    SkillOrigin,
    SkillReview,
    SkillRun,
    SkillVersion,
)

_SKILL = GeneratedSkill(
    id="skill-1",
    project="example",
    name="add-a-route",
    text="---\nname: add-a-route\n---\n\n# It's; -- Größe 日本\n",
    created_at=START,
    updated_at=START,
    session_ids=("s1", "s2"),
    observation_ids=("o1",),
    commit_sha="abc1234",
)
_RUN = SkillRun(skill_id="skill-1", session_id="s9", used_by="claude-code", at=START)
_WRITTEN = replace(_SKILL, revision=1)


class GeneratedSkillConformance(ConformanceFixture):
    """Contract of the `GeneratedSkillStore` port."""

    @pytest.mark.feature("F9")
    def test_a_kept_skill_is_read_back_by_every_handle_and_only_in_its_project(
        self, store: Store, other: Store
    ) -> None:
        assert store.generated_skills(project=None) == []
        store.put_generated_skill(_SKILL)
        elsewhere = replace(_SKILL, id="skill-2", project="elsewhere")
        other.put_generated_skill(elsewhere)
        assert other.generated_skills(project="example") == [_WRITTEN]
        assert store.generated_skills(project="elsewhere") == [replace(elsewhere, revision=1)]
        assert store.generated_skills(project="nowhere") == []
        assert len(store.generated_skills(project=None)) == 2

    @pytest.mark.feature("F9")
    def test_every_field_survives_being_written_again(self, store: Store) -> None:
        store.put_generated_skill(_SKILL)
        changed = replace(
            _WRITTEN,
            name="other",
            origin=SkillOrigin.REFINED,
            made_by="person",
            review=SkillReview.ACCEPTED,
            reviewed_at=START + timedelta(hours=1),
            updated_at=START + timedelta(hours=1),
            enabled=True,
            note="Looked at.",
            session_ids=(),
            observation_ids=("o1", "o2"),
            commit_sha=None,
        )
        store.put_generated_skill(changed)
        assert store.generated_skills(project="example") == [replace(changed, revision=2)]
        assert store.skill_versions("skill-1") == []

    @pytest.mark.feature("F9")
    def test_a_new_text_leaves_the_old_one_as_an_edition(self, store: Store) -> None:
        store.put_generated_skill(_SKILL)
        later, latest = START + timedelta(days=1), START + timedelta(days=2)
        store.put_generated_skill(
            replace(_WRITTEN, text="second", updated_at=later, made_by="model")
        )
        store.put_generated_skill(replace(_WRITTEN, text="third", updated_at=latest, revision=2))
        assert store.skill_versions("skill-1") == [
            SkillVersion(2, "second", "model", latest),
            SkillVersion(1, _SKILL.text, "rules", later),
        ]

    @pytest.mark.feature("F9")
    def test_of_two_who_write_at_once_the_second_is_told(self, store: Store, other: Store) -> None:
        store.put_generated_skill(_SKILL)
        other.put_generated_skill(replace(_WRITTEN, note="first"))
        with pytest.raises(ConflictError):
            store.put_generated_skill(replace(_WRITTEN, note="second"))
        with pytest.raises(ConflictError):
            store.put_generated_skill(_SKILL)
        assert store.generated_skills(project="example")[0].note == "first"

    @pytest.mark.feature("F9")
    def test_what_is_no_skill_and_no_run_is_refused(self, store: Store) -> None:
        for gap in ("id", "project", "name", "text"):
            with pytest.raises(UsageError):
                store.put_generated_skill(replace(_SKILL, **{gap: ""}))
        with pytest.raises(NotFoundError):
            store.put_skill_run(_RUN)
        store.put_generated_skill(_SKILL)
        with pytest.raises(UsageError):
            store.put_skill_run(replace(_RUN, session_id=""))
        assert store.skill_runs() == []

    @pytest.mark.feature("F9")
    def test_a_session_counts_as_one_run_and_is_judged_later(self, store: Store) -> None:
        store.put_generated_skill(_SKILL)
        store.put_skill_run(_RUN)
        store.put_skill_run(replace(_RUN, succeeded=False, at=START + timedelta(hours=1)))
        store.put_skill_run(_RUN)
        failed = replace(_RUN, succeeded=False)
        assert store.skill_runs(session_id="s9") == [failed]
        second = replace(_RUN, session_id="s8", at=START - timedelta(hours=1), succeeded=True)
        store.put_skill_run(second)
        assert store.skill_runs(skill_ids=["skill-1"]) == [second, failed]
        assert store.skill_runs(skill_ids=[]) == []
        assert store.skill_runs(session_id="s1") == []

    @pytest.mark.feature("F9")
    def test_removing_takes_editions_and_runs_along(self, store: Store) -> None:
        store.put_generated_skill(_SKILL)
        store.put_generated_skill(replace(_WRITTEN, text="second"))
        store.put_skill_run(_RUN)
        assert store.delete_generated_skill("skill-1")
        assert not store.delete_generated_skill("skill-1")
        assert store.generated_skills(project=None) == []
        assert store.skill_versions("skill-1") == []
        assert store.skill_runs() == []

    @pytest.mark.feature("F9")
    def test_only_a_new_skill_is_news(self, store: Store) -> None:
        store.put_generated_skill(_SKILL)
        store.put_generated_skill(replace(_WRITTEN, note="Changed."))
        (news,) = store.activity(after=0, project="example", limit=9)
        assert (news.kind, news.subject) == (ActivityKind.SKILL_GENERATED, "add-a-route")
        assert store.activity(after=0, project="elsewhere", limit=9) == []

    @pytest.mark.feature("F9")
    def test_kept_skills_move_with_a_merged_project_and_into_a_copy(
        self, store: Store, open_at: Callable[[Path], Store], tmp_path: Path
    ) -> None:
        store.put_generated_skill(replace(_SKILL, project="old"))
        store.put_generated_skill(replace(_SKILL, id="skill-2"))
        store.put_skill_run(_RUN)
        store.merge_projects("old", into="example")
        moved = store.generated_skills(project="example")
        assert [skill.id for skill in moved] == ["skill-1", "skill-2"]
        store.backup(tmp_path / "copy.db")
        copy = open_at(tmp_path / "copy.db")
        assert copy.generated_skills(project="example") == moved
        assert copy.skill_runs() == [_RUN]
        copy.close()


_KEY = "project:.skills:deploy"


class SkillUsesConformance(ConformanceFixture):
    """Contract of the `SkillUseStore` port."""

    @pytest.mark.feature("F7")
    def test_uses_are_counted_for_each_project_and_seen_by_every_handle(
        self, store: Store, other: Store
    ) -> None:
        later = START + timedelta(days=1)
        store.record_skill_use(_KEY, project="example", at=START)
        other.record_skill_use(_KEY, project="example", at=later)
        store.record_skill_use("it's; --", project="example", at=START)
        store.record_skill_use(_KEY, project="elsewhere", at=START)
        assert other.skill_uses(project="example") == {
            _KEY: SkillUse(_KEY, 2, later),
            "it's; --": SkillUse("it's; --", 1, START),
        }
        assert store.skill_uses(project="elsewhere") == {_KEY: SkillUse(_KEY, 1, START)}
        assert store.skill_uses(project="nowhere") == {}

    @pytest.mark.feature("F7")
    def test_a_use_that_is_told_late_counts_and_moves_nothing_back(self, store: Store) -> None:
        store.record_skill_use(_KEY, project="example", at=START)
        store.record_skill_use(_KEY, project="example", at=START - timedelta(days=3))
        assert store.skill_uses(project="example")[_KEY] == SkillUse(_KEY, 2, START)

    @pytest.mark.feature("F7")
    def test_a_use_of_nothing_is_refused(self, store: Store) -> None:
        for key, project in (("", "example"), (_KEY, "")):
            with pytest.raises(UsageError):
                store.record_skill_use(key, project=project, at=START)

    @pytest.mark.feature("F7")
    def test_uses_of_merged_projects_count_together_and_go_into_a_copy(
        self, store: Store, open_at: Callable[[Path], Store], tmp_path: Path
    ) -> None:
        later = START + timedelta(days=1)
        store.record_skill_use(_KEY, project="old", at=later)
        store.record_skill_use("only-old", project="old", at=START)
        store.record_skill_use(_KEY, project="example", at=START)
        store.merge_projects("old", into="example")
        assert store.skill_uses(project="old") == {}
        together = store.skill_uses(project="example")
        assert together == {
            _KEY: SkillUse(_KEY, 2, later),
            "only-old": SkillUse("only-old", 1, START),
        }
        store.backup(tmp_path / "copy.db")
        copy = open_at(tmp_path / "copy.db")
        assert copy.skill_uses(project="example") == together
        copy.close()
