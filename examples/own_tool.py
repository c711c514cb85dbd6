"""A tool of your own: a function with types. Its schema and description are made from it."""

import asyncio
from pathlib import Path

import wellkept
from wellkept_agent import ToolContext, tool


@tool(read_only=True)
def count_lines(context: ToolContext, file_path: str) -> str:
    """Count the lines of a file of this project."""
    path: Path = context.path(file_path)  # refuses paths outside of the project
    return f"{len(path.read_text().splitlines())} lines"


async def main() -> None:
    with wellkept.open() as wk:
        agent = wk.agent("anthropic:claude-sonnet-4-5", tools=[count_lines])
        result = await agent.run("How long is orders.py?")
        print(result.text)


asyncio.run(main())
