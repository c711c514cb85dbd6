"""The trail of a session: which calls are steps, and what is kept of them."""

from __future__ import annotations

import pytest

from tests.observe.telling import ROOT, Teller, folded
from wellkept.core.events import Event, ToolKind
from wellkept.observe.session.state import load_state

pytestmark = pytest.mark.feature("F9")


def trail_of(*events: Event) -> list[tuple[str, str, bool, str]]:
    steps = load_state(folded(events).session.work).steps
    return [(step.kind, step.what, step.ok, step.purpose) for step in steps]


def test_edits_and_commands_are_steps_and_looking_is_not() -> None:
    tell = Teller()
    steps = trail_of(
        tell.prompt("Do it"),
        tell.read(f"{ROOT}/a.py"),
        tell.search("x"),
        tell.run("ls -la && cat a.py"),
        tell.edit(f"{ROOT}/a.py", "x", "y"),
        tell.edit(f"{ROOT}/a.py", "y", "z"),
        tell.edit(f"{ROOT}/b.py", "", "new"),
        tell.edit("/elsewhere/c.py", "x", "y"),
        tell.run("cd /home/dev/shop && pytest -q"),
    )
    assert steps == [
        ("edit", "a.py", True, "other"),
        ("create", "b.py", True, "other"),
        ("run", "pytest -q", True, "test"),
    ]


def test_a_failure_keeps_the_line_that_names_it_and_a_script_its_main_command() -> None:
    tell = Teller()
    failed = tell.run("make deploy", error="Exit code 2\nError: no such host\nbye")
    script = tell.run("for f in *.py\ndo\n  ruff check $f\ndone")
    work = folded([tell.prompt("Go"), failed, script]).session.work
    first, second = load_state(work).steps
    assert (first.ok, first.error) == (False, "Error: no such host")
    assert "\n" not in second.what


def test_what_takes_work_back_is_a_step_although_it_only_looks() -> None:
    tell = Teller()
    assert trail_of(tell.run("git stash"), tell.run("git status")) == [
        ("run", "git stash", True, "look")
    ]


def test_tools_of_servers_and_skills_are_steps_by_their_names() -> None:
    tell = Teller()
    tool = tell.call("mcp__browser__click", ToolKind.MCP)
    skill = tell.call("Skill", ToolKind.OTHER, query="deploy")
    assert trail_of(tool, skill, tell.call("Other", ToolKind.OTHER)) == [
        ("tool", "mcp__browser__click", True, "other"),
        ("skill", "deploy", True, "other"),
    ]


def test_a_trail_holds_neither_texts_of_files_nor_secrets() -> None:
    tell = Teller()
    secret = "ghp_" + "a1B2c3D4e5" * 4
    work = folded(
        [
            tell.edit(f"{ROOT}/a.py", "before-text", f"token = '{secret}'"),
            tell.run(f"curl -H 'Authorization: Bearer {secret}' https://example.org"),
        ]
    ).session.work
    kept = repr(load_state(work).steps)
    assert secret not in kept
    assert "before-text" not in kept
