"""Confidence, relations, work units, maintenance and index rows from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import wellkept
from tests.app.git_repositories import GitRepository
from tests.cli.conftest import Cli
from wellkept.api.cli.system.maintenance import start_maintenance
from wellkept.core.types import TYPE_RULES, MemoryType


def keep(cli: Cli, text: str, *options: str) -> str:
    """Remember something as an agent would, and return its short id."""
    kept = cli("remember", text, "--source", "agent_explicit", "--json", *options)
    assert kept.code == 0, kept.err
    return str(kept.json["memory"]["short"])


@pytest.mark.feature("A7")
def test_confidence_travels_along_relations_and_can_be_previewed(cli: Cli) -> None:
    one, other = keep(cli, "The cache is keyed by tenant"), keep(cli, "Tenants share one Redis")
    assert cli("relate", one, "derived_from", other).code == 0
    preview = cli("confidence", one, "0.2", "--dry-run", "--json").json
    assert cli("show", other, "--json").json["items"][0]["memory"]["confidence"] == 0.8
    done = cli("confidence", one, "0.2", "--json").json
    assert done["confidence"] == preview["confidence"]
    assert [item["after"] for item in done["confidence"]] == pytest.approx([0.2, 0.5])
    assert cli("show", other, "--json").json["items"][0]["memory"]["confidence"] == pytest.approx(
        0.5
    )


@pytest.mark.feature("A7")
def test_an_edit_of_confidence_is_felt_too_and_a_bad_one_changes_nothing(cli: Cli) -> None:
    one, other = keep(cli, "The cache is keyed by tenant"), keep(cli, "Tenants share one Redis")
    cli("relate", one, "validates", other)
    assert cli("edit", one, "--confidence", "8", "--tag", "new").code == 2
    assert cli("show", one, "--json").json["items"][0]["memory"]["tags"] == []
    assert cli("edit", one, "--confidence", "0.3", "--tag", "new").code == 0
    assert cli("show", one, "--json").json["items"][0]["memory"]["tags"] == ["new"]
    assert cli("show", other, "--json").json["items"][0]["memory"]["confidence"] == pytest.approx(
        0.5
    )


@pytest.mark.feature("A7")
def test_a_relation_is_kept_once_for_each_target(cli: Cli) -> None:
    one, other = keep(cli, "The cache is keyed by tenant"), keep(cli, "Tenants share one Redis")
    cli("relate", one, "validates", other)
    cli("relate", one, "validates", other, "--confidence", "0.5")
    cli("edit", one, "--relate", "required_with", "--to-file", "src/cache.py")
    relations = cli("show", one, "--json").json["items"][0]["memory"]["relations"]
    assert [(r["type"], r["confidence"]) for r in relations] == [
        ("validates", 0.5),
        ("required_with", 1.0),
    ]
    assert cli("relate", one, "validates", one).code == 2
    assert cli("relate", one, "validates", "nothing").code == 3


@pytest.mark.feature("A6")
def test_a_finished_work_unit_is_archived_with_what_lies_below_it(cli: Cli) -> None:
    below = keep(cli, "Half done", "--work-unit", "native:spec-7/story-2", "--scope", "work_unit")
    keep(cli, "Other", "--work-unit", "native:spec-8", "--scope", "work_unit")
    assert cli("session", "archive", "native", "spec-7", "--dry-run").code == 0
    assert cli("list", "--archived", "--json").json["total"] == 0
    (done,) = cli("session", "archive", "native", "spec-7", "--json").json["ids"]
    assert below in cli("show", done).out
    assert cli("list", "--archived", "--json").json["total"] == 1
    assert cli("recall", "half done", "--json").json["hits"] == []
    assert cli("remember", "x", "--work-unit", "spec-9").code == 2


@pytest.mark.feature("A6")
def test_opening_a_project_keeps_it_up_once_a_day(cli: Cli) -> None:
    Path("here.py").touch()
    keep(cli, "About two files", "--file", "here.py", "--file", "gone.py")
    keep(cli, "Hardly matters", "--importance", "0.05")
    assert cli("context").code == 0
    assert cli("stats", "--json").json["stale"] == 1
    keep(cli, "About another file", "--file", "gone.py")
    assert cli("context").code == 0
    assert cli("maintain", "--if-due", "--json").json["notes"] == ["Not due."]
    assert cli("stats", "--json").json["stale"] == 1
    assert cli("list", "--json").json["total"] == 3


@pytest.mark.feature("A6")
def test_a_large_project_is_kept_up_by_a_process_of_its_own(cli: Cli) -> None:
    Path("here.py").touch()
    keep(cli, "About two files", "--file", "here.py", "--file", "gone.py")
    with wellkept.open(project="demo", embedder="none") as wk:
        assert wk.maintenance_is_due()
        assert start_maintenance(wk).wait() == 0
        assert not wk.maintenance_is_due()
        assert wk.stats().stale == 1


@pytest.mark.feature("A5")
@pytest.mark.parametrize("command", ["prune", "compact", "maintain", "decay", "refresh"])
def test_a_real_run_never_calls_itself_a_dry_one(cli: Cli, command: str) -> None:
    keep(cli, "Something")
    yes = ["--yes"] if command in ("prune", "compact") else []
    assert cli(command, "--json", *yes).json["dry_run"] is False


@pytest.mark.feature("A5")
def test_what_hardly_moves_is_counted_not_listed(cli: Cli) -> None:
    keep(cli, "Something")
    assert cli("decay", "--dry-run").out == ""


@pytest.mark.feature("B5")
def test_recall_gives_index_rows_with_what_reading_costs(cli: Cli) -> None:
    short = keep(cli, "The cache is keyed by tenant", "--work-tokens", "900")
    rows = cli("recall", "cache", "--index", "--no-count-access").out
    assert rows.startswith(short)
    long = keep(cli, "The queue is slow.\nIt waits for each write to reach the disk, one by one.")
    assert " tokens)" in cli("recall", "queue", "--brief").out
    assert long in cli("recall", "queue", "--quiet").out
    assert cli("show", short, "--json").json["items"][0]["memory"]["access_count"] == 0
    assert cli("recall", "zebra", "--index").code == 1


@pytest.mark.feature("B9")
def test_what_belongs_to_one_session_is_offered_to_that_session_alone(cli: Cli) -> None:
    keep(cli, "The branch here is wip-tariffs", "--scope", "session", "--session", "s1")
    assert cli("context", "the branch wip-tariffs", "--json").json["text"] == ""
    assert cli("context", "the branch wip-tariffs", "--session", "s2", "--json").json["text"] == ""
    assert (
        "wip" in cli("context", "the branch wip-tariffs", "--session", "s1", "--json").json["text"]
    )


@pytest.mark.feature("A2")
@pytest.mark.parametrize(
    "type", [t.value for t, rule in TYPE_RULES.items() if rule.payload_required]
)
def test_a_type_that_needs_a_payload_says_which_fields_it_has(cli: Cli, type: str) -> None:
    refused = cli("remember", "x", "--type", type)
    assert refused.code == 2
    payload = TYPE_RULES[MemoryType(type)].payload
    assert payload is not None
    assert f"needs a {payload.__name__} payload" in refused.err
    assert "Its fields: " in refused.err


@pytest.mark.feature("A2")
def test_a_payload_can_be_given_anew_and_with_a_new_type(cli: Cli) -> None:
    keep(cli, "We keep one file", "--key", "file")
    cli("edit", "file", "--type", "decision", "--payload", '{"rationale": "no server"}')
    cli("edit", "file", "--payload", '{"rationale": "simple"}')
    memory = cli("show", "file", "--json").json["items"][0]["memory"]
    assert (memory["type"], memory["payload"]["rationale"]) == ("decision", "simple")
    assert cli("edit", "file", "--payload", '{"reason": "simple"}').code == 2


VALID_PAYLOADS = {
    "fact": {"framework": "langgraph", "name": "food"},
    "decision": {"rationale": "r", "alternatives": ["a"]},
    "error_pattern": {"error": "E", "fix": "f"},
    "prefetch_pattern": {"module_trigger": "auth", "always_read_files": ["a.py"]},
    "work_state": {"methodology_state": {"step": 3}},
    "causal_dependency": {"trigger_file": "a.py", "dependent_files": ["b.py"]},
    "task_calibration": {
        "module": "m",
        "methodology": "native",
        "average_actual_steps": 3,
        "average_planned_steps": 2,
        "ratio": 1.5,
        "sample_count": 2,
    },
    "e2e_observation": {"observation_type": "timing", "mcp_tool": "click"},
    "dead_end": {"approach_tried": "a", "why_it_failed": "b"},
    "work_unit_outcome": {"succeeded": True},
    "workflow_recipe": {"task_pattern": "add a handler", "steps": [{"description": "edit"}]},
    "context_cost": {
        "module": "m",
        "average_tokens_per_session": 1,
        "p90_tokens_per_session": 2,
        "sample_count": 1,
    },
    "timeline": {"request": "r"},
    "episode": {"outcome": "success", "task": "t"},
    "observation": {"kind": "bugfix", "title": "t"},
    "prompt": {"number": 1},
}


@pytest.mark.feature("A2")
@pytest.mark.parametrize("type", list(MemoryType))
def test_every_type_is_kept_with_its_payload_and_refuses_another(
    cli: Cli, type: MemoryType
) -> None:
    payload = VALID_PAYLOADS.get(type.value)
    assert (payload is None) == (TYPE_RULES[type].payload is None)
    given = ["--payload", json.dumps(payload)] if payload else []
    kept = cli("remember", "something", "--type", type.value, "--json", *given)
    assert kept.code == 0, kept.err
    stored = cli("show", kept.json["memory"]["short"], "--json").json["items"][0]["memory"][
        "payload"
    ]
    assert (payload or {}).items() <= (stored or {}).items() or type.value == "workflow_recipe"
    assert cli("remember", "x", "--type", type.value, "--payload", '{"no_such": 1}').code == 2


@pytest.mark.feature("A3")
def test_projects_speak_json_with_and_without_list(cli: Cli) -> None:
    keep(cli, "something")
    assert cli("projects", "--json").json == cli("projects", "list", "--json").json


@pytest.mark.feature("A1")
def test_every_part_that_can_be_said_is_shown(cli: Cli) -> None:
    keep(cli, "x", "--key", "x", "--half-life", "3", "--citation", "the x", "--commit", "abc123")
    cli("edit", "x", "--half-life", "4")
    shown = cli("show", "x", "--full").out
    assert "half life days: 4" in shown
    assert "citation: the x" in shown
    assert "commit sha: abc123" in shown


@pytest.mark.feature("A8")
def test_an_unclear_wish_to_forget_says_that_nothing_was_forgotten(cli: Cli) -> None:
    keep(cli, "Deploys go to staging")
    keep(cli, "Deploys need a ticket")
    unclear = cli("apply", "forget the rule about deploys")
    assert "Nothing was forgotten" in unclear.out
    assert cli("list", "--json").json["total"] == 2
    assert "Nothing known" in cli("apply", "what do you remember about Mars?").out


@pytest.mark.feature("A1", "A3")
def test_a_folder_kept_apart_is_shown_what_it_would_see_and_joined(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WELLKEPT_PROJECT")
    for name in ("first", "second"):
        made = GitRepository.create(tmp_path / name)
        made.commit(name, a=name)
        made.git("remote", "add", "origin", "https://github.com/acme/widget")
    monkeypatch.chdir(tmp_path / "first")
    keep(cli, "The parser is slow")
    monkeypatch.chdir(tmp_path / "second")
    assert cli("list", "--json").json["total"] == 0
    assert "kept apart" in cli("projects").err
    assert "kept apart" in cli("doctor").out
    assert cli("project", "join").code == 2  # asks, and there is no terminal
    preview = cli("project", "join", "--dry-run")
    assert "The parser is slow" in preview.out
    assert "Would join git:github.com/acme/widget" in preview.out
    assert cli("list", "--json").json["total"] == 0
    joined = cli("projects", "join", "--yes", "--json").json
    assert (joined["project"], joined["dry_run"]) == ("git:github.com/acme/widget", False)
    assert joined["seen"]["memories"] == 1
    assert cli("list", "--json").json["total"] == 1
    assert "kept apart" not in cli("projects").err


@pytest.mark.feature("A3", "A10")
def test_a_forbidden_setting_of_a_checkout_is_ignored_aloud(cli: Cli) -> None:
    Path(".wellkept.toml").write_text("[store]\npath = '/tmp/elsewhere.db'\n", encoding="utf-8")
    kept = cli("remember", "The parser is slow")
    assert kept.code == 0
    assert "may not set 'store.path'" in kept.err
    assert "may not set 'store.path'" in cli("doctor").out
