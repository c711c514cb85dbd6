"""A. Memory records and store: what a person keeps stays, says what it is, and is found again."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.product import Installation


def write_back(here: Installation, *changes: dict[str, Any]) -> None:
    """Export everything, change what has the given ids, and import it again."""
    head, *lines = here.wellkept("admin", "export", "-").out.splitlines()
    rows = {row["id"]: row for row in map(json.loads, lines)}
    for change in changes:
        rows[change["id"]] |= change
    text = "\n".join([head, *map(json.dumps, rows.values())])
    here.wellkept("forget", *rows, "--yes")
    here.wellkept("admin", "import", "--here", "-", stdin=text)


@pytest.mark.feature("A1")
def test_a1_one_record_has_every_field(here: Installation) -> None:
    commit = here.commit("Pay twice")
    options = {
        "--type": "gotcha",
        "--key": "retry.limit",
        "--tag": "net",
        "--file": "src/pay.py",
        "--module": "pay",
        "--importance": "0.7",
        "--confidence": "0.6",
        "--scope": "work_unit",
        "--session": "s-9",
        "--citation": "the retry note",
        "--commit": commit,
        "--half-life": "12",
        "--work-unit": "agile:PROJ-7/login",
    }
    words = [word for pair in options.items() for word in pair]
    kept = here.remember("Retries stop after three", *words, "--pin", "--review")
    shown = here.shown("retry.limit")
    assert shown["id"] == kept["id"]
    expected = {
        "content": "Retries stop after three",
        "type": "gotcha",
        "key": "retry.limit",
        "tags": ["net"],
        "files": ["src/pay.py"],
        "modules": ["pay"],
        "importance": 0.7,
        "confidence": 0.6,
        "scope": "work_unit",
        "session_id": "s-9",
        "citation": "the retry note",
        "commit_sha": commit,
        "half_life_days": 12.0,
        "pinned": True,
        "needs_review": True,
        "stale_at": None,
        "source": "user_taught",
    }
    assert {name: shown[name] for name in expected} == expected
    assert shown["work_unit"]["hierarchy"] == ["PROJ-7", "login"]
    here.wellkept("recall", "when do retries stop")
    again = here.shown(kept["short"])
    assert again["access_count"] > shown["access_count"]
    assert again["accessed_at"] > shown["accessed_at"]


@pytest.mark.feature("A2")
def test_a2_every_type_with_its_own_payload(here: Installation) -> None:
    plain = (
        "preference convention pattern correction fact gotcha decision requirement error_pattern"
        " module_insight workflow causal_dependency work_state timeline"
    ).split()
    with here.library() as memory:
        for number, kind in enumerate(plain):
            memory.remember(f"Unit {number} is about {kind} number {number}", type=kind)
    steps = [{"description": f"step {n}", "canonical_file": f"f{n}.py"} for n in range(1, 5)]
    recipe = {"task_pattern": "add a route", "steps": steps}
    here.remember("Add a route", "--type", "workflow_recipe", "--payload", json.dumps(recipe))
    assert {item["type"] for item in here.listed()} == {*plain, "workflow_recipe"}
    (kept,) = here.listed("--type", "workflow_recipe")
    assert [step["description"] for step in kept["payload"]["steps"]] == [
        step["description"] for step in steps
    ]
    bad = here.refused("remember", "No steps", "--type", "workflow_recipe", "--payload", "{}")
    assert bad.code == 2
    assert "task_pattern" in bad.err
    assert here.refused("remember", "x y", "--type", "no_such_type").code == 2
    # Statistics are computed when asked, not kept.
    session = here.session()
    session.start()
    session.prompt("Look at the widget")
    session.read("README.md")
    session.end()
    learned = here.wellkept("status", "--learning", "--json").json
    assert learned["statistics"]
    assert not here.listed("--type", "context_cost")


@pytest.mark.feature("A3")
def test_a3_add_page_filter_change_delete_clear(here: Installation) -> None:
    with here.library() as memory:
        memory.remember_many([f"Fact number {number} of the ledger" for number in range(7)])
    here.remember("We keep money in cents", "--type", "decision", "--tag", "money")
    first = here.wellkept("list", "--json", "-n", "5").json
    rest = here.wellkept("list", "--json", "-n", "5", "--cursor", first["next_cursor"]).json
    assert (first["total"], len(first["items"]), len(rest["items"])) == (8, 5, 3)
    assert not {m["id"] for m in first["items"]} & {m["id"] for m in rest["items"]}
    assert here.texts("--tag", "money") == {"We keep money in cents"}
    (money,) = here.listed("--type", "decision")
    here.wellkept("edit", money["id"], "--content", "We keep money in tenths of cents")
    assert here.texts("--tag", "money") == {"We keep money in tenths of cents"}
    stats = here.wellkept("status", "--stats", "--json").json
    assert stats["by_type"] == {"fact": 7, "decision": 1}
    assert set(stats["by_scope"]) == {"global"}
    gone = here.listed("--type", "fact")[0]
    here.wellkept("forget", gone["id"], "--yes")
    assert here.refused("show", gone["id"]).code == 3
    here.wellkept("forget", "--all", "--yes")
    assert here.listed() == []


@pytest.mark.feature("A4")
def test_a4_upsert_says_what_it_did(here: Installation) -> None:
    first = here.wellkept("remember", "Port is 8080", "--key", "port", "--json").json
    again = here.wellkept("remember", "Port is 9090", "--key", "port", "--json").json
    assert (first["outcome"], again["outcome"]) == ("inserted", "superseded")
    shown = here.shown("port")
    assert shown["content"] == "Port is 9090"
    long = "The nightly job uploads the ledger to the archive bucket at two in the morning"
    one = here.wellkept("remember", long, "--session", "s-1", "--json").json
    more = ("remember", f"{long} sharp", "--session", "s-2", "--json")
    two = here.wellkept(*more).json
    assert (one["outcome"], two["outcome"]) == ("inserted", "merged")
    assert two["memory"]["provenance_sessions"] == ["s-1", "s-2"]
    other = here.wellkept("remember", "Bananas are yellow", "--json").json
    assert other["outcome"] == "inserted"
    assert len(here.listed()) == 3


@pytest.mark.feature("A5")
def test_a5_decay_compact_and_retention_can_be_previewed(here: Installation) -> None:
    old = (datetime.now(UTC) - timedelta(days=100)).isoformat()
    source = ("--source", "agent_explicit")
    usual = here.remember("The mailer of the widget sends at noon", "--importance", "0.8", *source)
    state = here.remember("Half of the parser is done", "--type", "work_state", *source)
    story = here.remember("We moved to a new office", "--type", "timeline", *source)
    times = dict.fromkeys(("created_at", "updated_at", "valid_from", "accessed_at"), old)
    write_back(here, *({"id": one["id"], **times} for one in (usual, state, story)))
    before = {item["id"]: item["importance"] for item in here.listed()}
    preview = here.wellkept("admin", "maintain", "--only", "decay", "--dry-run", "--json").json
    assert {item["id"]: item["importance"] for item in here.listed()} == before
    done = here.wellkept("admin", "maintain", "--only", "decay", "--json").json
    assert {item["id"] for item in done["items"]} == {item["id"] for item in preview["items"]}
    after = {item["id"]: item["importance"] for item in here.listed()}
    assert after[usual["id"]] == pytest.approx(0.8 * 0.95 ** (100 / 7), rel=0.01)
    assert after[state["id"]] == pytest.approx(before[state["id"]] * 0.5 ** (100 / 7), rel=0.01)
    gone = here.wellkept("admin", "maintain", "--only", "prune", "--dry-run", "--json").json
    assert story["id"] in {item["id"] for item in gone["items"]}
    long = "The nightly job uploads the ledger to the archive bucket at two in the morning"
    here.remember(long, "--no-merge")
    here.remember(f"{long}.", "--no-merge")
    pairs = here.wellkept("admin", "maintain", "--only", "compact", "--yes", "--json").json
    assert len(pairs["items"]) == 1
    assert len([text for text in here.texts() if text.startswith(long)]) == 1


@pytest.mark.feature("A6")
def test_a6_a_finished_unit_of_work_is_archived_not_deleted(here: Installation) -> None:
    unit = ("--scope", "work_unit", "--work-unit", "agile:PROJ-7/login")
    here.remember("The login page wants a captcha", *unit)
    here.remember("Deploys go through staging")
    here.wellkept("session", "archive", "agile", "PROJ-7")
    assert here.texts() == {"Deploys go through staging"}
    assert here.found("captcha on the login page") == []
    assert here.texts("--archived") == {"The login page wants a captcha"}
    (step,) = here.wellkept("undo", "--json").json["items"]
    here.wellkept("undo", step["id"])
    assert "The login page wants a captcha" in here.texts()


@pytest.mark.feature("A7")
def test_a7_confidence_spreads_along_relations(here: Installation) -> None:
    weights = {
        "required_with": 0.3,
        "conflicts_with": -0.4,
        "validates": 0.6,
        "supersedes": 0.8,
        "derived_from": 0.5,
    }
    source = ("--source", "agent_explicit")
    origin = here.remember("The gateway answers in two seconds", "--confidence", "0.5", *source)
    others = dict[str, str]()
    for name, animal in zip(weights, ("badger", "heron", "lynx", "otter", "stoat"), strict=True):
        kept = here.remember(f"A {animal} lives near the gateway", "--confidence", "0.5", *source)
        others[name] = kept["id"]
        here.wellkept("edit", origin["id"], "--relate", name, "--to", kept["id"])
    # A ring must not turn for ever.
    here.wellkept("edit", others["supersedes"], "--relate", "supersedes", "--to", origin["id"])
    here.wellkept("edit", origin["id"], "--confidence", "0.9")
    now = {item["id"]: item["confidence"] for item in here.listed()}
    assert now[origin["id"]] == pytest.approx(0.9, abs=0.11)
    for name, weight in weights.items():
        moved = now[others[name]] - 0.5
        assert moved == pytest.approx(0.4 * weight, abs=0.03), name


@pytest.mark.feature("A8")
def test_a8_commands_in_a_persons_message(here: Installation) -> None:
    session = here.session()
    session.start()
    session.prompt("Remember that the demo server is called heron.")
    session.prompt("Never push to the release branch on Fridays.")
    session.prompt("Note that invoices are numbered per country")
    session.end()
    kept = {item["content"]: item for item in here.listed("--source", "user_taught")}
    for words in ("heron", "Fridays", "per country"):
        (one,) = [item for text, item in kept.items() if words in text]
        assert one["importance"] == pytest.approx(0.95)
        assert one["told_by"] == "person"
    asked = here.session("s-2")
    assert "heron" in asked.prompt("What do you remember about the demo server?")
    asked.prompt("Forget about the demo server.")
    asked.end()
    left = " / ".join(here.texts("--source", "user_taught"))
    assert "heron" not in left
    assert "Fridays" in left


@pytest.mark.feature("A10")
def test_a10_no_secret_reaches_the_disk(here: Installation) -> None:
    key = "sk-" + "proj-4f9aQ2bX7cL1mN8pR5sT3vW6yZ0dE2gH"
    session = here.session()
    session.start()
    session.prompt(f"Remember that the api key is {key} and the region is Frankfurt.")
    session.prompt("Note that lunch is at noon <private>my PIN is 4711-2266</private>")
    session.bash("env | grep KEY", f"OPENAI_API_KEY={key}")
    session.end()
    here.remember(f"The token for staging is {key}")
    assert [text for text in here.texts() if "Frankfurt" in text]
    written = [path for path in Path(here.home).rglob("*") if path.is_file()]
    assert written
    for path in written:
        raw = path.read_bytes()
        assert key.encode() not in raw, path
        assert b"4711-2266" not in raw, path


@pytest.mark.feature("A11")
def test_a11_memory_goes_through_a_file_and_back(here: Installation) -> None:
    kept = here.remember("Deploys go through staging", "--type", "convention", "--tag", "ops")
    for name in ("memory.jsonl", "memory.md"):
        here.wellkept("admin", "export", name)
        assert "Deploys go through staging" in (here.repository / name).read_text()
        here.wellkept("forget", "--all", "--yes")
        here.wellkept("admin", "import", "--here", name)
        (back,) = here.listed()
        fields = ("content", "type", "tags", "source")
        assert [back[one] for one in fields] == [kept[one] for one in fields], name
    # A folder of Markdown is reviewed in git: an edited file corrects its memory, a new one adds.
    here.wellkept("admin", "export", "kept")
    (file,) = (here.repository / "kept/convention").iterdir()
    file.write_text(file.read_text().replace("through staging", "through the canary"))
    here.file("kept/lunch.md", "Lunch is at noon on Fridays\n")
    here.wellkept("admin", "import", "--here", "kept")
    assert here.texts() == {"Deploys go through the canary", "Lunch is at noon on Fridays"}
    here.wellkept("admin", "import", "--here", "kept")
    assert len(here.listed()) == 2


@pytest.mark.feature("A12")
def test_a12_a_memory_tells_where_it_was_said_and_whether_it_was_used(here: Installation) -> None:
    here.file("src/pay.py", "LIMIT = 3\n")
    first = here.session("s-1")
    first.start()
    first.prompt("Remember that the pay limit in src/pay.py must stay below ten.")
    first.end()
    (kept,) = here.listed("--source", "user_taught")
    second = here.session("s-2")
    assert "below ten" in second.start()
    second.prompt("Raise the pay limit in src/pay.py")
    second.edit("src/pay.py", "LIMIT = 3", "LIMIT = 9")
    second.end(f"Kept it below ten [m:{kept['short']}].")
    why = here.wellkept("why", kept["id"], "--json").json
    assert kept["session_id"] == "s-1"
    assert [one["session_id"] for one in why["use"]["latest"]] == ["s-2"], why["use"]
    assert why["use"]["use"]["used"] == 1, why["use"]
    (origin,) = why["use"]["sessions"]
    assert (origin["id"], origin["kind"], origin["phase"]) == ("s-1", "look", "explore")
    # What was stored and never told is counted.
    here.remember("The exporter writes amounts in cents", "--type", "decision")
    assert here.wellkept("why", "--json").json["never_told"] == [["decision", 1]]
    assert "Stored and never told: decision 1" in here.wellkept("why").out


@pytest.mark.feature("A9")
def test_a9_project_state_lives_on_session_state_does_not(here: Installation) -> None:
    with here.library() as memory:
        state = memory.state(session="s-1")
        state.put("temp:draft", "one")
        state.put("session:step", "two")
        state.put("project:framework", "htmx")
        assert state.get("temp:draft") == "one"
    with here.library() as memory:
        assert memory.state(session="s-1").get("session:step") == "two"
        again = memory.state(session="s-2")
        assert again.get("project:framework") == "htmx"
        assert again.get("session:step") is None
        assert again.get("temp:draft") is None
    # What holds for the project is recalled like any memory, and goes with its value.
    assert here.found("which framework?") == ["framework: htmx"]
    with here.library() as memory:
        memory.state().remove("project:framework")
    assert here.found("which framework?") == []


@pytest.mark.feature("A2")
def test_a2_a_session_leaves_an_episode_in_the_words_of_its_report(here: Installation) -> None:
    here.file("src/pay.py", "def pay(amount):\n    return amount\n")
    here.commit("Add pay")
    said = {
        "success": "Sums are kept in cents now. Nothing else had to change.",
        "failure": "The sums do not add up yet: rounding differs in two tests.",
        "discovery": "The cart calls pay twice for every bundle. That is where the sums differ.",
    }
    for number, (outcome, report) in enumerate(said.items()):
        session = here.session(f"p-{number}")
        session.start()
        session.prompt("Look at the sums in src/pay.py")
        session.read("src/pay.py")
        if outcome != "discovery":
            session.edit("src/pay.py", "return ", f"return {number} + ")
            code = 0 if outcome == "success" else 1
            session.bash("pytest tests", "1 failed" if code else "3 passed", code=code)
        session.end(report)
    told = {one["payload"]["outcome"]: one for one in here.listed("--type", "episode")}
    assert {outcome: one["content"] for outcome, one in told.items()} == said
    assert told["success"]["payload"]["result"] == "test: pytest tests"
    assert told["failure"]["payload"]["task"] == "Look at the sums in src/pay.py"
    assert told["success"]["files"] == ["src/pay.py"]
