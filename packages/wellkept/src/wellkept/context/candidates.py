"""Candidates for injected context, by source. Knows nothing of budgets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from wellkept.context.sections import Section, SectionLines
from wellkept.core.ids import blake2b_hex, is_full_id
from wellkept.core.memory import Memory
from wellkept.core.query import Filter, Order
from wellkept.core.records import record, replace
from wellkept.core.text import content_words, stem
from wellkept.core.types import TYPE_RULES, MemoryType, Scope, Source
from wellkept.memory.engine import Engine
from wellkept.memory.recall.recall import recall
from wellkept.memory.recall.requests import RecallRequest

WARNING_TYPES = tuple(t for t, rule in TYPE_RULES.items() if rule.warns)
MIN_WARNING_CONFIDENCE = 0.65
MIN_E2E_CONFIDENCE = 0.7
_SAID_AS_RULE = 0.9
"""The importance from which on a person's words were a command: always, never, remember."""
MIN_LINK_WEIGHT = 0.6  # of a link between two files that change together
_CO_CHANGE_CAP = 5
_SEARCH_CAP = 40
_QA_CAP = 8
_COMMAND_CHARS = 2_000
_BETWEEN = r"&&|\|\||[;|\n]"
_QA_CHARS = 2_000
_QA_KINDS = ("precondition", "test_sequence", "timing", "mcp_gotcha", "ui_behavior")
_QA = (
    r"\b(?:^qa|qa (?:the|this|it|a)|(?:run|do|start) (?:the )?(?:qa|e2e|end[- ]to[- ]end)"
    r"|smoke[- ]test|acceptance test|in (?:the|a) browser|click through"
    r"|(?:test|check|verify|validate) the (?:ui|app|page|screen))\b"
)
NEVER_INJECTED = frozenset(
    {MemoryType.CONTEXT_COST, MemoryType.TASK_CALIBRATION, MemoryType.PREFETCH_PATTERN}
)
"""Records for people and planning tools that ask for them; as injected text they helped nobody."""
INJECTED_TYPES = tuple(t for t in MemoryType if t not in NEVER_INJECTED)
RULE_TYPES = (
    MemoryType.PREFERENCE,
    MemoryType.CONVENTION,
    MemoryType.CORRECTION,
    MemoryType.REQUIREMENT,
)
_STATED_TYPES = frozenset({*RULE_TYPES, MemoryType.DECISION})


@record
class ContextCandidate:
    """A memory that a source proposes, its weight, and the reason.

    `is_session_note` marks a note of the current session, which is not stored as a memory yet.
    `text` replaces the content of the memory. `section` is where it is told. `whole`: told alone
    and uncut.
    """

    memory: Memory
    weight: float
    reason: str
    is_session_note: bool = False
    text: str | None = None
    section: Section = Section.KNOWN
    whole: bool = False


def is_from_repository(memory: Memory) -> bool:
    """Whether a project's own files or git say it: found when asked for. Of these only what was
    undone is told at a file."""
    return bool(memory.key and memory.key.startswith("repo:")) and not _is_from_person(memory)


def is_noticed(memory: Memory) -> bool:
    """Whether it was only heard in passing, in one session: nobody said to keep it."""
    return (
        memory.session_id is not None
        and memory.source in (Source.USER_TAUGHT, Source.OBSERVER_INFERRED)
        and memory.importance < _SAID_AS_RULE
        and len(set(memory.provenance_sessions)) <= 1
    )


_POINTS = re.compile(
    r"^(?:it|they|that|this|these|those|there|i|nah|yeah|we (?:still|already))\b(?! we\b)"
    r"|[,;] *(?:it|they|that|this) |\b(?:that|this|it|those|these)(?: one)?(?: then| too| now)?"
    r" *(?:[.,;!?]|$)|\b(?:this|these|those) (?:to|so|be|is|are|should|must|as|in|on|for|with)\b"
    r"|\b(?:that|this|the other) (?:one|way)\b|[\"“]",
    re.IGNORECASE,
)


def points_back(memory: Memory) -> bool:
    """Whether what a person said in passing points at the matter of that day."""
    is_bare = memory.source is Source.USER_TAUGHT and "?" not in memory.content
    return is_bare and is_noticed(memory) and _POINTS.search(memory.content) is not None


