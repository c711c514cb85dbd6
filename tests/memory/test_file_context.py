"""What is said unasked when a file is read or edited, when a session starts, and when QA does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wellkept.context.build import build_context
from wellkept.context.moments import ContextRequest, Moment
from wellkept.context.packing import render_context
from wellkept.core.changes import PutScratchpad, Replace
from wellkept.core.codec import Payload
from wellkept.core.memory import MemoryDraft
from wellkept.core.payloads import (
    CausalDependency,
    ContextCost,
    E2EObservation,
    PrefetchPattern,
    TaskCalibration,
)
from wellkept.core.query import FileLink, Filter
from wellkept.core.session.scratchpad import AgentNote, Scratchpad, TaskScratchpad
from wellkept.core.types import MemoryType, Phase, Source
from wellkept.memory.engine import Engine
from wellkept.memory.remember import remember

pytestmark = pytest.mark.feature("D10")

HERE = "name:here"
LEDGER = "src/ledger.py"
OPENING = ContextRequest(project=HERE, moment=Moment.FILE, files=(LEDGER,))
WARNINGS = (
    MemoryType.GOTCHA,
    MemoryType.ERROR_PATTERN,
    MemoryType.DEAD_END,
    MemoryType.E2E_OBSERVATION,
)


def keep(engine: Engine, content: str, **more: object) -> str:
    draft = MemoryDraft(content=content, source=Source.USER_TAUGHT, files=(LEDGER,))
    changed = replace(draft, **more)  # type: ignore[arg-type]
    return remember(engine, changed, project=HERE, merge_similar=False).memory.id


def shown(engine: Engine, request: ContextRequest = OPENING) -> list[str]:
    return [item.memory.id for item in build_context(engine, request).items]


def inferred(engine: Engine, content: str, *sessions: str, **more: object) -> str:
    """A memory that the observer made and that so many sessions have shown."""
    kept = ""
    for session in sessions:
        draft = MemoryDraft(
            content=content,
            type=MemoryType.GOTCHA,
            source=Source.OBSERVER_INFERRED,
            files=(LEDGER,),
            session_id=session,
            confidence=0.7,
            needs_review=True,
        )
        changed = replace(draft, **more)  # type: ignore[arg-type]
        kept = remember(engine, changed, project=HERE).memory.id
    return kept


@pytest.mark.parametrize("kind", WARNINGS, ids=lambda kind: kind.value)
def test_a_file_brings_each_kind_of_warning(engine: Engine, kind: MemoryType) -> None:
    trap = keep(engine, "Amounts are in cents here", type=kind)
    assert shown(engine) == [trap]


def test_of_many_warnings_the_four_that_weigh_most_are_said(engine: Engine) -> None:
    traps = [
        keep(engine, f"Trap of {word}", type=MemoryType.GOTCHA, importance=0.9 - n / 10)
        for n, word in enumerate(("cents", "dates", "locks", "names", "tabs", "units"))
    ]
    assert shown(engine) == traps[:4]


def test_files_that_go_together_are_a_habit_and_said_only_when_a_person_confirmed_it(
    engine: Engine,
) -> None:
    needs: dict[str, object] = {
        "type": MemoryType.CAUSAL_DEPENDENCY,
        "files": (LEDGER, "src/tax.py"),
        "payload": CausalDependency(LEDGER, ("src/tax.py",)),
        "key": "pair",
    }
    told = "`src/ledger.py` and `src/tax.py` go together"
    inferred(engine, told, "s1", **needs)
    assert shown(engine) == []
    pair = inferred(engine, told, "s2", **needs)
    assert shown(engine) == []
    memory = engine.store.get([pair])[0]
    confirmed = replace(memory, user_verified=True, needs_review=False)
    engine.store.apply([Replace(confirmed, expected_updated_at=memory.updated_at)])
    trap = keep(engine, "Amounts are in cents here", type=MemoryType.GOTCHA)
    assert shown(engine) == [trap, pair]


def test_what_is_not_sure_enough_is_not_said_at_a_file(engine: Engine) -> None:
    keep(engine, "Perhaps amounts are in cents", type=MemoryType.GOTCHA, confidence=0.6)
    sure = keep(engine, "Rows come sorted by date", type=MemoryType.GOTCHA, confidence=0.65)
    assert shown(engine) == [sure]


def test_only_warnings_and_what_a_person_said_come_at_a_file(engine: Engine) -> None:
    inferred(engine, "Reads the ledger format", "s1", "s2", type=MemoryType.MODULE_INSIGHT)
    said = keep(engine, "Keep this file free of imports", type=MemoryType.CONVENTION)
    assert shown(engine) == [said]


def test_what_the_observer_saw_once_waits_until_it_is_seen_again(engine: Engine) -> None:
    inferred(engine, "The lock must be held while writing", "s1")
    assert shown(engine) == []
    again = inferred(engine, "The lock must be held while writing", "s2")
    assert shown(engine) == [again]


def test_what_the_observer_saw_once_is_said_when_it_was_looked_up_twice(engine: Engine) -> None:
    once = inferred(engine, "The lock must be held while writing", "s1")
    for _ in range(2):
        assert shown(engine) == []
        engine.store.record_access([once], at=engine.clock())
        engine.store.flush()
    assert shown(engine) == [once]


def test_being_injected_does_not_count_as_being_looked_up(engine: Engine) -> None:
    trap = keep(engine, "Amounts are in cents here", type=MemoryType.GOTCHA)
    shown(engine)
    assert engine.store.get([trap])[0].access_count == 0


@pytest.mark.feature("B8")
def test_a_warning_about_a_file_that_is_gone_is_not_said(engine: Engine) -> None:
    keep(engine, "Amounts are in cents here", type=MemoryType.GOTCHA)
    assert build_context(engine, OPENING, exists=lambda path: False).items == ()


@pytest.mark.feature("B7")
def test_warnings_of_linked_files_come_after_those_of_the_file(engine: Engine) -> None:
    linked = keep(engine, "Regenerate the client", type=MemoryType.GOTCHA, files=("api.py",))
    own = keep(engine, "Amounts are in cents here", type=MemoryType.GOTCHA, importance=0.1)
    engine.store.put_file_links(HERE, [FileLink(LEDGER, "api.py", 0.8)])
    assert shown(engine) == [own, linked]


# -- The session's own notes ----------------------------------------------------------------------


def note(engine: Engine, session: str, content: str, *files: str, project: str = HERE) -> str:
    known = engine.store.scratchpad(session)
    made = AgentNote(engine.new_id(), content, "gotcha", 1, 0, files)
    sheet = known.tasks[0] if known else TaskScratchpad()
    pad = known or Scratchpad(session_id=session, project=project, updated_at=engine.clock())
    engine.store.apply(
        [PutScratchpad(replace(pad, tasks=(replace(sheet, notes=(*sheet.notes, made)),)))]
    )
    return made.id


def test_a_note_is_said_at_once_in_its_own_session_and_in_no_other(engine: Engine) -> None:
    noted = note(engine, "s1", "The ledger closes at midnight", LEDGER)
    assert shown(engine, replace(OPENING, session="s1")) == [noted]
    assert shown(engine, replace(OPENING, session="s1/reviewer")) == [noted]
    assert shown(engine, replace(OPENING, session="s2")) == []
    assert shown(engine) == []
    pack = build_context(engine, replace(OPENING, session="s1"))
    assert "[noted in this session]" in render_context(pack)


def test_notes_do_not_take_the_place_of_warnings(engine: Engine) -> None:
    for word in ("cents", "dates", "locks", "names"):
        keep(engine, f"Trap of {word}", type=MemoryType.GOTCHA)
    noted = note(engine, "s1", "The ledger closes at midnight", LEDGER)
    found = shown(engine, replace(OPENING, session="s1"))
    assert len(found) == 5
    assert found[0] == noted


def test_what_a_person_said_in_the_session_is_told_again_when_it_starts_over(
    engine: Engine,
) -> None:
    said = AgentNote("s1:0", "Always run the linter first", "convention", 1, 0, by_person=True)
    pad = Scratchpad(session_id="s1", project=HERE, updated_at=engine.clock())
    engine.store.apply([PutScratchpad(replace(pad, tasks=(TaskScratchpad(notes=(said,)),)))])
    pack = build_context(engine, ContextRequest(project=HERE, session="s1"))
    assert [item.text for item in pack.items] == ["Always run the linter first"]
    told = frozenset(item.memory.id for item in pack.items)
    assert shown(engine, ContextRequest(project=HERE, session="s1", shown=told)) == []


def test_a_note_about_another_file_or_of_another_project_is_not_said(engine: Engine) -> None:
    note(engine, "s1", "Mind the cache", "src/cache.py")
    note(engine, "s2", "The ledger closes at midnight", LEDGER, project="name:other")
    assert shown(engine, replace(OPENING, session="s1")) == []
    assert shown(engine, replace(OPENING, session="s2")) == []


def test_a_session_that_starts_over_is_told_what_it_noted(engine: Engine) -> None:
    noted = note(engine, "s1", "The ledger closes at midnight", LEDGER)
    start = ContextRequest(project=HERE, session="s1")
    assert shown(engine, start) == [noted]
    assert shown(engine, replace(start, shown=frozenset({noted}))) == []


# -- Records that are never injected --------------------------------------------------------------

RECORDS: dict[MemoryType, Payload] = {
    MemoryType.PREFETCH_PATTERN: PrefetchPattern("src", ("src/core.py",), (), 9),
    MemoryType.CONTEXT_COST: ContextCost("src", 12_000.0, 20_000.0, 9),
    MemoryType.TASK_CALIBRATION: TaskCalibration("src", "native", 9.0, 4.0, 2.25, 9),
}
EVERY_MOMENT = [
    ContextRequest(project=HERE),
    ContextRequest(project=HERE, phase=Phase.IMPLEMENT),
    OPENING,
    ContextRequest(project=HERE, moment=Moment.PROMPT, query="Work in src: files, tokens, steps?"),
    ContextRequest(project=HERE, moment=Moment.PLAN, query="Plan the work in src"),
    ContextRequest(project=HERE, moment=Moment.PLAN, files=(LEDGER,), phase=Phase.DEFINE),
]


@pytest.mark.feature("B9", "D7")
@pytest.mark.parametrize("request_", EVERY_MOMENT, ids=lambda r: r.moment.value)
@pytest.mark.parametrize("type_", RECORDS, ids=lambda t: t.value)
def test_costs_calibrations_and_file_lists_are_never_injected(
    engine: Engine, request_: ContextRequest, type_: MemoryType
) -> None:
    record = keep(
        engine,
        "Work in src: files, tokens and steps of the plan",
        type=type_,
        modules=("src",),
        payload=RECORDS[type_],
        pinned=True,
    )
    pack = build_context(engine, request_)
    assert (pack.items, pack.more) == ((), ())
    listed = engine.store.list(Filter(project=HERE, types=(type_,))).items
    assert [memory.id for memory in listed] == [record]


@pytest.mark.feature("B9", "D7")
def test_records_of_many_modules_leave_room_for_what_may_be_injected(engine: Engine) -> None:
    for number in range(30):
        inferred(
            engine,
            f"Work in src/part{number} takes about {number},000 tokens a session",
            "s1",
            "s2",
            type=MemoryType.CONTEXT_COST,
            key=f"cost:{number}",
            payload=ContextCost(f"src/part{number}", 1.0, 2.0, 2),
        )
    rule = inferred(engine, "Work in src counts tokens with the cl100k table", "s1", "s2")
    asking = ContextRequest(
        project=HERE, moment=Moment.PROMPT, query="Does the cl100k table count the tokens of src?"
    )
    assert shown(engine, asking) == [rule]


# -- The start of QA ------------------------------------------------------------------------------


def e2e(engine: Engine, content: str, kind: str, *sessions: str) -> str:
    payload: Payload = E2EObservation(kind)  # type: ignore[arg-type]
    return inferred(
        engine,
        content,
        *sessions,
        type=MemoryType.E2E_OBSERVATION,
        source=Source.MCP_AUTO,
        files=(),
        key=content,
        confidence=0.75,
        payload=payload,
    )


@pytest.mark.feature("D8")
@pytest.mark.parametrize(
    "request_",
    [
        ContextRequest(project=HERE, phase=Phase.VALIDATE),
        ContextRequest(project=HERE, moment=Moment.PROMPT, query="QA the settings page, please"),
        ContextRequest(project=HERE, moment=Moment.PROMPT, query="check it in the browser"),
    ],
    ids=["phase", "word", "browser"],
)
def test_qa_starts_with_what_was_confirmed_about_the_application(
    engine: Engine, request_: ContextRequest
) -> None:
    quirk = e2e(engine, "The card turns yellow while paused", "ui_behavior", "s1", "s2")
    first = e2e(engine, "The panel needs sync enabled in settings", "precondition", "s1", "s2")
    wait = e2e(engine, "The dialog takes a second before it can be clicked", "timing", "s1", "s2")
    e2e(engine, "Screenshots come out black at times", "mcp_gotcha", "s1")
    assert shown(engine, request_) == [first, wait, quirk]


@pytest.mark.feature("D8")
def test_other_work_is_not_told_about_trying_out_the_application(engine: Engine) -> None:
    e2e(engine, "The card turns yellow while paused", "ui_behavior", "s1", "s2")
    for request in (
        ContextRequest(project=HERE),
        ContextRequest(project=HERE, moment=Moment.PROMPT, query="rename the module"),
    ):
        assert shown(engine, request) == []
