"""Builds the context to inject: memories ranked and packed into a token budget, with reasons.

One operation serves every moment: session start, prompt, file opened, command run, plan made.
Invariants: the rendered pack never exceeds its budget; the same store and request give the same
pack; nothing is injected that is stale, closed, waiting for review, seen only once by an automated
source, or private to another session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from wellkept.context.candidates import (
    NEVER_INJECTED,
    ContextCandidate,
    co_change_warnings,
    command_warnings,
    file_memories,
    harmless_candidates,
    harmless_sections,
    is_cut,
    is_noticed,
    is_pattern,
    is_qa_request,
    is_way_out,
    points_back,
    qa_memories,
    session_notes,
)
from wellkept.context.moments import MOMENTS, ContextRequest, Moment
from wellkept.context.packing import ITEM_CHARS, ContextItem, ContextPack, ExtraLine, pack_items
from wellkept.context.sections import Section, SectionLines
from wellkept.core.errors import UsageError
from wellkept.core.memory import Memory
from wellkept.core.query import Filter
from wellkept.core.records import record, replace
from wellkept.core.text import content_words, first_line, jaccard
from wellkept.core.types import MemoryType, Phase, Scope, Source
from wellkept.memory.engine import Engine
from wellkept.memory.lifecycle.confirmation import may_be_injected
from wellkept.memory.recall.recall import recall
from wellkept.memory.recall.requests import TOLD_FROM, RecallRequest

if TYPE_CHECKING:
    from wellkept.context.decisions import PromptWords

MAX_CANDIDATES = 60
_MIN_JACCARD = 0.8
WHOLE_CHARS, WHOLE_BUDGET_TOKENS = 1_200, 320
"""Room for one record that is told alone and uncut, with its frame."""
_PLANNING = (
    MemoryType.WORKFLOW_RECIPE,
    MemoryType.DECISION,
    MemoryType.REQUIREMENT,
    MemoryType.DEAD_END,
)

_NOT_FOR_TRIVIAL = frozenset({MemoryType.WORKFLOW_RECIPE, MemoryType.E2E_OBSERVATION})


@record(kw_only=True)
class Considered:
    """A memory that was looked at and not told, and why. `probability` where the prompt judged."""

    memory: Memory
    why: str
    probability: float | None = None


def build_context(
    engine: Engine,
    request: ContextRequest,
    *,
    exists: Callable[[str], bool] | None = None,
    extras: Sequence[ExtraLine] = (),
    sections: Sequence[SectionLines] = (),
    vouched: Sequence[ContextCandidate] = (),
    is_loaded: Callable[[str], bool] | None = None,
    trace: list[Considered] | None = None,
) -> ContextPack:
    """The pack for a moment. `exists` tells whether a project file exists; `extras` are lines of
    other sources, best first, `sections` lines without a memory. `vouched` are memories that fit
    for certain: they come first, also when only one session has shown them. `is_loaded` tells
    whether the client has a text in its own instruction files. What is looked at and not told is
    added to `trace`."""
    _check(request)
    alone = next((one for one in vouched if one.whole), None)
    if alone is not None:
        budget = max(request.budget_tokens, WHOLE_BUDGET_TOKENS)
        request = replace(request, quiet=True, budget_tokens=budget)
        vouched, sections, extras = (alone,), (), ()
    sections = _not_shown(sections, request.shown)
    sections = harmless_sections(sections) if sections else sections
    looked_at = list[Considered]() if trace is None else trace
    chosen = _chosen(engine, request, exists=exists, vouched=vouched, trace=looked_at)
    if is_loaded is not None:
        loaded = [c for c in chosen if not c.is_session_note and is_loaded(c.memory.content)]
        looked_at += (Considered(memory=c.memory, why="loaded") for c in loaded)
        chosen = [c for c in chosen if c not in loaded]
    if any(one.section is Section.LEFT_OFF for one in sections):
        chosen = [c for c in chosen if not _is_seen_work_state(c.memory)]
    if request.types is not None:
        chosen = [c for c in chosen if c.is_session_note or c.memory.type in request.types]
    candidates = harmless_candidates(chosen[:MAX_CANDIDATES]) if chosen else []
    items = [_item(engine, candidate) for candidate in candidates]
    pack = pack_items(
        items,
        moment=request.moment.value,
        project=request.project,
        budget_tokens=request.budget_tokens,
        max_chars=request.max_chars,
        count_tokens=engine.count_tokens,
        extras=extras,
        extras_share=MOMENTS[request.moment].skills,
        sections=sections,
    )
    packed = {item.id for item in (*pack.items, *pack.more)}
    looked_at += (
        Considered(memory=one.memory, why="no room") for one in items if one.id not in packed
    )
    if request.count_access and pack.items:
        engine.store.record_access([item.memory.id for item in pack.items], at=engine.clock())
    return pack


def _chosen(
    engine: Engine,
    request: ContextRequest,
    *,
    exists: Callable[[str], bool] | None,
    vouched: Sequence[ContextCandidate],
    trace: list[Considered],
) -> list[ContextCandidate]:
    """The candidates to pack, best first: what is vouched for, then what may be injected."""
    # Of equal weight the newest goes first.
    gathered = () if request.quiet else _gather(engine, request, trace)
    newest = sorted(gathered, key=lambda c: c.memory.id, reverse=True)
    candidates = sorted(newest, key=lambda c: -round(c.weight, 2))
    # Filter before removing duplicates; memories already shown still suppress their duplicates.
    allowed = [c for c in candidates if _is_allowed(c.memory, request, exists)]
    first = {one.memory.id: one for one in vouched}
    newest_wins = request.moment is Moment.SESSION
    others = [c for c in _distinct(allowed, newest_wins=newest_wins) if c.memory.id not in first]
    every = (*first.values(), *others)
    trace += (
        Considered(memory=c.memory, why="silent") for c in every if c.memory.id in request.shown
    )
    chosen = [c for c in every if c.memory.id not in request.shown]
    return _few(chosen, MOMENTS[request.moment].items)


def _is_seen_work_state(memory: Memory) -> bool:
    """Unfinished work as the observer saw it: the sessions' own records say it better."""
    return memory.type is MemoryType.WORK_STATE and memory.source is Source.OBSERVER_INFERRED


