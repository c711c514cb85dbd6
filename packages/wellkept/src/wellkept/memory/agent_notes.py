"""What an agent may store and change: its own notes, in its own project.

Who said something is proved, not claimed. A statement that an agent brings is a person's only when
its substance stands in a captured prompt of that session; otherwise the agent noted it. A person's
yes turns a note into a rule; an agent cannot give it, and cannot reword what a person said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from wellkept.core.changes import Replace
from wellkept.core.errors import ForbiddenError
from wellkept.core.memory import Evidence, Memory, MemoryDraft, MemoryPatch
from wellkept.core.query import RAW_TYPES, Filter, Order
from wellkept.core.records import replace
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.text import comparison_key
from wellkept.core.types import EvidenceKind, MemoryType, Scope, Source
from wellkept.memory.engine import Engine
from wellkept.text.speech import said_in

MAX_PROMPTS: Final = 100
_ACTIVE: Final = timedelta(hours=1)
_MAX_CLAIMS: Final = 50
# A command that can reach the memory: our program, a server on this machine, another client.
_REACHES_US: Final = re.compile(
    r"wellkept|127\.0\.0\.1|localhost|\[::1\]|\b(?:claude|codex|gemini|cursor-agent|opencode|qwen"
    r"|copilot|amp|crush)\s",
    re.IGNORECASE,
)
_ID: Final = re.compile(r"\b[0-9a-z]{8}\b|\b[0-9a-f-]{36}\b")


def noted_by_agent(
    engine: Engine, draft: MemoryDraft, *, project: str, phase: str = ""
) -> MemoryDraft:
    """The draft as an agent may store it: what the person said, in their own words, where a prompt
    proves it, else its own note; never beyond the project, never pinned."""
    if draft.type is MemoryType.PROMPT:
        raise ForbiddenError(
            "A prompt is captured, not stored by an agent.", hint="Give another type, or none."
        )
    session = draft.session_id
    evidence = tuple(one for one in draft.evidence if one.kind is not EvidenceKind.PERSON)
    if session:
        evidence += (Evidence(EvidenceKind.SESSION, session, phase or None, engine.clock()),)
    note = replace(
        draft,
        source=Source.AGENT_EXPLICIT,
        scope=None if draft.scope is Scope.USER else draft.scope,
        author=None,
        pinned=False,
        evidence=evidence,
    )
    proof = _proof(engine, draft.content, project=project, session=session) if session else None
    if proof is None:
        return note
    return replace(
        note,
        content=proof.note or draft.content,
        source=Source.USER_TAUGHT,
        author=proof.ref,
        evidence=(*evidence, proof),
    )


def _proof(engine: Engine, statement: str, *, project: str, session: str) -> Evidence | None:
    """The prompt of the session in which the person says so, latest first."""
    where = Filter(project=project, types=(MemoryType.PROMPT,), sessions=(session,), archived=None)
    for prompt in engine.store.list(where, order=Order.EVENT_LATEST, limit=MAX_PROMPTS).items:
        if prompt.source is Source.AGENT_EXPLICIT:
            continue
        if passage := said_in(statement, prompt.content):
            author = prompt.author or "user"
            return Evidence(EvidenceKind.PERSON, author, passage, prompt.valid_from)
    return None


def session_at_work(engine: Engine, *, project: str) -> SessionRecord | None:
    """The one session that is at work in a project now; None when there are several or none."""
    since = engine.clock() - _ACTIVE
    found = engine.store.sessions(project=project, open_only=True, limit=3)
    active = [one for one in found if one.last_event_at >= since]
    return active[0] if len(active) == 1 else None


def is_persons(memory: Memory) -> bool:
    """Whether only a person may change or delete it."""
    return memory.has_persons_word or memory.pinned


def require_agents_own(memory: Memory, patch: MemoryPatch) -> None:
    """ForbiddenError when a change by an agent would speak for a person."""
    is_yes = patch.user_verified or patch.pinned or patch.scope is Scope.USER
    weighed = (patch.content, patch.type, patch.key, patch.importance, patch.confidence)
    rewords = any(one is not None for one in weighed)
    if is_yes or patch.type is MemoryType.PROMPT or (rewords and is_persons(memory)):
        what = "Saying yes to a memory" if is_yes else f"Changing {memory.short}"
        raise ForbiddenError(
            f"{what} takes a person, and this was asked by an agent.",
            hint="Store a note of your own; the person can change or confirm it.",
        )


# -- What later events show -----------------------------------------------------------------------


def confirm_by_prompt(
    engine: Engine, prompt: str, *, project: str, session: str, at: datetime
) -> None:
    """A person's prompt says what the agent noted in this session: the note is theirs from now."""
    where = Filter(project=project, sources=(Source.AGENT_EXPLICIT,), sessions=(session,))
    for note in engine.store.list(where, order=Order.EVENT_LATEST, limit=_MAX_CLAIMS).items:
        passage = said_in(note.content, prompt) if note.is_agent_note else None
        if passage is not None:
            proof = Evidence(EvidenceKind.PERSON, "user", passage, at)
            theirs = replace(
                note,
                content=passage,
                source=Source.USER_TAUGHT,
                user_verified=True,
                evidence=(*note.evidence, proof),
                updated_at=max(engine.clock(), note.updated_at),
            )
            engine.store.apply([Replace(theirs, engine.index_entry(theirs), note.updated_at)])


def withdraw_claims(engine: Engine, command: str, *, since: datetime, until: datetime) -> None:
    """A shell command of an agent that reached the memory: what it said in a person's name, and
    what it confirmed, while it ran, is the agent's."""
    if _REACHES_US.search(command) is None:
        return
    for claim in _claims(engine, command, since=since, until=until):
        note = replace(
            claim,
            source=Source.AGENT_EXPLICIT,
            scope=Scope.GLOBAL if claim.scope is Scope.USER else claim.scope,
            user_verified=False,
            pinned=False,
            evidence=tuple(one for one in claim.evidence if one.kind is not EvidenceKind.PERSON),
            updated_at=max(engine.clock(), claim.updated_at),
        )
        engine.store.apply([Replace(note, None, claim.updated_at)])


def _claims(engine: Engine, command: str, *, since: datetime, until: datetime) -> Iterator[Memory]:
    told = comparison_key(command)
    where = Filter(project=None, sources=(Source.USER_TAUGHT,), since=since, until=until)
    for memory in engine.store.list(where, limit=_MAX_CLAIMS).items:
        if memory.type not in RAW_TYPES and comparison_key(memory.content) in told:
            yield memory
    named = [
        one for name in _ID.findall(command) for one in engine.store.resolve(name, project=None)
    ]
    for memory in engine.store.get(list(dict.fromkeys(named))):
        was_confirmed = memory.source is Source.AGENT_EXPLICIT and memory.has_persons_word
        if was_confirmed and since <= memory.updated_at <= until:
            yield memory
