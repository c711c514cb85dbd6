"""The person in front of an agent, as it sees them: permissions, questions, plans.

A user interface implements `Person`. Without one an agent runs unattended: nothing that needs a yes
is allowed, and questions end the turn.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from wellkept.core.records import record


class Decision(StrEnum):
    """A person's answer to a permission request."""

    ALLOW = "allow"
    ALLOW_ALWAYS = "allow_always"
    DENY = "deny"


@record(kw_only=True)
class PermissionRequest:
    """What an agent wants to do. `preview` is a diff or a command; `rule` is what "always" would
    allow from now on in this session, empty when only this once can be allowed. `only_reads` when
    nothing would change; `guarded` when it must be asked even where edits are accepted."""

    tool: str
    arguments: str
    reason: str
    preview: str = ""
    rule: str = ""
    only_reads: bool = False
    guarded: bool = False


@record
class Option:
    """One possible answer to a question."""

    label: str
    description: str = ""


@record(kw_only=True)
class Question:
    """A question to the person. An answer is a label, or any text."""

    text: str
    header: str = ""
    options: tuple[Option, ...] = ()
    several: bool = False


class Person(Protocol):
    """Answers an agent's requests. Cancelled when the run is stopped."""

    async def permit(self, request: PermissionRequest) -> Decision: ...

    async def answer(self, questions: tuple[Question, ...]) -> tuple[str, ...] | None:
        """Answers in the order of the questions; None when nobody answers now."""
        ...

    async def approve_plan(self, plan: str) -> str | None:
        """None approves the plan; any text is what should be changed."""
        ...


class Unattended:
    """Nobody is there: refuses what needs a yes, leaves questions open, approves no plan."""

    async def permit(self, request: PermissionRequest) -> Decision:  # noqa: ARG002
        return Decision.DENY

    async def answer(self, questions: tuple[Question, ...]) -> tuple[str, ...] | None:  # noqa: ARG002
        return None

    async def approve_plan(self, plan: str) -> str | None:  # noqa: ARG002
        return "Nobody is here to approve the plan."
