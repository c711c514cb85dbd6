"""What the loop tells the observer: typed events, as things were before anything was added."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.agent.conftest import MakeSession
from wellkept.core.chat.messages import (
    Message,
    MessageKind,
    ModelRequest,
    ToolCallPart,
    user_message,
)
from wellkept.core.chat.runtime_events import encoded, event_name
from wellkept.core.chat.runtime_events import events as decoded
from wellkept.core.clock import system_clock
from wellkept.core.records import replace
from wellkept.core.session import events
from wellkept.core.session.events import Edit, Event, ToolKind
from wellkept.testing.scripted_model import call, calls
from wellkept_agent import AgentSession, Capability, HookContext, ToolOutput, tool
from wellkept_agent import events as seen
from wellkept_agent.observer_feed import ObserverFeed

pytestmark = [pytest.mark.anyio, pytest.mark.feature("G1", "C3")]


class Notebook:
    """A sink that keeps everything."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def put(self, event: Event) -> None:
        self.events.append(event)

    def named(self, kind: type[Event]) -> list[Event]:
        return [one for one in self.events if isinstance(one, kind)]


class Adds(Capability):
    """Adds to prompts and results, as recall does."""

    name = "adds"

    async def on_user_message(self, context: HookContext, text: str) -> str | None:
        return f"{text}\n\n<wellkept-memory>\nadded\n</wellkept-memory>"

    async def on_after_tool(
        self, context: HookContext, call: ToolCallPart, output: ToolOutput
    ) -> ToolOutput | None:
        return replace(output, content=f"{output.content} added")


@tool(kind=ToolKind.SHELL, read_only=True, name="Bash")
def bash(command: str) -> ToolOutput:
    if command == "fail":
        return ToolOutput(content="Exit code 3\nboom", is_error=True, command=command)
    if command == "kill":
        return ToolOutput(content="Exit code 143 (SIGTERM)\n", is_error=True, command=command)
    return ToolOutput(content="(No output; exit code 0.)", command=command)


@tool(kind=ToolKind.EDIT, read_only=True, name="Edit")
def edit(file_path: str) -> ToolOutput:
    return ToolOutput(content="Edited", files=(file_path,), edits=(Edit(file_path, "a", "b"),))


@tool(kind=ToolKind.MCP, read_only=True, name="mcp:browser:click")
def click(selector: str) -> str:
    return f"clicked {selector}"


@tool(read_only=True, name="memory_recall")
def remembered(query: str) -> str:
    return f"Found: the secret of {query}"


TOOLS = (bash, edit, click, remembered)


async def fed(
    make_session: MakeSession, script: Sequence[object], *prompts: str
) -> tuple[Notebook, AgentSession]:
    book = Notebook()
    session = make_session(
        script, tools=TOOLS, capabilities=[ObserverFeed(lambda _session: book), Adds()]
    )
    async with session:
        for prompt in prompts:
            await session.run(prompt)
    return book, session


async def test_a_session_is_told_from_start_to_end_with_its_tokens(
    make_session: MakeSession,
) -> None:
    book, session = await fed(make_session, ["One.", "Two."], "First", "Second")
    assert [type(one).__name__ for one in book.events] == [
        "SessionStarted",
        "PromptSubmitted",
        "TurnEnded",
        "PromptSubmitted",
        "TurnEnded",
        "SessionEnded",
    ]
    assert {one.origin.session_id for one in book.events} == {session.id}
    assert {one.origin.client for one in book.events} == {"wellkept"}
    end = book.events[-1]
    assert isinstance(end, events.SessionEnded)
    assert end.usage is not None
    assert end.usage.input == session.control.usage.input > 0
    assert end.usage.output == session.control.usage.output > 0


async def test_prompts_and_results_are_told_as_they_were(make_session: MakeSession) -> None:
    book, _ = await fed(
        make_session, [calls(call("mcp:browser:click", selector="#buy")), "Done."], "Buy it"
    )
    (prompt,) = book.named(events.PromptSubmitted)
    (called,) = book.named(events.ToolCalled)
    assert isinstance(prompt, events.PromptSubmitted)
    assert isinstance(called, events.ToolCalled)
    assert prompt.text == "Buy it"
    assert (called.output, called.kind) == ("clicked #buy", ToolKind.MCP)
    assert called.name == "mcp__browser__click"
    assert json.loads(called.input) == {"selector": "#buy"}
    assert called.duration_ms is not None


