"""Judges the skills that finished sessions used, and suggests new ones.

Runs after a drain, by rule and without a model, so it costs milliseconds. A session counts in its
own project. Problems are reported and stop nothing.
"""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.core.errors import WellkeptError
from wellkept.core.git.run import ask_git
from wellkept.core.query import Filter, Order
from wellkept.core.records import record, replace
from wellkept.core.types import MemoryType
from wellkept.observe.session.state import load_state
from wellkept.skills.generation.generate import skip_reason
from wellkept.skills.generation.outcome import SessionVerdict, judge_session
from wellkept.skills.generation.procedure import SessionHistory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from wellkept.core.session.sessions import SessionRecord
    from wellkept.memory.engine import Engine
    from wellkept.memory.workspace import Workspace
    from wellkept.skills.library.api import Skills

MAX_ROWS = 400
_GIT_TIMEOUT_S = 5.0
_SHA = re.compile(r"[0-9a-f]{7,64}")


def is_over(session: SessionRecord, engine: Engine, *, idle_minutes: float) -> bool:
    """Whether a session ended, or was idle for so long that it counts as ended."""
    quiet = timedelta(minutes=idle_minutes)
    return not session.is_open or engine.clock() - session.last_event_at >= quiet


def load_history(session: SessionRecord, engine: Engine, *, idle_minutes: float) -> SessionHistory:
    """Everything stored about a session that can be learned from."""
    state = load_state(session.work)
    where = Filter(
        project=session.project,
        include_user=False,
        sessions=(session.id,),
        archived=None,
    )
    rows = engine.store.list(where, order=Order.EVENT, limit=MAX_ROWS).items
    made_commit = any(step.purpose == "commit" and step.ok for step in state.steps)
    commit = session.commit_sha if made_commit else None
    return SessionHistory(
        session_id=session.id,
        title=session.title,
        prompts=tuple(m.content for m in rows if m.type is MemoryType.PROMPT),
        steps=tuple(
            replace(step, what=step.line, command="") for step in state.steps if step.is_act
        ),
        files_read=state.whats("read"),
        tool_count=session.tool_count,
        is_open=not is_over(session, engine, idle_minutes=idle_minutes),
        commit_sha=commit,
        is_commit_lost=commit is not None and _is_commit_lost(commit, session.cwd),
        observation_ids=tuple(m.id for m in rows if m.type is MemoryType.OBSERVATION),
        roots=state.roots,
    )


def _is_commit_lost(commit: str, folder: str | None) -> bool:
    """Whether git has a commit that no branch or tag contains. When git cannot tell, it is not
    lost."""
    if not folder or not _SHA.fullmatch(commit) or not Path(folder).is_dir():
        return False
    exists = ("rev-parse", "-q", "--verify", f"{commit}^{{commit}}")
    if not ask_git(Path(folder), exists, timeout_s=_GIT_TIMEOUT_S):
        return False
    containing_refs = ("for-each-ref", "--count=1", "--contains", commit)
    if ask_git(Path(folder), containing_refs, timeout_s=_GIT_TIMEOUT_S):
        return False
    # A commit on a detached head is on no branch, but not lost.
    merge_base = ("merge-base", commit, "HEAD")
    shared = (ask_git(Path(folder), merge_base, timeout_s=_GIT_TIMEOUT_S) or b"").decode().strip()
    return not shared.startswith(commit)


# -- After a session ------------------------------------------------------------------------------


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