def is_cut(memory: Memory) -> bool:
    """Whether a part is missing in the middle of a quotation: nobody can tell what it says."""
    return re.search(r"\S… \S", memory.content) is not None


def weight(memory: Memory) -> float:
    """Weight of a memory independent of the request."""
    return memory.importance * memory.confidence


# -- At a file ------------------------------------------------------------------------------------


def file_memories(
    engine: Engine, project: str, files: Sequence[str], *, warnings_only: bool
) -> Iterator[ContextCandidate]:
    """Memories linked to the files, warnings first. With `warnings_only`, of all others only rules,
    decisions, and what a person said."""
    where = Filter(project=project, stale=False)
    named = (*files, *(one for path in files for one in patterns_of(path)))
    hits = engine.store.search_links(files=named, modules=(), where=where, limit=_SEARCH_CAP)
    for memory in engine.store.get([hit.id for hit in hits]):
        path = next((f for f in memory.files if f in named), files[0])
        if TYPE_RULES[memory.type].warns:
            if memory.confidence >= MIN_WARNING_CONFIDENCE and _says_what_was_tried(memory):
                yield ContextCandidate(
                    memory, 3.0 + weight(memory), f"{memory.type.value} for {path}"
                )
        elif warnings_only and is_from_repository(memory) and "revert" not in memory.tags:
            continue
        elif not warnings_only or memory.type in _STATED_TYPES or _is_from_person(memory):
            yield ContextCandidate(memory, 1.5 + weight(memory), f"about {path}")


def _says_what_was_tried(memory: Memory) -> bool:
    """Whether an approach that was undone is told in words that speak of its files: "5 seems fine"
    does not say what was tried."""
    from wellkept.core.payloads import DeadEnd

    tried = memory.payload
    if not isinstance(tried, DeadEnd) or "\n" not in memory.content:
        return True
    names = " ".join(path.rpartition("/")[2].partition(".")[0] for path in memory.files)
    parts = re.findall(r"[A-Z]?[a-z]{2,}|[A-Z]{3,}", names)
    said = set(map(stem, content_words(tried.approach_tried)))
    return not said.isdisjoint(stem(part.lower()) for part in parts)


def patterns_of(path: str) -> tuple[str, ...]:
    """The patterns under which a memory may be linked to every file like this one: `*.md`."""
    name = path.rpartition("/")[2]
    stem, dot, ending = name.rpartition(".")
    return (f"*.{ending}", f"**/*.{ending}") if stem and dot and ending else ()


def is_pattern(path: str) -> bool:
    """Whether a linked path stands for many files."""
    return "*" in path


def _is_from_person(memory: Memory) -> bool:
    return memory.has_persons_word or memory.pinned


def co_change_warnings(
    engine: Engine, project: str, files: Sequence[str]
) -> Iterator[ContextCandidate]:
    """Warnings about files that change together with the given ones."""
    links = engine.store.linked_files(
        project, files, min_weight=MIN_LINK_WEIGHT, limit=_CO_CHANGE_CAP
    )
    others = {link.file_b: link.file_a for link in links if link.weight > MIN_LINK_WEIGHT}
    if not others:
        return
    where = Filter(
        project=project,
        types=WARNING_TYPES,
        stale=False,
        min_confidence=MIN_WARNING_CONFIDENCE,
    )
    hits = engine.store.search_links(
        files=tuple(others), modules=(), where=where, limit=_CO_CHANGE_CAP
    )
    for memory in engine.store.get([hit.id for hit in hits]):
        named = next((f for f in memory.files if f in others), next(iter(others)))
        reason = f"{named} changes together with {others[named]}"
        yield ContextCandidate(memory, 2.0 + weight(memory), reason)


# -- At a command ---------------------------------------------------------------------------------


def command_warnings(engine: Engine, project: str, command: str) -> Iterator[ContextCandidate]:
    """Warnings that quote the command about to run, or a part of it."""
    parts = {" ".join(part.split()) for part in re.split(_BETWEEN, command[:_COMMAND_CHARS])}
    where = Filter(
        project=project, types=WARNING_TYPES, stale=False, min_confidence=MIN_WARNING_CONFIDENCE
    )
    request = RecallRequest(
        query=command[:_COMMAND_CHARS],
        where=where,
        limit=_SEARCH_CAP,
        read_dates=False,
        count_access=False,
        second_pass=False,
    )
    for hit in recall(engine, request):
        if is_way_out(hit.memory):
            continue
        named = [" ".join(one.split()) for one in re.findall(r"`([^`\n]+)`", hit.memory.content)]
        if not _is_from_person(hit.memory):
            named = named[:1]  # rules name what fails first, then what helped
        if any(_is_command(part, one) for part in parts for one in named):
            yield ContextCandidate(hit.memory, 3.0 + weight(hit.memory), "about this command")


