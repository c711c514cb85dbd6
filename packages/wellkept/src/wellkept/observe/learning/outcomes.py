"""Running records of a session's work: outcome, cost, calibration, work state, insights.

Each record has a key and is updated in place. Invariant: processing the same session again changes
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from wellkept.core.changes import PutExplanation
from wellkept.core.codec import Json
from wellkept.core.memory import Evidence, Memory, MemoryDraft, Relation, WorkUnitRef
from wellkept.core.payloads import WorkState, WorkUnitOutcome
from wellkept.core.query import Filter, Order
from wellkept.core.records import replace
from wellkept.core.session.scratchpad import (
    Explanation,
    Scratchpad,
    TaskScratchpad,
)
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.text import shorten
from wellkept.core.types import EvidenceKind, MemoryType, RelationType, Scope, Source
from wellkept.memory.engine import Engine
from wellkept.memory.remember import remember
from wellkept.observe import thresholds as t
from wellkept.observe.learning.rules import digest
from wellkept.observe.learning.save import close_running_record, put_running_record
from wellkept.observe.methodology.protocol import CompletesWorkUnits, Methodology, WorkContext
from wellkept.text.events.prompt_rules import tells

_MAX_FILES = 40
_MAX_TEXTS = 50
_MAX_SIGNALS = 10
MAX_INSIGHTS = 5
INSIGHT_CONFIDENCE = 0.85


# -- Outcomes -------------------------------------------------------------------------------------


def record_outcomes(
    engine: Engine,
    session: SessionRecord,
    scratchpad: Scratchpad,
    tasks: Sequence[TaskScratchpad],
    *,
    by: str,
    methodology: Methodology,
) -> list[Memory]:
    """One outcome for each sub-task that passed, or one for the session."""
    named = [task for task in tasks if task.name is not None] or list(tasks[:1])
    is_session = len(named) == 1 and named[0].name is None
    records: list[Memory] = []
    for task in named:
        if task.edit_count:
            draft = _outcome(
                session,
                scratchpad,
                tasks if is_session else [task],
                task=task.name,
                by=by,
                methodology=methodology,
            )
            records.append(put_running_record(engine, draft, project=scratchpad.project))
    return records


def _outcome(
    session: SessionRecord,
    scratchpad: Scratchpad,
    tasks: Sequence[TaskScratchpad],
    *,
    task: str | None,
    by: str,
    methodology: Methodology,
) -> MemoryDraft:
    edited = (f.path for one in tasks for f in one.files if f.edits)
    files = tuple(dict.fromkeys(edited))[:_MAX_FILES]
    decisions = tuple(dict.fromkeys(d for one in tasks for d in one.decisions))
    requests = [one for one in (scratchpad.request, session.title) if one]
    label = task or next(filter(tells, requests), next(iter(requests), "work"))
    shas = [c.sha for one in tasks for c in one.commits if c.sha and not c.undone]
    evidence = [Evidence(EvidenceKind.SESSION, session.id, at=session.last_event_at)]
    evidence += [Evidence(EvidenceKind.COMMIT, sha, at=session.last_event_at) for sha in shas[-5:]]
    unit = work_unit_of(session, scratchpad, task=task, label=label, methodology=methodology)
    outcome = WorkUnitOutcome(
        succeeded=True,
        files_modified=files,
        key_decisions=decisions[: t.MAX_DECISIONS],
        steps_taken=sum(one.last_step - one.first_step for one in tasks),
        context_tokens_used=sum(one.tokens for one in tasks) or None,
        retry_count=max(scratchpad.failed_runs, *(one.retries for one in tasks)),
    )
    return MemoryDraft(
        content="\n".join(
            (f"Asked: “{shorten(label, limit=160)}”", f"Passed: {by}", f"Edited: {_listed(files)}")
        ),
        type=MemoryType.WORK_UNIT_OUTCOME,
        key=f"observer:outcome:{digest(session.id, task or '')}",
        tags=("observer", "outcome"),
        files=files,
        source=Source.OBSERVER_INFERRED,
        scope=Scope.WORK_UNIT,
        session_id=session.id,
        commit_sha=shas[-1] if shas else None,
        work_unit=unit,
        evidence=tuple(evidence),
        payload=replace(outcome, methodology_fields=_own_fields(methodology, unit, outcome)),
        valid_from=session.last_event_at,
    )


def _listed(files: Sequence[str]) -> str:
    return ", ".join(f"`{path}`" for path in files[:5])


def _own_fields(
    methodology: Methodology, unit: WorkUnitRef, outcome: WorkUnitOutcome
) -> dict[str, Json]:
    """What the methodology adds to an outcome."""
    if not isinstance(methodology, CompletesWorkUnits):
        return {}
    return dict(methodology.on_work_unit_complete(unit, outcome))


def work_unit_of(
    session: SessionRecord,
    scratchpad: Scratchpad,
    *,
    task: str | None = None,
    label: str = "",
    methodology: Methodology,
) -> WorkUnitRef:
    """The work unit that the methodology recognises, else the branch. A sub-task is one level
    below."""
    label = label or task or scratchpad.request or "work"
    known = methodology.work_unit(WorkContext(branch=session.branch, request=scratchpad.request))
    branch = (session.branch or session.id)[:200]
    unit = known or WorkUnitRef(methodology.id, (branch,), shorten(label, limit=120))
    if task is None:
        return unit
    name = f"{unit.label} / {task}" if known else label
    return WorkUnitRef(unit.methodology, (*unit.hierarchy, task), shorten(name, limit=120))


# -- Work state -----------------------------------------------------------------------------------


def put_work_state(
    engine: Engine,
    session: SessionRecord,
    scratchpad: Scratchpad,
    *,
    validated_by: str,
    methodology: Methodology,
) -> Memory | None:
    """Save the state of unfinished work, with what the methodology reads from the session's text.
    The record decays within days."""
    tasks = scratchpad.tasks
    edited = dict.fromkeys(f.path for task in tasks for f in task.files if f.edits)
    if not edited:
        return None
    files = tuple(edited)[:_MAX_FILES]
    open_errors = [e.message for task in tasks for e in task.errors if e.resolved_how is None]
    state: dict[str, Json] = {
        "request": scratchpad.request,
        "validation": validated_by or "not validated",
        "files": list(files),
        "planned": scratchpad.planned,
        "done": scratchpad.done,
        "open_errors": cast("list[Json]", open_errors[-3:]),
    }
    own = methodology.work_state(_session_text(engine, session))
    state |= {"methodology": methodology.id, **own}
    told = (
        f"Asked: “{shorten(scratchpad.request or 'work', limit=160)}”",
        f"Edited: {_listed(files)}",
        f"Plan: {scratchpad.done} of {scratchpad.planned} items done" if scratchpad.planned else "",
        f"Last error: {open_errors[-1]}" if open_errors else "",
        shorten(methodology.state_text(own), limit=600) if own else "",
    )
    draft = MemoryDraft(
        content="\n".join(filter(None, told)),
        type=MemoryType.WORK_STATE,
        key=_state_key(session),
        tags=("observer",),
        files=files,
        source=Source.OBSERVER_INFERRED,
        session_id=session.id,
        work_unit=work_unit_of(session, scratchpad, methodology=methodology),
        evidence=(Evidence(EvidenceKind.SESSION, session.id, at=session.last_event_at),),
        half_life_days=7,
        payload=WorkState(state),
        valid_from=session.last_event_at,
    )
    return put_running_record(engine, draft, project=scratchpad.project)


def _session_text(engine: Engine, session: SessionRecord) -> str:
    """The stored text of a session."""
    where = Filter(project=session.project, include_user=False, sessions=(session.id,))
    page = engine.store.list(where, order=Order.EVENT, limit=_MAX_TEXTS)
    return "\n".join(memory.content for memory in page.items)


def close_work_state(engine: Engine, session: SessionRecord) -> None:
    """Close the work state once the work is done."""
    close_running_record(engine, _state_key(session), project=session.project)


def _state_key(session: SessionRecord) -> str:
    return f"observer:work-state:{digest(session.branch or session.id)}"


# -- Consolidation --------------------------------------------------------------------------------


def consolidate_outcomes(
    engine: Engine, scratchpad: Scratchpad, outcomes: Sequence[Memory]
) -> list[Memory]:
    """What was decided in ten sub-tasks or more, in the words in which it was said. It outlives the
    outcomes."""
    if len(outcomes) < t.CONSOLIDATED_FROM_TASKS:
        return []
    said: dict[str, list[Memory]] = {}
    for memory in outcomes:
        decided = (
            memory.payload.key_decisions if isinstance(memory.payload, WorkUnitOutcome) else ()
        )
        for sentence in decided:
            said.setdefault(sentence, []).append(memory)
    return [
        _save_insight(engine, scratchpad, sentence, backing, number=number)
        for number, (sentence, backing) in enumerate(list(said.items())[:MAX_INSIGHTS])
    ]


def _save_insight(
    engine: Engine,
    scratchpad: Scratchpad,
    insight: str,
    outcomes: Sequence[Memory],
    *,
    number: int,
) -> Memory:
    unit = outcomes[0].work_unit
    spec = WorkUnitRef(unit.methodology, unit.hierarchy[:1], unit.hierarchy[0]) if unit else None
    session_id = scratchpad.session_id
    draft = MemoryDraft(
        content=insight,
        type=MemoryType.MODULE_INSIGHT,
        key=f"observer:insight:{digest(session_id, str(number))}",
        tags=("consolidation", *(spec.hierarchy if spec else ())),
        files=tuple(dict.fromkeys(f for m in outcomes for f in m.files))[:_MAX_FILES],
        confidence=INSIGHT_CONFIDENCE,
        scope=Scope.GLOBAL,
        source=Source.OBSERVER_INFERRED,
        session_id=session_id,
        work_unit=spec,
        relations=tuple(
            Relation(RelationType.DERIVED_FROM, target_id=m.id, auto_extracted=True)
            for m in outcomes[:_MAX_FILES]
        ),
        needs_review=True,
    )
    why = Explanation(
        memory_id="",
        project=scratchpad.project,
        rule="consolidation",
        subject=spec.label if spec else session_id,
        at=scratchpad.updated_at,
        validated_by="its sub-tasks passed",
        sessions=(session_id,),
        signals=tuple(memory.content for memory in outcomes[:_MAX_SIGNALS]),
        score=INSIGHT_CONFIDENCE,
    )
    return remember(
        engine,
        draft,
        project=scratchpad.project,
        beside=lambda memory: (PutExplanation(replace(why, memory_id=memory.id)),),
    ).memory
