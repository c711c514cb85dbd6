"""A young store with the default embedder says nothing where it knows nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

import wellkept

pytestmark = pytest.mark.feature("B10")

NOTES = (
    "Deploys go through the staging cluster first",
    "Events were carried by RabbitMQ",
    "On-call moved from PagerDuty to Grafana OnCall",
    "build number 2 needs the flag zeta2",
    "Webhooks are retried three times",
    "Wir testen immer mit pnpm, nie mit npm",
)


@pytest.mark.parametrize("count", [1, 3, len(NOTES)])
def test_questions_about_something_else_get_no_answer(tmp_path: Path, count: int) -> None:
    with wellkept.open(tmp_path / "memory.db", project="young") as wk:
        wk.remember_many(NOTES[:count])
        for question in (
            "zebra unicorn quantum",
            "Convert this class to hooks",
            "best pizza dough",
        ):
            assert [hit.memory.content for hit in wk.recall(question)] == []
        assert wk.recall("how do we deploy?")[0].memory.content == NOTES[0]
