"""Conformance: the log of injected context."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.conformance.fixtures import ConformanceFixture
from tests.support.samples import START, Samples
from wellkept.core.changes import (
    CountUse,
    Delete,
    ForgetSessions,
    Insert,
    PutInjection,
    PutSilence,
    PutVerdicts,
    Replace,
    RequestReview,
)
from wellkept.core.errors import UsageError
from wellkept.core.ports.injections import (
    InjectedLine,
    Injection,
    InjectionFilter,
    LineOutcome,
    LineScore,
    LineVerdict,
    SilentLine,
)
from wellkept.core.ports.store import Store
from wellkept.core.records import replace

ANY = InjectionFilter()


def line(name: str = "l1", **fields: object) -> InjectedLine:
    """A line of ten tokens."""
    return replace(
        InjectedLine(line_id=name, kind="gotcha", text=f"- text of {name}", tokens=10),
        **fields,
    )


def injection(number: int, *lines: InjectedLine, **fields: object) -> Injection:
    """An injection so many minutes after the start, of the session `s1`."""
    return replace(
        Injection(
            id=f"i{number}",
            at=START + timedelta(minutes=number),
            project="example",
            client="claude-code",
            session_id="s1",
            moment="session",
            tokens=15 * len(lines),
            lines=lines,
        ),
        **fields,
    )


def verdict(number: int, outcome: LineOutcome, *, at_line: int = 0) -> LineVerdict:
    """The outcome of a line of an injection."""
    at = START + timedelta(hours=1)
    return LineVerdict(f"i{number}", at_line, outcome, "command", at)


class InjectionsConformance(ConformanceFixture):
    """Contract of the `InjectionLog` port and of the changes that write it."""

    @pytest.mark.feature("C11")
    def test_an_injection_comes_back_as_it_was_logged(
        self, store: Store, other: Store, samples: Samples
    ) -> None:
        known = samples.insert("kept")
        full = line(
            known.memory.id,
            memory_id=known.memory.id,
            reason="pinned",
            work_tokens=1200,
            outcome=LineOutcome.USED,
            outcome_by="Größe – 修复",
            outcome_at=START,
            score=LineScore(3.5, 0.5, None),
        )
        whole = injection(1, full, line("l2"), agent="a1", trigger="src/a b.py", moment="file")
        store.apply([known, PutInjection(whole)])
        assert other.injections(ANY).items == (whole,)
        store.apply([PutInjection(injection(1, line("another")))])
        assert other.injections(ANY).items == (whole,)

    @pytest.mark.feature("C6", "C11")
    def test_lines_given_and_judged_are_news_of_their_session(self, store: Store) -> None:
        store.apply([PutInjection(injection(1, line("l1")))])
        store.apply([PutInjection(injection(1, line("l1")))])
        store.apply([PutVerdicts((verdict(1, LineOutcome.USED), verdict(9, LineOutcome.USED)))])
        told = store.activity(after=0, project="example", limit=9)
        assert [(one.kind.value, one.session_id, one.subject) for one in told] == [
            ("lines_given", "s1", "i1"),
            ("lines_judged", "s1", "i1"),
        ]
        assert store.activity(after=0, project="elsewhere", limit=9) == []

    @pytest.mark.feature("C11")
    def test_injections_are_listed_newest_first_page_by_page(self, store: Store) -> None:
        store.apply([PutInjection(injection(n, line("l1"), line(f"m{n}"))) for n in range(5)])
        first = store.injections(ANY, limit=2)
        assert [one.id for one in first] == ["i4", "i3"]
        assert first.total == 5
        store.apply([PutInjection(injection(9, line("l9")))])
        rest = store.injections(ANY, limit=3, cursor=first.next_cursor)
        assert [one.id for one in rest] == ["i2", "i1", "i0"]
        assert rest.next_cursor is None
        with pytest.raises(UsageError):
            store.injections(ANY, cursor="nowhere")
        with pytest.raises(UsageError):
            store.injections(ANY, limit=-1)

    @pytest.mark.feature("C11")
    def test_a_listing_can_name_project_session_moment_line_and_outcome(self, store: Store) -> None:
        store.apply(
            [
                PutInjection(injection(1, line("l1"), line("l2"))),
                PutInjection(injection(2, line("l1"), session_id="s2", moment="prompt")),
                PutInjection(injection(3, line("l1"), project="other")),
                PutVerdicts((verdict(1, LineOutcome.USED, at_line=1),)),
            ]
        )

        def ids(**where: object) -> list[str]:
            return [one.id for one in store.injections(replace(ANY, **where))]

        assert ids(project="example") == ["i2", "i1"]
        assert ids(session_id="s2") == ["i2"]
        assert ids(moment="session") == ["i3", "i1"]
        (found,) = store.injections(replace(ANY, line_id="l2")).items
        assert [one.line_id for one in found.lines] == ["l2"]
        (used,) = store.injections(replace(ANY, outcome=LineOutcome.USED)).items
        assert [one.line_id for one in used.lines] == ["l2"]

    @pytest.mark.feature("C11", "A12")
    def test_a_line_counts_once_a_session_with_its_strongest_outcome(self, store: Store) -> None:
        store.apply(
            [
                PutInjection(injection(1, line(work_tokens=500))),
                PutInjection(injection(2, line(work_tokens=500))),
                PutInjection(injection(3, line(), session_id="s2")),
                PutInjection(injection(4, line(), session_id="s3")),
                PutInjection(injection(5, line(), session_id="s4")),
                PutInjection(injection(6, line("l2"), session_id="s4", project="other")),
                PutVerdicts(
                    (
                        verdict(1, LineOutcome.USED),
                        verdict(2, LineOutcome.IGNORED),
                        verdict(3, LineOutcome.IGNORED),
                        verdict(4, LineOutcome.HARM),
                        verdict(99, LineOutcome.HARM),
                    )
                ),
            ]
        )
        (use,) = store.line_uses(project="example")
        assert (use.line_id, use.kind, use.given, use.sessions) == ("l1", "gotcha", 5, 4)
        assert (use.used, use.ignored, use.unclear, use.harm) == (1, 1, 0, 1)
        assert (use.tokens, use.reused_tokens, use.saved_tokens) == (50, 500, 450)
        assert (use.first_at, use.last_at) == (
            START + timedelta(minutes=1),
            START + timedelta(minutes=5),
        )
        assert use.last_used_at == START + timedelta(hours=1)
        assert store.line_uses(project="example", line_ids=["l2"]) == []
        outcomes = store.line_outcomes(project="example", line_id="l1")
        assert outcomes == [
            LineOutcome.OPEN,
            LineOutcome.HARM,
            LineOutcome.IGNORED,
            LineOutcome.USED,
        ]
        since = START + timedelta(minutes=3)
        later = store.line_outcomes(project="example", line_id="l1", since=since)
        assert later == outcomes[:2]

    @pytest.mark.feature("C11")
    def test_totals_are_counted_by_kind(self, store: Store) -> None:
        assert store.injection_totals(project=None).used_share is None
        store.apply(
            [
                PutInjection(injection(1, line(work_tokens=100), line("l2", kind="skill"))),
                PutInjection(injection(2, line(), session_id="s2")),
                PutInjection(injection(3, line("l3"), project="other")),
                PutVerdicts((verdict(1, LineOutcome.USED), verdict(2, LineOutcome.IGNORED))),
            ]
        )
        totals = store.injection_totals(project="example")
        assert (totals.injections, totals.sessions, totals.lines) == (2, 2, 3)
        assert (totals.tokens, totals.saved_tokens) == (45, 55)
        assert (totals.used, totals.harm, totals.measured, totals.used_share) == (1, 0, 1, 0.5)
        gotcha, skill = totals.kinds
        assert (gotcha.kind, gotcha.lines, gotcha.decided, gotcha.used) == ("gotcha", 2, 2, 1)
        assert (skill.kind, skill.lines, skill.decided) == ("skill", 1, 0)
        assert store.injection_totals(project=None).lines == 4
        since = START + timedelta(minutes=3)
        assert store.injection_totals(project=None, since=since).injections == 1

    @pytest.mark.feature("C11", "A8")
    def test_deleting_a_memory_deletes_its_text_from_the_log(
        self, store: Store, samples: Samples
    ) -> None:
        gone, stays = samples.insert("secret plan"), samples.insert("stays")

        def its(insert: Insert) -> InjectedLine:
            known = insert.memory.id
            return line(known, memory_id=known, text="- a text", reason="said before")

        first = injection(1, its(gone), its(stays), line("l9"))
        store.apply([gone, stays, PutInjection(first)])
        silent = SilentLine(gone.memory.id, START, "ignored")
        store.apply([PutSilence("example", gone.memory.id, silent), Delete(gone.memory.id)])
        # One that arrives late: the hook was answered before the memory was deleted.
        store.apply([PutInjection(injection(2, its(gone), its(stays)))])
        for one in store.injections(ANY):
            texts = [(told.text, told.reason) for told in one.lines if told.memory_id]
            assert texts == [("", ""), ("- a text", "said before")]
        assert store.silent_lines(project="example") == []

    @pytest.mark.feature("C11")
    def test_a_silent_line_speaks_again_once_its_memory_changed(
        self, store: Store, samples: Samples
    ) -> None:
        known = samples.insert("kept")
        memory = known.memory
        silent = SilentLine(memory.id, memory.updated_at, "ignored in 5 sessions")
        skill = SilentLine("skill:x", START, "ignored")
        store.apply(
            [
                known,
                PutSilence("example", memory.id, silent),
                PutSilence("example", "skill:x", skill),
            ]
        )
        assert store.silent_lines(project="example") == sorted(
            [silent, skill], key=lambda one: one.line_id
        )
        assert store.silent_lines(project="other") == []
        later = memory.updated_at + timedelta(seconds=1)
        store.apply([Replace(replace(memory, updated_at=later))])
        assert store.silent_lines(project="example") == [skill]
        store.apply([PutSilence("example", "skill:x", None)])
        assert store.silent_lines(project="example") == []

    @pytest.mark.feature("C11")
    def test_old_injections_and_those_above_the_limit_are_pruned(self, store: Store) -> None:
        store.apply([PutInjection(injection(n, line("l1"), line("l2"))) for n in range(6)])
        before = START + timedelta(minutes=2)
        assert store.prune_injections(before=before, keep_lines=100) == 2
        assert store.prune_injections(before=before, keep_lines=5) == 2
        assert [one.id for one in store.injections(ANY)] == ["i5", "i4"]
        assert [one.given for one in store.line_uses(project="example")] == [2, 2]

    @pytest.mark.feature("C11", "A3")
    def test_the_log_goes_with_its_project_and_into_a_backup(
        self, store: Store, tmp_path: Path, open_at: Callable[[Path], Store]
    ) -> None:
        silent = SilentLine("l1", START, "ignored")
        store.apply(
            [
                PutInjection(injection(1, line(), project="old")),
                PutInjection(injection(2, line(), project="third")),
                PutSilence("old", "l1", silent),
            ]
        )
        store.merge_projects("old", into="example")
        store.backup(tmp_path / "copy.db")
        copy = open_at(tmp_path / "copy.db")
        assert [one.id for one in copy.injections(replace(ANY, project="example"))] == ["i1"]
        copy.close()
        assert store.silent_lines(project="example") == [silent]
        store.apply([ForgetSessions("example")])
        assert [one.id for one in store.injections(ANY)] == ["i2"]
        assert store.silent_lines(project="example") == []

    @pytest.mark.feature("C11", "A12")
    def test_a_use_is_counted_with_its_time(self, store: Store, samples: Samples) -> None:
        known = samples.insert("kept")
        later = known.memory.accessed_at + timedelta(hours=1)
        store.apply([known, CountUse(known.memory.id, later), CountUse("unknown", later)])
        (memory,) = store.get([known.memory.id])
        assert (memory.access_count, memory.accessed_at) == (1, later)
        assert memory.updated_at == known.memory.updated_at

    @pytest.mark.feature("C11", "H6")
    def test_a_review_can_be_asked_for_without_another_change(
        self, store: Store, samples: Samples
    ) -> None:
        known = samples.insert("kept")
        store.apply([known, RequestReview(known.memory.id), RequestReview("unknown")])
        assert store.get([known.memory.id]) == [replace(known.memory, needs_review=True)]
