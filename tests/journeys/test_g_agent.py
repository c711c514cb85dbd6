"""G. The agent as a person has it: the command, a model server on loopback, what comes of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.product import Installation
from tests.support.chat_server import ChatServer
from tests.teams.processes import free_port
from wellkept.core.text import estimate_tokens
from wellkept.models.chat.catalog import builtin_catalog
from wellkept.testing.scripted_model import call, calls
from wellkept_agent.session_memory import TEMPLATE

MODEL = "anthropic:claude-sonnet-4-5"
SUMMARISER = "maintaining a session memory summary"


def run(
    here: Installation, script: list[Any] | Callable[[Mapping[str, Any]], Any], *words: str
) -> tuple[str, list[Any]]:
    """`wellkept agent run` against a server that follows a script: what it printed, what it sent."""
    here.environment["WELLKEPT_EMBEDDING_PROVIDER"] = "none"
    with ChatServer(script) as server:
        here.environment["WELLKEPT_AGENT_BASE_URL"] = server.url
        return here.wellkept("agent", "run", *words, "--model", MODEL).out, server.bodies


def last(body: Mapping[str, Any]) -> str:
    """The last message of a request."""
    return json.dumps(body["messages"][-1])


def reading(
    here: Installation, names: str, *, lines: int = 1
) -> Callable[[Mapping[str, Any]], Any]:
    """A model that reads one file after another and then answers; asked to, it summarises."""
    for name in {*names}:
        here.file(f"{name}.txt", f"this is {name}, the worker took its job\n" * lines)
    left = iter(names)

    def answer(body: Mapping[str, Any]) -> Any:
        if SUMMARISER in str(body["system"]):
            return TEMPLATE.replace("[What the user is working on]", "Ports.")
        if not body.get("tools") or "Facts" in last(body):
            return "## Facts\nThe export listens on port 5433."
        name = next(left, None)
        return calls(call("Read", file_path=f"{name}.txt")) if name else "Read them all."

    return answer


_HOOKS = f"""
import wellkept
with wellkept.open() as memory:
    agent = memory.agent("{MODEL}", permission_mode="bypass")
    seen = []
    agent.on_session_start(lambda context: seen.append("start"))
    agent.on_user_message(lambda context, text: seen.append("user") or text + " Be quick.")
    agent.on_before_llm(lambda context, request: seen.append("before llm"))
    agent.on_after_llm(lambda context, response: seen.append("after llm"))
    agent.on_before_tool(
        lambda context, call: seen.append("before " + call.name)
        or ("Not that one." if call.args["file_path"] == "b.txt" else None)
    )
    agent.on_after_tool(lambda context, call, output: seen.append("after") or output.content.upper())
    agent.on_compaction(lambda context, messages: seen.append("compaction"))
    agent.on_session_end(lambda context, summary: seen.append("end"))
    print(agent.run_sync("Read the logs.").output)
    print(", ".join(seen))
