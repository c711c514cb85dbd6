"""The step log of a session: which calls are steps, and what is kept of them."""

from __future__ import annotations

import pytest

from tests.observe.telling import ROOT, Teller, folded
from wellkept.core.session.events import Edit, Event, ToolKind
from wellkept.core.session.steps import MAX_COMMAND_CHARS, MAX_STEPS, SessionStep
from wellkept.observe.session.state import load_state

pytestmark = pytest.mark.feature("F9")


def acts_of(*events: Event) -> tuple[SessionStep, ...]:
    return tuple(step for step in log_of(*events) if step.is_act)


def log_of(*events: Event) -> tuple[SessionStep, ...]:
    return load_state(folded(events).session.work).steps


def trail_of(*events: Event) -> list[tuple[str, str, bool, str]]:
    return [(step.kind, step.what, step.ok, step.purpose) for step in acts_of(*events)]


def test_edits_and_commands_are_acts_and_looking_is_not() -> None:
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
    first, second = acts_of(tell.prompt("Go"), failed, script)
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


@pytest.mark.parametrize(
    ("line", "folder", "what"),
    [
        ("X=1 poetry run pytest -q", "", "pytest -q"),
        ("cd apps/api && npx jest --testPathPattern=x", "apps/api", "jest --testPathPattern=x"),
        ("cd apps/api\nmake build", "apps/api", "make build"),
        (f"cd {ROOT}/web && npm test", "web", "npm test"),
        ("cd /elsewhere && make", None, "make"),
        ("for f in a b; do\n  ruff check $f\ndone", "", "ruff check $f"),
    ],
)
def test_a_step_keeps_the_full_command_and_its_folder(
    line: str, folder: str | None, what: str
) -> None:
    (step,) = log_of(Teller().run(line))
    assert (step.command, step.folder, step.what) == (line, folder, what)


def test_a_step_is_numbered_and_knows_its_prompt_agent_and_time() -> None:
    tell = Teller()
    first, second = acts_of(
        tell.prompt("Go"),
        tell.read(f"{ROOT}/a.py"),
        tell.run("make one"),
        tell.prompt("More"),
        tell.run("make two", error="Exit code 2\nError: no rule", agent="sub"),
    )
    assert (first.number, first.prompt, first.agent, first.ok) == (2, 1, None, True)
    assert (second.number, second.prompt, second.agent, second.ok) == (3, 2, "sub", False)
    assert second.error == "Error: no rule"
    assert second.at_ms - first.at_ms == 2_000


def test_failed_reads_and_edits_are_steps_that_wrote_nothing() -> None:
    tell = Teller()
    edit = (Edit(f"{ROOT}/a.py", "x", "y"),)
    steps = acts_of(
        tell.call("Read", ToolKind.READ, files=(f"{ROOT}/gone.py",), error="File does not exist"),
        tell.call("Edit", ToolKind.EDIT, edits=edit, error="String to replace not found"),
        tell.run(
            "cat missing.txt", error="Exit code 1\ncat: missing.txt: No such file or directory"
        ),
        tell.run("grep -c x a.py", error="Exit code 1"),
    )
    assert [(s.kind, s.what, s.ok) for s in steps] == [
        ("read", "gone.py", False),
        ("edit", "a.py", False),
        ("read", "cat missing.txt", False),
    ]
    assert not any(step.is_edit for step in steps)


def test_the_log_is_bounded_and_repeated_steps_are_counted() -> None:
    tell = Teller()
    steps = log_of(*(tell.run("make x " + "y" * 5_000) for _ in range(3)))
    assert [(step.count, step.number) for step in steps] == [(3, 3)]
    assert len(steps[0].command) <= MAX_COMMAND_CHARS
    assert len(log_of(*(tell.run(f"make {n}") for n in range(MAX_STEPS + 9)))) == MAX_STEPS