def is_way_out(memory: Memory) -> bool:
    """Whether a memory is the way out of a failed command: it is offered at that failure only."""
    if memory.payload is None:
        return False
    from wellkept.core.payloads import ErrorPattern

    return isinstance(memory.payload, ErrorPattern) and memory.payload.worked is not None


def _is_command(command: str, named: str) -> bool:
    """Whether a command is the quoted one, perhaps with more arguments."""
    return command == named or (" " in named and command.startswith(f"{named} "))


# -- Session notes --------------------------------------------------------------------------------


def session_notes(
    engine: Engine, project: str, session: str, files: Sequence[str]
) -> Iterator[ContextCandidate]:
    """Notes of the session about the given files, or all of them without files: the agent may have
    lost them to compaction. A sub-agent gets the notes of its session."""
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
        yield ContextCandidate(memory, 4.0, "noted in this session", is_session_note=True)


def _full_id(name: str) -> str:
    """A stable id in the form of a memory id."""
    if is_full_id(name):
        return name
    digest = blake2b_hex(name.encode("utf-8", "replace"), 16)
    return "-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:]))


# -- QA -------------------------------------------------------------------------------------------


def is_qa_request(text: str) -> bool:
    """Whether a request asks to test a running application."""
    return re.search(_QA, text[:_QA_CHARS], re.IGNORECASE) is not None


def qa_memories(engine: Engine, project: str, query: str) -> Iterator[ContextCandidate]:
    """Memories about testing the application: preconditions, sequences, timing, tool behaviour, and
    UI behaviour that only looks wrong."""
    from wellkept.core.payloads import E2EObservation

    where = Filter(
        project=project,
        types=(MemoryType.E2E_OBSERVATION,),
        stale=False,
        min_confidence=MIN_E2E_CONFIDENCE,
    )
    for memory in _e2e(engine, where, query):
        seen = memory.payload
        kind = seen.observation_type if isinstance(seen, E2EObservation) else "ui_behavior"
        first = 0.3 * (len(_QA_KINDS) - _QA_KINDS.index(kind))
        yield ContextCandidate(
            memory, 2.5 + first + weight(memory), f"e2e {kind.replace('_', ' ')}"
        )


def _e2e(engine: Engine, where: Filter, query: str) -> Sequence[Memory]:
    """Recall hits, filled up with the most important ones: a QA request says little."""
    found: dict[str, Memory] = {}
    if query.strip():
        request = RecallRequest(
            query=query,
            where=where,
            limit=_QA_CAP,
            count_access=False,
            second_pass=False,
        )
        found = {hit.memory.id: hit.memory for hit in recall(engine, request)}
    page = engine.store.list(where, order=Order.IMPORTANCE, limit=_QA_CAP)
    found |= {memory.id: memory for memory in page.items if memory.id not in found}
    return list(found.values())[:_QA_CAP]


_FACT_CHARS = 4_000


def harmless_candidates(candidates: Sequence[ContextCandidate]) -> list[ContextCandidate]:
    """The candidates, each cut to its fact."""
    from wellkept.text.instructions import fact_of

    kept: list[ContextCandidate] = []
    for one in candidates:
        text = one.text or one.memory.content
        fact = (
            text
            if one.memory.has_persons_word and one.text is None
            else fact_of(text[:_FACT_CHARS])
        )
        if fact is not None:
            kept.append(one if fact == text else replace(one, text=fact))
    return kept


def harmless_sections(sections: Sequence[SectionLines]) -> list[SectionLines]:
    """The sections with each line cut to its fact."""
    from wellkept.text.instructions import fact_of

    found: list[SectionLines] = []
    for section in sections:
        lines = [
            line if fact == line.text else replace(line, text=fact)
            for line in section.lines
            if (fact := fact_of(line.text)) is not None
        ]
        title = section.title if section.title is None else fact_of(section.title)
        if lines:
            found.append(replace(section, lines=tuple(lines), title=title))
    return found
