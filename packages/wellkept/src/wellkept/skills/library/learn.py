"""Judges the skills that finished sessions used, and suggests new ones.

Runs after a drain, by rule and without a model, so it costs milliseconds. A session counts in its
own project. Problems are reported and stop nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.core.errors import WellkeptError
from wellkept.skills.generation.generate import skip_reason
from wellkept.skills.library.session_history import is_over, load_history
from wellkept.skills.library.session_outcome import LearnReport, judge_skills, skills_called

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wellkept.api.wellkept import Wellkept
    from wellkept.core.session.sessions import SessionRecord


def learn_from(
    wk: Wellkept, session_ids: Sequence[str], *, environment: Mapping[str, str]
) -> LearnReport:
    """Judge the skills that sessions used and, if enabled in the settings, suggest new ones."""
    idle = wk.settings.capture_idle_minutes
    made: list[str] = []
    off: list[str] = []
    problems: list[str] = []
    for session_id in session_ids:
        session = wk.engine.store.get_session(session_id)
        if session is None or not is_over(session, wk.engine, idle_minutes=idle):
            continue
        try:
            one = _learn(wk, session, environment)
        except WellkeptError as error:
            problems.append(f"Learning skills from session {session_id} failed: {error.message}")
        else:
            made += one.made
            off += one.switched_off
    return LearnReport(made=tuple(made), switched_off=tuple(off), problems=tuple(problems))


def _learn(wk: Wellkept, session: SessionRecord, environment: Mapping[str, str]) -> LearnReport:
    history = load_history(session, wk.engine, idle_minutes=wk.settings.capture_idle_minutes)
    used = skills_called(history)
    suggest = wk.settings.skills_suggest == "on" and skip_reason(history) is None
    if not (used or suggest or wk.engine.store.skill_runs(session_id=session.id)):
        return LearnReport()
    if session.project == wk.project:
        return judge_skills(wk.skills, session, history, suggest=suggest)
    with _open_project_of(wk, session, environment) as home:
        return judge_skills(home.skills, session, history, suggest=suggest)


def _open_project_of(
    wk: Wellkept, session: SessionRecord, environment: Mapping[str, str]
) -> Wellkept:
    """The same store, opened for the project of a session."""
    from wellkept.api.wellkept import open as open_memory

    folder = Path(session.cwd) if session.cwd and Path(session.cwd).is_dir() else wk.root
    return open_memory(
        wk.services.location,
        project=session.project,
        cwd=folder,
        settings=wk.settings,
        embedder=wk.engine.embedder() or "none",
        clock=wk.engine.clock,
        environment=environment,
    )
