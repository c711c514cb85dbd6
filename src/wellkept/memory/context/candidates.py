"""What may be said unasked, and what the files at hand call for.

An offer is a memory that some source puts forward. Trust is decided here, for every source alike:
what a person, an agent or QA said on purpose may be offered; what only an automated source has seen
waits for a second sighting or a person's yes, and a warning also counts as confirmed once it was
looked up twice. Knows nothing of budgets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from wellkept.core.ids import is_full_id
from wellkept.core.memory import Memory
from wellkept.core.query import Filter, Order
from wellkept.core.records import record
from wellkept.core.types import TYPE_RULES, EvidenceKind, MemoryType, Scope, Source
from wellkept.memory.engine import Engine
from wellkept.memory.recall.recall import recall
from wellkept.memory.recall.requests import RecallRequest, SearchMode

TYPES_THAT_WARN = tuple(t for t, rule in TYPE_RULES.items() if rule.warns)
MIN_WARNING_CONFIDENCE = 0.65
MIN_E2E_CONFIDENCE = 0.7
MIN_ACCESSES = 2
TOGETHER = 0.6  # above this weight two files count as changing together
_TOGETHER_CAP = 5
_LOOKED_AT = 40
_QA_CAP = 8
_COMMAND_CHARS = 2_000
_BETWEEN = r"&&|\|\||[;|\n]"
_QA_CHARS = 2_000
_QA_KINDS = ("precondition", "test_sequence", "timing", "mcp_gotcha", "ui_behavior")
_QA = (
    r"\b(?:qa|e2e|end[- ]to[- ]end|smoke[- ]test|acceptance test|playwright|puppeteer|selenium"
    r"|in (?:the|a) browser|click through"
    r"|(?:test|check|verify|validate) the (?:ui|app|page|screen))\b"
)
NEVER_INJECTED = frozenset(
    {MemoryType.CONTEXT_COST, MemoryType.TASK_CALIBRATION, MemoryType.PREFETCH_PATTERN}
)
"""Records for people and planning tools that ask for them; as injected text they helped nobody."""
INJECTED_TYPES = tuple(t for t in MemoryType if t not in NEVER_INJECTED)
_SAID_ON_PURPOSE = frozenset(
    {Source.USER_TAUGHT, Source.AGENT_EXPLICIT, Source.QA_AUTO, Source.IMPORTED}
)


@record
class ContextCandidate:
    """A memory that a source puts forward, how strongly, and why.

    `own` marks a note of the session that asks: it is no memory yet. `text` replaces the memory's
    own words.
    """

    memory: Memory
    weight: float
    reason: str
    own: bool = False
    text: str | None = None


def may_be_pushed(memory: Memory) -> bool:
    """Whether a memory may be offered unasked."""
    if not memory.is_open or memory.stale_at or memory.archived_at:
        return False
    if memory.user_verified or memory.source in _SAID_ON_PURPOSE:
        return not memory.needs_review
    # Whatever the observer makes waits for review, until it is seen again.
    return is_confirmed(memory) or (memory.pinned and not memory.needs_review)


def is_confirmed(memory: Memory) -> bool:
    """Whether more than one session has shown it, or it is a warning that was looked up twice."""
    cited = {one.ref for one in memory.evidence if one.kind is EvidenceKind.SESSION}
    if len(cited.union(memory.provenance_sessions)) > 1:
        return True
    return TYPE_RULES[memory.type].warns and memory.access_count >= MIN_ACCESSES


def weight(memory: Memory) -> float:
    """How much a memory weighs by itself."""
    return memory.importance * memory.confidence


# -- At a file ------------------------------------------------------------------------------------


def tied_to_files(
    engine: Engine, project: str, files: Sequence[str], *, warnings_only: bool
) -> Iterator[ContextCandidate]:
    """Warnings first, then what the files at hand need beside them, then what else is tied to them;
    with `warnings_only` of that only what a person said."""
    where = Filter(project=project, stale=False)
    hits = engine.store.search_links(files=files, modules=(), where=where, limit=_LOOKED_AT)
    for memory in engine.store.get([hit.id for hit in hits]):
        named = next((f for f in memory.files if f in files), files[0])
        if TYPE_RULES[memory.type].warns:
            if memory.confidence >= MIN_WARNING_CONFIDENCE:
                yield ContextCandidate(
                    memory, 3.0 + weight(memory), f"{memory.type.value} for {named}"
                )
        elif (
            memory.type is MemoryType.CAUSAL_DEPENDENCY
            and memory.confidence >= MIN_WARNING_CONFIDENCE
        ):
            yield ContextCandidate(memory, 2.5 + weight(memory), f"goes together with {named}")
        elif not warnings_only or _said_by_person(memory):
            yield ContextCandidate(memory, 1.5 + weight(memory), f"about {named}")


def _said_by_person(memory: Memory) -> bool:
    return memory.user_verified or memory.pinned or memory.source is Source.USER_TAUGHT


def changing_together(
    engine: Engine, project: str, files: Sequence[str]
) -> Iterator[ContextCandidate]:
    """Warnings about files that change together with those at hand."""
    links = engine.store.linked_files(project, files, min_weight=TOGETHER, limit=_TOGETHER_CAP)
    others = {link.file_b: link.file_a for link in links if link.weight > TOGETHER}
    if not others:
        return
    where = Filter(
        project=project,
        types=TYPES_THAT_WARN,
        stale=False,
        min_confidence=MIN_WARNING_CONFIDENCE,
    )
    hits = engine.store.search_links(
        files=tuple(others), modules=(), where=where, limit=_TOGETHER_CAP
    )
    for memory in engine.store.get([hit.id for hit in hits]):
        named = next((f for f in memory.files if f in others), next(iter(others)))
        reason = f"{named} changes together with {others[named]}"
        yield ContextCandidate(memory, 2.0 + weight(memory), reason)


# -- At a command ---------------------------------------------------------------------------------


def known_to_fail(
    engine: Engine, project: str, command: str, *, mode: SearchMode
) -> Iterator[ContextCandidate]:
    """Warnings that name the very command that is about to run, or a part of it."""
    parts = {" ".join(part.split()) for part in re.split(_BETWEEN, command[:_COMMAND_CHARS])}
    where = Filter(
        project=project, types=TYPES_THAT_WARN, stale=False, min_confidence=MIN_WARNING_CONFIDENCE
    )
    request = RecallRequest(
        query=command[:_COMMAND_CHARS],
        where=where,
        limit=_LOOKED_AT,
        mode=mode,
        read_dates=False,
        count_access=False,
    )
    for hit in recall(engine, request):
        if is_way_out(hit.memory):
            continue
        named = {" ".join(one.split()) for one in re.findall(r"`([^`\n]+)`", hit.memory.content)}
        if any(_is_command(part, one) for part in parts for one in named):
            yield ContextCandidate(hit.memory, 3.0 + weight(hit.memory), "about this command")


def is_way_out(memory: Memory) -> bool:
    """Whether a memory is the way out of a failed command: it is offered at that failure only."""
    from wellkept.core.payloads import ErrorPattern

    return isinstance(memory.payload, ErrorPattern) and memory.payload.command is not None


def _is_command(command: str, named: str) -> bool:
    """Whether a command is the one that is named, perhaps with more arguments."""
    return command == named or (" " in named and command.startswith(f"{named} "))


# -- Of the session itself ------------------------------------------------------------------------


def own_notes(
    engine: Engine, project: str, session: str, files: Sequence[str]
) -> Iterator[ContextCandidate]:
    """What the session itself noted about the files at hand, or, without any, at all: it may have
    forgotten since. A sub-agent is told what its session knows."""
    pad = engine.store.scratchpad(session) or engine.store.scratchpad(session.partition("/")[0])
    if pad is None or pad.project != project:
        return
    now = engine.clock()
    for note in reversed(pad.notes):
        if files and not set(files) & set(note.files):
            continue
        memory = Memory(
            id=_full_id(note.id),
            project=project,
            type=MemoryType(note.type) if note.type in set(MemoryType) else MemoryType.FACT,
            content=note.content,
            created_at=now,
            updated_at=now,
            valid_from=now,
            accessed_at=now,
            files=note.files,
            scope=Scope.SESSION,
            session_id=session,
        )
        yield ContextCandidate(memory, 4.0, "noted in this session", own=True)


def _full_id(name: str) -> str:
    """A note's id in the shape of a memory's, always the same for the same note."""
    if is_full_id(name):
        return name
    from hashlib import blake2b

    digest = blake2b(name.encode("utf-8", "replace"), digest_size=16).hexdigest()
    return "-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:]))


# -- At the start of QA ---------------------------------------------------------------------------


def is_about_qa(text: str) -> bool:
    """Whether a request is to try out a running application."""
    return re.search(_QA, text[:_QA_CHARS], re.IGNORECASE) is not None


def for_qa(
    engine: Engine, project: str, query: str, *, mode: SearchMode
) -> Iterator[ContextCandidate]:
    """What is known about trying out the application: what must hold first, how to get there,
    what takes time, how the tools behave, and what looks wrong but is right."""
    from wellkept.core.payloads import E2EObservation

    where = Filter(
        project=project,
        types=(MemoryType.E2E_OBSERVATION,),
        stale=False,
        min_confidence=MIN_E2E_CONFIDENCE,
    )
    for memory in _e2e(engine, where, query, mode):
        seen = memory.payload
        kind = seen.observation_type if isinstance(seen, E2EObservation) else "ui_behavior"
        first = 0.3 * (len(_QA_KINDS) - _QA_KINDS.index(kind))
        yield ContextCandidate(
            memory, 2.5 + first + weight(memory), f"e2e {kind.replace('_', ' ')}"
        )


def _e2e(engine: Engine, where: Filter, query: str, mode: SearchMode) -> Sequence[Memory]:
    """What fits the words, filled up with what matters most: a request for QA says little."""
    found: dict[str, Memory] = {}
    if query.strip():
        request = RecallRequest(
            query=query, where=where, limit=_QA_CAP, mode=mode, count_access=False
        )
        found = {hit.memory.id: hit.memory for hit in recall(engine, request)}
    page = engine.store.list(where, order=Order.IMPORTANCE, limit=_QA_CAP)
    found |= {memory.id: memory for memory in page.items if memory.id not in found}
    return list(found.values())[:_QA_CAP]
