"""pydantic-ai: a toolset that recalls, remembers and forgets.

    agent = Agent("openai:gpt-5-mini", toolsets=[memory_toolset(wk)])

Before each run the agent is told what is known about the prompt, as data. What it remembers is a
statement of the project like any other; what it forgets is closed, not deleted.
"""

from __future__ import annotations

from typing import cast

from wellkept.api.async_wellkept import AsyncWellkept
from wellkept.api.wellkept import Wellkept
from wellkept.core.errors import WellkeptError
from wellkept_adapters.items import DEFAULT_LIMIT, as_async, evidence_of, framework, recalled_text

with framework("pydantic-ai", extra="pydantic-ai"):
    from pydantic_ai import FunctionToolset, ModelRetry, RunContext

NOTHING = "Nothing is known about that."


def memory_toolset(
    wellkept: Wellkept | AsyncWellkept,
    *,
    limit: int = DEFAULT_LIMIT,
    recall_unasked: bool = True,
    session: str | None = None,
) -> FunctionToolset[object]:
    """The tools `recall_memory`, `remember` and `forget_memory` over one project.

    With `recall_unasked` the instructions of a run say what is known about its prompt. `session`
    names the conversation in what is remembered.
    """
    wk = as_async(wellkept)

    async def recall_memory(question: str, limit: int = limit) -> str:
        """Find what is known from earlier work about a question.

        Args:
            question: What you want to know, in plain words.
            limit: The most memories to return.
        """
        return await wk.run(recalled_text, question, limit=limit) or NOTHING

    async def remember(statement: str, type: str = "fact") -> str:
        """Keep one statement for later sessions: a fact, a decision, a preference of the user.

        Args:
            statement: One sentence that is understood without this conversation.
            type: fact, decision, preference, convention, requirement or gotcha.
        """
        try:
            done = await wk.remember(
                statement,
                type=type,
                tags=["pydantic-ai"],
                source="agent_explicit",
                session=session,
                evidence=evidence_of("pydantic-ai", session),
            )
        except WellkeptError as error:
            raise ModelRetry(_said(error)) from error
        return f"[m:{done.memory.short}] {done.outcome.value}: {done.reason}"

    async def forget_memory(memory_id: str) -> str:
        """Close a memory that is wrong or out of date. It is no longer recalled.

        Args:
            memory_id: Its id as recalled, such as m:1a2b3c4d.
        """
        try:
            (gone,) = await wk.forget(memory_id.removeprefix("m:"), keep_history=True)
        except WellkeptError as error:
            raise ModelRetry(_said(error)) from error
        return f"Closed [m:{gone.short}]."

    async def known(ctx: RunContext[object]) -> str | None:
        prompt = ctx.prompt
        question = prompt if isinstance(prompt, str) else _texts(prompt)
        return await wk.run(recalled_text, question, limit=limit) or None

    return FunctionToolset(
        [recall_memory, remember, forget_memory],
        id="wellkept",
        instructions=known if recall_unasked else None,
    )


def _texts(prompt: object) -> str:
    parts = cast("list[object]", prompt) if isinstance(prompt, (list, tuple)) else []
    return "\n".join(part for part in parts if isinstance(part, str))


def _said(error: WellkeptError) -> str:
    hint = getattr(error, "hint", None)
    return f"{error} {hint}" if hint else str(error)
