"""memory_store, memory_recall and memory_forget: the agent's own way to what is remembered."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Protocol

from pydantic import Field

from wellkept.core.records import record
from wellkept.core.text import counted
from wellkept_agent.permissions import PermissionRequest
from wellkept_agent.tools.base import Arguments, ToolContext, ToolOutput, TypedTool


class MemoryCategory(StrEnum):
    """What a memory is: a fact, or something that happened."""

    KNOWLEDGE = "knowledge"
    TIMELINE = "timeline"


@record(kw_only=True)
class RecalledMemory:
    """A memory as the agent is told it. `key` is what `forget` takes."""

    key: str
    content: str
    category: str
    importance: float


class KeyedMemory(Protocol):
    """A project's memory. Calls block; the tools make them in a thread."""

    def store(
        self, key: str, content: str, *, category: MemoryCategory, importance: float | None
    ) -> str:
        """Keep something under a key, in place of what is there. Says what was done."""
        ...

    def recall(
        self,
        query: str,
        *,
        category: MemoryCategory | None,
        since_ms: int | None,
        until_ms: int | None,
        limit: int,
    ) -> Sequence[RecalledMemory]:
        """Memories that fit, best first. Times are Unix milliseconds."""
        ...

    def forget(self, key: str) -> bool:
        """Delete one; False when there is none."""
        ...


class _MemoryStoreArguments(Arguments):
    key: Annotated[
        str, Field(min_length=1, max_length=200, description="A name for it: test_command.")
    ]
    content: Annotated[str, Field(min_length=1, description="All there is to remember.")]
    category: Annotated[
        MemoryCategory, Field(description="knowledge for facts, timeline for what happened.")
    ] = MemoryCategory.KNOWLEDGE
    importance: Annotated[
        float | None, Field(ge=0, le=1, description="0 to 1; 0.8 and more for what is critical.")
    ] = None


class MemoryStore(TypedTool[_MemoryStoreArguments]):
    """Keeps something for later sessions."""

    name = "memory_store"
    description = (
        "Remember a fact, preference or insight for later sessions, under a telling key. Use it"
        " when the person says something worth keeping or you learned how this project works."
    )

    def __init__(self, memory: KeyedMemory) -> None:
        self._memory = memory

    def wants(self, context: ToolContext, arguments: Mapping[str, object]) -> None:
        """Remembering changes no file; the person can look at it and take it back."""

    async def run(self, context: ToolContext, arguments: _MemoryStoreArguments) -> ToolOutput:
        """Keep it."""
        done = await asyncio.to_thread(
            self._memory.store,
            arguments.key,
            arguments.content,
            category=arguments.category,
            importance=arguments.importance,
        )
        return ToolOutput(content=done or f"Memory stored: {arguments.key}")


class _MemoryRecallArguments(Arguments):
    query: Annotated[str, Field(min_length=1, description="What to look for, in a few words.")]
    category: Annotated[MemoryCategory | None, Field(description="knowledge or timeline.")] = None
    since: Annotated[int | None, Field(ge=0, description="From when, Unix milliseconds.")] = None
    until: Annotated[int | None, Field(ge=0, description="Until when, Unix milliseconds.")] = None
    limit: Annotated[int, Field(ge=1, le=100, description="At most so many.")] = 10


class MemoryRecall(TypedTool[_MemoryRecallArguments]):
    """Looks up what is remembered."""

    name = "memory_recall"
    description = "Search what is remembered of this project and its person, also by time."
    read_only = True

    def __init__(self, memory: KeyedMemory) -> None:
        self._memory = memory

    async def run(self, context: ToolContext, arguments: _MemoryRecallArguments) -> ToolOutput:
        """Search."""
        found = await asyncio.to_thread(
            self._memory.recall,
            arguments.query,
            category=arguments.category,
            since_ms=arguments.since,
            until_ms=arguments.until,
            limit=arguments.limit,
        )
        if not found:
            return ToolOutput(content="No matching memories found.", query=arguments.query)
        lines = [
            f"- {one.key} [{one.category}] [importance: {one.importance:.1f}]: {one.content}"
            for one in found
        ]
        head = f"Found {counted(len(found), 'memory', 'memories')}:"
        return ToolOutput(content="\n".join([head, *lines]), query=arguments.query)


class _MemoryForgetArguments(Arguments):
    key: Annotated[str, Field(min_length=1, description="The key that memory_recall shows.")]


class MemoryForget(TypedTool[_MemoryForgetArguments]):
    """Deletes a memory, after the person's yes."""

    name = "memory_forget"
    description = "Delete a memory that is wrong or outdated, or that the person wants forgotten."

    def __init__(self, memory: KeyedMemory) -> None:
        self._memory = memory

    def wants(self, context: ToolContext, arguments: Mapping[str, object]) -> PermissionRequest:
        """Deleting is asked for each time."""
        key = str(arguments.get("key", ""))
        return PermissionRequest(
            tool=self.name, arguments=key, reason=f"delete the memory {key!r}", preview=key
        )

    async def run(self, context: ToolContext, arguments: _MemoryForgetArguments) -> ToolOutput:
        """Delete it."""
        if await asyncio.to_thread(self._memory.forget, arguments.key):
            return ToolOutput(content=f"Memory deleted: {arguments.key}")
        return ToolOutput(
            content=f"There is no memory {arguments.key!r}. Use the key that memory_recall shows.",
            is_error=True,
        )
