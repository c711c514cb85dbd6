"""B. Retrieval: a question finds what answers it, and says when nothing does."""

from __future__ import annotations

import json

import pytest

from tests.journeys.product import CLI, Installation
from tests.support.embedding_server import FakeEmbeddingServer


@pytest.mark.feature("B1")
def test_b1_words_and_meaning_under_any_filter(here: Installation) -> None:
    deploy = "Releases go out through the staging cluster on Tuesdays"
    here.remember(deploy, "--type", "convention", "--file", "deploy/run.sh", "--tag", "ops")
    here.remember('Use NEAR/2 AND "quoted* text (sic)', "--type", "gotcha", "--importance", "0.3")
    here.remember("缓存每天凌晨清空一次", "--module", "cache")
    assert here.found("staging cluster", "--mode", "words")[0] == deploy
    assert here.found("when do we ship a new version?", "--mode", "vectors")[0] == deploy
    assert here.found("when do we ship releases?")[0] == deploy
    # What a person types never reaches the query language raw.
    assert here.found('NEAR/2 AND "quoted* (', "--min-score", "0")[0].startswith("Use NEAR/2")
    assert here.found("缓存 清空") == ["缓存每天凌晨清空一次"]
    every = ("--min-score", "0")
    for filters, size in (
        (("--type", "gotcha"), 1),
        (("--file", "deploy/run.sh"), 1),
        (("--module", "cache"), 1),
        (("--tag", "ops"), 1),
        (("--source", "observer_inferred"), 0),
        (("--min-importance", "0.9"), 2),
        (("--min-confidence", "0.99"), 0),
        (("--until", "2020-01-01"), 0),
    ):
        question = "staging cluster NEAR quoted text 缓存 清空"
        assert len(here.found(question, *every, *filters)) == size, filters


@pytest.mark.feature("B2")
def test_b2_the_documents_formulas_are_profiles(here: Installation) -> None:
    plain = ("--source", "agent_explicit", "--no-merge")
    here.remember("The queue retries five times", "--importance", "0.1", *plain)
    here.remember("The queue retries five times a day", "--importance", "1.0", *plain)
    ask = ("recall", "queue retries five times", "--min-score", "0", "--explain", "--json")
    found = here.wellkept(*ask, "--profile", "balanced").json
    first = found["hits"][0]
    parts = {part["name"]: part["value"] for part in first["parts"]}
    by_hand = (
        0.40 * parts["similarity"]
        + 0.25 * parts["keyword overlap"]
        + 0.20 * parts["importance"]
        + 0.15 * parts["recency"]
    )
    assert first["score"] == pytest.approx(by_hand, abs=0.01)
    refused = here.refused("recall", "queue", "--profile", "no_such")
    assert "balanced" in refused.err


@pytest.mark.feature("B3")
def test_b3_the_phase_of_work_changes_the_order(here: Installation) -> None:
    text = "the payment gateway handles refunds"
    here.remember(f"Requirement: {text} within a day", "--type", "requirement", "--no-merge")
    here.remember(f"Pattern: {text} in one retry loop", "--type", "error_pattern", "--no-merge")
    ask = (text, "--profile", "phase", "--min-score", "0")
    first = {
        phase: here.found(*ask, "--phase", phase)[0].split(":")[0]
        for phase in ("define", "implement", "validate", "refine", "explore", "reflect")
    }
    assert first["define"] == "Requirement"
    assert first["validate"] == "Pattern"
    assert here.refused("recall", text, "--phase", "nonsense").code == 2


@pytest.mark.feature("B4")
def test_b4_vectors_of_two_models_are_never_compared(here: Installation) -> None:
    here.remember("Releases go out through the staging cluster on Tuesdays")
    bundled = here.wellkept("status", "--storage", "--json").json
    assert bundled["vectors"] == 1
    with FakeEmbeddingServer() as server:
        here.environment.update(
            WELLKEPT_EMBEDDING_PROVIDER="openai",
            WELLKEPT_EMBEDDING_BASE_URL=server.openai_url,
            OPENAI_API_KEY="test-key",
        )
        here.remember("A second statement about bananas")
        by_meaning = ("Releases go out on Tuesdays", "--mode", "vectors", "--min-score", "0")
        assert here.found(*by_meaning) == ["A second statement about bananas"]
        done = here.wellkept("admin", "reindex", "--json").json
        assert done["model_id"] != bundled["model_id"]
        assert done["indexed"] == 2
        assert here.wellkept("status", "--storage", "--json").json["model_id"] == done["model_id"]
        assert here.found(*by_meaning)[0].startswith("Releases go out")


