"""The usual tools of an agent over an open memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from wellkept.core.clock import from_ms
from wellkept.core.errors import NotFoundError
from wellkept.core.types import MemoryType
from wellkept_agent.plan_mode.settings import PlanModeSettings
from wellkept_agent.skill_use.capability import SessionSkills
from wellkept_agent.tools.default import default_tools
from wellkept_agent.tools.memory import MemoryCategory, RecalledMemory
from wellkept_agent.tools.settings import ToolSettings

if TYPE_CHECKING:
    from wellkept_agent.tools.base import Tool
    from wellkept_agent.wiring.memory import AgentMemory
    from wellkept_agent.wiring.settings import AgentSettings

_EVENTS = (MemoryType.TIMELINE, MemoryType.EPISODE, MemoryType.OBSERVATION)
_STATEMENTS = tuple(one for one in MemoryType if one not in (*_EVENTS, MemoryType.PROMPT))


def usual_tools(
    wk: AgentMemory, settings: AgentSettings, *, with_memory: bool, with_skills: bool
) -> list[Tool]:
    """The built-in tools, as the settings choose them."""
    return default_tools(
        settings=settings.read(ToolSettings),
        memory=ToolMemory(wk) if with_memory and not wk.services.read_only else None,
        graph=wk.graph,
        code_search=wk.code,
        skills=SessionSkills() if with_skills else None,
        plan_settings=settings.read(PlanModeSettings),
    )


class ToolMemory:
    """The memory behind the memory tools: statements under keys."""

    def __init__(self, wk: AgentMemory) -> None:
        self._wk = wk

    def store(
        self, key: str, content: str, *, category: MemoryCategory, importance: float | None
    ) -> str:
        """Keep a statement under a key, in place of what is there."""
        is_event = category is MemoryCategory.TIMELINE
        done = self._wk.remember(
            content,
            key=key,
            type=(MemoryType.EPISODE if is_event else MemoryType.FACT).value,
            importance=importance,
            source="agent_explicit",
        )
        return f"Memory stored: {key} [m:{done.memory.short}] ({done.outcome.value})"

    def recall(
        self,
        query: str,
        *,
        category: MemoryCategory | None,
        since_ms: int | None,
        until_ms: int | None,
        limit: int,
    ) -> Sequence[RecalledMemory]:
        """Memories that fit, best first."""
        types = {MemoryCategory.TIMELINE: _EVENTS, MemoryCategory.KNOWLEDGE: _STATEMENTS}
        wanted = () if category is None else types[category]
        found = self._wk.recall(
            query,
            limit=limit,
            types=[one.value for one in wanted],
            since=None if since_ms is None else from_ms(since_ms),
            until=None if until_ms is None else from_ms(until_ms),
        )
        return [
            RecalledMemory(
                key=hit.memory.key or f"m:{hit.memory.short}",
                content=hit.memory.content,
                category=hit.memory.type.value,
                importance=hit.memory.importance,
            )
            for hit in found
        ]

    def forget(self, key: str) -> bool:
        """Delete one by its key or id."""
        try:
            self._wk.forget(key.removeprefix("m:"))
        except NotFoundError:
            return False
        return True
