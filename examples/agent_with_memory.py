"""An agent with memory. Run it twice: the second run knows what the first has learned."""

import sys

import wellkept

with wellkept.open() as wk:
    agent = wk.agent("anthropic:claude-sonnet-4-5", permission_mode="accept_edits")
    print(agent.run_sync(" ".join(sys.argv[1:]) or "What does this project do?").output)
