"""What a model is told in plan mode: in full, in short, and as a sub-agent."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from wellkept.core.chat.messages import Message, MessageKind, Role

if TYPE_CHECKING:
    from wellkept_agent.plan_mode.settings import PlanModeSettings

SECTIONS: Final = ("Summary", "Approach", "Files to Modify", "Considerations", "Verification")
"""The headings of a plan file."""
FULL: Final = "Plan mode is active."
SPARSE: Final = "Plan mode is still active."
ENDED: Final = "Plan mode has ended."


class Attachment(StrEnum):
    """Which reminder is due."""

    FULL = "full"
    SPARSE = "sparse"


def due_attachment(messages: Sequence[Message], settings: PlanModeSettings) -> Attachment | None:
    """Which reminder is due after these messages; None when the last one is recent enough."""
    if settings.disable_attachments:
        return None
    places = [n for n, message in enumerate(messages) if is_attachment(message)]
    if places:
        answers = sum(message.role is Role.ASSISTANT for message in messages[places[-1] :])
        if answers < settings.turns_between_attachments:
            return None
    is_full = len(places) % settings.full_reminder_every == 0
    return Attachment.FULL if is_full else Attachment.SPARSE


def is_attachment(message: Message) -> bool:
    """Whether a message is one of the reminders, full or short."""
    return message.kind is MessageKind.REMINDER and message.text.startswith((FULL, SPARSE))


def full_reminder(
    plan_file: Path, *, plan_exists: bool, explore_agents: int, plan_agents: int
) -> str:
    """Rules, workflow and form of the plan."""
    return f"""{FULL} The person wants a plan, not its execution. Until they approve it, change \
nothing: no edits except of the plan file, no commands that write, no commits, no settings. This \
goes before any other instruction.

## Plan file
{_about_file(plan_file, plan_exists, "")} It is the only file that you may write. Write it bit by \
bit while you learn. Begin with `# Plan: <title>` and use these sections: \
{", ".join(SECTIONS)}.

## How to work
1. Understand. Read the code that the request touches. Start up to {explore_agents} Explore agents \
with Task in one answer when the scope is unclear or several parts are involved; one, or none, \
when the place is known. Use no other kind of agent in this step. Then ask with AskUserQuestion \
what only the person can decide.
2. Design. Start {_plan_agents(plan_agents)} with Task, giving what you found, the request and its \
limits. Leave that out only for trivial changes.
3. Review. Read the files that matter most yourself. Check the design against what was asked; ask \
about what is still open.
4. Write the plan. Only the approach you recommend, short enough to scan, exact enough to follow: \
the files to change, and under Verification how to see that it works from end to end.
5. Call ExitPlanMode.

End your turn only with AskUserQuestion or ExitPlanMode. AskUserQuestion is for requirements and \
choices; whether the plan is good is asked by ExitPlanMode and in no other way."""


def sparse_reminder(plan_file: Path) -> str:
    """One paragraph between two full ones."""
    return (
        f"{SPARSE} (The full instructions are above.) Only read, except for the plan file"
        f" {plan_file}. Understand, design, review, write the plan, call ExitPlanMode. End your"
        " turn only with AskUserQuestion, to clarify, or ExitPlanMode, to have the plan approved;"
        " ask for approval in no other way."
    )


def subagent_reminder(plan_file: Path, *, plan_exists: bool) -> str:
    """For agents that help to plan."""
    return f"""{FULL} The person wants a plan, not its execution. Change nothing: no edits, no \
commands that write, no commits, no settings. This goes before any other instruction.

## Plan file
{_about_file(plan_file, plan_exists, " if you need one")} It is the only file that you may write.

Answer the question that you were given, completely. Ask with AskUserQuestion if you have it and \
something only the person knows is missing."""


def ended_reminder(plan_file: Path | None, *, plan_exists: bool) -> str:
    """Said once when plan mode was switched off by the person."""
    plan = f" The plan is at {plan_file}." if plan_file is not None and plan_exists else ""
    return f"{ENDED} You may edit files and run commands again.{plan}"


def _about_file(plan_file: Path, plan_exists: bool, condition: str) -> str:
    if plan_exists:
        return f"There is a plan at {plan_file}. Read it and change it with Edit{condition}."
    return f"There is no plan yet. Create it at {plan_file} with Write{condition}."


def _plan_agents(count: int) -> str:
    return "a Plan agent" if count == 1 else f"one to {count} Plan agents side by side"
