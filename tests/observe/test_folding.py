"""Sessions: numbered, counted, resumed, with sub-agents, and unharmed by late or doubled events."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.observe.telling import ROOT, START, Teller, folded, observations, world
from wellkept.core.payloads import Prompt, SessionSummary
from wellkept.core.session.events import Event, ToolKind
from wellkept.core.session.sessions import SessionRecord
from wellkept.core.types import MemoryType, Source
from wellkept.observe.session.reducer import SessionUpdate, apply_events, close_idle
from wellkept.text.shell.environment import Environment, GitState, ProjectLocation

pytestmark = pytest.mark.feature("C1")


def onto(session: SessionRecord, *events: Event) -> SessionUpdate:
    return apply_events(session, events, environment=world())


def test_prompts_are_numbered_and_kept_as_memories_of_the_person() -> None:
    say = Teller()
    result = folded([say.start(), say.prompt("First thing"), say.prompt("Second thing")])
    prompts = [d for d in result.drafts if d.type is MemoryType.PROMPT]
    assert [(d.content, d.payload, d.author) for d in prompts] == [
        ("First thing", Prompt(1), "user"),
        ("Second thing", Prompt(2), "user"),
    ]
    assert [d.seq for d in prompts] == [0, 1]
    session = result.session
    assert (session.prompt_count, session.title, session.model) == (2, "First thing", "some-model")


def test_an_unknown_session_starts_with_whatever_comes_first() -> None:
    say = Teller("never-seen")
    result = folded([say.run("ls")])
    session = result.session
    assert (session.id, session.project, session.cwd) == (
        "never-seen",
        "git:example.org/shop",
        ROOT,
    )
    assert (session.tool_count, session.prompt_count, session.is_open) == (1, 0, True)


def test_a_resumed_session_goes_on_where_it_was() -> None:
    say = Teller()
    first = folded([say.start(), say.prompt("Add a cart"), say.turn_end("Done."), say.end()])
    assert (first.session.ended_at, first.session.end_reason) == (
        START + timedelta(seconds=4),
        "exit",
    )
    again = onto(first.session, say.start("resume"), say.prompt("And a till"))
    assert (again.session.is_open, again.session.prompt_count) == (True, 2)
    assert again.session.title == "Add a cart"
    assert [(d.seq or 0) > 0 for d in again.drafts] == [True]


def test_a_late_event_neither_reopens_a_session_nor_moves_its_clock_back() -> None:
    say = Teller()
    late = say.run("pytest", "3 passed in 0.1s")
    before = say.start()
    result = folded([before, say.prompt("x y z"), say.end()])
    after = onto(result.session, replace(late, origin=replace(late.origin, event_id="late")))
    assert after.session.ended_at == result.session.ended_at
    assert after.session.last_event_at == result.session.last_event_at
    assert after.session.started_at == START + timedelta(seconds=1)


def test_a_call_that_is_reported_twice_counts_once() -> None:
    say = Teller()
    call = say.edit("a.py", "", "def f():\n    return 1\n")
    twin = replace(call, origin=replace(call.origin, event_id="twin"))
    result = folded([say.prompt("Add f"), call, twin, say.turn_end()])
    assert result.session.tool_count == 1
    assert len(observations(result)) == 1


def test_sub_agents_work_beside_each_other_and_are_named() -> None:
    say = Teller()
    result = folded(
        [
            say.prompt("Tidy both modules"),
            say.agent_start("a1", "builder"),
            say.agent_start("a2", "tester"),
            say.edit("left.py", "def a():\n    pass\n", "def a():\n    return 1\n", agent="a1"),
            say.run("pytest tests/right", "", error="Exit code 1\nKeyError: 'x'", agent="a2"),
            say.edit("left.py", "def b():\n    pass\n", "def b():\n    return 1\n", agent="a1"),
            say.run("pytest tests/left", "2 passed in 0.1s", agent="a1"),
            say.agent_end("a1", "builder", "Both functions return."),
            say.agent_end("a2", "tester"),
            say.turn_end("Done"),
        ]
    )
    told = {seen.agent: seen.title for seen in observations(result)}
    assert told == {
        "a1": "Both functions return.",
        "a2": "pytest tests/right: KeyError: 'x'",
    }
    assert result.session.agent_count == 2
    draft = next(d for d in result.drafts if d.tags and "agent:a1" in d.tags)
    assert draft.source is Source.OBSERVER_INFERRED
    assert result.summary is not None
    assert "builder: Both functions return." in result.summary.content


def test_an_observation_knows_its_prompt_branch_files_and_cost() -> None:
    say = Teller()
    surroundings = Environment(
        locate=lambda cwd: ProjectLocation("p", (ROOT,)),
        git=lambda folder: GitState("topic", "abc1234"),
    )
    events = [
        say.start(),
        say.prompt("Speed up the cart"),
        say.read("shop/cart.py"),
        say.edit(f"{ROOT}/shop/cart.py", "def t():\n    a\n", "def t():\n    b\n"),
        say.edit("/etc/elsewhere.conf", "a = 1", "a = 2"),
        say.turn_end(),
    ]
    result = apply_events(None, events, environment=surroundings)
    (seen,) = observations(result)
    assert (seen.prompt_number, seen.branch) == (1, "topic")
    assert (seen.files_read, seen.files_modified) == (("shop/cart.py",), ("shop/cart.py",))
    assert (result.session.branch, result.session.commit_sha) == ("topic", "abc1234")
    (draft,) = [d for d in result.drafts if d.type is MemoryType.OBSERVATION]
    assert (draft.work_tokens or 0) > 100
    assert draft.files == ("shop/cart.py",)


def test_each_turn_is_one_observation_and_the_tokens_count_once() -> None:
    say = Teller()

    def turn(name: str) -> list[Event]:
        edit = say.edit("cart.py", f"def {name}():\n    a\n", f"def {name}():\n    b\n")
        return [
            say.prompt(f"Look at {name} again"),
            edit,
            say.turn_end(f"The cart keeps its {name} in cents."),
        ]

    result = folded([event for name in ("add", "total", "clear") for event in turn(name)])
    told = observations(result)
    assert [(seen.title, seen.facts) for seen in told] == [
        (f"The cart keeps its {name} in cents.", (f"cart.py: changed {name}",))
        for name in ("add", "total", "clear")
    ]
    drafts = [d for d in result.drafts if d.type is MemoryType.OBSERVATION]
    assert result.session.observation_count == 3
    assert result.session.discovery_tokens == sum(d.work_tokens or 0 for d in drafts)


def test_work_after_a_commit_is_another_observation() -> None:
    say = Teller()
    edit = ("cart.py", "def f():\n    a\n", "def f():\n    b\n")
    result = folded(
        [
            say.prompt("Look at f"),
            say.edit(*edit),
            say.turn_end(),
            say.edit(*edit),
            say.run("git commit -am 'Settle f'", "[main abc1234] Settle f"),
            say.edit(*edit),
            say.turn_end(),
        ]
    )
    assert [(seen.title, seen.subtitle) for seen in observations(result)] == [
        ("cart.py", "Look at f"),
        ("Settle f", "Commit abc1234"),
        ("cart.py", "Look at f"),
    ]


def test_a_file_that_was_seen_before_is_not_created() -> None:
    say = Teller()
    whole = say.edit("a.py", "", "def f():\n    return 1\n")
    result = folded([say.prompt("Write f anew"), say.read("a.py"), whole, say.turn_end()])
    assert [seen.facts for seen in observations(result)] == [("a.py: changed f",)]


def test_the_agent_asking_wellkept_is_not_work() -> None:
    say = Teller()
    own = say.call("mcp__wellkept__search", ToolKind.MCP, output="y" * 4000)
    result = folded([say.prompt("What do we know?"), own, say.turn_end()])
    assert observations(result) == []
    assert result.session.discovery_tokens == 0


def test_what_a_client_says_in_the_persons_name_is_no_prompt() -> None:
    say = Teller()
    result = folded([say.prompt("<task-notification>done</task-notification>"), say.prompt("  ")])
    assert [d for d in result.drafts if d.type is MemoryType.PROMPT] == []
    assert result.session.prompt_count == 0


@pytest.mark.feature("C8")
def test_a_session_is_summed_up_after_so_many_turns_at_compaction_and_at_its_end() -> None:
    say = Teller()
    triggers: list[str | None] = []
    result = folded([say.start(), say.prompt("Begin"), say.turn_end("One.")])
    triggers.append(result.trigger)
    for event in (say.turn_end("Two."), say.turn_end("Three."), say.turn_end("Four."),
                  say.compacted("The story so far."), say.end()):  # fmt: skip
        result = onto(result.session, event)
        triggers.append(result.trigger)
    assert triggers == [None, None, "turns", None, "compaction", "end"]
    assert result.session.summarised_turn == 4
    assert not result.session.needs_summary


@pytest.mark.feature("C8")
def test_a_session_that_went_quiet_loses_nothing() -> None:
    say = Teller()
    held = folded([say.prompt("Add f"), say.edit("a.py", "", "def f():\n    return 1\n")])
    assert observations(held) == []
    rested = close_idle(held.session, environment=world())
    assert [seen.title for seen in observations(rested)] == ["a.py"]
    assert rested.summary is not None
    summary = rested.summary.payload
    assert isinstance(summary, SessionSummary)
    assert summary.completed == "a.py"
    assert not rested.session.needs_summary
    assert observations(close_idle(rested.session, environment=world())) == []


def test_a_desk_that_cannot_be_read_starts_afresh_but_keeps_its_place() -> None:
    say = Teller()
    first = folded([say.prompt("One"), say.prompt("Two")])
    strange = replace(first.session, work={"next_seq": 7, "from": "another version"})
    result = onto(strange, say.prompt("Three"))
    assert [d.seq for d in result.drafts] == [7]
    assert result.session.prompt_count == 3
