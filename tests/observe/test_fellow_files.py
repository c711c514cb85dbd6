"""Which files go together, from sessions and from history, and what a module needs read first."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wellkept.core.code_modules import module_of
from wellkept.core.codec import Json
from wellkept.core.payloads import PrefetchPattern
from wellkept.core.query import FileLink
from wellkept.core.session.scratchpad import (
    MAX_SESSIONS_PER_SUBJECT,
    SessionSignal,
    SignalKind,
    pair_subject,
)
from wellkept.observe.learning.co_access import (
    FileUsage,
    co_access_edges,
    combine_links,
    prefetch_patterns,
)

pytestmark = pytest.mark.feature("D5")
START = datetime(2026, 1, 1, tzinfo=UTC)
NONE = FileUsage()


def access(session: int, path: str, *, edits: int = 0, reads: int = 1) -> SessionSignal:
    return SessionSignal(
        project="p",
        kind=SignalKind.FILE_ACCESS,
        subject=path,
        session_id=f"s{session}",
        at=START + timedelta(days=session),
        count=reads + edits,
        module=module_of(path),
        detail={"reads": reads, "edits": edits},
    )


def pair(session: int, a: str, b: str, *, count: int = 1, a_first: int = 1) -> SessionSignal:
    detail: Json = {"a_first": a_first, "time_delta_ms": 1_000 * session, "step_delta": 1}
    return SessionSignal(
        project="p",
        kind=SignalKind.CO_ACCESS,
        subject=pair_subject(a, b),
        session_id=f"s{session}",
        at=START + timedelta(days=session),
        count=count,
        detail=detail,
    )


def patterns(seen: Sequence[SessionSignal]) -> dict[str, PrefetchPattern]:
    return {pattern.module_trigger: pattern for pattern in prefetch_patterns(seen)}


def kept(seen: Iterable[SessionSignal]) -> list[SessionSignal]:
    """What a store keeps of sightings: of each subject those of the latest sessions."""
    by_subject: dict[str, list[SessionSignal]] = {}
    for one in sorted(seen, key=lambda one: one.at):
        by_subject.setdefault(one.subject, []).append(one)
    return [one for group in by_subject.values() for one in group[-MAX_SESSIONS_PER_SUBJECT:]]


def test_an_edge_weighs_the_share_of_sessions_that_used_both() -> None:
    uses = FileUsage([access(n, "a") for n in (1, 2, 3, 4)] + [access(n, "b") for n in (1, 2, 3)])
    (edge,) = co_access_edges([pair(n, "a", "b") for n in (1, 2, 3)], uses)
    assert edge.weight == 0.75
    assert edge.sessions == 3
    assert edge.last_seen == START + timedelta(days=3)
    assert edge.average_delta_ms == 2_000


@pytest.mark.parametrize(("a_first", "first"), [(10, "a"), (9, "a"), (5, None), (1, "b"), (0, "b")])
def test_an_edge_has_a_direction_when_one_file_almost_always_comes_first(
    a_first: int, first: str | None
) -> None:
    (edge,) = co_access_edges([pair(1, "a", "b", count=10, a_first=a_first)], NONE)
    assert edge.first == first


def test_one_joint_session_is_no_habit_but_several_are() -> None:
    (once,) = co_access_edges([pair(1, "a", "b")], NONE)
    assert combine_links({}, [once])[0].weight <= 0.6
    (often,) = co_access_edges([pair(n, "a", "b") for n in range(3)], NONE)
    assert combine_links({}, [often])[0].weight > 0.6


def test_sessions_and_history_together_weigh_more_than_either() -> None:
    known = FileLink("a", "b", 0.5, 4)
    edges = co_access_edges(
        [pair(n, "a", "b") for n in (1, 2)], FileUsage([access(n, "a") for n in range(6, 10)])
    )
    (link,) = combine_links({("a", "b"): known}, edges)
    assert link.weight > max(known.weight, edges[0].damped_weight)
    assert link.weight <= 1
    assert link.count == 6


def test_what_only_history_knows_stays_as_it_is() -> None:
    known = FileLink("a", "b", 0.5, 4)
    assert combine_links({("a", "b"): known}, []) == [known]


def test_files_of_most_sessions_of_a_module_are_to_be_read_first() -> None:
    seen: list[SessionSignal] = []
    for session in range(10):
        seen.append(access(session, "src/auth/login.py", edits=1))
        seen.append(access(session, "src/auth/token.py"))
        if session < 9:
            seen.append(access(session, "src/db/session.py"))
        if session < 8:
            seen.append(access(session, "docs/auth.md"))
        if session < 5:
            seen.append(access(session, "src/mail.py"))
    pattern = patterns(seen)["src/auth"]
    assert set(pattern.always_read_files) == {
        "src/auth/login.py",
        "src/auth/token.py",
        "src/db/session.py",
    }
    assert pattern.frequently_read_files == ("docs/auth.md",)
    assert pattern.session_count == 10


def test_two_sessions_are_too_few_for_a_pattern() -> None:
    seen = [access(n, path, edits=1) for n in range(2) for path in ("src/a.py", "src/b.py")]
    assert patterns(seen) == {}


def test_a_module_that_is_only_looked_at_on_the_way_makes_no_pattern() -> None:
    seen = [access(n, "src/a.py", edits=1) for n in range(5)]
    seen += [access(n, path) for n in range(5) for path in ("lib/x.py", "src/b.py")]
    assert set(patterns(seen)) == {"src"}


def test_sessions_that_changed_nothing_count_for_the_module_they_looked_at_most() -> None:
    seen = [access(n, path, reads=3) for n in range(3) for path in ("src/a.py", "src/b.py")]
    seen += [access(n, "docs/x.md") for n in range(3)]
    assert set(patterns(seen)) == {"src"}


def test_a_file_of_every_session_is_still_known_after_more_sessions_than_are_kept() -> None:
    seen = [access(n, "src/hub.py") for n in range(100)]
    seen += [access(n, f"src/part{n % 40}.py", edits=1) for n in range(100)]
    seen += [access(n, "src/other.py") for n in range(100) if n % 4]
    assert patterns(kept(seen))["src"].always_read_files == ("src/hub.py",)
    assert patterns(kept(seen))["src"].frequently_read_files == ("src/other.py",)


def test_what_every_second_session_uses_is_not_tied_to_what_every_session_uses() -> None:
    uses = [access(n, "hub") for n in range(100)] + [access(n, "b") for n in range(0, 100, 2)]
    pairs = [pair(n, "hub", "b") for n in range(0, 100, 2)]
    (edge,) = co_access_edges(kept(pairs), FileUsage(kept(uses)))
    assert 0.45 <= edge.weight <= 0.55


@given(st.lists(st.tuples(st.integers(0, 6), st.sampled_from("abcd")), max_size=30), st.integers())
def test_the_order_of_sightings_does_not_matter(used: list[tuple[int, str]], seed: int) -> None:
    seen = [access(n, f"src/{name}.py", edits=n % 2) for n, name in dict.fromkeys(used)]
    pairs = [pair(n, f"src/{name}.py", "src/z.py") for n, name in dict.fromkeys(used)]
    shuffled, others = seen[:], pairs[:]
    random.Random(seed).shuffle(shuffled)
    random.Random(seed).shuffle(others)
    assert patterns(shuffled) == patterns(seen)
    assert co_access_edges(others, NONE) == co_access_edges(pairs, NONE)
    assert all(0 < edge.weight <= 1 for edge in co_access_edges(pairs, NONE))
