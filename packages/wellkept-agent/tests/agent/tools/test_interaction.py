"""Todo list, questions, sub-agents, memory, skills, notebooks and the set of tools (G2)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.agent.conftest import MakeSession
from tests.agent.tools.conftest import MakeBench, ToolBench
from wellkept.core.chat.messages import ModelRequest
from wellkept.core.errors import UsageError
from wellkept.core.session.events import Answer, Edit, ToolKind
from wellkept.testing.scripted_model import call, calls
from wellkept_agent import LoopSettings, RunEnd, ToolContext, ToolOutput
from wellkept_agent.events import SubagentFinished, SubagentStarted, TodosChanged
from wellkept_agent.permissions import Decision
from wellkept_agent.settings import ToolSettings, load
from wellkept_agent.tools.default import default_tools
from wellkept_agent.tools.memory import MemoryCategory, RecalledMemory
from wellkept_agent.tools.task import AgentType, Task

pytestmark = pytest.mark.feature("G2")


# -- The set --------------------------------------------------------------------------------------


class _Memory:
    def __init__(self) -> None:
        self.kept: dict[str, tuple[str, MemoryCategory, float | None]] = {}
        self.asked: dict[str, object] = {}

    def store(
        self, key: str, content: str, *, category: MemoryCategory, importance: float | None
    ) -> str:
        self.kept[key] = (content, category, importance)
        return f"Memory stored: {key}"

    def recall(
        self,
        query: str,
        *,
        category: MemoryCategory | None,
        since_ms: int | None,
        until_ms: int | None,
        limit: int,
    ) -> Sequence[RecalledMemory]:
        self.asked = {"category": category, "since": since_ms, "until": until_ms, "limit": limit}
        return [
            RecalledMemory(key=key, content=text, category=kind, importance=weight or 0.5)
            for key, (text, kind, weight) in self.kept.items()
            if query in text
        ]

    def forget(self, key: str) -> bool:
        return self.kept.pop(key, None) is not None


class _Skills:
    async def use(self, context: ToolContext, name: str, arguments: str) -> ToolOutput:
        if name != "deploy":
            raise UsageError(f"There is no skill {name!r}.")
        return ToolOutput(content=f"Deploy {arguments} carefully.")


def test_the_tools_are_those_that_people_know() -> None:
    tools = default_tools(memory=_Memory(), skills=_Skills())
    assert [one.name for one in tools] == [
        "Read", "Write", "Edit", "NotebookEdit", "Bash", "BashOutput", "KillShell", "Glob", "Grep",
        "LS", "Cwd", "Task", "TodoWrite", "AskUserQuestion", "WebFetch", "Skill", "memory_store",
        "memory_recall", "memory_forget",
    ]  # fmt: skip
    parameters = {one.name: set(_properties(one.parameters)) for one in tools}
    assert parameters["Read"] == {"file_path", "offset", "limit", "pages"}
    assert parameters["Edit"] == {"file_path", "old_string", "new_string", "replace_all"}
    assert parameters["Bash"] == {"command", "timeout", "description", "run_in_background"}
    assert parameters["Grep"] == {
        "pattern", "path", "glob", "type", "output_mode", "-i", "-n", "-A", "-B", "-C", "multiline",
        "head_limit", "offset",
    }  # fmt: skip
    assert parameters["memory_store"] == {"key", "content", "category", "importance"}
    assert parameters["memory_recall"] == {"query", "category", "since", "until", "limit"}
    assert parameters["Task"] == {"description", "prompt", "subagent_type", "model"}


def _properties(schema: Any) -> dict[str, Any]:
    return schema["properties"]


def test_every_schema_is_plain_and_every_parameter_is_described() -> None:
    for tool in default_tools(memory=_Memory(), skills=_Skills()):
        text = json.dumps(tool.parameters)
        assert "$ref" not in text, tool.name
        assert "title" not in json.loads(text), tool.name
        assert tool.description
        for name, schema in _properties(tool.parameters).items():
            is_plain = name.startswith("-") or name in ("todos", "questions", "output_mode")
            is_plain = is_plain or name in ("subagent_type", "model")
            assert schema.get("description") or is_plain, (tool.name, name)


def test_settings_choose_the_tools() -> None:
    looking = default_tools(settings=ToolSettings(profile="read_only"), memory=_Memory())
    names = {one.name for one in looking}
    assert not names & {"Write", "Edit", "Bash", "NotebookEdit", "memory_store", "memory_forget"}
    assert {"Read", "Grep", "memory_recall"} <= names
    chosen = default_tools(settings=ToolSettings(enabled=("Read", "Bash"), disabled=("Bash",)))
    assert [one.name for one in chosen] == ["Read"]
    with pytest.raises(UsageError, match="all, read_only"):
        default_tools(settings=ToolSettings(profile="everything"))
    loaded = load(
        ToolSettings,
        environment={"BASH_DEFAULT_TIMEOUT_MS": "5", "WELLKEPT_AGENT_DISABLED_TOOLS": "Bash, Task"},
    )
    assert loaded.bash_timeout_ms == 5
    assert loaded.disabled == ("Bash", "Task")


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"file_path": 3},
        {"file_path": "a", "unknown": 1},
        {"file_path": "a", "limit": 0},
        {"file_path": "x" * 100_000},
        {"file_path": "a/" * 5_000},
    ],
)
def test_bad_arguments_are_an_answer_to_the_model(
    bench: ToolBench, arguments: dict[str, object]
) -> None:
    output = bench.use("Read", **arguments)
    assert output.is_error
    assert bench.session.last_end is RunEnd.DONE


# -- Todo -----------------------------------------------------------------------------------------


def test_the_list_is_shown_and_kept(bench: ToolBench) -> None:
    todos = [
        {"content": "one", "status": "completed", "activeForm": "Doing one"},
        {"content": "two", "status": "in_progress"},
    ]
    output = bench.use("TodoWrite", todos=todos)
    assert output.content == "The list has 2 items, 1 to do."
    assert output.display == "☑ one\n▶ two"
    assert bench.session.todos == (("one", "completed"), ("two", "in_progress"))
    assert TodosChanged(bench.session.todos) in bench.events
    bad = bench.use("TodoWrite", todos=[{"content": "x", "status": "soon"}])
    assert bad.is_error
    assert "completed" in bad.content
    assert (
        "one at a time"
        in bench.use(
            "TodoWrite", todos=[{"content": str(n), "status": "in_progress"} for n in range(2)]
        ).content
    )


# -- Questions ------------------------------------------------------------------------------------

_QUESTION = {
    "question": "Which database?",
    "header": "Database",
    "options": [
        {"label": "SQLite", "description": "one file"},
        {"label": "Postgres", "description": "a server"},
    ],
}


def test_answers_are_recorded_for_the_observer(bench: ToolBench) -> None:
    bench.person.answers = ("SQLite", "as you like")
    second = {**_QUESTION, "question": "And how?", "multiSelect": True}
    output = bench.use("AskUserQuestion", questions=[_QUESTION, second])
    assert output.answers == (
        Answer("Which database?", "SQLite", is_choice=True, meaning="one file", topic="Database"),
        Answer("And how?", "as you like", topic="Database"),
    )
    assert "Which database?\n-> SQLite" in output.content
    assert bench.person.questions[1].several
    assert not bench.person.asked


def test_a_question_that_nobody_answers_ends_the_turn(make_session: MakeSession) -> None:
    session = make_session(
        [calls(call("AskUserQuestion", questions=[_QUESTION])), "too far"], tools=default_tools()
    )
    result = asyncio.run(session.run("go"))
    assert result.end is RunEnd.QUESTION
    assert "Which database?" in session.conversation.turns[-1].tool_results[0].content


def test_questions_without_end_are_refused(bench: ToolBench) -> None:
    assert bench.use("AskUserQuestion", questions=[]).is_error
    assert bench.use("AskUserQuestion", questions=[_QUESTION] * 5).is_error


# -- Sub-agents -----------------------------------------------------------------------------------


def _helping(
    make_session: MakeSession, script: Callable[[ModelRequest], object], **options: Any
) -> Any:
    def answer(request: ModelRequest) -> object:
        if any(m.text == "help" for m in request.messages):
            return script(request)
        if any(m.tool_results for m in request.messages):
            return "thanks"
        given = {"description": "look around", "prompt": "help", **options}
        return calls(call("Task", **given))

    return make_session(
        answer, tools=default_tools(), settings=LoopSettings(permission_mode="bypass")
    )


def test_a_sub_agent_works_and_reports(make_session: MakeSession) -> None:
    session = _helping(make_session, lambda _request: "The answer is 42.")
    events: list[object] = []
    session.listen(events.append)
    result = asyncio.run(session.run("go"))
    assert result.text == "thanks"
    assert session.conversation.turns[2].tool_results[0].content == "The answer is 42."
    assert [type(e) for e in events if isinstance(e, SubagentStarted | SubagentFinished)] == [
        SubagentStarted, SubagentFinished,
    ]  # fmt: skip


def test_an_explorer_reads_but_cannot_write_even_in_bypass(make_session: MakeSession) -> None:
    seen: list[ModelRequest] = []

    def script(request: ModelRequest) -> object:
        seen.append(request)
        if len(seen) == 1:
            write = call("Write", file_path="x", content="x")
            return calls(call("Bash", command="touch y"), call("Bash", command="pwd"), write)
        return "done"

    session = _helping(make_session, script, subagent_type="explore")
    asyncio.run(session.run("go"))
    names = {one.name for one in seen[0].tools}
    assert names == {"Read", "Glob", "Grep", "LS", "Cwd", "Bash", "WebFetch"}
    touch, pwd, write = seen[1].messages[-1].tool_results
    assert "only reads" in touch.content
    assert pwd.content == str(session.root)
    assert "no tool named 'Write'" in write.content
    assert list(session.root.iterdir()) == []
    assert "explore a code base" in seen[0].messages[0].text


def test_a_general_sub_agent_cannot_start_others(make_session: MakeSession) -> None:
    seen: list[ModelRequest] = []

    def script(request: ModelRequest) -> object:
        seen.append(request)
        return "done"

    asyncio.run(_helping(make_session, script).run("go"))
    names = {one.name for one in seen[0].tools}
    assert not names & {"Task", "TodoWrite"}
    assert {"Write", "Bash"} <= names


def test_an_unknown_type_names_the_others(make_session: MakeSession) -> None:
    session = _helping(make_session, lambda _request: "x", subagent_type="Wizard")
    asyncio.run(session.run("go"))
    content = session.conversation.turns[2].tool_results[0].content
    assert "general-purpose" in content
    assert "Explore" in content


def test_a_sub_agent_that_does_not_end_is_reported(make_session: MakeSession) -> None:
    def script(request: ModelRequest) -> object:
        return calls(call("LS", depth=1 + len(request.messages) % 5), text="looking")

    def answer(request: ModelRequest) -> object:
        if any(m.text == "help" for m in request.messages):
            return script(request)
        if any(m.tool_results for m in request.messages):
            return "thanks"
        return calls(call("Task", description="d", prompt="help"))

    settings = LoopSettings(subagent_max_steps=3)
    session = make_session(answer, tools=default_tools(), settings=settings)
    assert asyncio.run(session.run("go")).text == "thanks"
    result = session.conversation.turns[2].tool_results[0]
    assert result.is_error
    assert "ended early: max_steps" in result.content


def test_more_types_can_be_given(make_session: MakeSession) -> None:
    reviewer = AgentType(name="Reviewer", purpose="reviews", system="You review.", tools=("Read",))
    seen: list[ModelRequest] = []

    def answer(request: ModelRequest) -> object:
        seen.append(request)
        if any(m.text == "help" for m in request.messages):
            return "fine"
        if any(m.tool_results for m in request.messages):
            return "thanks"
        return calls(call("Task", description="d", prompt="help", subagent_type="Reviewer"))

    tools = [*default_tools(settings=ToolSettings(disabled=("Task",))), Task([reviewer])]
    asyncio.run(make_session(answer, tools=tools).run("go"))
    assert seen[1].messages[0].text == "You review."
    assert [one.name for one in seen[1].tools] == ["Read"]


# -- Memory and skills ----------------------------------------------------------------------------


def test_memory_is_stored_recalled_and_forgotten(make_bench: MakeBench) -> None:
    memory = _Memory()
    bench = make_bench(mode="default", tools=default_tools(memory=memory))
    stored = bench.use("memory_store", key="tests", content="run pytest", importance=0.9)
    assert stored.content == "Memory stored: tests"
    assert memory.kept["tests"] == ("run pytest", MemoryCategory.KNOWLEDGE, 0.9)
    found = bench.use("memory_recall", query="pytest", category="knowledge", since=5, limit=3)
    assert found.content == "Found 1 memory:\n- tests [knowledge] [importance: 0.9]: run pytest"
    assert memory.asked == {"category": "knowledge", "since": 5, "until": None, "limit": 3}
    assert bench.use("memory_recall", query="zzz").content == "No matching memories found."
    assert not bench.person.asked
    assert bench.use("memory_forget", key="nothing").is_error
    assert bench.use("memory_forget", key="tests").content == "Memory deleted: tests"
    assert len(bench.person.asked) == 2
    bench.person.decision = Decision.DENY
    memory.kept["again"] = ("x", MemoryCategory.TIMELINE, None)
    assert bench.use("memory_forget", key="again").is_error
    assert "again" in memory.kept
    assert bench.use("memory_store", key="k", content="x", importance=7).is_error


def test_a_skill_is_used_by_name(make_bench: MakeBench) -> None:
    bench = make_bench(mode="default", tools=default_tools(skills=_Skills()))
    output = bench.use("Skill", skill="/deploy", args="to staging")
    assert output.content == "Deploy to staging carefully."
    assert output.query == "deploy"
    assert "no skill" in bench.use("Skill", skill="zzz").content
    bench.session.permissions.denied.append("Skill(deploy)")
    assert bench.use("Skill", skill="deploy").is_error


# -- Notebooks ------------------------------------------------------------------------------------


def _cell(kind: str, name: str, source: str) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "id": name, "metadata": {}, "source": [source]}
    if kind == "code":
        cell |= {"execution_count": 1, "outputs": [{"output_type": "stream", "text": ["1"]}]}
    return cell


def test_cells_are_replaced_inserted_and_deleted(bench: ToolBench) -> None:
    notebook: dict[str, Any] = {
        "cells": [_cell("markdown", "a", "# Grüße"), _cell("code", "b", "print(1)")],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    path = bench.write("n.ipynb", json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
    unread = bench.use("NotebookEdit", notebook_path="n.ipynb", cell_id="b", new_source="x")
    assert "Read it first" in unread.content
    assert unread.files == ("n.ipynb",)
    bench.use("Read", file_path="n.ipynb")
    done = bench.use("NotebookEdit", notebook_path="n.ipynb", cell_id="b", new_source="x = 1\ny")
    assert done.edits == (Edit(str(path), "print(1)", "x = 1\ny"),)
    text = path.read_text()
    assert text.startswith('{\n "cells": [\n  {\n')
    assert "Grüße" in text
    assert text.endswith("}\n")
    cells = json.loads(text)["cells"]
    assert cells[1]["source"] == ["x = 1\n", "y"]
    assert cells[1]["outputs"] == []
    added = bench.use(
        "NotebookEdit", notebook_path="n.ipynb", cell_id="a", edit_mode="insert",
        cell_type="markdown", new_source="between",
    )  # fmt: skip
    assert not added.is_error
    bench.use("NotebookEdit", notebook_path="n.ipynb", cell_id="b", edit_mode="delete")
    cells = json.loads(path.read_text())["cells"]
    assert [cell["source"] for cell in cells] == [["# Grüße"], ["between"]]
    assert cells[1]["id"]
    assert (
        "It has: a,"
        in bench.use("NotebookEdit", notebook_path="n.ipynb", cell_id="zzz", new_source="x").content
    )
    assert bench.use("NotebookEdit", notebook_path="n.ipynb", edit_mode="insert").is_error
    bench.write("x.py", "1")
    assert "no notebook" in bench.use("NotebookEdit", notebook_path="x.py", cell_id="a").content


# -- What the observer learns ---------------------------------------------------------------------


def test_every_kind_of_call_says_what_it_was_about_also_when_it_failed(bench: ToolBench) -> None:
    assert bench.use("Read", file_path="nowhere.py").files == ("nowhere.py",)
    assert bench.use("Bash", command="exit 1").command == "exit 1"
    assert bench.use("Grep", pattern="(").query == "("
    assert bench.use("WebFetch", url="http://127.0.0.1/").query == "http://127.0.0.1/"
    refused = bench.use("Edit", file_path="no.py", old_string="a", new_string="b")
    assert refused.edits == (Edit("no.py", "a", "b"),)
    assert {one.name: one.kind for one in bench.session.tools}["Task"] is ToolKind.TASK
