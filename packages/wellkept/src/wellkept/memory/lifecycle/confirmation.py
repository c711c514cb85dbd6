"""Which memories may be told unasked.

What a person, an agent or QA stated explicitly may be, and so may a quotation. What only an
automated source has seen waits for a second session or a person's confirmation; a warning also
counts as confirmed once it was used twice.
"""

from __future__ import annotations

from wellkept.core.memory import Memory
from wellkept.core.types import TYPE_RULES, EvidenceKind, Scope, Source

MIN_ACCESSES = 2
QUOTED_TAG = "quoted"
"""Words of the session as they were said, found by a model: told from the next session on."""
_EXPLICIT_SOURCES = frozenset(
    {Source.USER_TAUGHT, Source.AGENT_EXPLICIT, Source.QA_AUTO, Source.IMPORTED}
)


def may_be_injected(memory: Memory) -> bool:
    """Whether a memory may be injected without being asked for."""
    if not memory.is_open or memory.stale_at or memory.archived_at:
        return False
    if memory.scope is Scope.USER and memory.is_agent_note:
        return False
    if memory.user_verified or memory.source in _EXPLICIT_SOURCES:
        return not memory.needs_review
    if QUOTED_TAG in memory.tags:
        return not memory.needs_review
    # What rules inferred waits for review until a second session confirms it.
    return is_confirmed(memory) or (memory.pinned and not memory.needs_review)


def is_confirmed(memory: Memory) -> bool:
    """Whether more than one session confirms it, or it is a warning that was used twice."""
    cited = {one.ref for one in memory.evidence if one.kind is EvidenceKind.SESSION}
    if len(cited.union(memory.provenance_sessions)) > 1:
        return True
    return TYPE_RULES[memory.type].warns and memory.access_count >= MIN_ACCESSES