"""


@pytest.mark.feature("G1")
def test_g1_eight_hooks_in_order_change_and_intercept(here: Installation) -> None:
    here.environment.update(
        WELLKEPT_EMBEDDING_PROVIDER="none", WELLKEPT_AGENT_CONTEXT_TOKENS="40000"
    )
    with ChatServer(reading(here, "abcdefgh", lines=400)) as server:
        here.environment["WELLKEPT_AGENT_BASE_URL"] = server.url
        done = here.run(sys.executable, "-c", _HOOKS)
        bodies = server.bodies
    answer, seen = done.out.splitlines()
    assert answer == "Read them all.", done.err
    order = "start, user, before llm, after llm, before Read, after, before llm, after llm"
    assert seen.startswith(order)
    assert seen.endswith("before llm, after llm, end")
    assert "compaction" in seen
    assert "Read the logs. Be quick." in last(bodies[0])
    assert "THIS IS A" in last(bodies[1])
    assert "NOT THAT ONE." in last(bodies[2])


@pytest.mark.feature("G2")
def test_g2_the_documents_tools_are_there_within_2000_tokens(here: Installation) -> None:
    here.file("orders.py", "import money\n")
    here.file("money.py", "CENTS = 100\n")
    here.wellkept("graph", "build")
    script = [
        calls(
            call("analyze_impact", file_path="money.py"),
            call("get_workflow_recipe", task="add a discount"),
            call("remember_this", content="Amounts are kept in cents, never in percent."),
        ),
        calls(
            call("Write", file_path="new.py", content="A = 1\n"),
            call("Bash", command="echo made > made.txt && cat new.py"),
        ),
        "Done.",
    ]
    _, bodies = run(here, script, "What depends on money.py?", "--mode", "bypass")
    first, second, third = bodies
    tools = first["tools"]
    keys = ("name", "description", "input_schema")
    sent = [json.dumps({key: one[key] for key in keys}, separators=(",", ":")) for one in tools]
    assert sum(map(estimate_tokens, sent)) <= 2_000
    assert {"Read", "Edit", "Bash", "analyze_impact", "remember_this"} <= {t["name"] for t in tools}
    assert "orders.py" in last(second)
    assert "No recipe fits" in last(second)
    assert "A = 1" in last(third)
    assert (here.repository / "made.txt").read_text() == "made\n"
    assert "Amounts are kept in cents" in here.wellkept("recall", "amounts in cents").out


@pytest.mark.feature("G2")
def test_g2_every_tool_is_there_when_it_is_asked_for(here: Installation) -> None:
    here.environment["WELLKEPT_AGENT_TOOLS"] = "all"
    _, (first,) = run(here, ["Hello."], "Hello")
    names = {one["name"] for one in first["tools"]}
    assert names >= {
        *("Read", "Write", "Edit", "NotebookEdit", "Bash", "Glob", "Grep", "LS", "Cwd"),
        *("Analyze", "CodebaseSearch", "Task", "TodoWrite", "WebFetch", "Skill", "EnterPlanMode"),
        *("memory_store", "memory_recall", "memory_forget", "remember_this"),
        *("analyze_impact", "get_dependencies", "get_workflow_recipe"),
    }


@pytest.mark.feature("G3")
def test_g3_servers_over_pipes_and_http_bring_their_tools(here: Installation) -> None:
    port = free_port()
    command = [sys.executable, "-m", "tests.support.mcp_server"]
    there = {"PYTHONPATH": os.pathsep.join(sys.path)}
    servers = {
        "pipes": {"command": command[0], "args": command[1:], "env": there},
        "web": {"type": "http", "url": f"http://127.0.0.1:{port}/mcp"},
    }
    here.file("servers.json", json.dumps({"mcpServers": servers}))
    names = {"pipes": "mcp__pipes__add", "web": "mcp__web__add"}
    script = [
        calls(call(names["pipes"], a=40, b=2), call(names["web"], a=50, b=3)),
        "42 and 53.",
    ]
    environment = {**os.environ, **there}
    with subprocess.Popen([*command, "http", str(port)], env=environment) as process:
        try:
            options = ("--mcp-config", "servers.json", "--mode", "bypass")
            said, (first, second) = run(here, script, "Add.", *options)
        finally:
            process.terminate()
    offered = {one["name"]: one["input_schema"] for one in first["tools"]}
    assert set(names.values()) <= set(offered)
    assert "$schema" not in json.dumps(offered[names["web"]])
    results = [one["content"] for one in second["messages"][-1]["content"]]
    assert [re.sub(r"\D", "", str(one)) for one in results] == ["42", "53"]
    assert "42 and 53." in said


_EACH = """
import sys
from wellkept_agent import Agent
for name in sys.argv[1:]:
    print(Agent(name).run_sync("Hello").output)
