"""A conversation of the OpenAI Agents SDK that goes on in the next process, and recalls."""

import asyncio
import sys

from agents import Agent, RunConfig, Runner, set_default_openai_api, set_tracing_disabled

import wellkept
from wellkept_adapters.openai_agents import WellkeptSession, recall_filter

set_default_openai_api("chat_completions")  # OPENAI_API_KEY, OPENAI_BASE_URL
set_tracing_disabled(True)
question = " ".join(sys.argv[1:]) or "Where do we deploy?"


async def main() -> None:
    """Ask one question in the conversation chat-17."""
    async with wellkept.open_async() as wk:
        session = WellkeptSession("chat-17", wk)
        agent = Agent(name="Helper", instructions="Answer in one sentence.", model="gpt-5-mini")
        config = RunConfig(call_model_input_filter=recall_filter(wk, session=session))
        result = await Runner.run(agent, question, session=session, run_config=config)
        print(result.final_output)


asyncio.run(main())
