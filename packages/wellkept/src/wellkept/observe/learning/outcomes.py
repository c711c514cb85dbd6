"""Running records of a session's work: outcome, episode, work state, insights.

Each record has a key and is updated in place. Invariant: processing the same session again changes
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from wellkept.core.changes import PutExplanation
from wellkept.core.codec import Json
from wellkept.core.ids import digest
from wellkept.core.memory import Evidence, Memory, MemoryDraft, Relation, WorkUnitRef
from wellkept.core.payloads import Episode, WorkState, WorkUnitOutcome
from wellkept.core.query import Filter, Order
from wellkept.core.records import replace
from wellkept.core.session.scratchpad import Explanation
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.text import shorten
from wellkept.core.types import EvidenceKind, MemoryType, RelationType, Scope, Source
from wellkept.memory.engine import Engine
from wellkept.memory.remember import remember
from wellkept.observe import thresholds as t
from wellkept.observe.learning.save import close_running_record, put_running_record
from wellkept.observe.methodology.protocol import CompletesWorkUnits, Methodology, WorkContext
from wellkept.observe.session.digest import digest_of
from wellkept.observe.signals.fold import open_errors
from wellkept.observe.signals.work import Task, Work
from wellkept.text.events.prompt_rules import tells

_MAX_FILES = 40
_MAX_TEXTS = 50
_EPISODE_CHARS = 900
_MAX_SIGNALS = 10
MAX_INSIGHTS = 5
INSIGHT_CONFIDENCE = 0.85
EpisodeOutcome: TypeAlias = Literal["success", "failure", "discovery"]


# -- Outcomes -------------------------------------------------------------------------------------


def record_outcomes(
    engine: Engine,
    session: SessionRecord,
    work: Work,
    tasks: Sequence[Task],
    *,
    by: str,
    methodology: Methodology,
) -> list[Memory]:
    """One outcome for each sub-task that passed, or one for the session."""
    named = [task for task in tasks if task.review.name is not None] or list(tasks[:1])
    is_session = len(named) == 1 and named[0].review.name is None
    records: list[Memory] = []
    for task in named:
        if task.edit_count:
            draft = _outcome(
                session,
                work,
                tasks if is_session else [task],
                task=task.review.name,
                by=by,
                methodology=methodology,
            )
            records.append(put_running_record(engine, draft, project=work.pad.project))
    return records


def _outcome(
    session: SessionRecord,
    work: Work,
    tasks: Sequence[Task],
    *,
    task: str | None,
    by: str,
    methodology: Methodology,
) -> MemoryDraft:
    steps = [step for one in tasks for step in one.steps]
    files = _edited(tasks)
    decided = (shorten(step.what, limit=200) for step in steps if step.kind == "decision")
    requests = [one for one in (work.request, session.title) if one]
    label = task or next(filter(tells, requests), next(iter(requests), "work"))
    shas = [commit.sha for one in tasks for commit in one.commits if commit.sha]
    evidence = [Evidence(EvidenceKind.SESSION, session.id, at=session.last_event_at)]
    evidence += [Evidence(EvidenceKind.COMMIT, sha, at=session.last_event_at) for sha in shas[-5:]]
    unit = work_unit_of(session, work.request, task=task, label=label, methodology=methodology)
    outcome = WorkUnitOutcome(
        succeeded=True,
        files_modified=files,
        key_decisions=tuple(dict.fromkeys(decided))[: t.MAX_DECISIONS],
        steps_taken=sum(one.steps[-1].number - one.steps[0].number for one in tasks if one.steps),
        context_tokens_used=sum(step.tokens for step in steps) or None,
        retry_count=max(work.pad.failed_runs, *(one.review.retries for one in tasks)),
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


def _edited(tasks: Sequence[Task]) -> tuple[str, ...]:
    edited = dict.fromkeys(step.what for one in tasks for step in one.edits)
    return tuple(edited)[:_MAX_FILES]


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
    request: str | None,
    *,
    task: str | None = None,
    label: str = "",
    methodology: Methodology,
) -> WorkUnitRef:
    """The work unit that the methodology recognises, else the branch. A sub-task is one level
    below."""
    label = label or task or request or "work"
    known = methodology.work_unit(WorkContext(branch=session.branch, request=request))
    branch = (session.branch or session.id)[:200]
    unit = known or WorkUnitRef(methodology.id, (branch,), shorten(label, limit=120))
    if task is None:
        return unit
    name = f"{unit.label} / {task}" if known else label
    return WorkUnitRef(unit.methodology, (*unit.hierarchy, task), shorten(name, limit=120))


# -- Episodes -------------------------------------------------------------------------------------


def record_episode(
    engine: Engine, session: SessionRecord, outcome: EpisodeOutcome, *, by: str
) -> Memory | None:
    """What a session came to, in the words of its closing report; None when nothing was said.
    `by` is what proved it."""
    digest_now = digest_of(session)
    if not digest_now.outcome:
        return None
    draft = MemoryDraft(
        content=shorten(" ".join(digest_now.outcome), limit=_EPISODE_CHARS),
        type=MemoryType.EPISODE,
        key=f"observer:episode:{digest(session.id)}",
        tags=("observer", outcome),
        files=digest_now.files[-_MAX_FILES:],
        importance=0.4,
        source=Source.OBSERVER_INFERRED,
        session_id=session.id,
        evidence=(Evidence(EvidenceKind.SESSION, session.id, at=session.last_event_at),),
        payload=Episode(outcome, task=next(iter(digest_now.asked), None), result=by or None),
        valid_from=session.last_event_at,
    )
    return put_running_record(engine, draft, project=session.project)


# -- Work state -----------------------------------------------------------------------------------


def put_work_state(
    engine: Engine,
    session: SessionRecord,
    work: Work,
    *,
    validated_by: str,
    methodology: Methodology,
) -> Memory | None:
    """Save the state of unfinished work, with what the methodology reads from the session's text.
    The record decays within days."""
    files, plan, errors = _edited(work.tasks), work.plan, open_errors(work)
    if not files:
        return None
    state: dict[str, Json] = {
        "request": work.request,
        "validation": validated_by or "not validated",
        "files": list(files),
        "planned": plan.planned,
        "done": plan.done,
        "open_errors": [*errors[-3:]],
    }
    own = methodology.work_state(_session_text(engine, session))
    state |= {"methodology": methodology.id, **own}
    told = (
        f"Asked: “{shorten(work.request or 'work', limit=160)}”",
        f"Edited: {_listed(files)}",
        f"Plan: {plan.done} of {plan.planned} items done" if plan.planned else "",
        f"Last error: {errors[-1]}" if errors else "",
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
        work_unit=work_unit_of(session, work.request, methodology=methodology),
        evidence=(Evidence(EvidenceKind.SESSION, session.id, at=session.last_event_at),),
        half_life_days=7,
        payload=WorkState(state),
        valid_from=session.last_event_at,
    )
    return put_running_record(engine, draft, project=work.pad.project)


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


def consolidate_outcomes(engine: Engine, work: Work, outcomes: Sequence[Memory]) -> list[Memory]:
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
        _save_insight(engine, work, sentence, backing, number=number)
        for number, (sentence, backing) in enumerate(list(said.items())[:MAX_INSIGHTS])
    ]


def _save_insight(
    engine: Engine,
    work: Work,
    insight: str,
    outcomes: Sequence[Memory],
    *,
    number: int,
) -> Memory:
    unit = outcomes[0].work_unit
    spec = WorkUnitRef(unit.methodology, unit.hierarchy[:1], unit.hierarchy[0]) if unit else None
    session_id = work.pad.session_id
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
        project=work.pad.project,
        rule="consolidation",
        subject=spec.label if spec else session_id,
        at=work.at,
        validated_by="its sub-tasks passed",
        sessions=(session_id,),
        signals=tuple(memory.content for memory in outcomes[:_MAX_SIGNALS]),
        score=INSIGHT_CONFIDENCE,
    )
    return remember(
        engine,
        draft,
        project=work.pad.project,
        beside=lambda memory: (PutExplanation(replace(why, memory_id=memory.id)),),
    ).memory
