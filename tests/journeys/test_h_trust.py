"""H. Trust: what is known can be seen, judged, corrected and taken back. The page itself is tried in
a browser (web/tests/e2e); here is what it is made of, and what a person does in a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.journeys.product import Installation

SHIP = """---
name: ship
description: Deploy the billing service to the staging cluster.
detect:
  files: [deploy.yaml]
---

Deploy to staging, then look at the logs.
"""


@pytest.mark.feature("H1")
def test_h1_a_memory_that_nobody_uses_is_not_in_full_health(here: Installation) -> None:
    for name in ("badger", "heron", "lynx"):
        here.remember(f"A {name} lives near the gateway")
    health = here.wellkept("status", "--health", "--json").json
    parts = {part["name"]: part["value"] for part in health["health"]["parts"]}
    assert parts["used"] is None
    assert parts["current"] == 1.0
    # What was not measured gives no points.
    assert health["health"]["score"] <= 65
    assert health["totals"]["total"] == 3
    shown = here.wellkept("status", "--health").out
    assert "wellkept install" in shown
    assert "tokens saved: not measured" in shown


@pytest.mark.feature("H2")
def test_h2_a_card_is_filtered_confirmed_corrected_flagged_and_deleted(here: Installation) -> None:
    plain = ("--source", "agent_explicit", "--no-merge")
    ids = {
        name: here.remember(f"A {name} lives near the gateway", *plain)["id"]
        for name in ("badger", "heron", "lynx", "otter")
    }
    with here.serving() as web:
        counts = web.get("/api/memory_facets").json()["counts"]
        assert counts["types"] == [{"value": "fact", "count": 4}]
        web.post("/api/edit", json={"ids": [ids["badger"]], "action": "confirm"}).raise_for_status()
        corrected = {
            "ids": [ids["heron"]],
            "because": "inaccurate",
            "content": "A heron lives by the pond",
        }
        done = web.post("/api/edit", json=corrected)
        assert done.status_code == 200, done.text
        web.post("/api/edit", json={"ids": [ids["lynx"]], "action": "flag"}).raise_for_status()
        web.post("/api/forget", json={"ids": [ids["otter"]]}).raise_for_status()
        undo = web.post("/api/undo", json={"id": done.json()["undo_id"]})
        assert undo.status_code == 200, undo.text
    items = {item["content"]: item for item in here.listed()}
    assert items["A badger lives near the gateway"]["user_verified"]
    assert items["A lynx lives near the gateway"]["needs_review"]
    assert "A otter lives near the gateway" not in items
    assert "A heron lives near the gateway" in items


@pytest.mark.feature("H3")
def test_h3_a_session_leaves_what_to_look_at(here: Installation) -> None:
    here.remember("Deploys go through staging", "--type", "convention")
    first = here.session("s-1")
    first.start()
    first.prompt("Run the tests")
    first.bash("pytest tests", "ModuleNotFoundError: No module named 'src'", code=1)
    first.bash("PYTHONPATH=. pytest tests", "3 passed")
    first.end("The tests pass once PYTHONPATH is set. Still open: the cart.")
    left = here.wellkept("review", "--json").json
    (waiting,) = left["new"]
    assert "PYTHONPATH=. pytest tests" in waiting["memory"]["content"]
    assert left["waiting"] == 1
    # The client has the commands, and the next start says that something waits.
    person = Path(here.environment["HOME"])
    (person / ".claude").mkdir()
    here.wellkept("install", "claude-code", "--model", "none")
    for name, runs in (("review-memory", "review"), ("flag", "edit --action flag")):
        assert f"wellkept {runs}" in (person / f".claude/commands/{name}.md").read_text()
    # What was seen at work is told without a word; what somebody doubts waits for one.
    assert "To review" not in here.session("s-2").start()
    here.wellkept("edit", waiting["memory"]["id"], "--verify", "--reviewed")
    assert here.wellkept("review", "--json").json["new"] == []
    doubted = here.listed("--type", "convention")[0]["id"]
    here.wellkept("edit", doubted, "--action", "flag", "--reason", "no longer so")
    assert "To review: 1 (/review-memory)" in here.session("s-4").start()


@pytest.mark.feature("H4")
def test_h4_map_recipes_chat_and_timeline_have_their_data(here: Installation) -> None:
    here.file("src/pay.py", "def pay(amount):\n    return amount\n")
    here.commit("Add pay")
    here.wellkept("graph", "build")
    here.remember("Invoices are numbered per country", "--type", "decision")
    session = here.session()
    session.start()
    session.prompt("Look at pay")
    session.read("src/pay.py")
    session.end("Looked at pay.")
    with here.serving() as web:
        (module,) = web.get("/api/module_map").json()["modules"]
        assert (module["name"], module["paths"], module["lines"]) == ("src", ["src/pay.py"], 2)
        answer = web.post("/api/ask", json={"question": "How are invoices numbered?"}).json()
        assert "per country" in answer["answer"]
        assert answer["citations"]
        story = web.get("/api/session/show", params={"name": "s-1"}).json()
        assert "Look at pay" in str(story["entries"])


@pytest.mark.feature("H5")
def test_h5_a_skill_is_made_switched_edited_and_deleted(here: Installation) -> None:
    with here.serving() as web:
        made = {"name": "tidy", "description": "Tidy up after work.", "body": "Sweep."}
        assert web.post("/api/skill/new", json=made).status_code == 200
        assert (here.repository / ".skills/tidy/SKILL.md").exists()
        off = web.post("/api/skill/disable", json={"names": ["tidy"]})
        assert off.status_code == 200, off.text
        assert [one["enabled"] for one in off.json()["items"]] == [False]
        assert "tidy" not in here.wellkept("skill", "list", "--commands").out
        web.post("/api/skill/enable", json={"names": ["tidy"]}).raise_for_status()
        assert "tidy" in here.wellkept("skill", "list", "--commands").out
        shown = web.get("/api/skill/show", params={"name": "tidy"}).json()
        assert "Sweep." in str(shown)
        web.post("/api/skill/edit", json={"name": "tidy", "body": "Mop."}).raise_for_status()
        assert "Mop." in (here.repository / ".skills/tidy/SKILL.md").read_text()
        gone = web.post("/api/skill/delete", json={"name": "tidy"})
        assert gone.status_code == 200, gone.text
        assert not (here.repository / ".skills/tidy").exists()


@pytest.mark.feature("H6")
def test_h6_a_line_is_cited_and_silenced_where_it_did_harm(here: Installation) -> None:
    rule = "Deploys go through staging"
    kept = here.remember(rule, "--type", "convention")
    assert f"{rule} [m:{kept['short']}]" in here.session("s-1").start()
    here.told("memory_flag", id=kept["short"], reason="Staging is gone")
    (now,) = here.listed()
    assert now["needs_review"]
    (silent,) = here.wellkept("why", "--silent", "--json").json["silent"]
    assert (silent["line_id"], silent["reason"]) == (kept["id"], "harm: flagged: Staging is gone")
    assert rule not in here.session("s-2").start()
    # What a person vouches for is given again, until somebody flags it.
    here.wellkept("edit", kept["id"], "--action", "confirm")
    assert rule in here.session("s-3").start()
    here.wellkept("edit", kept["id"], "--action", "flag", "--reason", "Staging is gone")
    assert rule not in here.session("s-4").start()
    session = here.session("s-5")
    session.prompt("/remember The demo server is called heron")
    session.end()
    assert "The demo server is called heron" in here.texts()


@pytest.mark.feature("H7")
def test_h7_the_page_is_told_what_was_learned_and_which_skills_there_are(
    here: Installation,
) -> None:
    here.file(".skills/ship/SKILL.md", SHIP)
    here.file("deploy.yaml", "service: billing\n")
    here.commit("Add deploy")
    here.remember("Deploys go through staging")
    here.wellkept("skill", "search")
    session = here.session()
    session.start()
    session.prompt("Remember that the demo server is called heron.")
    session.end()
    with here.serving() as web, web.stream("GET", "/api/events", params={"after": "0"}) as answer:
        kinds = dict[str, str]()
        name = ""
        for line in answer.iter_lines():
            word, _, rest = line.partition(": ")
            name = rest if word == "event" else name
            if word == "data":
                kinds[name] = rest
            if name == "session_ended":
                break
    assert "s-1" in kinds["memory_stored"]
    assert "ship" in kinds["skills_detected"]


@pytest.mark.feature("H8")
def test_h8_storage_sweeps_and_settings_can_be_tried_first(here: Installation) -> None:
    here.remember("Deploys go through staging")
    with here.serving() as web:
        storage = web.get("/api/storage").json()
        assert storage["memories"] == 1
        assert storage["total_bytes"] > 0
        for action in ("decay", "prune", "compact", "refresh"):
            tried = web.post("/api/admin/maintain", json={"only": action, "dry_run": True})
            assert tried.status_code == 200, tried.text
            assert tried.json()["dry_run"] is True
        changed = web.post("/api/config/set", json={"key": "methodology", "value": "tdd"})
        assert changed.status_code == 200, changed.text
    assert here.wellkept("status", "--methodology", "--json").json["id"] == "tdd"
    done = here.wellkept("admin", "reindex", "--json").json
    assert done["model_id"]


@pytest.mark.feature("H9")
def test_h9_the_next_session_is_seen_and_steered_before_it_happens(here: Installation) -> None:
    rule = "Deploys go through staging"
    kept = here.remember(rule, "--type", "convention")
    here.file("src/pay.py", "LIMIT = 3\n")
    trap = ("--type", "gotcha", "--file", "src/pay.py")
    here.remember("The pay limit must stay below ten", *trap)
    with here.serving() as web:

        def shown(**moment: object) -> str:
            answer = web.post("/api/next_session", json=moment)
            assert answer.status_code == 200, answer.text
            return str(answer.json()["exact"])

        start = shown(moment="session")
        assert rule in start
        assert kept["short"] in start
        assert "below ten" in shown(moment="file", files=["src/pay.py"])
        assert rule not in shown(moment="prompt", text="Paint the funnel of the ferry green.")
        muted = web.post("/api/mute_line", json={"id": kept["id"], "muted": True})
        assert muted.status_code == 200, muted.text
        before = here.session("s-1").start()
        assert rule not in before
        web.post("/api/mute_line", json={"id": kept["id"], "muted": False}).raise_for_status()
        corrected = {"ids": [kept["id"]], "because": "inaccurate", "content": f"{rule} on Mondays"}
        web.post("/api/edit", json=corrected).raise_for_status()
        assert f"{rule} on Mondays" in shown(moment="session")
        for number in range(4):
            here.remember(
                f"Pier {number} closes at gale force {number + 6}", "--type", "convention"
            )
        told = here.session("s-2").start().count("[CONV]")
        set_to = {"key": "context.budget_tokens", "value": "60"}
        web.post("/api/config/set", json=set_to).raise_for_status()
        assert here.session("s-3").start().count("[CONV]") < told
        web.post("/api/config/unset", json={"key": "context.budget_tokens"}).raise_for_status()
    # What the page showed is what the hook hands over.
    assert f"{rule} on Mondays" in here.session("s-4").start()


@pytest.mark.feature("H10")
def test_h10_the_layout_names_every_folder(here: Installation) -> None:
    names = [f"part{number:02}" for number in range(20)]
    for name in names:
        file = here.repository / name / "work.py"
        file.parent.mkdir()
        file.write_text(f"class {name.title()}:\n    pass\n")
    here.git("add", ".")
    here.git("commit", "-qm", "Parts")
    here.wellkept("init")
    page = here.wellkept("pages", "layout").out
    answer = here.found("how is the code laid out?")[0]
    for name in names:
        assert f"{name}/" in page
        assert f"{name}/" in answer


@pytest.mark.feature("H10")
def test_h10_a_project_page_is_read_and_corrected(here: Installation) -> None:
    kept = here.remember("Releases go out on Mondays", "--type", "convention")
    assert "Releases go out on Mondays" in here.wellkept("pages", "rules").out
    here.wellkept("pages", "--edit", kept["short"], "--to", "Releases go out on Tuesdays")
    page = here.wellkept("pages", "rules").out
    assert "Releases go out on Tuesdays" in page
    assert "Mondays" not in page
    here.wellkept("pages", "--write")
    (file,) = [f for f in here.repository.rglob("*.md") if "Tuesdays" in f.read_text()]
    file.write_text(file.read_text().replace("on Tuesdays", "on Wednesdays"))
    here.wellkept("pages", "--write")
    assert here.found("when do releases go out?")[0] == "Releases go out on Wednesdays"