async def test_failed_commands_edits_and_silence(make_session: MakeSession) -> None:
    book, _ = await fed(
        make_session,
        [
            calls(
                call("Bash", command="fail"),
                call("Bash", command="kill"),
                call("Bash", command="true"),
                call("Edit", file_path="a.py"),
                call("Nonsense"),
                ToolCallPart("c9", "Bash", "{not json"),
            ),
            "Done.",
        ],
        "Try",
    )
    told = {one.call_id: one for one in book.events if isinstance(one, events.ToolCalled)}
    by_command = {one.command: one for one in told.values() if one.command}
    assert (by_command["fail"].error, by_command["fail"].output) == ("Exit code 3", "boom")
    assert by_command["kill"].error == "Exit code 143"
    assert (by_command["true"].error, by_command["true"].output) == (None, "")
    (edited,) = [one for one in told.values() if one.kind is ToolKind.EDIT]
    assert edited.edits == (Edit("a.py", "a", "b"),)
    assert edited.output == ""
    assert told["c9"].error
    assert any(one.name == "Nonsense" and one.error for one in told.values())


async def test_a_call_is_told_with_the_folder_it_began_in(
    make_session: MakeSession, tmp_path: Path
) -> None:
    book = Notebook()
    moves: list[AgentSession] = []

    @tool(kind=ToolKind.SHELL, read_only=True, name="Bash")
    def moving(command: str) -> ToolOutput:
        moves[0].working_directory = tmp_path / "apps"
        return ToolOutput(content="ok", command=command)

    session = make_session(
        [calls(call("Bash", command="cd apps && make")), calls(call("Bash", command="make")), "."],
        tools=[moving],
        capabilities=[ObserverFeed(lambda _session: book)],
    )
    moves.append(session)
    began = str(session.working_directory)
    async with session:
        await session.run("Build")
    folders = [one.origin.cwd for one in book.named(events.ToolCalled)]
    assert folders == [began, str(tmp_path / "apps")]


async def test_what_memory_answers_is_not_learned_again(make_session: MakeSession) -> None:
    book, _ = await fed(
        make_session, [calls(call("memory_recall", query="x")), "Done."], "What is known?"
    )
    assert "the secret" not in str(book.events)


async def test_compaction_and_sub_agents_are_told(make_session: MakeSession) -> None:
    book = Notebook()

    def script(request: ModelRequest) -> Message | str:
        is_part = request.messages[-1].text == "Part"
        return calls(call("Bash", command="true")) if is_part else "Reported."

    session = make_session(
        script,
        tools=TOOLS,
        capabilities=[ObserverFeed(lambda _session: book)],
    )
    async with session:
        await session.run("Whole")
        await session.delegate("Part", agent_type="helper")
        session.add(user_message("All of it", kind=MessageKind.SUMMARY))
        session.emit(seen.CompactionCompleted(4, 20))
        await session.hooks.session_start(session.context)
    (begun,) = book.named(events.SubagentStarted)
    (called,) = book.named(events.ToolCalled)
    (compacted,) = book.named(events.Compacted)
    assert begun.origin.agent == called.origin.agent is not None
    assert isinstance(compacted, events.Compacted)
    assert compacted.summary == "All of it"
    starts = [one.source for one in book.events if isinstance(one, events.SessionStarted)]
    assert starts == ["startup", "compact"]
    # The brief of a sub-agent is no prompt of a person, and its end is no end of the session.
    assert len(book.named(events.PromptSubmitted)) == 1
    assert len(book.named(events.TurnEnded)) == 1
    assert len(book.named(events.SessionEnded)) == 1


async def test_every_event_comes_back_from_the_spool_as_it_went_in(
    make_session: MakeSession,
) -> None:
    book, _ = await fed(make_session, [calls(call("Edit", file_path="a.py")), "Done."], "Edit")
    at = system_clock()
    for event in book.events:
        (back,) = decoded(
            event_name(event), json.loads(encoded(event)), event_id="e", at=event.origin.at
        )
        assert replace(back, origin=event.origin) == event
    assert decoded("Nothing", {"session_id": "s"}, event_id="e", at=at) == []
    assert decoded("TurnEnded", {"session_id": "s", "usage": 3}, event_id="e", at=at) == []


async def test_a_call_that_never_ran_is_no_failure_to_learn_from(make_session: MakeSession) -> None:
    """A refusal of the person says nothing of the command."""

    @tool(kind=ToolKind.SHELL, name="Bash", asks=True)
    def asking(command: str) -> str:
        raise AssertionError(command)

    notebook = Notebook()
    session = make_session(
        [calls(call("Bash", command="make ship")), "I see."],
        tools=[asking],
        capabilities=[ObserverFeed(lambda _: notebook)],
    )
    async with session:
        await session.run("Ship it")
    assert session.conversation.turns[2].tool_results[0].is_error
    assert notebook.named(events.ToolCalled) == []
    assert notebook.named(events.SessionEnded)
