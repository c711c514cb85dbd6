"""A session as what can be learned from it."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.core.git.run import ask_git
from wellkept.core.query import Filter, Order
from wellkept.core.records import replace
from wellkept.core.types import MemoryType
from wellkept.observe.session.state import load_state
from wellkept.skills.generation.procedure import SessionHistory

if TYPE_CHECKING:
    from wellkept.core.session.sessions import SessionRecord
    from wellkept.memory.engine import Engine

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
