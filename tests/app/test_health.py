"""`wk.health()`: totals, score, tokens saved, coverage and series."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.app.opening import open_in
from tests.app.test_injected import given
from tests.server.http_serving import served_in
from tests.support.samples import START
from wellkept.api.views.client_setup import ClientState
from wellkept.api.views.health_score import WEIGHTS, ScoreShare, health_score
from wellkept.api.views.health_text import health_lines
from wellkept.core.errors import UsageError
from wellkept.core.ports.injections import LineOutcome
from wellkept.testing.fakes import ManualClock, WordEmbedder

pytestmark = pytest.mark.feature("H1")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START + timedelta(days=30))


def test_what_nobody_measured_is_unknown_and_not_zero(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        view = wk.health()
    assert view.health.score is None
    assert all(part.value is None for part in view.health.parts)
    assert (view.savings.saved_tokens, view.savings.used_share) == (None, None)
    assert (view.modules, view.clients, view.index.vectors) == (None, None, None)
    assert (view.totals.total, view.totals.by_type) == (0, ())
    assert any("not measured" in line for line in health_lines(view))


def test_what_was_not_measured_gives_no_points() -> None:
    assert sum(WEIGHTS.values()) == 100
    full = {name: ScoreShare(part=4, whole=4) for name in WEIGHTS}
    assert health_score(full, is_empty=False).score == 100
    assert health_score(full, is_empty=True).score is None
    # Half of the lines used is full marks; a missing part gives none.
    shares = {"used": ScoreShare(part=1, whole=2), "reviewed": ScoreShare(part=0, whole=3)}
    judged = health_score(shares, is_empty=False)
    assert judged.score == 25
    assert [part.name for part in judged.parts if part.value is None] == [
        name for name in WEIGHTS if name not in shares
    ]
    assert health_score({"current": ScoreShare(part=0, whole=0)}, is_empty=False).score is None


def test_totals_tell_statements_from_records_and_what_may_be_given(
    tmp_path: Path, clock: ManualClock
) -> None:
    with open_in(tmp_path, clock=clock, embedder=WordEmbedder()) as wk:
        wk.remember("Deploys go through staging first", type="convention")
        wk.remember("The export job needs the old locale", type="gotcha", needs_review=True)
        wk.remember("Fixed the flaky login test", type="timeline")
        gone = wk.remember("The cron job runs at midnight", type="fact").memory
        wk.forget(gone.id, keep_history=True)
        totals = wk.health().totals
        index = wk.health().index
    assert (totals.total, totals.active, totals.needs_review) == (2, 1, 1)
    assert (totals.records, totals.closed) == (1, 1)
    assert {one.type.value: one.badge for one in totals.by_type} == {
        "convention": "CONV",
        "gotcha": "WARN",
        "timeline": "FACT",
    }
    assert index.vectors == index.wanted == 3


def test_tokens_saved_are_net_and_counted_from_the_log(tmp_path: Path, clock: ManualClock) -> None:
    with open_in(tmp_path, clock=clock) as wk:
        memory = wk.remember("The gateway times out after three retries", type="gotcha").memory
        given(wk, memory, 27, outcome=LineOutcome.USED)
        given(wk, memory, 28, outcome=LineOutcome.IGNORED)
        view = wk.health(days=5)
        totals = wk.injected.totals()
    saved = view.savings
    assert saved.saved_tokens == totals.saved_tokens == 1_000 - 60
    assert (saved.reused_tokens, saved.given_tokens) == (1_000, 60)
    assert (saved.used_lines, saved.measured_lines) == (1, 1)
    used = next(part for part in view.health.parts if part.name == "used")
    assert (used.part, used.whole, used.value) == (1, 2, 1.0)
    assert [(day.lines, day.used) for day in view.recall] == [
        (0, 0),
        (2, 1),
        (2, 0),
        (0, 0),
        (0, 0),
    ]
    assert view.growth[-1].memories == 1
    assert sum(view.growth[-1].by_badge.values()) == 1
    assert [day.day for day in view.growth] == [day.day for day in view.recall]
    assert len(view.sessions) == 2


def test_days_begin_where_the_reader_is(tmp_path: Path) -> None:
    clock = ManualClock(START.replace(hour=23))
    with open_in(tmp_path, clock=clock) as wk:
        wk.remember("Late in the evening something was learned")
        here = wk.health(days=2, offset_minutes=120).growth
        there = wk.health(days=2).growth
    assert (here[-1].memories, here[-1].day) == (1, there[-1].day + timedelta(days=1))
    assert there[-1].memories == 1


def test_modules_are_covered_by_memories_that_name_their_files(tmp_path: Path) -> None:
    for name in ("billing", "search"):
        (tmp_path / "src" / name).mkdir(parents=True)
        (tmp_path / "src" / name / "core.py").write_text("def run():\n    return 1\n" * 20)
        (tmp_path / "src" / name / "more.py").write_text("def other():\n    return 2\n" * 20)
    with open_in(tmp_path) as wk:
        wk.graph.build()
        wk.remember("Invoices round half up", files=["src/billing/core.py"])
        wk.remember("Two files, one memory", files=["src/billing/core.py", "src/billing/more.py"])
        view = wk.health()
    assert view.modules is not None
    rows = {one.folder: (one.covered, one.files, one.memories) for one in view.modules}
    assert rows == {"src/billing/": (2, 2, 2), "src/search/": (0, 2, 0)}
    covered = next(part for part in view.health.parts if part.name == "covered")
    assert (covered.part, covered.whole) == (1, 2)


class _Clients:
    def states(self) -> tuple[ClientState, ...]:
        return (
            ClientState(
                client="claude-code", scope="user", state="absent", parts=(), path="x",
                client_seen=True,
            ),
        )  # fmt: skip

    def change(self, client: str, **_: object) -> object:
        raise AssertionError(client)


def test_the_first_thing_to_do_is_named(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        assert wk.health().next.kind == "build_graph"
        wk.remember("Needs a look", needs_review=True)
        assert (wk.health().next.kind, wk.health().next.count) == ("review", 1)
        wk.services.client_setup = _Clients()  # type: ignore[assignment]
        view = wk.health()
        assert view.next.kind == "install"
        assert view.clients is not None
        assert view.clients[0].client == "claude-code"


@pytest.mark.parametrize("wrong", [{"days": 0}, {"days": 999}, {"offset_minutes": 9_999}])
def test_an_impossible_span_is_refused(tmp_path: Path, wrong: dict[str, int]) -> None:
    with open_in(tmp_path) as wk, pytest.raises(UsageError):
        wk.health(**wrong)


def test_health_is_served_whole(tmp_path: Path) -> None:
    with served_in(tmp_path) as web:
        web.remember("One thing is known")
        view = web.get("memory_health", days=3)
    assert view["totals"]["total"] == 1
    assert view["savings"]["saved_tokens"] is None
    assert len(view["growth"]) == 3
