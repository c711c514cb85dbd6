"""The methodology that is always there, and the plugin that brings it."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType

from wellkept.core.types import MemoryType, Phase
from wellkept.observe.methodology.hookspecs import hookimpl
from wellkept.observe.methodology.protocol import Methodology, Relay
from wellkept.observe.methodology.table import (
    Level,
    StateField,
    TableMethodology,
    checked,
    next_unchecked,
    text_after,
)

DECISIONS = StateField("key_decisions", "Decided", text_after("decided", "decisions?", "decision"))

NATIVE = TableMethodology(
    id="native",
    title="Native (spec and subtasks)",
    phases=MappingProxyType(
        {
            "planning": Phase.DEFINE,
            "planner": Phase.DEFINE,
            "spec": Phase.DEFINE,
            "coding": Phase.IMPLEMENT,
            "coder": Phase.IMPLEMENT,
            "qa_review": Phase.VALIDATE,
            "qa_reviewer": Phase.VALIDATE,
            "qa_fix": Phase.REFINE,
            "qa_fixer": Phase.REFINE,
            "debugging": Phase.REFINE,
            "insights": Phase.EXPLORE,
            "retrospective": Phase.REFLECT,
        }
    ),
    levels=(Level("spec"), Level("subtask", ("sub-task", "task"))),
    relays=(
        Relay(source="planner", target="coder"),
        Relay(source="coder", target="qa_reviewer"),
        Relay(
            source="qa_reviewer",
            target="qa_fixer",
            types=(MemoryType.ERROR_PATTERN, MemoryType.REQUIREMENT),
        ),
    ),
    state=(
        StateField("completed_subtasks", "Done", checked),
        StateField("in_progress_subtask", "Next", next_unchecked),
        DECISIONS,
    ),
)


@hookimpl
def wellkept_methodologies() -> Iterable[Methodology]:
    """native."""
    return (NATIVE,)