def _not_shown(sections: Sequence[SectionLines], shown: frozenset[str]) -> list[SectionLines]:
    left = [
        replace(one, lines=tuple(line for line in one.lines if line.id not in shown))
        for one in sections
    ]
    return [one for one in left if one.lines]


def _item(engine: Engine, candidate: ContextCandidate) -> ContextItem:
    item = ContextItem.of(
        engine,
        candidate.memory,
        reason=candidate.reason,
        text=candidate.text,
        section=candidate.section,
        limit=WHOLE_CHARS if candidate.whole else ITEM_CHARS,
    )
    item = replace(item, weight=round(candidate.weight, 4))
    if candidate.text is not None:
        item = replace(item, row=replace(item.row, title=first_line(item.text)))
    if not candidate.is_session_note:
        return item
    return replace(item, citation="noted in this session")


def _few(candidates: Sequence[ContextCandidate], limit: int | None) -> list[ContextCandidate]:
    """Opening a file is not a question: only the strongest candidates, and session notes."""
    few = [c.memory.id for c in candidates if not c.is_session_note][:limit]
    return [c for c in candidates if c.is_session_note or c.memory.id in few]


def _check(request: ContextRequest) -> None:
    if request.budget_tokens < 0:
        raise UsageError(
            f"A budget of {request.budget_tokens} tokens is out of range.", hint="Give 0 or more."
        )
    needs = MOMENTS[request.moment].needs
    if needs == "query" and not request.query.strip():
        raise UsageError(
            f"Context for a {request.moment.value} needs a query.", hint="Pass its text."
        )
    if needs == "files" and not request.files:
        raise UsageError("Context for a file needs its path.", hint="Give at least one file.")


def _is_allowed(
    memory: Memory, request: ContextRequest, exists: Callable[[str], bool] | None
) -> bool:
    if request.trivial and memory.type in _NOT_FOR_TRIVIAL:
        return False
    if memory.type in NEVER_INJECTED or not may_be_injected(memory):
        return False
    if memory.type is MemoryType.CAUSAL_DEPENDENCY and not memory.has_persons_word:
        return False  # a habit
    if memory.scope is Scope.SESSION and memory.session_id != request.session:
        return False
    return exists is None or all(is_pattern(path) or exists(path) for path in memory.files)


def _distinct(
    candidates: Sequence[ContextCandidate], *, newest_wins: bool
) -> list[ContextCandidate]:
    """Each memory once, and of nearly equal texts only the strongest, or the newest."""
    if not newest_wins:
        return list(_first_of_each(candidates))
    by_age = sorted(candidates, key=lambda c: c.memory.valid_from, reverse=True)
    kept = {c.memory.id for c in _first_of_each(by_age)}
    found: dict[str, ContextCandidate] = {}
    for one in candidates:
        if one.memory.id in kept:
            found.setdefault(one.memory.id, one)
    return list(found.values())


