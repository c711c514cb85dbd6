"""Whether a tool may run: the one place that decides.

A tool that changes something says what it would do (`wants`); the mode says whether that is
allowed, refused, or the person's to decide. Path checks are not here: no mode lifts those.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from wellkept.core.records import record, replace
from wellkept.core.session.events import ToolKind
from wellkept.core.text import shorten, strip_invisible
from wellkept.text.shell import permission_rules as shell_rules
from wellkept_agent.tools.base import FunctionTool

if TYPE_CHECKING:
    from wellkept_agent.tools.base import Tool, ToolContext


# -- The person in front of an agent, as it sees them: permissions, questions, plans --------------


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

    async def permit(self, request: PermissionRequest) -> Decision:
        return Decision.DENY

    async def answer(self, questions: tuple[Question, ...]) -> tuple[str, ...] | None:
        return None

    async def approve_plan(self, plan: str) -> str | None:
        return "Nobody is here to approve the plan."


_EDITS = frozenset({ToolKind.EDIT, ToolKind.WRITE})
_MAX_PREVIEW_CHARS = 20_000


class PermissionMode(StrEnum):
    """How much an agent may do without asking."""

    DEFAULT = "default"
    PLAN = "plan"
    ACCEPT_EDITS = "accept_edits"
    BYPASS = "bypass"
    DONT_ASK = "dont_ask"


@runtime_checkable
class _AsksPermission(Protocol):
    """A tool that says itself what it would do; None when this call needs no permission."""

    def wants(
        self, context: ToolContext, arguments: Mapping[str, object]
    ) -> PermissionRequest | None: ...


@runtime_checkable
class _HasSubject(Protocol):
    """A tool whose calls are told apart by rules: a command, a path, a host."""

    def subject(self, context: ToolContext, arguments: Mapping[str, object]) -> str: ...


class Permissions:
    """The mode of a session and what was allowed in it.

    `allowed`, `denied` and `only` hold rules: a tool's name, or `Bash(git *)` with a pattern of
    the call's subject. `only` is set by a skill: what does not match it is refused in every mode.
    `plan_files` are the plan files by agent; None is the session's own.
    """

    def __init__(
        self,
        mode: PermissionMode = PermissionMode.DEFAULT,
        *,
        person: Person,
        allowed: Iterable[str] = (),
        denied: Iterable[str] = (),
    ) -> None:
        self.mode = mode
        self.allowed = list(allowed)
        self.denied = list(denied)
        self.only: tuple[str, ...] | None = None
        self.plan_files: dict[str | None, Path] = {}
        self._person = person
        self._asking: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None

    @property
    def plan_file(self) -> Path | None:
        """The plan file of the session itself; None before it was in plan mode."""
        return self.plan_files.get(None)

    async def refusal(
        self, tool: Tool, context: ToolContext, arguments: Mapping[str, object]
    ) -> str | None:
        """None when the call may run; else what the model is told."""
        subject = tool.subject(context, arguments) if isinstance(tool, _HasSubject) else ""
        if _matches(self.denied, tool, subject, forbids=True):
            return f"{tool.name} is not allowed for this in this session."
        if self.only is not None and not _matches(self.only, tool, subject):
            return f"The skill in use allows only: {', '.join(self.only)}."
        if tool.kind in _EDITS and self.mode is PermissionMode.PLAN:
            return self._refusal_in_plan(tool, context, arguments)
        wish = _wish(tool, context, arguments)
        if wish is None:
            return None
        changes = not wish.only_reads
        if changes and context.session.is_read_only:
            return f"This agent only reads; {tool.name} would change something. Report instead."
        if self.mode is PermissionMode.PLAN and changes:
            return self._refusal_in_plan(tool, context, arguments)
        if self.mode is PermissionMode.BYPASS or self._is_allowed(tool, subject, wish):
            return None
        if isinstance(tool, FunctionTool) and not tool.asks:
            return None
        is_edit = tool.kind in _EDITS and not wish.guarded
        if self.mode is PermissionMode.ACCEPT_EDITS and is_edit:
            return None
        if self.mode is PermissionMode.DONT_ASK:
            return f"{tool.name} needs a permission that was not given; nobody is asked here."
        async with self._one_at_a_time():
            if self._is_allowed(tool, subject, wish):  # allowed while this call waited
                return None
            return await self._asked(wish)

    def _is_allowed(self, tool: Tool, subject: str, wish: PermissionRequest) -> bool:
        """Whether a rule allows it. What is guarded must be named: `Edit` alone is not enough."""
        rules = [rule for rule in self.allowed if "(" in rule or not wish.guarded]
        return _matches(rules, tool, subject)

    def _refusal_in_plan(
        self, tool: Tool, context: ToolContext, arguments: Mapping[str, object]
    ) -> str | None:
        """In plan mode only the agent's own plan file may be written."""
        plan = self.plan_files.get(context.session.agent)
        given = arguments.get("file_path")
        if tool.kind in _EDITS and isinstance(given, str) and plan is not None:
            path = context.working_directory / Path(given).expanduser()
            if path.resolve() == plan.resolve():
                return None
        return (
            f"Plan mode: {tool.name} would change something. Only reading is allowed, and writing "
            f"the plan{'' if plan is None else f' at {plan}'}. Call ExitPlanMode when the plan is "
            "ready."
        )

    async def _asked(self, wish: PermissionRequest) -> str | None:
        decision = await self._person.permit(_shown(wish))
        if decision is Decision.ALLOW_ALWAYS and wish.rule:
            self.allowed.append(wish.rule)
        if decision is Decision.DENY:
            return f"The person did not allow this: {wish.reason}. Ask what to do instead."
        return None

    def _one_at_a_time(self) -> asyncio.Lock:
        """Sub-agents work side by side, but a person is asked one thing at a time."""
        loop = asyncio.get_running_loop()
        if self._asking is None or self._asking[0] is not loop:
            self._asking = (loop, asyncio.Lock())
        return self._asking[1]


