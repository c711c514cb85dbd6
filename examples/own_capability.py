"""A capability of your own: hooks, tools and instructions that belong together.

This one does not let a turn end before the tests have passed. A capability is made anew for each
session, so its state is that of the session.
"""

import wellkept
from wellkept.core.chat.messages import ToolCallPart
from wellkept_agent import Capability, HookContext, ToolOutput

RULE = "Run `make test` and see it pass before you finish."


class TestsPass(Capability):
    name = "tests pass"

    def __init__(self) -> None:
        self.have_passed = False

    def instructions(self) -> str:
        return RULE

    async def on_after_tool(
        self, context: HookContext, call: ToolCallPart, output: ToolOutput
    ) -> None:
        _ = context  # session, project, provider, model, state
        if call.name == "Bash" and "make test" in call.args["command"]:
            self.have_passed = not output.is_error

    def keep_going(self) -> str | None:
        return None if self.have_passed else RULE


with wellkept.open() as wk:
    agent = wk.agent(
        "anthropic:claude-sonnet-4-5",
        capabilities=[TestsPass],
        permission_mode="bypass",  # in a container of your own
    )
    print(agent.run_sync("Fix the rounding of totals.").output)