def _first_of_each(candidates: Sequence[ContextCandidate]) -> Iterator[ContextCandidate]:
    seen: list[frozenset[str]] = []
    ids: set[str] = set()
    for candidate in candidates:
        if candidate.memory.id in ids:
            continue
        its_words = frozenset(content_words(candidate.memory.content))
        if any(_alike(its_words, others) for others in seen):
            continue
        ids.add(candidate.memory.id)
        seen.append(its_words)
        yield candidate


def _alike(left: frozenset[str], right: frozenset[str]) -> bool:
    # Sets of very different sizes cannot share most of their words.
    few, many = sorted((len(left), len(right)))
    return few >= _MIN_JACCARD * many and jaccard(left, right) >= _MIN_JACCARD


# -- Sources --------------------------------------------------------------------------------------


def _gather(
    engine: Engine, request: ContextRequest, trace: list[Considered]
) -> Iterator[ContextCandidate]:
    if request.moment in (Moment.COMMAND, Moment.FAILURE):
        yield from command_warnings(engine, request.project, request.query)
        if request.moment is Moment.FAILURE:
            yield from _relevant(engine, request, trace)
        return
    if request.moment in (Moment.SESSION, Moment.PLAN):
        from wellkept.context.start.session_sections import standing_memories, unfinished_work

        standing = standing_memories(engine, request.project)
        if request.moment is Moment.SESSION:
            yield from standing
            yield from unfinished_work(engine, request.project)
        else:
            # A plan is one question: what stands is ranked with what matches it.
            yield from (replace(one, section=Section.KNOWN) for one in standing)
    yield from _for_files(engine, request)
    if request.named:
        yield from file_memories(engine, request.project, request.named, warnings_only=True)
    if request.query.strip():
        yield from _relevant(engine, request, trace)
    asks_for_qa = request.phase is Phase.VALIDATE or is_qa_request(request.query)
    if asks_for_qa and not request.trivial:
        yield from qa_memories(engine, request.project, request.query)


def _for_files(engine: Engine, request: ContextRequest) -> Iterator[ContextCandidate]:
    """Candidates for the current files, or for the session so far."""
    project, files = request.project, request.files
    at_start = request.moment is Moment.SESSION
    if files:
        at_file = request.moment is Moment.FILE
        yield from file_memories(engine, project, files, warnings_only=at_file)
        if not request.reading:
            yield from co_change_warnings(engine, project, files)
    if request.session and (files or at_start):
        yield from session_notes(engine, project, request.session, files)


def _only_clear_hearsay(engine: Engine, request: ContextRequest) -> Callable[[Memory], bool]:
    """What was heard in passing, once, belongs to the matter of that day: it is told unasked only
    where it says itself a good part of what the prompt is about."""
    words: list[PromptWords] = []

    def is_about(memory: Memory) -> bool:
        if not is_noticed(memory):
            return True
        from wellkept.context.decisions import HEARD_SHARE, PromptWords, laid_down

        if not words:
            words.append(PromptWords.of(engine, request.project, request.query))
        return words[0].said_in(laid_down(memory.content)) >= HEARD_SHARE

    return is_about


def _relevant(
    engine: Engine, request: ContextRequest, trace: list[Considered]
) -> Iterator[ContextCandidate]:
    """Recall hits that are worth telling. Raw session records are never injected, and are so many
    that they would leave no room for others."""
    planning = request.moment is Moment.PLAN
    row = MOMENTS[request.moment]
    recipes = (MemoryType.WORKFLOW_RECIPE,) if request.named else ()
    types = tuple(dict.fromkeys((*row.types, *recipes)))
    found = recall(
        engine,
        RecallRequest(
            query=request.query,
            where=Filter(project=request.project, types=types, stale=False, raw=False),
            limit=20,
            phase=request.phase or (Phase.DEFINE if planning else None),
            files=request.files,
            count_access=False,
            second_pass=False,
            unasked=row.unasked,
        ),
    )
    is_about = _only_clear_hearsay(engine, request) if row.unasked else None
    for hit in found:
        if not may_be_injected(hit.memory) or is_way_out(hit.memory):
            continue
        if row.unasked and (is_cut(hit.memory) or points_back(hit.memory)):
            continue
        if hit.memory.type in recipes and not set(request.named) & set(hit.memory.files):
            continue
        is_for_plan = planning and hit.memory.type in _PLANNING
        least = TOLD_FROM if planning and not is_for_plan else row.least
        if hit.score >= least and (is_about is None or is_about(hit.memory)):
            bonus = 0.5 if is_for_plan else 0.0
            yield ContextCandidate(
                hit.memory,
                1.2 + hit.score + bonus,
                f"matches by {', '.join(hit.retrievers)}",
            )
        else:
            trace.append(Considered(memory=hit.memory, why="below", probability=hit.score))
