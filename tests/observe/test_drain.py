"""Draining: every event exactly once, whatever dies or is damaged on the way."""

from __future__ import annotations

import fcntl
import os
import pickle
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from tests.observe.spooling import POISON, Spooler, translate
from tests.observe.telling import START, Teller, load_cases, world
from wellkept.core.changes import Change, PutSession
from wellkept.core.errors import ProviderError, StoreFullError
from wellkept.core.memory import Memory
from wellkept.core.ports.store import Store
from wellkept.core.query import Filter, Validity
from wellkept.core.session.events import Event
from wellkept.core.session.sessions import SpoolEntry
from wellkept.core.types import MemoryType, Source
from wellkept.memory.engine import Engine
from wellkept.observe.ingest.drain import DrainReport, DrainRules, drain
from wellkept.observe.observer.spool_folder import SpoolFolder
from wellkept.testing.fakes import ManualClock, WordEmbedder

pytestmark = pytest.mark.feature("C2")
EVERYTHING = Filter(project=None, validity=Validity.ANY, archived=None)


def drained(engine: Engine, spooler: Spooler, **rules: float) -> DrainReport:
    return drain(
        engine,
        spooler.spool,
        translate=translate,
        environment=world(),
        rules=DrainRules(**rules),  # pyright: ignore[reportArgumentType]
    )


def kept(engine: Engine) -> list[Memory]:
    return list(engine.store.iterate(EVERYTHING))


def contents(engine: Engine) -> list[str]:
    return sorted(memory.content for memory in kept(engine))


def some_work(say: Teller) -> list[Event]:
    return [
        say.start(),
        say.prompt("Add f to a.py"),
        say.edit("a.py", "", "def f():\n    return 1\n"),
        say.turn_end("Added f."),
    ]


def test_events_become_a_session_with_prompts_observations_and_a_summary(
    engine: Engine, spooler: Spooler
) -> None:
    spooler.catch(*some_work(Teller()))
    report = drained(engine, spooler)
    assert (report.events, report.prompts, report.observations) == (4, 1, 1)
    assert report.sessions == ("session-one",)
    by_type = {memory.type: memory for memory in kept(engine)}
    assert set(by_type) == {MemoryType.PROMPT, MemoryType.OBSERVATION, MemoryType.TIMELINE}
    seen = by_type[MemoryType.OBSERVATION]
    assert (seen.session_id, seen.source) == ("session-one", Source.OBSERVER_INFERRED)
    assert seen.project == "git:example.org/shop"
    assert by_type[MemoryType.TIMELINE].key == "summary:session-one"


def test_draining_twice_equals_once(engine: Engine, spooler: Spooler) -> None:
    spooler.catch(*some_work(Teller()))
    drained(engine, spooler)
    before = kept(engine), engine.store.get_session("session-one")
    again = drained(engine, spooler)
    assert (again.entries, again.events) == (0, 0)
    assert (kept(engine), engine.store.get_session("session-one")) == before


def test_an_event_that_is_in_the_spool_twice_counts_once(engine: Engine, spooler: Spooler) -> None:
    events = some_work(Teller())
    spooler.catch(*events, *events)
    spooler.catch(*events, session="another-file")
    report = drained(engine, spooler)
    assert (report.events, report.repeated) == (4, 8)
    session = engine.store.get_session("session-one")
    assert session is not None
    assert (session.prompt_count, session.tool_count, session.turn_count) == (1, 1, 1)


def test_in_small_steps_or_at_once_the_same_is_kept(
    tmp_path: Path, engine: Engine, spooler: Spooler, clock: ManualClock
) -> None:
    events = [e for case in load_cases()[:6] for e in case.events]
    for event in events:
        spooler.catch(event)
        drained(engine, spooler)
    stepwise = contents(engine)
    other = Spooler(tmp_path / "other")
    other.catch(*events)
    from wellkept.store import open_store

    fresh = Engine(store=open_store(tmp_path / "other.db", clock=clock), clock=clock)
    drained(fresh, other)
    assert contents(fresh) == stepwise
    fresh.store.close()


