"""Written sequences of real work give the observations that an engineer would write down."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.observe.telling import Case, folded, load_cases, observations, world
from wellkept.core.memory import MemoryDraft
from wellkept.core.payloads import SessionSummary
from wellkept.core.session.sessions import SessionRecord
from wellkept.observe.session.reducer import apply_events

pytestmark = pytest.mark.feature("C1", "C3")
CASES = load_cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_work_is_told_by_these_titles(case: Case) -> None:
    told = observations(folded(case.events, files=case.files))
    assert [(seen.kind, seen.title) for seen in told] == list(case.expected)
    assert all(len(seen.title) < 100 and "\n" not in seen.title for seen in told)


@pytest.mark.parametrize("case", [c for c in CASES if c.expected_summary], ids=lambda c: c.name)
def test_the_summary_says_what_happened(case: Case) -> None:
    result = folded(case.events, files=case.files)
    assert result.summary is not None
    summary = result.summary.payload
    assert isinstance(summary, SessionSummary)
    for part, words in case.expected_summary.items():
        assert words in (getattr(summary, part) or "")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_events_one_at_a_time_give_the_same_as_all_at_once(case: Case) -> None:
    whole = folded(case.events, files=case.files)
    session: SessionRecord | None = None
    drafts: list[MemoryDraft] = []
    for event in case.events:
        step = apply_events(session, [event], environment=world(case.files))
        session = step.session
        drafts += step.drafts
    assert [plain(d) for d in drafts] == [plain(d) for d in whole.drafts]


def plain(draft: MemoryDraft) -> MemoryDraft:
    """Positions differ where a summary was written in between; nothing else may."""
    return replace(draft, seq=None)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_token_is_accounted_for_once(case: Case) -> None:
    result = folded(case.events, files=case.files)
    last = {draft.key or str(n): draft for n, draft in enumerate(result.drafts)}
    assert result.session.discovery_tokens == sum(d.work_tokens or 0 for d in last.values())


def test_the_corpus_covers_every_kind_of_observation() -> None:
    kinds = {kind for case in CASES for kind, _ in case.expected}
    assert kinds == {"decision", "bugfix", "feature", "refactor", "discovery", "change"}
