"""The memory of a CrewAI crew in this project, with an embedding model that needs no key."""

# pyright: basic

import sys

from crewai.memory import Memory  # pyright: ignore[reportMissingImports]

import wellkept
from wellkept_adapters.crewai import WellkeptStorage

question = " ".join(sys.argv[1:]) or "when do we deploy?"

with wellkept.open() as wk:
    storage = WellkeptStorage(wk)
    memory = Memory(storage=storage, embedder=storage.embedder)
    # Hand it to a crew: Crew(agents=[...], tasks=[...], memory=memory)
    memory.remember("We deploy on Fridays", scope="/team", categories=["process"], importance=0.7)
    memory.drain_writes()
    for match in memory.recall(question, scope="/team", depth="shallow"):
        print(match.record.content)
    memory.close()