"""


@pytest.mark.feature("G4")
@pytest.mark.parametrize("protocol", ["anthropic", "openai"])
def test_g4_every_preset_talks_to_a_server(here: Installation, protocol: str) -> None:
    catalog = builtin_catalog()
    presets = [one for one in map(catalog.preset, catalog.providers()) if one.protocol == protocol]
    with ChatServer([f"Here is {one.name}." for one in presets]) as server:
        url = server.openai_url if protocol == "openai" else server.url
        here.environment["WELLKEPT_AGENT_BASE_URL"] = url
        done = here.run(sys.executable, "-c", _EACH, *(one.name for one in presets))
        assert done.out.splitlines() == [f"Here is {one.name}." for one in presets], done.err
        assert [one["model"] for one in server.bodies] == [one.default_model for one in presets]
        if protocol == "anthropic":
            assert "'ephemeral'" in str(server.bodies[0])


@pytest.mark.feature("G5")
def test_g5_old_results_go_to_disk_before_a_call(here: Installation) -> None:
    said, bodies = run(here, reading(here, "abcdefgh", lines=600), "Read the logs")
    assert "Read them all." in said
    results = [
        json.dumps(part)
        for message in bodies[-1]["messages"]
        for part in message["content"]
        if part["type"] == "tool_result"
    ]
    cleared = [one for one in results if "Old tool result content cleared" in one]
    whole = [one for one in results if "the worker took its job" in one]
    assert len(cleared) >= 3
    assert len(whole) >= 3
    assert "this is h" in whole[-1]
    (kept,) = re.findall(r'path=\\"([^"\\]+)', cleared[0])
    assert "this is a, the worker took its job" in Path(kept).read_text()
    # A person can switch it off.
    here.environment["DISABLE_MICROCOMPACT"] = "1"
    _, bodies = run(here, reading(here, "abcdefgh", lines=600), "Read the logs")
    assert "Old tool result content cleared" not in json.dumps(bodies[-1])


@pytest.mark.feature("G5")
def test_g5_a_window_of_200_thousand_is_compacted_13_thousand_before_its_end(
    here: Installation,
) -> None:
    here.environment.update(WELLKEPT_AGENT_SESSION_MEMORY="false", DISABLE_MICROCOMPACT="1")

    def used_at_most() -> float:
        """Tokens of the last call before the conversation is summarised, with the margin of 1.33."""
        script = reading(here, "abcdefghijklmnopqrstuvwxyz", lines=660)
        _, bodies = run(here, script, "Read the logs")
        asked = next(number for number, one in enumerate(bodies) if "Facts" in last(one))
        return estimate_tokens(json.dumps(bodies[asked - 1])) * 4 / 3

    assert used_at_most() == pytest.approx(187_000 - 5_000, abs=7_000)
    # A person may want it earlier.
    here.environment["CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"] = "50"
    assert used_at_most() == pytest.approx(100_000 - 5_000, abs=7_000)


@pytest.mark.feature("G6")
def test_g6_a_running_summary_is_kept_beside_the_session(here: Installation) -> None:
    run(here, reading(here, "abcdefgh", lines=250), "Read the logs")
    (summary,) = here.home.rglob("session-memory/summary.md")
    assert "## Current Task\nPorts." in summary.read_text()
    known = json.loads((summary.parent / "metadata.json").read_text())
    assert known["messages_summarized"] > 0
    assert (summary.parent / ".lastSummarizedId").read_text().strip() == known["last_summarized_id"]


@pytest.mark.feature("G7", "G10", "G5")
def test_g7_the_files_read_most_are_shown_again_after_compaction(here: Installation) -> None:
    here.environment.update(
        WELLKEPT_AGENT_CONTEXT_TOKENS="30000",
        WELLKEPT_AGENT_SESSION_MEMORY="false",
        DISABLE_MICROCOMPACT="1",
    )
    # c and e were read once, and a long ago; five files fit.
    _, bodies = run(here, reading(here, "abcdefgfbgdahijklmnopqrstuvw", lines=100), "Read the logs")
    after = next(one for one in bodies[::-1] if "port 5433" in json.dumps(one))
    shown = json.dumps(after["messages"][:4])
    assert "The export listens on port 5433." in shown
    assert [name for name in "abcdefg" if f"this is {name}" in shown] == [*"abdfg"]


@pytest.mark.feature("G8")
def test_g8_in_plan_mode_only_the_plan_is_written(here: Installation) -> None:
    def plan(body: Mapping[str, Any]) -> Any:
        told = json.dumps(body["messages"])
        answers = told.count('"role": "assistant"')
        file = re.search(r"Create it at (\S+?\.md) with Write", told)
        assert file is not None, told
        text = "# Plan\n## Summary\nx\n## Approach\nx\n## Files\nx\n## Considerations\n## Verification\n"
        steps = {
            0: call("Write", file_path="money.py", content="A = 1\n"),
            1: call("Bash", command="touch money.py"),
            6: call("Write", file_path=file[1], content=text),
            7: call("ExitPlanMode"),
        }
        return calls(steps.get(answers, call("Glob", pattern=f"*{answers}")))

    _, bodies = run(here, plan, "Move amounts to cents", "--mode", "plan")
    assert not (here.repository / "money.py").exists()
    first = json.dumps(bodies[0])
    assert "Plan mode is active." in first
    assert "plan mode" in last(bodies[1]).lower()
    told = json.dumps(bodies[-1])
    assert (told.count("Plan mode is active."), told.count("Plan mode is still active.")) == (1, 1)
    (file,) = here.home.rglob("plans/*.md")
    assert re.fullmatch(r"[a-z]+(-[a-z]+)+", file.stem)
    assert "## Approach" in file.read_text()


@pytest.mark.feature("G9")
def test_g9_a_keyword_asks_for_thinking_and_the_variable_wins(here: Installation) -> None:
    _, (plain,) = run(here, ["Yes."], "Is it right?")
    _, (ultra,) = run(here, ["Yes."], "ultrathink: is it right?")
    assert "thinking" not in plain
    assert ultra["thinking"]["budget_tokens"] == 32_000
    here.environment["WELLKEPT_AGENT_THINKING_LEVEL"] = "deep_think"
    _, (deep,) = run(here, ["Yes."], "ultrathink: is it right?")
    assert deep["thinking"]["budget_tokens"] == 16_000


@pytest.mark.feature("G10")
def test_g10_memory_stays_within_its_part_of_the_prompt(here: Installation) -> None:
    with here.library() as memory:
        memory.remember_many(
            [f"Ledger rule {n}: the ledger of unit {n} is closed at noon" for n in range(60)]
        )
    here.environment["WELLKEPT_AGENT_CONTEXT_TOKENS"] = "30000"
    ask = "When is the ledger of unit 7 closed?"
    _, bodies = run(here, reading(here, "abcdefgh", lines=250), ask)
    told = [
        part["text"]
        for message in bodies[0]["messages"]
        for part in message["content"]
        if "<wellkept-memory" in part.get("text", "")
    ]
    lines = [line for text in told for line in text.splitlines() if "Ledger rule" in line]
    assert any("unit 7 is closed" in line for line in lines), bodies[0]["messages"]
    assert estimate_tokens("\n".join(lines)) <= 500
    (entry,) = [m for m in here.listed("--type", "timeline") if "Compressed" in m["content"]]
    assert entry["importance"] == pytest.approx(0.3)


@pytest.mark.feature("G11")
def test_g11_counters_are_shown_and_a_flag_switches_memory_off(here: Installation) -> None:
    assert "agent:" not in here.wellkept("status").out
    here.wellkept("remember", "We deploy with make ship", "--type", "rule")
    ask = "How do we deploy with make ship?"
    _, (told,) = run(here, ["With make ship."], ask)
    assert "agent: 1 sessions, 1.0 steps each; 1 memories told" in here.wellkept("status").out
    assert "We deploy with make ship" in json.dumps(told)
    here.environment["WELLKEPT_AGENT_MEMORY_ENABLED"] = "false"
    _, (silent,) = run(here, ["I do not know."], ask)
    assert "We deploy with make ship" not in json.dumps(silent)
