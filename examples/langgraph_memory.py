"""A LangGraph graph that recalls before it answers and remembers afterwards, without a
checkpointer; the store keeps what the graph itself wants to keep."""

# pyright: basic

import sys
from typing import Any

import openai
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore

import wellkept
from wellkept_adapters.langgraph import WellkeptStore
from wellkept_adapters.langgraph_nodes import MemoryState, recall_node, remember_node

question = " ".join(sys.argv[1:]) or "Where do we deploy?"


def answer(state: MemoryState, *, store: BaseStore) -> dict[str, Any]:
    """Ask the model, with what is known; count the answers in the store."""
    done = store.get(("counts",), "answers")
    store.put(("counts",), "answers", {"n": done.value["n"] + 1 if done else 1})
    asked = openai.OpenAI().chat.completions.create(  # OPENAI_API_KEY, OPENAI_BASE_URL
        model="gpt-5-mini",
        messages=[
            {"role": "system", "content": f"Answer in one sentence.\n{state['recalled']}"},
            {"role": "user", "content": str(state["messages"][-1].text)},
        ],
    )
    return {"messages": [AIMessage(asked.choices[0].message.content or "")]}


with wellkept.open() as wk:
    builder = StateGraph(MemoryState)
    builder.add_node("recall", recall_node(wk))
    builder.add_node("answer", answer)
    builder.add_node("remember", remember_node(wk))
    builder.add_edge(START, "recall")
    builder.add_edge("recall", "answer")
    builder.add_edge("answer", "remember")
    builder.add_edge("remember", END)
    graph = builder.compile(store=WellkeptStore(wk))
    start: Any = {"messages": [HumanMessage(question)], "recalled": ""}
    print(graph.invoke(start, {"configurable": {"thread_id": "chat-17"}})["messages"][-1].text)