@pytest.mark.feature("B5")
def test_b5_index_then_timeline_then_whole_records(here: Installation) -> None:
    for number, text in enumerate(
        ("We tried Redis for the queue", "The queue moved to SQLite", "The queue is fast now")
    ):
        here.remember(text, "--no-merge", "--at", f"2026-0{number + 1}-10", "--type", "decision")
    rows = here.told("memory_search", query="queue moved to SQLite")
    row = next(line for line in rows.splitlines() if "moved to SQLite" in line)
    short = row.split()[0]
    around = here.told("memory_timeline", anchor=short).splitlines()
    at = next(number for number, line in enumerate(around) if line.startswith(">"))
    assert "moved to SQLite" in around[at]
    assert "tried Redis" in around[at - 1]
    assert "fast now" in around[at + 1]
    whole = here.told("memory_get", ids=[short])
    assert "The queue moved to SQLite" in whole
    by_query = here.told("memory_timeline", query="which store did the queue move to, SQLite?")
    (anchor,) = [line for line in by_query.splitlines() if line.startswith(">")]
    assert short in anchor


@pytest.mark.feature("B6")
def test_b6_a_question_about_a_time(here: Installation) -> None:
    here.remember("Picked Redis for the queue", "--no-merge", "--at", "2026-03-05")
    here.remember("Picked SQLite for the queue", "--no-merge", "--at", "2026-06-05")
    assert here.found("queue", "--since", "2026-06-01") == ["Picked SQLite for the queue"]
    asked = here.found("what did we pick for the queue in March 2026?")
    assert asked[0] == "Picked Redis for the queue"
    assert here.found("what did we pick for the queue in June 2026?")[0] != asked[0]
    for name in ("s-1", "s-2"):
        here.remember(f"Note of {name} on the queue", "--session", name, "--no-merge")
        session = here.session(name)
        session.start()
        session.prompt("Look at the widget")
        session.end()
    assert "Note of s-2 on the queue" in here.found("queue note", "--recent-sessions", "1")
    assert "Note of s-1 on the queue" not in here.found("queue note", "--recent-sessions", "1")


@pytest.mark.feature("B7")
def test_b7_what_is_worked_on_together_is_found_together(here: Installation) -> None:
    for number in range(6):
        here.file("src/model.py", f"SIZE = {number}\n")
        here.file("src/view.py", f"WIDTH = {number}\n")
        here.commit(f"Widen {number}")
    here.wellkept("init")
    trap = "Widths are given in points and never in pixels"
    here.remember(trap, "--file", "src/view.py", "--type", "gotcha")
    near = here.wellkept("graph", "related", "src/model.py", "--json").json
    assert "src/view.py" in json.dumps(near)
    ask = ("SIZE", "--mode", "words", "--type", "gotcha", "--min-score", "0")
    assert here.found(*ask, "--near", "src/model.py") == [trap]
    assert here.found(*ask) == []


@pytest.mark.feature("B8")
def test_b8_a_memory_follows_a_rename_and_goes_stale_with_its_file(here: Installation) -> None:
    here.file("src/pay.py", "LIMIT = 3\n" * 20)
    here.commit("Add pay")
    trap = "The limit in pay must stay below ten"
    here.remember(trap, "--file", "src/pay.py", "--type", "gotcha")
    (here.repository / "src/pay.py").rename(here.repository / "src/billing.py")
    here.commit("Rename")
    here.wellkept("admin", "maintain", "--only", "refresh")
    assert trap in here.session("s-1").read("src/billing.py")
    (here.repository / "src/billing.py").unlink()
    here.commit("Remove billing")
    here.wellkept("admin", "maintain", "--only", "refresh")
    assert trap not in here.session("s-2").start()
    found = here.wellkept("recall", "pay limit below ten", "--stale", "--json").json["hits"]
    assert [hit["memory"]["content"] for hit in found] == [trap]
    assert found[0]["memory"]["stale_at"] is not None
    assert here.found("pay limit below ten", "--no-stale") == []


@pytest.mark.feature("B9")
def test_b9_each_moment_gets_its_lines_within_a_budget(here: Installation) -> None:
    here.file("src/pay.py", "LIMIT = 3\n")
    here.commit("Add pay")
    here.remember("Deploys go through the staging cluster", "--type", "convention")
    trap = ("--type", "gotcha", "--file", "src/pay.py", "--source", "agent_explicit")
    here.remember("The pay limit must stay below ten", *trap)
    why = "We chose SQLite for the queue because nobody wants a daemon"
    here.remember(why, "--type", "decision", "--source", "agent_explicit")
    session = here.session()
    start = session.start()
    assert "[CONV] Deploys go through the staging cluster [m:" in start
    assert session.prompt("What is the weather like?") == ""
    assert why in session.prompt("Should the queue stay on SQLite, or do we want a daemon?")
    opened = session.read("src/pay.py")
    assert "[WARN]" in opened
    assert "The pay limit must stay below ten" in opened
    small = here.wellkept("context", "--budget", "40", "--json").json
    assert small["used_tokens"] <= 40