class DyingStore:
    """A store that fails at the nth write that holds a session, before or after it is done."""

    def __init__(self, store: Store, *, at: int, after: bool) -> None:
        self._store, self._left, self._after = store, at, after

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def apply(self, changes: Sequence[Change]) -> None:
        dies = any(isinstance(change, PutSession) for change in changes)
        self._left -= dies
        if dies and self._left == 0 and not self._after:
            raise StoreFullError("No room.")
        self._store.apply(changes)
        if dies and self._left == 0:
            raise StoreFullError("Power is gone.")


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_drain_that_dies_leaves_nothing_out_and_nothing_twice(
    engine: Engine, spooler: Spooler, at: int, after: bool
) -> None:
    tellers = [Teller(f"session-{n}") for n in range(3)]
    for say in tellers:
        spooler.catch(*some_work(say))
    dying = cast("Store", DyingStore(engine.store, at=at, after=after))
    with pytest.raises(StoreFullError):
        drained(replace(engine, store=dying), spooler)
    drained(engine, spooler)
    prompts = [m for m in kept(engine) if m.type is MemoryType.PROMPT]
    observed = [m for m in kept(engine) if m.type is MemoryType.OBSERVATION]
    assert len(prompts) == len(observed) == 3
    assert [s.tool_count for s in engine.store.sessions(project=None)] == [1, 1, 1]


def test_a_poisoned_entry_is_set_aside_and_blocks_nothing(engine: Engine, spooler: Spooler) -> None:
    say = Teller()
    first, second, third, fourth = some_work(say)
    spooler.catch(first, second)
    spooler.catch_raw(POISON, event=third)
    spooler.catch(third, fourth)
    report = drained(engine, spooler)
    assert report.events == 4
    (aside,) = report.set_aside
    assert (aside.client, aside.reason) == ("test-client", "KeyError: 'tool_input'")
    assert spooler.spool.status(engine.store).aside_entries == 1
    assert len(kept(engine)) == 3
    assert drained(engine, spooler).set_aside == ()


def test_an_embedder_that_is_down_sets_nothing_aside(engine: Engine, spooler: Spooler) -> None:
    class Down(WordEmbedder):
        def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
            raise ProviderError("The embedder is down.")

    spooler.catch(*some_work(Teller()))
    down = Down()
    with pytest.raises(ProviderError):
        drained(replace(engine, embedder=lambda: down), spooler)
    assert spooler.spool.status(engine.store).aside_entries == 0
    assert drained(engine, spooler).events == 4


def test_what_was_set_aside_can_be_tried_again(engine: Engine, spooler: Spooler) -> None:
    say = Teller()
    prompt = say.prompt("Add f")
    spooler.catch_raw(POISON, event=prompt)
    drained(engine, spooler)
    assert spooler.spool.bring_back() == 1
    report = drain(
        engine, spooler.spool, translate=lambda entry, redact: [prompt], environment=world()
    )
    assert (report.events, report.set_aside) == (1, ())
    assert spooler.spool.status(engine.store).aside_entries == 0
    spooler.catch_raw(POISON, event=say.prompt("Again"))
    drained(engine, spooler)
    spooler.spool.bring_back()
    drained(engine, spooler)
    assert spooler.spool.status(engine.store).aside_entries == 1


def test_what_is_set_aside_does_not_grow_without_end(engine: Engine, tmp_path: Path) -> None:
    spooler = Spooler(tmp_path / "spool")
    spooler.spool = SpoolFolder(spooler.spool.folder, max_aside_bytes=300)
    for number in range(10):
        event = Teller(f"s{number}").prompt("Add f")
        spooler.catch_raw(POISON, event=event, session=f"s{number}")
        assert len(drained(engine, spooler).set_aside) == 1
    kept_files = list((spooler.spool.folder / "aside").iterdir())
    assert 1 <= len(kept_files) < 10
    assert sum(path.stat().st_size for path in kept_files) <= 300


def test_damage_in_a_file_is_skipped_and_reported(engine: Engine, spooler: Spooler) -> None:
    say = Teller()
    first, *rest = some_work(say)
    spooler.catch(first)
    path = spooler.spool.folder / spooler.spool.sources()[0]
    with path.open("ab") as file:
        file.write(b"H1 torn entry")
    spooler.catch(*rest)
    report = drained(engine, spooler)
    assert (report.events, report.damaged_bytes) == (4, len(b"H1 torn entry"))


