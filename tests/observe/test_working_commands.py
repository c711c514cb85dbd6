"""Commands that work here: counted by form, told from the second session, until they fail."""

from __future__ import annotations

import pytest

from tests.observe.learning_steps import PROJECT, Work, take
from wellkept.api.maintenance.delete_project import clear_project
from wellkept.memory.engine import Engine
from wellkept.observe.failures.command_forms import command_form, shown
from wellkept.observe.failures.working_commands import (
    WorkingCommand,
    read_counts,
    working_commands,
)
from wellkept.text.shell.reader import main_command, parse_command

pytestmark = pytest.mark.feature("D11")

PASSED = "===== 12 passed in 0.40s ====="
REFUSED = "Error: connect ECONNREFUSED 127.0.0.1:5432"


def run(engine: Engine, day: int, *lines: str) -> None:
    w = Work(day)
    take(engine, [w.start(), *(w.run(line, PASSED) for line in lines)])


def told(engine: Engine) -> list[WorkingCommand]:
    return working_commands(engine, project=PROJECT)


def form_text(line: str, folder: str | None = "") -> str | None:
    command = main_command(parse_command(line))
    assert command is not None
    form = command_form(command, folder=folder if not command.folder else command.folder)
    return None if form is None else shown(form, [() for _ in form.values])


def test_a_command_is_told_from_the_second_session_with_environment_and_folder(
    engine: Engine,
) -> None:
    line = "cd apps/api && DB_HOST=db npx jest --testPathPattern=cart 2>&1 | tail -20"
    run(engine, 1, line)
    assert told(engine) == []
    run(engine, 2, line)
    (entry,) = told(engine)
    assert entry.command == "cd apps/api && DB_HOST=db npx jest --testPathPattern=cart"
    assert (entry.kind, entry.session_count, entry.runs) == ("test", 2, 2)
    assert entry.text.startswith(f"`{entry.command}` (2 sessions, last {entry.worked_at.date()}")
    assert entry.sessions == ("session-001", "session-002")


def test_a_value_becomes_a_placeholder_only_when_several_were_seen(engine: Engine) -> None:
    for day, name in enumerate(("cart", "cart", "order"), start=1):
        run(engine, day, f"cd apps/api && npx jest --testPathPattern={name}")
        if day == 2:
            assert told(engine)[0].command.endswith("--testPathPattern=cart")
    assert told(engine)[0].command == "cd apps/api && npx jest --testPathPattern=X"


def test_folders_are_relative_to_the_project_also_when_a_session_names_them_absolutely(
    engine: Engine,
) -> None:
    root = Work(1).start().origin.cwd
    run(engine, 1, f"cd {root}/web && npm run build")
    run(engine, 2, "cd web && npm run build")
    assert [entry.command for entry in told(engine)] == ["cd web && npm run build"]


def test_what_anybody_would_guess_is_only_listed_on_request(engine: Engine) -> None:
    for day in (1, 2):
        run(engine, day, "npm test")
    assert told(engine) == []
    (plain,) = working_commands(engine, project=PROJECT, with_plain=True)
    assert (plain.command, plain.is_plain) == ("npm test", True)


def test_a_command_that_stops_working_is_not_told_until_it_works_again(engine: Engine) -> None:
    line = "cd apps/api && npm run dev"
    for day in (1, 2):
        run(engine, day, line)
    w = Work(3)
    take(engine, [w.start(), w.run(line, REFUSED, error="Exit code 1")])
    assert told(engine) == []
    run(engine, 4, line)
    assert [entry.session_count for entry in told(engine)] == [3]


def test_a_failing_test_does_not_speak_against_the_command(engine: Engine) -> None:
    line = "cd apps/api && npx jest"
    for day in (1, 2):
        run(engine, day, line)
    w = Work(3)
    take(engine, [w.start(), w.run(line, "● cart › adds\n\nTests: 1 failed, 2 passed", error="1")])
    assert len(told(engine)) == 1


