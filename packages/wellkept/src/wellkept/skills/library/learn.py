"""Judges the skills that finished sessions used, and suggests new ones.

Runs after a drain, by rule and without a model, so it costs milliseconds. A session counts in its
own project. Problems are reported and stop nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.core.errors import WellkeptError
from wellkept.core.records import record
from wellkept.skills.generation.generate import skip_reason
from wellkept.skills.generation.outcome import SessionVerdict, judge_session
from wellkept.skills.generation.procedure import SessionHistory
from wellkept.skills.library.history import is_over, load_history

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from wellkept.core.session.sessions import SessionRecord
    from wellkept.memory.workspace import Workspace
    from wellkept.skills.library.api import Skills


@record(kw_only=True)
class _LearnReport:
    """Skills that were generated, and those that were disabled."""

    made: tuple[str, ...] = ()
    switched_off: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def judge_skills(
    skills: Skills, session: SessionRecord, history: SessionHistory, *, suggest: bool
) -> _LearnReport:
    """Judge the skills that a session of this project used; `suggest` may make one of it."""
    verdict = judge_session(history).verdict
    succeeded = None if verdict is SessionVerdict.UNPROVEN else verdict is SessionVerdict.SUCCESS
    off = skills.library.judge_runs(
        session.id, used=skills_called(history), used_by=session.client, succeeded=succeeded
    )
    made = skills.generator.suggest(session.id).made if suggest else ()
    return _LearnReport(
        made=tuple(skill.name for skill in made), switched_off=tuple(skill.name for skill in off)
    )


def skills_called(history: SessionHistory) -> tuple[str, ...]:
    """The skills that were called by the agent's tool, or typed after a slash."""
    by_agent = [step.what for step in history.steps if step.kind == "skill" and step.ok]
    typed = [
        prompt[1:].split(maxsplit=1)[:1] for prompt in history.prompts if prompt.startswith("/")
    ]
    names = [*by_agent, *(words[0] for words in typed if words)]
    return tuple(dict.fromkeys(name.removeprefix("/") for name in names))


def learn_from(
    services: Workspace,
    session_ids: Sequence[str],
    *,
    skills_of: Callable[[SessionRecord], AbstractContextManager[Skills]],
) -> _LearnReport:
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
    return _LearnReport(made=tuple(made), switched_off=tuple(off), problems=tuple(problems))
