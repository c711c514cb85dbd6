"""EnterPlanMode and ExitPlanMode."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Protocol

from pydantic import Field

from wellkept_agent.plan_mode.reminders import SECTIONS
from wellkept_agent.tools.base import Arguments, ToolOutput, TypedTool, failure
from wellkept_agent.tools.context import ToolContext
from wellkept_agent.user import Unattended

_HEADING = re.compile(r"(?m)^#{1,6}\s*(.+?)\s*#*\s*$")


class PlanState(Protocol):
    """What the tools use of the capability."""

    @property
    def is_active(self) -> bool: ...

    def enter(self) -> Path: ...

    def leave(self, *, approved: bool) -> None: ...

    def plan_file(self, agent: str | None) -> Path: ...

    def plan_text(self) -> str: ...


class EnterPlanModeArguments(Arguments):
    """EnterPlanMode has no arguments."""


class EnterPlanMode(TypedTool[EnterPlanModeArguments]):
    """Switches plan mode on. It only takes rights away, so nobody is asked."""

    name = "EnterPlanMode"
    description = (
        "Switch to plan mode before work that has several possible ways, touches many files or"
        " changes how things are built: you explore and write a plan, and the person approves it"
        " before anything changes. Not for small or clear tasks, or for research alone."
    )

    def __init__(self, plan: PlanState) -> None:
        self._plan = plan

    def wants(self, context: ToolContext, arguments: Mapping[str, object]) -> None:
        """Needs no permission."""

    async def run(self, context: ToolContext, arguments: EnterPlanModeArguments) -> ToolOutput:
        """Switch it on."""
        if self._plan.is_active:
            return ToolOutput(
                content=f"Plan mode is on already. The plan file is {self._plan.plan_file(None)}."
            )
        if isinstance(context.session.person, Unattended):
            return failure("Nobody is here to approve a plan. Think it through and do the work.")
        path = self._plan.enter()
        return ToolOutput(
            content=f"Plan mode is on. Only read now, and write the plan to {path}. Call"
            " ExitPlanMode when it is ready."
        )


class ExitPlanModeArguments(Arguments):
    """Arguments of ExitPlanMode. The plan is taken from the plan file."""

    plan: Annotated[str, Field(description="Not needed: the plan is read from the plan file.")] = ""


class ExitPlanMode(TypedTool[ExitPlanModeArguments]):
    """Shows the plan file to the person, who approves it or says what to change."""

    name = "ExitPlanMode"
    description = (
        "Have the plan in the plan file approved by the person. Only for plans of changes, once the"
        " plan is written and no question is open. Do not ask in any other way whether it is good."
    )
    is_long_running = True

    def __init__(self, plan: PlanState) -> None:
        self._plan = plan
        self._was_told = False

    def wants(self, context: ToolContext, arguments: Mapping[str, object]) -> None:
        """The approval of the plan is the permission."""

    async def run(self, context: ToolContext, arguments: ExitPlanModeArguments) -> ToolOutput:
        """Ask for approval."""
        if not self._plan.is_active:
            return failure("Plan mode is not on: go on with the work.")
        path, plan = self._plan.plan_file(None), self._plan.plan_text()
        if not plan:
            return failure(f"There is no plan yet. Write it to {path} first, then call this again.")
        missing = missing_sections(plan)
        if missing and not self._was_told:
            self._was_told = True
            return failure(
                f"The plan has no section {', '.join(missing)}. Add what matters for the person and"
                " call this again."
            )
        person = context.session.person
        answer = await person.approve_plan(plan)
        if answer is None:
            self._plan.leave(approved=True)
            return ToolOutput(
                content=f"The person approved the plan. Carry it out now; keep a list with"
                f" TodoWrite if it has several steps. The plan ({path}):\n\n{plan}",
                display=plan,
            )
        self._plan.leave(approved=False)
        if isinstance(person, Unattended):
            return ToolOutput(
                content=f"{answer} The turn ends; the plan waits at {path}.",
                display=plan,
                ends_turn=True,
            )
        return ToolOutput(
            content=f"The person wants the plan changed. Plan mode stays on. They say:\n{answer}",
            display=plan,
            is_error=True,
        )


def missing_sections(plan: str) -> list[str]:
    """Sections that a plan lacks; a heading counts when it holds the section's first word."""
    headings = [match[1].casefold() for match in _HEADING.finditer(plan)]
    return [
        section
        for section in SECTIONS
        if not any(section.split()[0].casefold() in heading for heading in headings)
    ]