def test_a_file_is_gone_as_soon_as_what_it_held_is_committed(
    engine: Engine, spooler: Spooler
) -> None:
    say = Teller("open")
    spooler.catch(say.prompt("Hello there"))
    assert drained(engine, spooler).removed == 1
    assert spooler.spool.sources() == []
    assert engine.store.read_position("test-client-open.spool") is None
    spooler.catch(say.turn_end())
    assert (drained(engine, spooler).events, spooler.spool.sources()) == (1, [])


def _in_use(spooler: Spooler) -> int:
    """Hold the only file as a hook does while it writes."""
    (source,) = spooler.spool.sources()
    descriptor = os.open(spooler.spool.folder / source, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def test_of_a_file_in_use_only_what_was_not_committed_is_left(
    engine: Engine, spooler: Spooler
) -> None:
    say = Teller()
    spooler.catch(say.prompt("The first secret word"), say.prompt("The second one"))
    held = _in_use(spooler)
    report = drained(engine, spooler)
    assert (report.events, report.removed, report.in_use) == (2, 0, 1)
    (path,) = [spooler.spool.folder / source for source in spooler.spool.sources()]
    assert b"secret word" not in path.read_bytes()
    spooler.catch(say.prompt("The third of all"))
    assert (drained(engine, spooler).events, drained(engine, spooler).events) == (1, 0)
    assert b"third of all" not in path.read_bytes()
    os.close(held)
    assert (drained(engine, spooler).removed, spooler.spool.sources()) == (1, [])
    session = engine.store.get_session("session-one")
    assert session is not None
    assert session.prompt_count == 3


def test_a_cleared_file_whose_position_is_lost_gives_no_event_twice(
    engine: Engine, spooler: Spooler
) -> None:
    say = Teller()
    spooler.catch(say.prompt("One thing"), say.turn_end())
    held = _in_use(spooler)
    drained(engine, spooler)
    (source,) = spooler.spool.sources()
    mark = engine.store.read_position(source)
    assert mark is not None
    engine.store.delete_read_position(mark)
    again = drained(engine, spooler)
    os.close(held)
    assert (again.events, again.damaged_bytes, again.set_aside) == (0, 0, ())


def test_a_large_backlog_is_cleared_batch_by_batch(engine: Engine, spooler: Spooler) -> None:
    say = Teller()
    spooler.catch(*(say.prompt(f"Prompt number {n} of many") for n in range(250)))
    dying = cast("Store", DyingStore(engine.store, at=2, after=False))
    with pytest.raises(StoreFullError):
        drained(replace(engine, store=dying), spooler)
    (path,) = [spooler.spool.folder / source for source in spooler.spool.sources()]
    left = path.read_bytes()
    assert b"Prompt number 0 of many" not in left
    assert b"Prompt number 249 of many" in left
    drained(engine, spooler)
    session = engine.store.get_session("session-one")
    assert session is not None
    assert session.prompt_count == 250


def test_a_new_file_under_an_old_name_is_read_from_its_beginning(
    engine: Engine, spooler: Spooler
) -> None:
    say = Teller()
    spooler.catch(say.prompt("First of all"), say.prompt("Second of all"))
    held = _in_use(spooler)
    drained(engine, spooler)
    os.close(held)
    path = spooler.spool.folder / spooler.spool.sources()[0]
    path.unlink()
    spooler.catch(say.prompt("Third of all"), say.prompt("Fourth of all, and longer than before"))
    assert drained(engine, spooler).events == 2
    session = engine.store.get_session("session-one")
    assert session is not None
    assert session.prompt_count == 4


def test_an_entry_that_is_set_aside_is_kept_without_its_secrets(
    engine: Engine, spooler: Spooler
) -> None:
    say = Teller()
    spooler.catch_raw(b'{"broken": "password is Tiger_4711"', event=say.prompt("Add f"))

    def refuse(entry: SpoolEntry, redact: object) -> list[Event]:
        raise KeyError("tool_input")

    report = drain(engine, spooler.spool, translate=refuse, environment=world())
    assert len(report.set_aside) == 1
    (kept_file,) = (spooler.spool.folder / "aside").iterdir()
    assert b"Tiger_4711" not in kept_file.read_bytes()
    assert b"[redacted:password]" in kept_file.read_bytes()


def test_one_process_drains_and_others_leave_at_once(spooler: Spooler) -> None:
    spooler.catch(Teller().prompt("Hello"))
    twin = Spooler(spooler.spool.folder)
    with spooler.spool.draining() as mine, twin.spool.draining() as other:
        assert (mine, other) == (True, False)
    with twin.spool.draining() as free:
        assert free


@pytest.mark.feature("A8")
def test_a_command_in_a_prompt_is_obeyed_once(engine: Engine, spooler: Spooler) -> None:
    say = Teller()
    spooler.catch(say.prompt("Remember that we deploy on Tuesdays only."))
    drained(engine, spooler)
    drained(engine, spooler)
    taught = [m for m in kept(engine) if m.source is Source.USER_TAUGHT]
    assert ["Tuesdays" in m.content for m in taught] == [True]
    assert taught[0].importance == 0.95


@pytest.mark.feature("C8")
def test_a_session_that_went_quiet_is_summed_up_by_a_later_drain(
    engine: Engine, spooler: Spooler, clock: ManualClock
) -> None:
    say = Teller()
    spooler.catch(say.prompt("Add f"), say.edit("a.py", "", "def f():\n    return 1\n"))
    drained(engine, spooler)
    assert [m.type for m in kept(engine)] == [MemoryType.PROMPT]
    clock.advance(seconds=12 * 60)
    assert drained(engine, spooler).observations == 1
    assert MemoryType.TIMELINE in {m.type for m in kept(engine)}
    assert drained(engine, spooler).observations == 0


@pytest.mark.feature("C1")
def test_a_session_has_one_summary_however_long_it_goes_on(
    engine: Engine, spooler: Spooler
) -> None:
    say = Teller()
    for turn in range(5):
        spooler.catch(say.prompt(f"Task number {turn}"), say.turn_end(f"Did {turn}."))
        drained(engine, spooler)
    summaries = [m for m in kept(engine) if m.type is MemoryType.TIMELINE]
    assert len(summaries) == 1
    assert "Task number 4" in summaries[0].content


@pytest.mark.feature("C1")
@pytest.mark.feature("C6")
def test_what_a_drain_brought_is_news_once(engine: Engine, spooler: Spooler) -> None:
    say = Teller()
    spooler.catch(*some_work(say), say.end())
    for _ in range(2):
        drain(engine, spooler.spool, translate=translate, environment=world())
    told = [news.kind.value for news in engine.store.activity(after=0, project=None, limit=99)]
    assert told[0] == "session_started"
    assert told.count("observation_stored") == 1
    assert told[-1] == "session_ended"
    assert told.count("session_started") == told.count("session_ended") == 1


def test_two_sessions_in_one_file_stay_apart(engine: Engine, spooler: Spooler) -> None:
    left, right = Teller("left"), Teller("right")
    for event in (left.prompt("To the left"), right.prompt("To the right"), left.turn_end()):
        spooler.catch(event, session="shared")
    drained(engine, spooler)
    assert {s.id: s.title for s in engine.store.sessions(project=None)} == {
        "left": "To the left",
        "right": "To the right",
    }


def test_old_records_of_taken_events_are_let_go(
    engine: Engine, spooler: Spooler, clock: ManualClock
) -> None:
    old, new = Teller("old"), Teller("new")
    event = old.prompt("Long ago")
    spooler.catch(event)
    drained(engine, spooler)
    clock.now = START + timedelta(days=40)
    late = new.prompt("Today")
    spooler.catch(replace(late, origin=replace(late.origin, at=clock.now)))
    drained(engine, spooler)
    assert engine.store.processed_events([event.origin.event_id, late.origin.event_id]) == {
        late.origin.event_id
    }


def test_an_empty_or_missing_spool_is_nothing_to_do(engine: Engine, spooler: Spooler) -> None:
    assert drained(engine, spooler) == replace(DrainReport(), model=drained(engine, spooler).model)
    assert pickle.loads(pickle.dumps(spooler.spool.sources())) == []
