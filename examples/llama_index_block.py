"""A LlamaIndex memory whose long-term block is this project's memory."""

# pyright: basic

import asyncio
import sys

import openai
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory

import wellkept
from wellkept_adapters.llama_index import WellkeptBlock

question = " ".join(sys.argv[1:]) or "Where do we deploy?"


async def main() -> None:
    """Ask one question; what no longer fits the short-term memory goes to the block."""
    async with wellkept.open_async() as wk:
        block = WellkeptBlock(wellkept=wk)
        memory = Memory.from_defaults(session_id="chat-17", memory_blocks=[block])
        await memory.aput(ChatMessage(role="user", content=question))
        told = [{"role": m.role.value, "content": m.content or ""} for m in await memory.aget()]
        asked = await openai.AsyncOpenAI().chat.completions.create(  # OPENAI_BASE_URL
            model="gpt-5-mini",
            messages=told,  # pyright: ignore[reportArgumentType]
        )
        answer = ChatMessage(role="assistant", content=asked.choices[0].message.content)
        await block.aput([*await memory.aget_all(), answer], session_id="chat-17")
        print(answer.content)


asyncio.run(main())
