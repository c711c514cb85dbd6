"""A pydantic-ai agent with tools to recall, remember and forget."""

import sys

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel

import wellkept
from wellkept_adapters.pydantic_ai import memory_toolset

task = " ".join(sys.argv[1:]) or "Remember that we deploy on Fridays."

with wellkept.open() as wk:
    # OPENAI_API_KEY, OPENAI_BASE_URL
    agent = Agent(OpenAIChatModel("gpt-5-mini"), toolsets=[memory_toolset(wk)])
    print(agent.run_sync(task).output)
