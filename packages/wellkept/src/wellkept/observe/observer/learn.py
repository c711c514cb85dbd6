"""Learns from what a drain took in: missing vectors, summaries by a model, promotion."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from wellkept.core.errors import ProviderError
from wellkept.core.records import replace
from wellkept.memory.engine import Engine
from wellkept.observe.ingest.drain import DrainReport
from wellkept.observe.model.consolidation import summarize_sessions

if TYPE_CHECKING:
    from wellkept.core.settings.model import Settings
    from wellkept.observe.observer.api import Observer

_MAX_VECTORS = 2_000


class LearningMemory(Protocol):
    """The part of `Wellkept` that learns."""

    @property
    def engine(self) -> Engine: ...

    @property
    def settings(self) -> Settings: ...

    @cached_property
    def observer(self) -> Observer: ...

    def fill_vectors(self, *, most: int = ...) -> int: ...


def summarize_and_learn(wk: LearningMemory, report: DrainReport) -> DrainReport:
    """Compute missing vectors, summarize the sessions that are due with a model, and learn from
    those that passed validation. May take minutes."""
    changed, noted = _take_in_notes(wk.engine, report.sessions)
    vectors = _fill_vectors(wk, is_due=bool(changed) or report.vectors_due)
    tokens = wk.settings.capture_daily_model_tokens
    model = summarize_sessions(wk.engine, report.due, daily_tokens=tokens)
    learned = wk.observer.learn(report.due).problems if report.due else ()
    others = [one for one in report.sessions if one not in report.due]
    renamed = _follow_renames(wk.engine, others)
    shared = _take_in_shared(wk.engine, report.sessions)
    problems = (*report.problems, *vectors, *learned, *renamed, *shared, *noted)
    return replace(report, model=model, problems=problems)


def _follow_renames(engine: Engine, session_ids: Sequence[str]) -> list[str]:
    """Follow commits made before a session began, as soon as its first events arrive."""
    from wellkept.observe.observer.after_promotion import follow_renames

    found = map(engine.store.get_session, session_ids)
    return follow_renames(engine, [session for session in found if session is not None])


def _take_in_shared(engine: Engine, session_ids: Sequence[str]) -> list[str]:
    """What the team merged is known soon after a session began."""
    from wellkept.observe.observer.after_promotion import take_in_shared_files

    found = map(engine.store.get_session, session_ids)
    return take_in_shared_files(engine, [session for session in found if session is not None])


def _take_in_notes(engine: Engine, session_ids: Sequence[str]) -> tuple[int, list[str]]:
    """What an agent wrote into its client's memory files while it worked."""
    from wellkept.observe.observer.after_promotion import take_in_notes

    found = map(engine.store.get_session, session_ids)
    return take_in_notes(engine, [session for session in found if session is not None])


def _fill_vectors(wk: LearningMemory, *, is_due: bool) -> tuple[str, ...]:
    try:
        wk.fill_vectors(most=_MAX_VECTORS if is_due else 0)
    except ProviderError as error:
        return (f"Vectors could not be computed: {error}",)
    return ()