@pytest.mark.feature("B10")
def test_b10_the_documents_parameters_and_nothing_known(here: Installation) -> None:
    here.remember("Chose SQLite for the queue", "--type", "decision", "--tag", "storage")
    here.remember("Chose pnpm for the page", "--type", "decision", "--tag", "tools")
    only = here.told("memory_search", query="chose", concepts=["storage"])
    assert "SQLite" in only
    assert "pnpm" not in only
    second = here.told("memory_search", limit=1, offset=1)
    assert "SQLite" in second
    assert "pnpm" not in second
    assert "pnpm" in here.told("decisions")
    here.remember("The limit was raised", "--file", "src/pay.py", "--type", "fact")
    assert "raised" in here.told("changes_for_file", file="src/pay.py")
    here.told("store_observation", type="bugfix", title="Chose to round once", concepts=["money"])
    here.told("store_observation", type="feature", title="Chose to export", concepts=["csv"])
    asked = {"query": "chose", "type": "observations"}
    assert "round once" in here.told("memory_search", **asked, obs_type="bugfix")
    assert "export" not in here.told("memory_search", **asked, obs_type="bugfix")
    oldest = here.told("memory_search", query="chose", orderBy="date_asc").splitlines()
    assert "SQLite" in oldest[0]
    assert (
        "export" in here.told("memory_search", query="chose", orderBy="date_desc").splitlines()[0]
    )
    nothing = here.run(*CLI, "recall", "how tall is the Eiffel tower")
    assert (nothing.code, nothing.out.strip()) == (1, "")


@pytest.mark.feature("B11")
def test_b11_one_judge_for_question_hook_and_chat(here: Installation) -> None:
    answer = "Invoices are numbered per country, beginning anew each January"
    here.remember(answer, "--source", "agent_explicit", "--type", "decision")
    for number in range(12):
        here.remember(f"The lamp of room {number} was replaced", "--no-merge")
    clear, far = "How are invoices numbered per country?", "Who won the chess match?"
    assert here.found(clear)[0] == answer
    assert here.found(far) == []
    session = here.session()
    assert answer in session.prompt(clear)
    assert session.prompt(far) == ""
    chat = here.wellkept("recall", "--answer", "--no-model", clear, "--json").json
    assert (chat["known"], answer in chat["answer"]) == (True, True)
    assert here.run(*CLI, "recall", "--answer", "--no-model", far).code == 1


@pytest.mark.feature("B9")
def test_b9_a_plan_is_told_who_uses_what_it_names(here: Installation) -> None:
    here.file("src/pay.py", "def pay_all(amount):\n    return amount\n")
    here.file("src/cart.py", "from src.pay import pay_all\n\ntotal = pay_all(3)\n")
    here.file("src/shop.py", "from src.cart import total\n")
    here.file("tests/test_pay.py", "from src.pay import pay_all\n\nassert pay_all(1)\n")
    here.commit("Add pay")
    here.wellkept("graph", "build")
    used = "used by src/cart.py; tests: tests/test_pay.py"
    by_file = here.session("p-1")
    by_file.start()
    assert f"`src/pay.py`: {used}" in by_file.prompt("Round the sums in src/pay.py to cents")
    # Once in a session is enough, and work that names nothing is not disturbed.
    assert by_file.prompt("Now look at src/pay.py once more, please") == ""
    by_name = here.session("p-2")
    by_name.start()
    assert by_name.prompt("Think about how sums are rounded in the shop", mode="plan") == ""
    told = by_name.prompt("Let pay_all round to cents", mode="plan")
    assert f"`pay_all (src/pay.py)`: {used}" in told
    # A plan may go on to other files; work on them is not disturbed.
    assert by_file.prompt("Then round the total in src/cart.py as well") == ""
    told = by_name.prompt("Then round the total in src/cart.py as well", mode="plan")
    assert "`src/cart.py`: used by src/shop.py" in told
    # Only what holds now: the cart changed since the graph saw it.
    here.file("src/cart.py", "total = 3\n")
    now = here.session("p-3")
    now.start()
    told = now.prompt("Let pay_all in src/pay.py round to cents")
    assert "tests/test_pay.py" in told
    assert "src/cart.py" not in told
