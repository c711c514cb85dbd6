"""The runtime's defaults against the constants of the documents it was built from.

One line of `DOCUMENTED` for each constant: section, settings record, field, value, and the
environment variable where the section names one. A default that changes, or a variable that is no
longer read, fails here.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import pytest

import wellkept_agent
from wellkept.core.errors import UsageError
from wellkept.core.records import Field, fields
from wellkept_agent.budgets import PromptBudgets
from wellkept_agent.compaction.capability import IMPORTANCE
from wellkept_agent.file_cache import BUDGET_TOKENS
from wellkept_agent.plan_mode import PlanModeSettings
from wellkept_agent.session_memory import SECTIONS, SessionMemorySettings
from wellkept_agent.settings import CompactionSettings, FeatureFlags, doc_of, load, table
from wellkept_agent.thinking import ThinkingLevel, ThinkingSettings

pytestmark = pytest.mark.feature("G5", "G6", "G7", "G8", "G9", "G10", "G11")

COMPACT, MEMORY = CompactionSettings, SessionMemorySettings
PLAN, THINK, BUDGET, FLAGS = PlanModeSettings, ThinkingSettings, PromptBudgets, FeatureFlags

DOCUMENTED: tuple[tuple[str, Any, str, object, str | None], ...] = (
    # S4 Context Compaction: key constants and thresholds
    ("S4 constants uL0", COMPACT, "auto_compact_offset", 13_000, None),
    ("S4 constants c97", COMPACT, "warning_offset", 20_000, None),
    ("S4 constants p97", COMPACT, "error_offset", 20_000, None),
    ("S4 constants mL0", COMPACT, "blocking_offset", 3_000, None),
    ("S4 safety margins", COMPACT, "safety_margin", 1.33, None),
    ("S4 configuration", COMPACT, "min_messages", 4, None),
    # S4 micro-compaction
    ("S4 constants P97", COMPACT, "micro_threshold", 40_000, None),
    ("S4 constants T97", COMPACT, "micro_min_savings", 20_000, None),
    ("S4 constants S97", COMPACT, "micro_keep_results", 3, None),
    ("S4 micro-compaction", COMPACT, "micro_persist_tokens", 1_000, None),
    (
        "S4 compactable tools",
        COMPACT,
        "micro_tools",
        ("Read", "Bash", "Grep", "Glob", "WebSearch", "WebFetch", "Edit", "Write"),
        None,
    ),
    # S4 session memory compact and full compact
    (
        "S4 session memory compact",
        COMPACT,
        "session_memory_min_tokens",
        10_000,
        "CLAUDE_SESSION_MEMORY_MIN_TOKENS",
    ),
    (
        "S4 session memory compact",
        COMPACT,
        "session_memory_max_tokens",
        40_000,
        "CLAUDE_SESSION_MEMORY_MAX_TOKENS",
    ),
    ("S4 feature flags", COMPACT, "session_memory_compact", True, None),
    ("S4 constants K97", COMPACT, "summary_retries", 2, None),
    ("S4 constants I97", COMPACT, "restore_max_files", 5, "CLAUDE_CONTEXT_RESTORE_MAX_FILES"),
    ("S4 constants W97", COMPACT, "restore_file_tokens", 5_000, None),
    ("S4 constants D97", COMPACT, "restore_budget_tokens", 50_000, "CLAUDE_CONTEXT_RESTORE_BUDGET"),
    # S4 compaction: environment variables without a number
    ("S4 environment", COMPACT, "disable_compact", False, "DISABLE_COMPACT"),
    ("S4 environment", COMPACT, "disable_auto_compact", False, "DISABLE_AUTO_COMPACT"),
    ("S4 environment", COMPACT, "disable_micro_compact", False, "DISABLE_MICROCOMPACT"),
    ("S4 environment", COMPACT, "auto_compact_percent", None, "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"),
    ("S4 environment", COMPACT, "blocking_limit", None, "CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE"),
    # S4 background extraction agent
    ("S4 feature flags", MEMORY, "session_memory", True, None),
    ("S4 trigger conditions", MEMORY, "min_tokens_to_init", 5_000, None),
    ("S4 trigger conditions", MEMORY, "min_tokens_between_update", 5_000, None),
    ("S4 trigger conditions", MEMORY, "tool_calls_between_updates", 10, None),
    ("S4 agent configuration", MEMORY, "max_summary_tokens", 4_000, None),
    ("S4 timeout constants", MEMORY, "wait_ms", 15_000, None),
    ("S4 timeout constants", MEMORY, "stale_ms", 60_000, None),
    ("S4 environment", MEMORY, "cooldown_s", 60.0, "CLAUDE_EXTRACTION_COOLDOWN"),
    # S4 plan mode
    ("S4 plan mode attachments", PLAN, "turns_between_attachments", 5, None),
    ("S4 plan mode attachments", PLAN, "full_reminder_every", 5, None),
    ("S4 plan mode environment", PLAN, "plan_agents", 1, "CLAUDE_CODE_PLAN_V2_AGENT_COUNT"),
    (
        "S4 plan mode environment",
        PLAN,
        "explore_agents",
        3,
        "CLAUDE_CODE_PLAN_V2_EXPLORE_AGENT_COUNT",
    ),
    (
        "S4 plan mode environment",
        PLAN,
        "disable_attachments",
        False,
        "CLAUDE_CODE_DISABLE_ATTACHMENTS",
    ),
    # S4 thinking
    ("S4 thinking levels", THINK, "deep_budget", 16_000, None),
    ("S4 thinking levels", THINK, "ultra_budget", 32_000, None),
    ("S4 thinking keywords", THINK, "deep_keywords", ("deepthink", "think deeper"), None),
    ("S4 thinking keywords", THINK, "ultra_keywords", ("ultrathink", "maximum thinking"), None),
    ("S4 thinking", THINK, "default_level", ThinkingLevel.NONE, None),
    ("S4 thinking environment", THINK, "level", None, "COCODE_THINKING_LEVEL"),
    ("S4 thinking environment", THINK, "max_tokens", None, "COCODE_MAX_THINKING_TOKENS"),
    ("S4 thinking environment", THINK, "interleaved", False, "COCODE_INTERLEAVED_THINKING"),
    # S0 11.1 token budgets; 4.3.5 and S2 T8 for memories
    ("S0 11.1", BUDGET, "base_tokens", 500, None),
    ("S0 11.1", BUDGET, "index_tokens", 1_000, None),
    ("S0 11.1", BUDGET, "tools_tokens", 2_000, None),
    ("S0 11.1", BUDGET, "memories_tokens", 500, None),
    ("S0 4.3.5", BUDGET, "memories_chars", 2_000, None),
    ("S0 11.1", BUDGET, "skills_tokens", 1_000, None),
    ("S0 11.1", BUDGET, "session_memory_tokens", 500, None),
    ("S0 11.1 trimming 1", BUDGET, "trimmed_skills", 1, None),
    ("S0 11.1 trimming 2", BUDGET, "trimmed_memories", 5, None),
    ("S2 T8", BUDGET, "matched_memories", 5, None),
    # S0 12.3 feature flags
    ("S0 12.3", FLAGS, "memory_enabled", True, None),
    ("S0 12.3", FLAGS, "memory_auto_extract", True, None),
    ("S0 12.3", FLAGS, "memory_max_injected", 10, None),
    ("S0 12.3", FLAGS, "skills_enabled", True, None),
    ("S0 12.3", FLAGS, "skills_auto_generate", False, None),
    ("S0 12.3", FLAGS, "skills_max_injected_chars", 4_000, None),
)


def field_of(kind: Any, name: str) -> Field:
    return next(one for one in fields(kind) if one.name == name)


@pytest.mark.parametrize(
    ("section", "kind", "name", "value", "variable"),
    DOCUMENTED,
    ids=[f"{line[1].__name__}.{line[2]}" for line in DOCUMENTED],
)
def test_a_default_is_what_its_document_says(
    section: str, kind: Any, name: str, value: object, variable: str | None
) -> None:
    found = field_of(kind, name)
    assert found.default == value, section
    assert type(found.default) is type(value), section
    assert variable is None or variable in doc_of(kind, found).variables, section


@pytest.mark.parametrize(
    ("kind", "name", "variable", "value"),
    [(line[1], line[2], line[4], line[3]) for line in DOCUMENTED if line[4]],
)
def test_a_documented_variable_changes_its_setting(
    kind: Any, name: str, variable: str, value: object
) -> None:
    given = "true" if isinstance(value, bool) else "2" if isinstance(value, int | float) else "50"
    given = "ultra_think" if name == "level" else given
    changed = getattr(load(kind, environment={variable: given}), name)
    assert changed != value
    with pytest.raises(UsageError, match=variable):
        load(kind, environment={variable: "not at all"})


def test_the_ten_switches_of_compaction_are_all_there() -> None:
    switches = {
        "DISABLE_COMPACT",
        "DISABLE_AUTO_COMPACT",
        "DISABLE_MICROCOMPACT",
        "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE",
        "CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE",
        "CLAUDE_SESSION_MEMORY_MIN_TOKENS",
        "CLAUDE_SESSION_MEMORY_MAX_TOKENS",
        "CLAUDE_EXTRACTION_COOLDOWN",
        "CLAUDE_CONTEXT_RESTORE_MAX_FILES",
        "CLAUDE_CONTEXT_RESTORE_BUDGET",
    }
    known = {v for kind in (COMPACT, MEMORY) for _, _, doc in table(kind) for v in doc.variables}
    assert switches <= known
    assert len(switches) == 10


def test_the_budget_of_the_stable_part_is_5500_tokens() -> None:
    """S0 11.1: the sum of the six sections."""
    assert PromptBudgets().total_tokens == 5_500


def test_constants_that_are_no_settings() -> None:
    assert IMPORTANCE == 0.3  # S2 T7
    assert BUDGET_TOKENS == 50_000  # S4 file cache
    assert SECTIONS == (  # S4 default summary template
        "Current Task",
        "Key Decisions",
        "Files Modified",
        "Open Items",
        "Important Context",
    )


def settings_records() -> list[Any]:
    """Every record of settings in the runtime."""
    found: dict[str, Any] = {}
    for module in pkgutil.walk_packages(wellkept_agent.__path__, "wellkept_agent."):
        loaded = importlib.import_module(module.name)
        for name, kind in vars(loaded).items():
            if name.endswith(("Settings", "Flags", "Budgets")) and isinstance(kind, type):
                found[name] = kind
    return [found[name] for name in sorted(found) if hasattr(found[name], "__record_fields__")]


def test_every_setting_is_described_and_no_variable_means_two_things() -> None:
    owners: dict[str, str] = {}
    for kind in settings_records():
        for name, _default, doc in table(kind):
            where = f"{kind.__name__}.{name}"
            assert doc.doc.strip(), where
            assert doc.why.strip(), where
            assert any(one.startswith("WELLKEPT_AGENT_") for one in doc.variables), where
            for variable in doc.variables:
                assert owners.setdefault(variable, where) == where
    assert {"CompactionSettings", "LoopSettings", "PromptBudgets"} <= {
        kind.__name__ for kind in settings_records()
    }
