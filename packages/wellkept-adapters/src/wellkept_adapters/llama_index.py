"""LlamaIndex: a memory block that recalls for the latest messages and keeps those that leave.

    memory = Memory.from_defaults(session_id="chat-17", memory_blocks=[WellkeptBlock(wellkept=wk)])

LlamaIndex hands a block the messages that no longer fit the short-term memory; they are kept as
turns of the session. What people taught in them becomes a rule.
"""

from __future__ import annotations

from typing import Any

from wellkept.api.async_wellkept import AsyncWellkept
from wellkept.api.wellkept import Wellkept
from wellkept.core.text import estimate_tokens
from wellkept_adapters.items import DEFAULT_LIMIT, as_async, framework, keep_said, recalled_text

with framework("LlamaIndex", extra="llama-index"):
    from llama_index.core.base.llms.types import ChatMessage, MessageRole
    from llama_index.core.bridge.pydantic import Field, PrivateAttr
    from llama_index.core.memory import BaseMemoryBlock

_SPOKEN = (MessageRole.USER, MessageRole.ASSISTANT)
_HEAD_LINES = 2


class WellkeptBlock(BaseMemoryBlock[str]):
    """The memory of one project as a block of a LlamaIndex memory."""

    name: str = Field(default="Wellkept", description="The name of the memory block.")
    limit: int = Field(default=DEFAULT_LIMIT, description="The most memories to recall.")
    _wellkept: AsyncWellkept = PrivateAttr()

    def __init__(self, *, wellkept: Wellkept | AsyncWellkept, **fields: Any) -> None:
        super().__init__(**fields)
        self._wellkept = as_async(wellkept)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        """What is known about the last message of the user."""
        said = [m.content for m in messages or () if m.role is MessageRole.USER and m.content]
        if not said:
            return ""
        return await self._wellkept.run(
            recalled_text,
            said[-1],
            limit=self.limit,
            without_session=block_kwargs.get("session_id"),
        )

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Keep what was said."""
        for message in messages:
            session = message.additional_kwargs.get("session_id")
            if message.role not in _SPOKEN or not message.content:
                continue
            await self._wellkept.run(
                keep_said,
                message.content,
                framework="llama-index",
                by_user=message.role is MessageRole.USER,
                session=None if session is None else str(session),
            )

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Leave the weakest memories out until enough is saved; None when nothing is left."""
        *lines, end = content.split("\n")
        saved = 0
        while saved < tokens_to_truncate and len(lines) > _HEAD_LINES:
            saved += estimate_tokens(lines.pop())
        return "\n".join([*lines, end]) if len(lines) > _HEAD_LINES else None
