"""Conformance: how often commands were used."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from wellkept.core.errors import UsageError
from wellkept.core.ports.skills import SkillUse
from wellkept.core.ports.store import Store
from wellkept.testing.conformance.fixtures import ConformanceFixture
from wellkept.testing.samples import START

_KEY = "project:.skills:deploy"


class SkillUsesConformance(ConformanceFixture):
    """Promises of the `SkillUses` port."""

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
