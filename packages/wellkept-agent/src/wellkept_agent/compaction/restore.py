"""What is shown again after compaction: files, todos, plan, skills, tasks.

A capability that has something to show again implements `RestoresContext`. Files come from the
session's file cache as they are now; one that is too large is left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from enum import StrEnum
from html import escape
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from wellkept.core.chat.messages import Message, MessageKind, user_message
from wellkept.core.records import record
from wellkept.core.text import estimate_tokens, shorten
from wellkept_agent.budgets import cut

if TYPE_CHECKING:
    from wellkept_agent.compaction.settings import CompactionSettings
    from wellkept_agent.file_cache import RestoredFile
    from wellkept_agent.session import AgentSession

_MARKS = {"completed": "x", "done": "x", "in_progress": "~"}


class Restored(StrEnum):
    """What a section shows again, in the order of the message."""

    TODOS = "Todos"
    PLAN = "Plan"
    SKILLS = "Skills in use"
    TASKS = "Tasks"
    OTHER = "Other"


@record
class RestoredSection:
    """A text that is shown again."""

    kind: Restored
    text: str


@runtime_checkable
class RestoresContext(Protocol):
    """A capability with something that must outlive compaction."""

    def restored_sections(self) -> Sequence[RestoredSection]: ...


async def restored(
    session: AgentSession, settings: CompactionSettings, *, room_tokens: int, with_files: bool
) -> Message | None:
    """The message that shows everything again; None when there is nothing. Sections come first,
    files take what is left of the room."""
    texts: list[str] = []
    for section in sorted(_sections(session), key=lambda one: list(Restored).index(one.kind)):
        limit = min(settings.restore_file_tokens, room_tokens)
        text = cut(section.text.strip(), tokens=limit)
        if text:
            texts.append(f"## {section.kind}\n{text}")
            room_tokens -= estimate_tokens(texts[-1])
    if with_files:
        await asyncio.to_thread(session.files.refresh)
        found = session.files.files_for_restoration(
            max_files=settings.restore_max_files,
            max_tokens=min(settings.restore_budget_tokens, max(0, room_tokens)),
            per_file_tokens=settings.restore_file_tokens,
        )
        if found:
            texts.append("## Files read before, as they are now\n" + "\n".join(map(_file, found)))
    if not texts:
        return None
    body = "\n\n".join(texts)
    return user_message(
        f"<system-reminder>\nShown again after compaction.\n\n{body}\n</system-reminder>",
        kind=MessageKind.RESTORED,
    )


def _file(file: RestoredFile) -> str:
    return f'<file path="{escape(str(file.path), quote=True)}">\n{file.content}\n</file>'


def _sections(session: AgentSession) -> Iterable[RestoredSection]:
    if session.todos:
        lines = (f"- [{_MARKS.get(status, ' ')}] {text}" for text, status in session.todos)
        yield RestoredSection(Restored.TODOS, "\n".join(lines))
    if jobs := session.jobs.all():
        commands = (" ".join(job.process.command.split()) for job in jobs)
        lines = (
            f"- {job.id} ({job.status}): {shorten(command, limit=200)}"
            for job, command in zip(jobs, commands, strict=True)
        )
        yield RestoredSection(Restored.TASKS, "Commands in the background:\n" + "\n".join(lines))
    has_plan = False
    for capability in session.capabilities:
        if not isinstance(capability, RestoresContext):
            continue
        try:
            sections = list(capability.restored_sections())
        except Exception as error:  # noqa: BLE001 - a capability is somebody else's code
            session.report(capability.name, f"could not be restored: {error}")
            continue
        has_plan |= any(one.kind is Restored.PLAN for one in sections)
        yield from sections
    plan = session.permissions.plan_files.get(session.agent)
    if not has_plan and plan is not None and plan.is_file():
        try:
            text = plan.read_text("utf-8", "replace")
        except OSError as error:
            session.report("compaction", f"The plan could not be read: {error}")
            return
        yield RestoredSection(Restored.PLAN, f"{plan}\n{text}")
