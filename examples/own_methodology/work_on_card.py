"""Work on a card: the agent is told what the column before hands on to this one.

Choose the methodology first: `wellkept config set --methodology board`.
"""

import asyncio
import sys

import wellkept
from wellkept.core.memory import WorkUnitRef


async def main(card: str) -> None:
    with wellkept.open() as wk:
        unit = wk.methodology.work_unit(named={"card": card})
        assert isinstance(unit, WorkUnitRef)
        wk.remember(
            "Codes are valid in upper and lower case",
            type="requirement",
            source="user_taught",
            work_unit=unit,
        )
        agent = wk.agent("anthropic:claude-sonnet-4-5", stage="doing")
        result = await agent.run(f"Work on card {card}.")
        print(result.text)


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "12"))
