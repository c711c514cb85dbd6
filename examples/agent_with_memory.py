"""An agent with memory. Run it twice: the second run knows what the first has learned."""

import asyncio
import sys

import wellkept


async def main(task: str) -> None:
    with wellkept.open() as wk:
        agent = wk.agent("anthropic:claude-sonnet-4-5", permission_mode="accept_edits")
        async with agent.session() as session:
            result = await session.run(task)
            print(result.text)


asyncio.run(main(" ".join(sys.argv[1:]) or "What does this project do?"))
