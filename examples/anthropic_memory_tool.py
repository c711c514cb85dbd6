"""Claude's memory tool with its files kept in this project's memory."""

import sys

import anthropic

import wellkept
from wellkept_adapters.anthropic_memory import WellkeptMemoryTool

task = " ".join(sys.argv[1:]) or "We deploy on Fridays. Remember that."

with wellkept.open() as wk:
    client = anthropic.Anthropic()  # ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL
    runner = client.beta.messages.tool_runner(
        model="claude-sonnet-4-5",
        max_tokens=1024,
        betas=["context-management-2025-06-27"],
        tools=[WellkeptMemoryTool(wk)],
        messages=[{"role": "user", "content": task}],
    )
    for block in runner.until_done().content:
        if block.type == "text":
            print(block.text)