def _wish(
    tool: Tool, context: ToolContext, arguments: Mapping[str, object]
) -> PermissionRequest | None:
    if isinstance(tool, _AsksPermission):
        return tool.wants(context, arguments)
    if tool.read_only:
        return None
    shown = shorten(str(dict(arguments)), limit=_MAX_PREVIEW_CHARS)
    return PermissionRequest(
        tool=tool.name, arguments=shown, reason=f"run {tool.name}", rule=tool.name
    )


def _shown(wish: PermissionRequest) -> PermissionRequest:
    """A request whose texts cannot deceive: what nobody would see is written out."""
    return replace(
        wish,
        arguments=_visible(wish.arguments),
        reason=_visible(wish.reason),
        preview=_visible(wish.preview),
    )


def _visible(text: str) -> str:
    if strip_invisible(text) == text:
        return text
    return "".join(
        one if strip_invisible(one) else one.encode("unicode_escape").decode() for one in text
    )


def _matches(rules: Iterable[str], tool: Tool, subject: str, *, forbids: bool = False) -> bool:
    """Whether a rule fits: `Bash`, `mcp:server:*`, or `Bash(git *)` for a subject `git status`.

    `Bash(git:*)` is read as `Bash(git *)`, as other clients write it. For commands see
    `tools.shell.rules`: a compound one fits no pattern that allows.
    """
    for rule in rules:
        plain, _, pattern = rule.strip().partition("(")
        if not fnmatchcase(tool.name, plain):
            continue
        if not pattern:
            return True
        pattern = pattern.removesuffix(")")
        if tool.kind is ToolKind.SHELL:
            fits = shell_rules.forbids if forbids else shell_rules.allows
        else:
            fits = _fits
        if subject and fits(pattern, subject):
            return True
    return False


def _fits(pattern: str, subject: str) -> bool:
    return fnmatchcase(subject, pattern) or fnmatchcase(subject, pattern.removesuffix(":*"))
