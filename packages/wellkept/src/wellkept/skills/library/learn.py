"""Judges the skills that finished sessions used, and suggests new ones.

Runs after a drain, by rule and without a model, so it costs milliseconds. A session counts in its
own project. Problems are reported and stop nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.core.errors import WellkeptError
from wellkept.skills.generation.generate import skip_reason
from wellkept.skills.library.session_history import is_over, load_history
from wellkept.skills.library.session_outcome import LearnReport, judge_skills, skills_called

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from wellkept.core.session.sessions import SessionRecord
    from wellkept.memory.workspace import Workspace
    from wellkept.skills.library.api import Skills


def learn_from(
    services: Workspace,
    session_ids: Sequence[str],
    *,
    skills_of: Callable[[SessionRecord], AbstractContextManager[Skills]],
) -> LearnReport:
    """Judge the skills that sessions used and, if enabled in the settings, suggest new ones.

    `skills_of` opens the skills of a session's own project.
    """
    engine, settings = services.engine, services.settings
    idle = settings.capture_idle_minutes
    made: list[str] = []
    off: list[str] = []
    problems: list[str] = []
    for session_id in session_ids:
        session = engine.store.get_session(session_id)
        if session is None or not is_over(session, engine, idle_minutes=idle):
            continue
        try:
            history = load_history(session, engine, idle_minutes=idle)
            suggest = settings.skills_generated != "off" and skip_reason(history) is None
            is_judged = skills_called(history) or engine.store.skill_runs(session_id=session.id)
            if suggest or is_judged:
                with skills_of(session) as skills:
                    one = judge_skills(skills, session, history, suggest=suggest)
                made += one.made
                off += one.switched_off
        except WellkeptError as error:
            problems.append(f"Learning skills from session {session_id} failed: {error.message}")
    return LearnReport(made=tuple(made), switched_off=tuple(off), problems=tuple(problems))
