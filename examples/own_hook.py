"""A hook of your own: a decorated function that may answer in a tool's place."""

import wellkept
from wellkept.core.chat.messages import ToolCallPart
from wellkept_agent import HookContext

with wellkept.open() as wk:
    agent = wk.agent("anthropic:claude-sonnet-4-5", permission_mode="bypass")

    @agent.on_before_tool
    def keep_secrets(_context: HookContext, call: ToolCallPart) -> str | None:
        return "Not this file." if call.args.get("file_path") == ".env" else None

    print(agent.run_sync("What is in .env?").output)
