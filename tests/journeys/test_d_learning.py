"""D. Observer and learning: what sessions show is learned, and told where it helps."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.journeys.product import Client, Installation

FAILS = "ModuleNotFoundError: No module named 'src'"


def repository(here: Installation) -> None:
    here.file("src/pay.py", "def pay(amount):\n    return amount\n")
    here.file("src/cart.py", "from src.pay import pay\n")
    for name in ("src/routes.py", "src/views.py", "tests/test_routes.py"):
        here.file(name, "# start\n")
    here.commit("Add pay")


def add_a_route(here: Installation, number: int, *, works: bool = True) -> Client:
    """The same six steps of work."""
    session = here.session(f"r-{number}")
    session.start()
    session.prompt(f"Add a route for page{number}")
    session.edit("src/routes.py", "# start", f"# start\nroute{number} = 1")
    session.edit("src/views.py", "# start", f"# start\nview{number} = 1")
    session.edit("tests/test_routes.py", "# start", f"# start\ndef test_{number}(): pass")
    session.bash("ruff check --ignore 'E501' src", "All checks passed!")
    session.bash("pytest tests", "3 passed" if works else "1 failed", code=0 if works else 1)
    if works:
        here.commit(f"Add route {number}")
        session.bash(f"git commit -am 'Add route {number}'", f"[main 1234567] Add route {number}")
    session.end(f"Added the route for page{number}.")
    return session


def give_up_a_cache(here: Installation, undo: str, name: str = "d-1") -> Client:
    """A cache is tried for long, fails and is undone by a command, or by an edit without one."""
    session = here.session(name)
    session.start()
    session.prompt("Speed up pay in src/pay.py with a cache")
    session.edit("src/pay.py", "return amount", "return CACHE[amount]")
    for _ in range(10):
        session.read("src/cart.py")
        session.read("src/pay.py")
    session.bash("python -m src.shop", "KeyError: the cache is empty in every worker", code=1)
    if undo:
        here.git("checkout", "--", "src/pay.py")
        session.bash(undo)
    else:
        session.edit("src/pay.py", "return CACHE[amount]", "return amount")
        session.bash("git diff --stat")
    session.edit("src/pay.py", "return amount", "return +amount")
    session.bash("pytest tests", "3 passed")
    session.end("pay is as fast as it gets without a cache.")
    return session


def learning(here: Installation) -> Any:
    return here.wellkept("status", "--learning", "--json").json


@pytest.mark.feature("D1")
def test_d1_what_was_done_leaves_signals(here: Installation) -> None:
    repository(here)
    session = add_a_route(here, 1)
    again = here.session("r-9")
    again.start()
    again.prompt("Mend the sums")
    again.read("src/pay.py")
    for text in ("amount + 0", "amount + 0.0", "0 + amount"):
        old = (here.repository / "src/pay.py").read_text().split("return ")[1].strip()
        again.edit("src/pay.py", f"return {old}", f"return {text}")
        again.bash("pytest tests", FAILS, code=1)
    again.bash("PYTHONPATH=. pytest tests", "3 passed")
    again.end()
    names = {name for name, _ in learning(here)["signals"]}
    assert session.steps
    assert {"file_access", "co_access", "error_retry", "sequence", "backtrack"} <= names, names


@pytest.mark.feature("D1")
def test_d1_a_file_that_is_read_again_and_again_is_told_with_its_time(here: Installation) -> None:
    repository(here)
    for number in (1, 2, 3):
        session = here.session(f"m-{number}")
        session.start()
        session.prompt("What does the shop do with an amount?")
        for _ in range(4):
            session.read("src/pay.py")
            session.read("src/cart.py") if number == 1 else session.read("src/views.py")
        session.edit("src/routes.py", "# start", f"# start {number}")
        session.bash("pytest tests", "3 passed")
        session.end("It hands the amount on.")
    (found,) = learning(here)["statistics"]["confusing"]
    assert (found["what"], found["sessions"], found["count"]) == ("src/pay.py", 3, 12)
    assert found["spent_ms"] > 0
    shown = here.wellkept("status", "--learning").out
    assert "unclear src/pay.py: 12 times in 3 sessions" in shown


@pytest.mark.feature("D2", "D3")
@pytest.mark.parametrize(
    "undo",
    [
        "git checkout src/pay.py",
        "git restore src/pay.py",
        "git reset HEAD --hard",
        "git stash",
        "",
    ],
)
def test_d2_an_approach_that_was_given_up_is_kept(here: Installation, undo: str) -> None:
    repository(here)
    give_up_a_cache(here, undo)
    (end,) = here.listed("--type", "dead_end")
    assert "Speed up pay in src/pay.py with a cache" in end["content"]
    assert "the cache is empty in every worker" in json.dumps(end["payload"])
    assert end["files"] == ["src/pay.py"]
    assert end["payload"]["alternative_used"] == "pay is as fast as it gets without a cache."
    assert end["content"] in here.found("speed up pay with a cache", "--type", "dead_end")


@pytest.mark.feature("D2", "B9")
def test_d2_a_dead_end_is_told_to_who_goes_there_again(here: Installation) -> None:
    repository(here)
    give_up_a_cache(here, "git checkout src/pay.py")
    words = "“Speed up pay in src/pay.py with a cache”"
    instead = "“pay is as fast as it gets without a cache.”"
    again = here.session("d-2")
    assert words not in again.start()
    told = again.prompt("Could a cache speed up pay? It is slow for large amounts.")
    assert words in told
    assert instead in told
    plan = here.session("d-3")
    plan.start()
    told = plan.prompt("What would it take to round the sums in src/pay.py?", mode="plan")
    assert words in told
    other = here.session("d-4")
    other.start()
    assert other.prompt("Rename the views of the shop to pages") == ""
    assert words in other.read("src/pay.py")


@pytest.mark.feature("D4", "D3")
def test_d4_only_validated_work_is_promoted(here: Installation) -> None:
    repository(here)
    for number in (1, 2, 3):
        add_a_route(here, number, works=number != 3)
    # The third run failed, so the same steps were validated only twice.
    assert here.listed("--type", "workflow_recipe") == []
    add_a_route(here, 4)
    (recipe,) = here.listed("--type", "workflow_recipe")
    assert sorted(recipe["provenance_sessions"]) == ["r-1", "r-2", "r-4"]
    why = here.wellkept("why", recipe["id"], "--json").json["explanation"]
    assert why["score"] >= why["threshold"] == 0.6
    assert why["validated_by"] == "test: pytest tests"
    assert recipe["needs_review"]


@pytest.mark.feature("D3", "C5")
def test_d3_a_note_of_the_session_waits_for_the_work_to_hold(here: Installation) -> None:
    repository(here)
    note = "The cart calls pay twice for every bundle"
    for name, verdict in (("n-1", "failed"), ("n-2", "passed")):
        session = here.session(name)
        session.start()
        session.prompt("Look at the cart")
        here.drain()
        here.told("remember_this", content=note, files=["src/cart.py"])
        assert note not in here.texts("--validity", "open", "--type", "fact")
        session.edit("src/cart.py", "import pay", "import pay  # twice")
        session.end()
        here.wellkept("session", "verdict", verdict, name)
        assert (note in here.texts()) == (verdict == "passed")


@pytest.mark.feature("D5")
def test_d5_files_that_change_together_are_known_from_git_and_from_work(here: Installation) -> None:
    repository(here)
    for number in range(4):
        here.file("src/routes.py", f"# start\nx = {number}\n")
        here.file("src/views.py", f"# start\ny = {number}\n")
        here.commit(f"Change {number}")
    here.wellkept("init", "--no-graph")
    with here.library() as wk:
        assert [one.path for one in wk.observer.related("src/routes.py")] == ["src/views.py"]
    near = here.wellkept("graph", "show", "src/routes.py", "--related", "--json").json
    assert "src/views.py" in [one["path"] for one in near["related"]["files"]], near
    for number in (1, 2, 3, 4, 5):
        add_a_route(here, number)
    ahead = here.wellkept("graph", "show", "--reads", "--json").json["reads"]
    assert {"src/routes.py", "src/views.py"} <= {one["path"] for one in ahead}
    assert not here.listed("--type", "prefetch_pattern")


@pytest.mark.feature("D6")
def test_d6_a_recipe_from_three_sessions_goes_stale_with_its_files(here: Installation) -> None:
    repository(here)
    for number in (1, 2):
        add_a_route(here, number)
    assert here.listed("--type", "workflow_recipe") == []
    add_a_route(here, 3)
    ask = ("recall", "--recipe", "add a route for page9", "--json")
    (found,) = here.wellkept(*ask).json["items"]
    steps = [step["description"] for step in found["memory"]["payload"]["steps"]]
    assert steps[0] == "edit `src/routes.py`"
    assert "run `pytest tests`" in steps
    assert found["memory"]["payload"]["success_count"] == 3
    assert found["stale_reason"] is None
    (here.repository / "src/views.py").unlink()
    here.commit("Remove the views")
    here.wellkept("admin", "maintain", "--only", "refresh")
    assert here.wellkept(*ask).json["items"] == []


@pytest.mark.feature("D6")
def test_d6_a_recipe_that_was_followed_to_failure_is_silent(here: Installation) -> None:
    repository(here)
    for number in (1, 2, 3):
        add_a_route(here, number)
    task = "Add a route for page9 to src/routes.py"
    told = "1. edit `src/routes.py`"
    assert told in here.session("q-1").prompt(task)
    add_a_route(here, 4, works=False)
    (recipe,) = here.listed("--type", "workflow_recipe")
    assert (recipe["payload"]["success_count"], recipe["payload"]["failure_count"]) == (3, 1)
    assert told not in here.session("q-2").prompt(task)
    # It worked again: it is told again.
    add_a_route(here, 5)
    (recipe,) = here.listed("--type", "workflow_recipe")
    assert (recipe["payload"]["success_count"], recipe["payload"]["failure_count"]) == (4, 1)
    assert told in here.session("q-3").prompt(task)
    # Other work changed one of its files: said to who asks.
    here.file("src/views.py", "# start\nclass View:\n    pass\n")
    here.commit("Views are classes")
    ask = ("recall", "--recipe", "add a route for page9", "--json")
    (found,) = here.wellkept(*ask).json["items"]
    assert found["stale_reason"] == "src/views.py changed since it was last followed"
    here.wellkept("admin", "maintain", "--only", "refresh")
    assert told not in here.session("q-4").prompt(task)


@pytest.mark.feature("D12")
def test_d12_trivial_work_is_told_no_recipe(here: Installation) -> None:
    repository(here)
    for number in (1, 2, 3):
        add_a_route(here, number)
    plan = ("context", "Add a route for page9 to src/routes.py", "--moment", "plan", "--complexity")
    assert "1. edit `src/routes.py`" in here.wellkept(*plan, "standard").out
    assert "1. edit `src/routes.py`" not in here.wellkept(*plan, "trivial").out


@pytest.mark.feature("D7")
def test_d7_a_verdict_leaves_error_patterns_and_an_outcome(here: Installation) -> None:
    repository(here)
    add_a_route(here, 1)
    issue = {"severity": "critical", "description": "The route answers 500 without a login"}
    here.told("record_verdict", session="r-1", verdict="failed", issues=[issue])
    patterns = " ".join(here.texts("--type", "error_pattern"))
    assert "answers 500 without a login" in patterns
    (outcome,) = here.listed("--type", "work_unit_outcome")
    assert outcome["payload"]["files_modified"] == [
        "src/routes.py",
        "src/views.py",
        "tests/test_routes.py",
    ]


@pytest.mark.feature("D7")
def test_d7_what_was_decided_in_ten_sub_tasks_outlives_them(here: Installation) -> None:
    repository(here)
    decided = "We decided to keep totals in cents because floats drift."
    session = here.session("t-1")
    session.start()
    session.prompt("Move the sums of the shop to cents, part by part")
    parts = [{"content": f"part {number}", "status": "pending"} for number in range(10)]
    for number, part in enumerate(parts):
        part["status"] = "in_progress"
        session.tool("TodoWrite", {"todos": parts}, "ok")
        session.edit("src/pay.py", "return ", f"return {number} + ")
        if number == 1:
            session.prompt(decided)
        part["status"] = "completed"
    session.bash("pytest tests", "3 passed")
    session.end("All sums are in cents.")
    assert len(here.listed("--type", "work_unit_outcome")) == 10
    (insight,) = here.listed("--type", "module_insight")
    assert (insight["content"], insight["files"]) == (decided, ["src/pay.py"])
    assert insight["content"] in here.found("what did we decide about totals and floats?")
    assert here.wellkept("why", insight["id"], "--json").json["explanation"]["rule"] == (
        "consolidation"
    )


@pytest.mark.feature("D8")
def test_d8_wait_times_and_the_file_behind_a_page_are_known(here: Installation) -> None:
    page = "export const Orders = () => <button>Export everything</button>;\n"
    here.file("src/pages/orders.tsx", page)
    here.commit("Add orders")
    session = here.session("e-1")
    session.start()
    session.prompt("Try the orders in the browser")
    opened = "### Page\n- Page URL: http://localhost:3000/orders\n- Page Title: Orders"
    click = "mcp__playwright__browser_click"
    session.tool(
        "mcp__playwright__browser_navigate", {"url": "http://localhost:3000/orders"}, opened
    )
    late = "Error: locator.click: Timeout 5000ms exceeded, element is not enabled"
    session.tool(click, {"element": "Export everything"}, late)
    session.tool("mcp__playwright__browser_wait_for", {"time": "2"}, "ok")
    session.tool(click, {"element": "Export everything"}, "ok")
    session.end()
    (fact,) = here.listed("--type", "e2e_observation")
    assert fact["payload"]["observation_type"] == "timing"
    assert "takes a moment to work" in fact["content"]
    assert fact["files"] == ["src/pages/orders.tsx"]


@pytest.mark.feature("D8")
def test_d8_what_a_browser_showed_is_known_and_confirmed(here: Installation) -> None:
    confidences = list[float]()
    for name in ("e-1", "e-2"):
        session = here.session(name)
        session.start()
        session.prompt("Try the page in the browser")
        session.tool(
            "mcp__playwright__browser_click",
            {"element": "Sync now", "ref": "e4"},
            "Error: Please enable sync in the settings",
        )
        session.end()
        (fact,) = here.listed("--type", "e2e_observation")
        assert "Please enable sync in the settings" in fact["content"]
        assert fact["payload"]["observation_type"] == "precondition"
        confidences.append(fact["confidence"])
    assert confidences == [pytest.approx(0.75), pytest.approx(0.9)]


@pytest.mark.feature("D9")
def test_d9_a_change_of_methodology_keeps_every_memory(here: Installation) -> None:
    unit = ("--work-unit", "native:spec-1/task-2", "--scope", "work_unit")
    here.remember("The importer reads rows in batches", *unit)
    before = here.listed()
    for name in ("bmad", "tdd", "agile", "native"):
        here.wellkept("config", "set", "--methodology", name)
        shown = here.wellkept("status", "--methodology", "--json").json
        assert shown["id"] == name
        assert here.found("how does the importer read rows?") == [before[0]["content"]]
    assert [(m["id"], m["work_unit"]) for m in here.listed()] == [
        (m["id"], m["work_unit"]) for m in before
    ]
    here.wellkept("config", "set", "--methodology", "bmad")
    assert here.wellkept("status", "--methodology", "--json").json["phases"]["qa"] == "validate"
    story = ("--work-unit", "bmad:epic-1/story-2", "--scope", "work_unit")
    here.remember("The login wants a captcha", "--type", "decision", *story)
    here.remember("The login page caches itself", "--type", "gotcha", *story)
    # What a stage passes on is what the next one asks for.
    told = here.wellkept("session", "handoff", "--relay", "dev").out
    assert "captcha" in told
    assert "caches itself" in told
    told = here.wellkept("session", "handoff", "--relay", "sm").out
    assert "captcha" in told
    assert "caches itself" not in told
    assert here.refused("config", "set", "--methodology", "nonsense").code == 3


@pytest.mark.feature("D10")
def test_d10_opening_a_file_warns_of_what_went_wrong_there(here: Installation) -> None:
    repository(here)
    noted = ("--file", "src/pay.py", "--source", "agent_explicit")
    here.remember("pay must not be called twice in one request", "--type", "gotcha", *noted)
    here.remember("pay lives in the billing team", "--type", "fact", *noted)
    session = here.session()
    session.start()
    told = session.read("src/pay.py")
    assert "[WARN]" in told
    assert "pay must not be called twice in one request" in told
    assert "billing team" not in told
    assert session.read("src/cart.py") == ""
    # Once in a session is enough.
    assert session.read("src/pay.py") == ""


@pytest.mark.feature("D11")
def test_d11_the_way_out_of_a_failure_is_offered_at_the_next(here: Installation) -> None:
    repository(here)
    first = here.session("w-1")
    first.start()
    first.prompt("Run the tests")
    assert first.bash("pytest tests", FAILS, code=1) == ""
    first.bash("PYTHONPATH=. pytest tests", "3 passed")
    first.end()
    second = here.session("w-2")
    second.start()
    second.prompt("Run the tests")
    assert "`PYTHONPATH=. pytest tests`" in second.bash("pytest tests", FAILS, code=1)
    assert second.bash("make docs", "No rule to make target 'docs'", code=2) == ""


@pytest.mark.feature("D13")
def test_d13_a_command_is_told_as_it_ran(here: Installation) -> None:
    repository(here)
    session = here.session()
    session.start()
    session.prompt("Run the tests")
    session.bash("pytest tests", FAILS, code=1)
    session.bash("PYTHONPATH=. pytest tests -x", "3 passed")
    session.end()
    (kept,) = here.wellkept("session", "commands", "--json").json["items"]
    assert kept["line"] == "PYTHONPATH=. pytest tests -x"
    assert (kept["purpose"], kept["passed"], kept["sessions"]) == ("test", 1, ["s-1"])
    page = here.wellkept("pages", "commands").out
    assert f"test  {kept['line']}\n    session, s-1" in page
    assert "test  pytest tests\n" not in page


@pytest.mark.feature("B9", "D6")
def test_b9_who_names_its_files_is_told_the_recipe(here: Installation) -> None:
    repository(here)
    for number in (1, 2, 3):
        add_a_route(here, number)
    session = here.session("r-4")
    session.start()
    told = session.prompt("Add a route for page9 to src/routes.py")
    assert "1. edit `src/routes.py`" in told
    assert "run `ruff check --ignore 'E501' src`" in told
    assert "run `pytest tests`" in told
    other = here.session("r-5")
    other.start()
    assert "edit `src/routes.py`" not in other.prompt("Add a route for page9 to src/cart.py")