def test_the_form_that_fails_is_told_with_the_one_that_replaced_it(engine: Engine) -> None:
    failing = "pnpm --filter api test -- --testPathPattern=cart"
    for day in (1, 2):
        w = Work(day)
        nothing = w.run(failing, "No tests found, exiting with code 0")
        works = w.run("cd apps/api && npx jest --testPathPattern=cart", "Tests: 3 passed, 3 total")
        take(engine, [w.start(), nothing, works])
    (entry,) = told(engine)
    assert entry.fails == failing
    assert entry.memory_id is not None
    assert "No tests found" in entry.text


@pytest.mark.parametrize(
    "line",
    [
        "ls -la", "git push origin main", "rm -rf build", "curl -s localhost:3000", "mkdir -p x",
        "python -c 'print(1)'", "git commit -m x", "npm test --no-verify", "sudo make install",
        "npx jest --help", "pytest /tmp/scratch/test_x.py", "npm install left-pad",
        "pytest $FILES", "HUSKY=0 npm run release",
    ],
)  # fmt: skip
def test_one_off_commands_and_permissions_have_no_form(line: str) -> None:
    command = main_command(parse_command(line))
    assert command is None or command_form(command, folder="") is None


@pytest.mark.parametrize(
    ("line", "form"),
    [
        ("pnpm --filter api test -- cart.spec", "pnpm --filter api test -- X"),
        ("uv run pytest -q tests/a.py tests/b.py", "uv run pytest -q X"),
        (".venv/bin/pytest tests/a.py", ".venv/bin/pytest X"),
        ("gh pr checks 183", "gh pr checks X"),
        ("docker compose -f dev.yml up -d", "docker compose -f dev.yml up -d"),
        ("go test ./... -run TestCart", "go test X -run X"),
        ("make -C services/api test", "make -C services/api test"),
        ("python manage.py migrate", "python manage.py migrate"),
        ("cargo test --package core cart", "cargo test --package core X"),
    ],
)
def test_forms(line: str, form: str) -> None:
    assert form_text(line) == form


def test_a_pattern_keeps_the_quotes_it_was_given(engine: Engine) -> None:
    for day in (1, 2):
        run(engine, day, "python -m unittest discover -s checks -p '*_check.py'")
    (entry,) = told(engine)
    assert entry.command == "python -m unittest discover -s checks -p '*_check.py'"


def test_what_ran_after_a_step_that_prepares_is_not_told_alone(engine: Engine) -> None:
    for day in (1, 2):
        run(engine, day, "./tools/fixtures.sh && .venv/bin/pytest -q tests/report")
    assert all("pytest" not in entry.command for entry in told(engine))


def test_a_folder_that_is_not_known_gives_no_form() -> None:
    assert form_text("npx jest", folder=None) is None


def test_the_number_of_forms_is_bounded_and_those_of_several_sessions_stay(engine: Engine) -> None:
    for day in (1, 2):
        run(engine, day, "cd apps/api && npx jest")
    w = Work(3)
    take(engine, [w.start(), *(w.run(f"make -C part{n} test", PASSED) for n in range(260))])
    counts = read_counts(engine.store, PROJECT)
    assert len(counts.forms) == 200
    assert [entry.command for entry in told(engine)] == ["cd apps/api && npx jest"]


def test_counting_a_session_twice_is_counting_it_once(engine: Engine) -> None:
    w = Work(1)
    take(engine, [w.start(), w.run("cd a && npx jest", PASSED)])
    take(engine, [w.run("cd a && npx jest", PASSED)])
    (count,) = read_counts(engine.store, PROJECT).forms
    assert (count.session_count, count.runs) == (1, 2)


def test_a_value_of_another_version_is_read_as_none(engine: Engine) -> None:
    engine.store.put_value("commands", PROJECT, {"forms": [{"strange": 1}]})
    assert told(engine) == []
    run(engine, 1, "npm test")
    assert len(read_counts(engine.store, PROJECT).forms) == 1


def test_deleting_a_project_forgets_its_commands(engine: Engine) -> None:
    run(engine, 1, "npm test")
    clear_project(engine.store, PROJECT, dry_run=False)
    assert read_counts(engine.store, PROJECT).forms == ()
