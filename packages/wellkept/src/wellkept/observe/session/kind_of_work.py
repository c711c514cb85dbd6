"""What kind of work a session did, and in which phase, from its stored state. By rule."""

from __future__ import annotations

from typing import Literal, TypeAlias

from wellkept.core.session.sessions import SessionRecord
from wellkept.core.types import Phase
from wellkept.observe.session.state import load_state

WorkKind: TypeAlias = Literal["fix", "feature", "refactor", "change", "check", "look"]


def kind_of_work(session: SessionRecord) -> WorkKind:
    """What the session did: what was asked for when files were changed, else what it ran."""
    state = load_state(session.work)
    if any(step.is_edit for step in state.steps):
        return state.intent if state.intent != "other" else "change"
    has_checked = any(step.purpose in ("test", "check") for step in state.steps)
    return "check" if has_checked else "look"


def phase_of_work(session: SessionRecord) -> Phase:
    """The phase that this kind of work belongs to."""
    match kind_of_work(session):
        case "fix" | "refactor":
            return Phase.REFINE
        case "feature" | "change":
            return Phase.IMPLEMENT
        case "check":
            return Phase.VALIDATE
        case "look":
            return Phase.EXPLORE
