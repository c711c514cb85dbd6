"""What a finished session says of the skills it used, in the project it belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.core.records import record
from wellkept.skills.generation.outcome import SessionVerdict, judge_session

if TYPE_CHECKING:
    from wellkept.core.session.sessions import SessionRecord
    from wellkept.skills.generation.session_history import SessionHistory
    from wellkept.skills.library.api import Skills


@record(kw_only=True)
class LearnReport:
    """Skills that were generated, and those that were disabled."""

    made: tuple[str, ...] = ()
    switched_off: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def judge_skills(
    skills: Skills, session: SessionRecord, history: SessionHistory, *, suggest: bool
) -> LearnReport:
    """Judge the skills that a session of this project used; `suggest` may make one of it."""
    verdict = judge_session(history).verdict
    succeeded = None if verdict is SessionVerdict.UNPROVEN else verdict is SessionVerdict.SUCCESS
    off = skills.library.judge_runs(
        session.id, used=skills_called(history), used_by=session.client, succeeded=succeeded
    )
    made = skills.generator.suggest(session.id).made if suggest else ()
    return LearnReport(
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
