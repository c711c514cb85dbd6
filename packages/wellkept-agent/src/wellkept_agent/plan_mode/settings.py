"""Settings of plan mode."""

from __future__ import annotations

from typing import ClassVar

from wellkept.core.records import record
from wellkept.core.settings.model import setting


@record(kw_only=True)
class PlanModeSettings:
    """How often plan mode is recalled, and how many agents help."""

    VARIABLES: ClassVar = "PLAN_"
    turns_between_attachments: int = setting(5, "Answers of the model between two reminders", "1..")
    full_reminder_every: int = setting(
        5, "Every how many reminders one is given in full, beginning with the first", "1.."
    )
    plan_agents: int = setting(
        1,
        "Plan agents that work side by side",
        "1..5",
        "CLAUDE_CODE_PLAN_V2_AGENT_COUNT",
        variable="PLAN_AGENT_COUNT",
    )
    explore_agents: int = setting(
        3,
        "Explore agents that work side by side",
        "1..5",
        "CLAUDE_CODE_PLAN_V2_EXPLORE_AGENT_COUNT",
        variable="PLAN_EXPLORE_AGENT_COUNT",
    )
    disable_attachments: bool = setting(
        False,
        "Give no reminders of plan mode",
        "",
        "CLAUDE_CODE_DISABLE_ATTACHMENTS",
        variable="DISABLE_ATTACHMENTS",
    )
