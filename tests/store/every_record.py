"""A store with a record of every kind whose text is worth a checksum."""

from __future__ import annotations

from datetime import timedelta

from tests.support.conformance.scratchpads import explanation, pad, putting, signal
from tests.support.conformance.sessions import session
from tests.support.samples import START, Samples
from wellkept.core.changes import PutExplanation, PutScratchpad, PutSession
from wellkept.core.ports.store import Store
from wellkept.core.records import replace
from wellkept.core.session.scratchpad import AgentNote, TaskScratchpad
from wellkept.core.skills import GeneratedSkill

MODEL = "small"
SKILL = GeneratedSkill(
    id="skill-1",
    project="example",
    name="add-a-route",
    text="# Add a route\n\n1. Größe 日本 marigold\n",
    created_at=START,
    updated_at=START,
)


def fill(store: Store) -> None:
    """Write a few records of every kind; each text holds the word marigold."""
    samples = Samples()
    inserts = [
        samples.insert(
            f"The marigold parser number {number} is limited to {number * 37} items, größer 日本",
            tags=(f"marigold{number}",),
            files=("src/marigold.py",),
            key=f"k{number}",
            citation="marigold.md",
            model_id=MODEL,
            vector=samples.vector(),
        )
        for number in range(30)
    ]
    store.apply(inserts)
    for number in range(3):
        work = {"note": f"marigold {number}"}
        one = replace(session(f"session-{number}"), title="A marigold session", work=work)
        store.apply([PutSession(one)])
        note = AgentNote("n1", "Plant a marigold", "fact", 1, 0)
        sheet = TaskScratchpad(notes=(note,))
        store.apply([PutScratchpad(replace(pad(f"session-{number}"), tasks=(sheet,)))])
    store.apply([putting(signal("marigold"))])
    store.apply([PutExplanation(replace(explanation(inserts[0].memory.id), rule="marigold"))])
    store.put_generated_skill(SKILL)
    later = replace(SKILL, text="# Other marigold\n", revision=1)
    store.put_generated_skill(replace(later, updated_at=START + timedelta(days=1)))
    store.put_value("space", "key", {"marigold": [1, 2, 3]})
