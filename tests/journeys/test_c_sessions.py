"""C. Sessions, capture and clients: what was said and done is kept, and told the next time."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.product import HOOK, Client, Installation
from tests.support.chat_server.server import ChatServer

PAY = "def pay(amount):\n    return amount\n"


def fix_the_rounding(here: Installation, name: str = "s-1", *, say: str = "") -> Client:
    """A session that mends something, checks it and commits."""
    here.file("src/pay.py", PAY)
    here.commit("Add pay")
    session = here.session(name)
    session.start()
    session.prompt(say or "Fix the rounding of amounts in src/pay.py")
    session.read("src/pay.py")
    session.edit("src/pay.py", "return amount", "return round(amount)")
    session.bash("pytest tests", "ModuleNotFoundError: No module named 'src'", code=1)
    session.bash("PYTHONPATH=. pytest tests", "1 passed in 0.01s")
    here.commit("Round once")
    session.bash("git commit -am 'Round once'", "[main 1234567] Round once")
    session.end("Rounding now happens once, at the end. Still open: the test of the cart.")
    return session


@pytest.mark.feature("C1")
def test_c1_a_session_leaves_prompts_observations_and_a_summary(here: Installation) -> None:
    fix_the_rounding(here)
    shown = here.wellkept("session", "show", "s-1", "--json").json
    assert (shown["session"]["prompt_count"], shown["session"]["tool_count"]) == (1, 5)
    assert shown["session"]["branch"] == "main"
    entries = [(one["kind"], one["memory"]) for one in shown["entries"]]
    (prompt,) = [memory for kind, memory in entries if kind == "prompt"]
    assert prompt["content"] == "Fix the rounding of amounts in src/pay.py"
    (seen,) = [memory for kind, memory in entries if kind == "observation"]
    payload = seen["payload"]
    assert payload["files_modified"] == ["src/pay.py"]
    assert payload["title"] == "Round once"
    assert any("pytest tests" in fact for fact in payload["facts"])
    summary = shown["summary"]["payload"]
    assert summary["request"] == "Fix the rounding of amounts in src/pay.py"
    assert "Rounding now happens once" in summary["completed"]
    assert "the test of the cart" in summary["next_steps"]


@pytest.mark.feature("C2")
def test_c2_an_event_is_on_disk_when_the_hook_returns(here: Installation) -> None:
    session = here.session()
    session.start()
    session.prompt("Remember that the demo server is called heron.")
    # No process is left, nothing was taken in: only the spool has it.
    spooled = b"".join(path.read_bytes() for path in (here.home / "spool").iterdir())
    assert b"heron" in spooled
    assert here.listed() == []
    # A torn last line, as after a crash, costs only itself.
    (file,) = [path for path in (here.home / "spool").iterdir() if path.suffix == ".spool"]
    with file.open("ab") as out:
        out.write(b'{"torn": "heron on')
    here.drain()
    assert any("heron" in text for text in here.texts())
    here.drain()
    assert len(here.listed("--source", "user_taught")) == 1


@pytest.mark.feature("C3")
def test_c3_raw_events_become_an_observation_with_and_without_a_model(here: Installation) -> None:
    fix_the_rounding(here)
    (seen,) = here.listed("--type", "observation")
    assert seen["payload"]["files_read"] == ["src/pay.py"]
    raw = "ModuleNotFoundError"
    assert raw in seen["content"]
    assert len(seen["content"]) < 600


@pytest.mark.feature("C4")
@pytest.mark.parametrize("client", ["claude-code", "codex", "gemini", "cursor", "opencode"])
def test_c4_a_client_is_installed_and_leaves_no_trace(here: Installation, client: str) -> None:
    person = Path(here.environment["HOME"])
    for folder in (".claude", ".codex", ".gemini", ".cursor", ".config/opencode"):
        (person / folder).mkdir(parents=True)

    def everything() -> dict[str, bytes]:
        return {str(f): f.read_bytes() for f in person.rglob("*") if f.is_file()}

    before = everything()
    here.wellkept("install", client, "--model", "none")
    written = b"".join(everything().values())
    assert b"wellkept" in written
    status = here.wellkept("status", "--json").json
    assert client in json.dumps(status["items"])
    if client == "claude-code":
        hooks = json.loads((person / ".claude/settings.json").read_text())["hooks"]
        (hook,) = [one["command"] for entry in hooks["SessionStart"] for one in entry["hooks"]]
        done = here.run("sh", "-c", hook, stdin=json.dumps(_end(here) | {"source": "startup"}))
        assert done.code == 0, done.err
        assert list((here.home / "spool").iterdir())
    here.wellkept("install", "--remove", client)
    left = {name: raw for name, raw in everything().items() if b"wellkept" in raw.lower()}
    assert left == {}
    assert {name: everything()[name] for name in before} == before


@pytest.mark.feature("C5")
def test_c5_every_documented_tool_answers_over_stdio(here: Installation) -> None:
    here.file("src/pay.py", PAY)
    here.file("src/cart.py", "from src.pay import pay\n\n\ndef buy(x):\n    return pay(x)\n")
    here.commit("Add pay")
    here.wellkept("graph", "build")
    text = "Invoices are numbered per country"
    here.told("memory_store", content=text, type="decision", key="invoices")
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("memory_recall", {"query": "how are invoices numbered?"}),
        ("search", {"query": "invoices"}),
        ("timeline", {"query": "invoices numbered per country"}),
        ("inject_context", {}),
        ("store_observation", {"type": "bugfix", "title": "Rounded once", "narrative": "In pay"}),
        ("remember_this", {"content": "The cart calls pay twice", "session_id": "s-1"}),
        ("analyze_impact", {"target": "src/pay.py"}),
        ("get_dependencies", {"target": "src/cart.py"}),
        ("trace_data_flow", {"target": "pay"}),
        ("get_workflow_recipe", {"task": "add a route"}),
        ("skill_search", {"query": "commit"}),
        ("memory_forget", {"ids": ["invoices"]}),
    )
    results = here.mcp_calls(*calls, toolsets="all")
    said = {
        name: result["content"][0]["text"]
        for (name, _), result in zip(calls, results, strict=True)
        if not result.get("isError")
    }
    assert set(said) == {name for name, _ in calls}, [r for r in results if r.get("isError")]
    assert text in said["memory_recall"]
    assert text in said["search"]
    assert "src/cart.py" in said["analyze_impact"]
    assert "src/pay.py" in said["get_dependencies"]
    assert "Rounded once" in here.told("search", query="rounded once")
    # Without a yes nothing goes.
    assert text in here.texts()


@pytest.mark.feature("C6")
def test_c6_live_events_reach_a_subscriber(here: Installation) -> None:
    seen: list[str] = []
    with here.serving() as web:
        ready, ended = threading.Event(), threading.Event()

        def follow() -> None:
            with web.stream("GET", "/api/events", params={"after": "0"}) as answer:
                ready.set()
                for line in answer.iter_lines():
                    if line.startswith("event: "):
                        seen.append(line.removeprefix("event: "))
                    if line == "event: session_ended":
                        break
            ended.set()

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        assert ready.wait(60)
        session = here.session()
        session.start()
        session.prompt("Remember that the demo server is called heron.")
        session.stop()
        here.run(*HOOK, "claude-code", "SessionEnd", "both", stdin=json.dumps(_end(here)))
        assert ended.wait(60), seen
        thread.join(60)
    assert {"session_started", "memory_stored", "session_ended"} <= set(seen)


def _end(here: Installation) -> dict[str, str]:
    return {"session_id": "s-1", "cwd": str(here.repository), "reason": "other"}


@pytest.mark.feature("C7")
def test_c7_what_a_person_already_has_is_taken_in(here: Installation) -> None:
    folder = Path(here.environment["HOME"]) / ".claude/projects/-widget"
    folder.mkdir(parents=True)
    base = {"sessionId": "old-1", "cwd": str(here.repository), "version": "2.0.0"}
    prompt = "Remember that the demo server is called heron."
    lines = [
        {**base, "type": "user", "uuid": "u1", "timestamp": "2026-05-01T10:00:00.000Z"}
        | {"message": {"role": "user", "content": prompt}},
        {**base, "type": "assistant", "uuid": "u2", "timestamp": "2026-05-01T10:00:05.000Z"}
        | {"message": {"role": "assistant", "content": [{"type": "text", "text": "Noted."}]}},
    ]
    (folder / "old-1.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    here.file("AGENTS.md", "# Rules\n\n- Always run `make lint` before a commit.\n")
    here.commit("Say how to work")
    here.wellkept("admin", "import", "claude-code")
    assert here.found("what is the demo server called?")[0].endswith("heron")
    here.wellkept("admin", "import", "instructions")
    assert any("make lint" in text for text in here.texts())
    count = len(here.listed())
    here.wellkept("admin", "import", "claude-code")
    assert len(here.listed()) == count


@pytest.mark.feature("C8")
def test_c8_work_is_taken_in_at_compaction_and_at_the_end(here: Installation) -> None:
    here.file("src/pay.py", PAY)
    session = here.session()
    session.start()
    session.prompt("Fix the rounding in src/pay.py")
    session.edit("src/pay.py", "return amount", "return round(amount)")
    session.compact("The person wants amounts rounded once; pay.py is done, the cart is open.")
    here.drain()
    assert any("the cart is open" in text for text in here.texts()), here.texts()
    session.end("The cart is done as well.")
    (summary,) = [m for m in here.listed("--type", "timeline") if m["key"] == "summary:s-1"]
    assert "cart" in summary["content"]


@pytest.mark.feature("C9")
def test_c9_the_last_work_stands_at_the_next_start(here: Installation) -> None:
    fix_the_rounding(here)
    told = here.session("s-2").start()
    assert "in the agent's words" in told
    assert "Still open: the test of the cart." in told
    nothing = here.wellkept("context", "--days", "1", "--json").json["text"]
    assert "Still open" in nothing


@pytest.mark.feature("C9")
def test_c9_recent_work_is_a_table_by_date_on_request(here: Installation) -> None:
    fix_the_rounding(here)
    note = ("session", "note", "--session", "s-1", "--title")
    here.wellkept(*note, "Rounding happens once", "--kind", "bugfix")
    cents = ("Totals are kept in cents", "--kind", "decision", "--concept", "money")
    here.wellkept(*note, *cents, "--work-tokens", "900")
    table = here.wellkept("context", "--format", "table").out
    assert "Legend: decision | bugfix | feature | refactor | discovery | change" in table
    assert "| ID | Time | T | Title | Read | Work |" in table
    assert re.search(r"^\d{4}-\d\d-\d\d:$", table, re.MULTILINE)
    row = r"^\| m:\w+ \| \d\d:\d\d \| decision \| .*cents.* \| ~\d+ \| ~900 \|$"
    assert re.search(row, table, re.MULTILINE), table
    assert "Rounding" in table, table
    economics = r"^2 records: ~\d+ tokens to read in full; the work took ~\d+\.$"
    assert re.search(economics, table, re.MULTILINE)

    def asked(**given: object) -> str:
        return str(here.told("inject_context", **given))

    # For one request: how many, which kinds, which concepts.
    assert "cents" in asked(observation_types=["decision"])
    assert "Rounding" not in asked(observation_types=["decision"])
    assert "Rounding" not in asked(concepts=["money"])
    assert "1 record:" in asked(observation_limit=1)
    # For the project: its own settings hold for every request.
    here.file(".wellkept.toml", '[context]\nobservation_types = "bugfix"\n')
    table = here.wellkept("context", "--format", "table").out
    assert "Rounding" in table
    assert "cents" not in table


@pytest.mark.feature("C10", "C3")
def test_c10_a_model_points_at_what_rules_cannot_see(here: Installation) -> None:
    words = "The gateway refuses amounts above ten thousand"
    made_up = "The gateway speaks Latin"

    def read(body: Mapping[str, Any]) -> str:
        asked = json.dumps(body)
        number = re.search(r"(e\d+)[^e]{0,80}Look into the gateway", asked)
        event = number[1] if number else "e1"
        memories = [
            {
                "type": "fact",
                "content": text,
                "importance": 0.6,
                "evidence": [{"event": event, "quote": text}],
            }
            for text in (words, made_up)
        ]
        return json.dumps({"completed": "Looked into the gateway.", "memories": memories})

    with ChatServer(read) as server:
        here.environment.update(
            WELLKEPT_TEXT_MODEL_PROVIDER="openai",
            WELLKEPT_TEXT_MODEL_BASE_URL=server.openai_url,
            WELLKEPT_TEXT_MODEL_NAME="small",
            WELLKEPT_TEXT_MODEL_API_KEY="test-key",
        )
        session = here.session()
        session.start()
        session.prompt(f"Look into the gateway. {words}, I was told.")
        session.read("README.md")
        session.end("I looked into the gateway.")
        assert server.bodies
    # What stands in the events is kept and told, with the quotation; the rest is thrown away.
    kept = " / ".join(here.texts())
    assert words in kept
    assert made_up not in kept
    assert words in here.session("s-2").prompt("Which amounts does the gateway refuse?")


@pytest.mark.feature("C11")
def test_c11_what_was_injected_is_logged_and_its_use_counted(here: Installation) -> None:
    fix_the_rounding(here)
    second = here.session("s-2")
    second.start()
    second.prompt("Run the tests")
    told = second.bash("pytest tests", "ModuleNotFoundError: No module named 'src'", code=1)
    assert "PYTHONPATH=. pytest tests" in told
    second.bash("PYTHONPATH=. pytest tests", "1 passed in 0.01s")
    second.end()
    log = here.wellkept("why", "--json").json["items"]
    assert [one["moment"] for one in log] == ["failure", "session"]
    (line,) = log[0]["lines"]
    assert (line["outcome"], line["kind"]) == ("used", "error_pattern")
    assert log[0]["tokens"] > 0


@pytest.mark.feature("C12")
def test_c12_the_digest_is_in_the_agents_own_words_with_exact_records(here: Installation) -> None:
    fix_the_rounding(here)
    told = here.session("s-2").start()
    assert "Rounding now happens once, at the end. Still open: the test of the cart." in told
    shown = here.wellkept("session", "show", "s-1", "--json").json["summary"]["payload"]
    assert shown["files_modified"] == ["src/pay.py"]
    assert shown["commit"]


@pytest.mark.feature("C13")
def test_c13_a_rule_a_person_states_is_kept_as_said_and_told(here: Installation) -> None:
    rule = "We never round money with floats, always with integers of cents."
    first = here.session()
    first.start()
    first.prompt(rule)
    first.stop("I added a column of type float.")
    # A correction without a word of memory is kept, too.
    first.prompt("no, don't use float for money")
    first.end("Understood.")
    correction, kept = here.listed("--source", "user_taught")
    assert (correction["type"], correction["content"]) == (
        "correction",
        "don't use float for money",
    )
    assert kept["content"].rstrip(".") == rule.rstrip(".")
    assert (kept["told_by"], correction["told_by"]) == ("person", "person")
    assert "never round money with floats" in here.session("s-2").start()
    # The person amends it: the newer wording holds.
    third = here.session("s-3")
    third.start()
    third.prompt("Forget that we never round money with floats, always with integers of cents.")
    third.end()
    assert here.listed("--source", "user_taught") == [correction]


@pytest.mark.feature("C14")
def test_c14_what_a_commit_says_is_taken_in(here: Installation) -> None:
    why = "Amounts are kept in cents because floats lost a cent in March."
    here.commit(f"Keep cents\n\n{why}")
    here.wellkept("admin", "import", "git")
    found = here.found("why are amounts kept in cents?")
    assert found
    assert "floats lost a cent in March" in found[0]


@pytest.mark.feature("C14")
def test_c14_memory_files_of_clients_are_kept_in_step_and_conflicts_shown(
    here: Installation,
) -> None:
    person = Path(here.environment["HOME"])
    rule = here.remember("The demo server listens on port 8080", "--type", "convention")
    folder = re.sub(r"[^A-Za-z0-9]", "-", str(here.repository))
    claude = person / f".claude/projects/{folder}/memory/MEMORY.md"
    codex = person / ".codex/memories/MEMORY.md"
    exporter = "The exporter writes one query for each invoice"
    importer = "The importer skips blank rows on purpose"
    for file in (claude, codex):
        file.parent.mkdir(parents=True)
    server = "\n# Server\n\nThe demo server listens on port 9090.\n"
    claude.write_text(f"# Exports\n\n{exporter}.\n{server}")
    codex.write_text(f"# Importer in {here.repository}\n\n{importer}.\n")
    here.wellkept("admin", "import", "client-notes")
    # What one client's agent wrote is found from any other, as an agent's note.
    for words, question in ((exporter, "how many queries for an invoice?"), (importer, "rows")):
        (note,) = [m for m in here.listed("--source", "agent_explicit") if words in m["content"]]
        assert note["told_by"] == "agent noted"
        assert words in here.found(question, "--min-score", "0")[0]
    # A person's rule stays; the note that contradicts it waits beside it.
    (waiting,) = here.wellkept("review", "--json").json["new"]
    assert "port 9090" in waiting["memory"]["content"]
    assert [one["target_id"] for one in waiting["memory"]["relations"]] == [rule["id"]]
    # The agent rewrites its files while it works: one note changes, one goes.
    session = here.session()
    session.start()
    session.prompt("Look at the exporter")
    claude.write_text(f"# Exports\n\n{exporter.replace('one query', 'two queries')}.\n")
    session.end()
    texts = " / ".join(here.texts())
    assert "two queries for each invoice" in texts
    assert "one query" not in texts
    assert "port 9090" not in texts
    assert "port 8080" in texts


@pytest.mark.feature("C15")
def test_c15_the_agent_is_asked_once_to_word_what_was_laid_down(here: Installation) -> None:
    here.remember("Deploys go through staging")
    session = here.session()
    session.start()
    session.prompt("Write the exporter for invoices")
    session.stop("I wrote the exporter with one query for each row.")
    asked = session.prompt("No, not like that, do it the way we did it in the importer.")
    assert "memory_remember" in asked
    assert session.prompt("Thanks, that looks right now.") == ""


@pytest.mark.feature("C15")
def test_c15_before_it_stops_the_agent_is_asked_once_more(here: Installation) -> None:
    here.remember("Deploys go through staging")
    environment = here.environment

    def laid_down(name: str, **attended: str) -> Client:
        environment.update(attended)
        session = here.session(name)
        session.start()
        session.prompt("Write the exporter for invoices")
        assert session.stop("I wrote the exporter with one query for each row.") == ""
        assert "memory_remember" in session.prompt(
            "No, not like that, as we did it in the importer."
        )
        return session

    # Nobody is there: the answer of a run in a script stays what the agent said.
    assert laid_down("a-1").stop() == ""
    assert laid_down("a-2", CLAUDE_CODE_SESSION_ATTENDED="0").stop() == ""
    attended = laid_down("a-3", CLAUDE_CODE_SESSION_ATTENDED="1")
    assert "memory_remember" in attended.stop()
    assert attended.stop() == ""
    attended.start("compact")
    assert attended.stop() == ""
    # Who stored the point is not asked again.
    stored = laid_down("a-4")
    here.told("memory_store", content="Exporters read invoices in one query, as the importer does")
    assert stored.stop() == ""
    here.wellkept("config", "set", "capture.ask", "off")
    silent = here.session("a-5")
    silent.start()
    assert silent.prompt("No, not like that, do it the way we did it in the importer.") == ""
    assert silent.stop() == ""
