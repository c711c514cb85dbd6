"""LangGraph: nodes that recall and remember, for graphs without a checkpointer.

    builder.add_node("recall", recall_node(wk))
    builder.add_node("remember", remember_node(wk))

`recall` writes what is known about the last human message to `recalled`, for the node that asks the
model; `remember` keeps what was said. The thread's id, if there is one, is the session.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

from wellkept.api.async_wellkept import AsyncWellkept
from wellkept.api.wellkept import Wellkept
from wellkept_adapters.items import DEFAULT_LIMIT, as_sync, framework, keep_said, recalled_text

with framework("LangGraph", extra="langgraph"):
    from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
    from langchain_core.runnables import RunnableConfig
    from langgraph.graph import MessagesState


class MemoryState(MessagesState):
    """The state of a graph with these nodes: messages, and what was recalled for the last one."""

    recalled: str


class Node(Protocol):
    """A node as LangGraph calls it."""

    def __call__(self, state: MemoryState, config: RunnableConfig) -> dict[str, str]: ...


def recall_node(wellkept: Wellkept | AsyncWellkept, *, limit: int = DEFAULT_LIMIT) -> Node:
    """A node that recalls what is known about the last human message."""
    wk = as_sync(wellkept)

    def recall(state: MemoryState, config: RunnableConfig) -> dict[str, str]:  # noqa: ARG001
        question = next(
            (_text(m) for m in reversed(state["messages"]) if isinstance(m, HumanMessage)), ""
        )
        return {"recalled": recalled_text(wk, question, limit=limit)}

    return recall


def remember_node(wellkept: Wellkept | AsyncWellkept) -> Node:
    """A node that keeps what was said since the last human message, that one included."""
    wk = as_sync(wellkept)

    def remember(state: MemoryState, config: RunnableConfig) -> dict[str, str]:
        session = _thread(config)
        for message in _last_turn(state["messages"]):
            by_user = isinstance(message, HumanMessage)
            keep_said(wk, _text(message), framework="langgraph", by_user=by_user, session=session)
        return {}

    return remember


def _last_turn(messages: Sequence[AnyMessage]) -> Sequence[AnyMessage]:
    said = [one for one in messages if isinstance(one, (HumanMessage, AIMessage)) and _text(one)]
    humans = [at for at, one in enumerate(said) if isinstance(one, HumanMessage)]
    return said[humans[-1] :] if humans else []


def _text(message: AnyMessage) -> str:
    return str(message.text)


def _thread(config: RunnableConfig) -> str | None:
    thread = cast("dict[str, object]", config.get("configurable") or {}).get("thread_id")
    return None if thread is None else str(thread)
