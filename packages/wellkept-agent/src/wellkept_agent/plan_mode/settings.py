"""Settings of plan mode."""

from __future__ import annotations

from wellkept.core.records import record
from wellkept_agent.settings import setting


@record(kw_only=True)
class PlanModeSettings:
    """How often plan mode is recalled, and how many agents help."""

    turns_between_attachments: int = setting(
        5,
        "Answers of the model between two reminders",
        "WELLKEPT_AGENT_PLAN_TURNS_BETWEEN_ATTACHMENTS",
        low=1,
    )
    full_reminder_every: int = setting(
        5,
        "Every how many reminders one is given in full, beginning with the first",
        "WELLKEPT_AGENT_PLAN_FULL_REMINDER_EVERY",
        low=1,
    )
    plan_agents: int = setting(
        1,
        "Plan agents that work side by side",
        "WELLKEPT_AGENT_PLAN_AGENT_COUNT",
        "CLAUDE_CODE_PLAN_V2_AGENT_COUNT",
        low=1,
        high=5,
    )
    explore_agents: int = setting(
        3,
        "Explore agents that work side by side",
        "WELLKEPT_AGENT_PLAN_EXPLORE_AGENT_COUNT",
        "CLAUDE_CODE_PLAN_V2_EXPLORE_AGENT_COUNT",
        low=1,
        high=5,
    )
    disable_attachments: bool = setting(
        False,
        "Give no reminders of plan mode",
        "WELLKEPT_AGENT_DISABLE_ATTACHMENTS",
        "CLAUDE_CODE_DISABLE_ATTACHMENTS",
    )
