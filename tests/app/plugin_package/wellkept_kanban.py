"""A way of working as somebody else would publish it: a package with one entry point."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from wellkept import hookimpl
from wellkept.core.codec import Json
from wellkept.core.memory import Memory, WorkUnitRef
from wellkept.core.types import MemoryType, Phase
from wellkept.observe.methodology.protocol import CustomType, Methodology, Relay, WorkContext


class Kanban:
    """Cards that wander over a board; written without any of Wellkept's own tables."""

    id = "kanban"
    title = "Kanban (cards)"
    phases: Mapping[str, Phase] = {"ready": Phase.DEFINE, "doing": Phase.IMPLEMENT}
    relays: Sequence[Relay] = (Relay(source="ready", target="doing"),)
    custom_types: Sequence[CustomType] = (
        CustomType(name="wip_limit", kept_as=MemoryType.CONVENTION, doc="How much at once."),
    )

    def work_unit(self, at: WorkContext) -> WorkUnitRef | None:
        card = at.named.get("card") or (at.branch or "").removeprefix("card/")
        return WorkUnitRef(self.id, (card,), f"Card {card}") if card else None

    def relay_text(self, memories: Sequence[Memory], *, to: str) -> str:
        return f"{to}: " + " | ".join(memory.content for memory in memories)

    def work_state(self, text: str) -> Mapping[str, Json]:
        return {"column": "doing"} if "doing" in text else {}

    def state_text(self, state: Mapping[str, Json]) -> str:
        return f"The card is in {state.get('column')}."


@hookimpl
def wellkept_methodologies() -> Iterable[Methodology]:
    return [Kanban()]
