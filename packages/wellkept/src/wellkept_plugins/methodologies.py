"""The methodologies bmad, tdd and agile, as a plugin."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType

from wellkept.core.types import MemoryType, Phase
from wellkept.observe.methodology.builtin import DECISIONS
from wellkept.observe.methodology.hookspecs import hookimpl
from wellkept.observe.methodology.protocol import CustomType, Methodology, Relay
from wellkept.observe.methodology.table import (
    Level,
    StateField,
    TableMethodology,
    checked,
    count_of,
    last_number,
    text_after,
    unchecked,
)

BMAD = TableMethodology(
    id="bmad",
    title="BMAD (epics and stories)",
    phases=MappingProxyType(
        {
            "analyst": Phase.DEFINE,
            "pm": Phase.DEFINE,
            "architect": Phase.DEFINE,
            "story_creation": Phase.DEFINE,
            "dev": Phase.IMPLEMENT,
            "story_development": Phase.IMPLEMENT,
            "qa": Phase.VALIDATE,
            "story_acceptance": Phase.VALIDATE,
            "course_correction": Phase.REFINE,
            "research": Phase.EXPLORE,
            "brainstorming": Phase.EXPLORE,
            "sm": Phase.REFLECT,
            "retrospective": Phase.REFLECT,
        }
    ),
    levels=(Level("epic"), Level("story"), Level("task")),
    relays=(
        Relay(source="analyst", target="architect"),
        Relay(source="architect", target="dev"),
        Relay(source="dev", target="qa"),
        Relay(source="qa", target="sm", types=(MemoryType.DECISION, MemoryType.MODULE_INSIGHT)),
    ),
    custom_types=(
        CustomType(
            name="acceptance_criterion",
            kept_as=MemoryType.REQUIREMENT,
            doc="What must hold before a story is accepted.",
        ),
    ),
    state=(
        StateField("stories_completed", "Stories done", text_after("stor(?:y|ies) completed")),
        StateField("current_story", "Current story", text_after("current story")),
        StateField("criteria_met", "Acceptance criteria met", checked),
        StateField("criteria_open", "Acceptance criteria open", unchecked),
        DECISIONS,
    ),
)

TDD = TableMethodology(
    id="tdd",
    title="TDD (red, green, refactor)",
    phases=MappingProxyType(
        {
            "red": Phase.DEFINE,
            "test_writer": Phase.DEFINE,
            "green": Phase.IMPLEMENT,
            "implementer": Phase.IMPLEMENT,
            "assertion": Phase.VALIDATE,
            "refactor": Phase.REFINE,
            "refactorer": Phase.REFINE,
            "spike": Phase.EXPLORE,
            "retrospective": Phase.REFLECT,
        }
    ),
    levels=(Level("feature", ("feat",), slug=True), Level("cycle", ("red_cycle",))),
    relays=(
        Relay(source="test_writer", target="implementer"),
        Relay(source="implementer", target="refactorer"),
    ),
    custom_types=(
        CustomType(
            name="test_contract",
            kept_as=MemoryType.REQUIREMENT,
            doc="What a test promises about the code.",
        ),
    ),
    state=(
        StateField("tests_green", "Tests green", last_number(r"\b(\d{1,7}) pass(?:ed|ing)\b")),
        StateField("tests_red", "Tests red", last_number(r"\b(\d{1,7}) fail(?:ed|ing|ures?)\b")),
        StateField("refactors_pending", "To refactor", text_after("refactors?(?: pending)?")),
        StateField("cycle_count", "Cycles", count_of(r"^[ \t#*_-]*red\b")),
    ),
)

AGILE = TableMethodology(
    id="agile",
    title="Agile (sprints and stories)",
    phases=MappingProxyType(
        {
            "backlog": Phase.DEFINE,
            "grooming": Phase.DEFINE,
            "refinement": Phase.DEFINE,
            "sprint_planning": Phase.DEFINE,
            "development": Phase.IMPLEMENT,
            "in_progress": Phase.IMPLEMENT,
            "code_review": Phase.VALIDATE,
            "testing": Phase.VALIDATE,
            "sprint_review": Phase.VALIDATE,
            "tech_debt": Phase.REFINE,
            "bugfix": Phase.REFINE,
            "spike": Phase.EXPLORE,
            "retrospective": Phase.REFLECT,
        }
    ),
    levels=(Level("sprint"), Level("story", ("ticket", "issue"))),
    relays=(
        Relay(source="sprint_planning", target="development"),
        Relay(source="development", target="code_review"),
        Relay(
            source="code_review",
            target="tech_debt",
            types=(MemoryType.ERROR_PATTERN, MemoryType.GOTCHA, MemoryType.REQUIREMENT),
        ),
        Relay(
            source="sprint_review",
            target="retrospective",
            types=(MemoryType.DECISION, MemoryType.MODULE_INSIGHT, MemoryType.DEAD_END),
        ),
    ),
    custom_types=(
        CustomType(
            name="definition_of_done",
            kept_as=MemoryType.CONVENTION,
            doc="What the team holds every story to.",
        ),
    ),
    state=(
        StateField("done", "Done", checked),
        StateField("in_progress", "In progress", text_after("in progress", "current story")),
        StateField("blocked", "Blocked", text_after("blocked(?: by)?", "blockers?")),
        DECISIONS,
    ),
)


@hookimpl
def wellkept_methodologies() -> Iterable[Methodology]:
    """bmad, tdd and agile."""
    return (BMAD, TDD, AGILE)
