"""Known traps: refused edits, rules of commit hooks, absent programs, and dear ways out."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.observe.learning_steps import PROJECT, Work, take
from tests.observe.telling import ROOT
from wellkept.api.maintenance.delete_project import clear_project
from wellkept.core.records import replace
from wellkept.core.session.events import Edit, Event, ToolKind
from wellkept.memory.engine import Engine
from wellkept.observe.failures.traps import Trap, known_traps, read_traps, traps_for_file
from wellkept.text.events.refused_edits import other_indentation, refused_mark

pytestmark = pytest.mark.feature("D11")

REFUSED = "<tool_use_error>String to replace not found in file.\nString: x</tool_use_error>"
LINT = (
    "[STARTED] package.json — 1 file\n[FAILED] markdownlint --fix [FAILED]\n"
    "/repo/docs/plan.md:26 error {rule} Something should be otherwise\n"
    "husky - pre-commit script failed (code 1)"
)


def edit(w: Work, path: str, before: str, *, error: str | None = None) -> Event:
    return w.call(
        "Edit",
        ToolKind.EDIT,
        files=(path,),
        edits=(Edit(path, before, before.replace("old", "new")),),
        error=error,
    )


def told(engine: Engine) -> list[Trap]:
    return known_traps(engine, project=PROJECT)


def refused_then_right(day: int, path: str = "src/cart.ts") -> list[Event]:
    w = Work(day)
    return [
        w.start(),
        edit(w, path, "\treturn oldTotal(cart);", error=REFUSED),
        edit(w, path, "\t\treturn oldTotal(cart);"),
    ]


def failed_commit(engine: Engine, day: int, rule: str) -> None:
    w = Work(day)
    take(engine, [w.start(), w.run("git commit -m x", LINT.format(rule=rule), error="Exit code 1")])


def test_edits_refused_for_their_tabs_are_a_trap_of_that_kind_of_file(engine: Engine) -> None:
    take(engine, refused_then_right(1))
    assert told(engine) == []
    take(engine, refused_then_right(2))
    (trap,) = told(engine)
    assert "`*.ts` are indented with tabs" in trap.line
    assert "2 failed edits" in trap.line
    assert trap.files == ("*.ts",)
    assert traps_for_file(engine, project=PROJECT, file="lib/deep/order.ts") == [trap]
    assert traps_for_file(engine, project=PROJECT, file="lib/order.py") == []


def test_an_edit_refused_for_other_words_is_no_trap(engine: Engine) -> None:
    for day in (1, 2):
        w = Work(day)
        wrong = edit(w, "a.ts", "\treturn wrongName(cart);", error=REFUSED)
        take(engine, [w.start(), wrong, edit(w, "a.ts", "\treturn oldTotal(cart);")])
    assert told(engine) == []


def test_an_edit_of_a_file_that_was_not_read_leaves_no_mark() -> None:
    assert refused_mark("File has not been read yet.", "\tsome old line") == ""
    assert refused_mark("Found 2 matches of the string to replace", "\tsome old line") == ""
    mark = refused_mark(REFUSED, "some old line\nother line here")
    assert other_indentation(mark, "    some old line") == "spaces"
    assert other_indentation(mark, "some old line") is None
    assert other_indentation("", "\tsome old line") is None


def test_rules_of_a_commit_hook_are_one_trap_for_that_kind_of_file(engine: Engine) -> None:
    failed_commit(engine, 1, "MD040/fenced-code-language")
    assert told(engine) == []
    failed_commit(engine, 2, "MD025/single-title")
    (trap,) = traps_for_file(engine, project=PROJECT, file="notes/new.md")
    assert "MD040 fenced-code-language, MD025 single-title" in trap.line
    assert traps_for_file(engine, project=PROJECT, file="notes/new.txt") == []


def test_rules_for_commit_messages_are_tied_to_the_commit(engine: Engine) -> None:
    for day in (1, 2):
        w = Work(day)
        output = "⧗   input: Add it\n✖   subject must not be sentence-case [subject-case]\n"
        take(engine, [w.start(), w.run("git commit -m 'Add it'", output, error="Exit code 1")])
    (trap,) = told(engine)
    assert (trap.commands, trap.files) == (("git commit",), ())
    assert "subject-case" in trap.text


def test_a_lint_run_is_no_hook(engine: Engine) -> None:
    for day in (1, 2):
        w = Work(day)
        output = LINT.format(rule="MD040/fenced-code-language")
        take(engine, [w.start(), w.run("npx markdownlint docs", output, error="Exit code 1")])
    assert told(engine) == []


def test_a_program_that_is_not_there_is_a_trap_until_it_is(engine: Engine) -> None:
    for day in (1, 2):
        w = Work(day)
        failed = w.run("docker ps", "zsh: command not found: docker", error="Exit code 127")
        take(engine, [w.start(), failed])
    (trap,) = told(engine)
    assert trap.text == "`docker` is not installed here"
    w = Work(3)
    take(engine, [w.start(), w.run("docker ps", "CONTAINER ID")])
    assert told(engine) == []


def test_what_a_script_misses_is_not_a_program_that_was_called(engine: Engine) -> None:
    for day in (1, 2):
        w = Work(day)
        take(engine, [w.start(), w.run("npm run x", "sh: foo: not found", error="Exit code 127")])
    assert told(engine) == []


def test_dear_traps_come_before_frequent_ones(engine: Engine) -> None:
    for day in (1, 2):
        w = Work(day)
        cause = "error: unrecognized subcommand 'bun'"
        cheap = [w.run("rtk bun test", cause, error="2"), w.run("bun test", "12 pass\n0 fail")]
        refused = "Error: connect ECONNREFUSED 127.0.0.1:5432"
        dear = [w.run("npm run seed", refused, error="1"), w.run("DB_HOST=db npm run seed", "done")]
        late = replace(dear[1].origin, at=dear[1].origin.at + timedelta(minutes=2))
        take(engine, [w.start(), *cheap, dear[0], replace(dear[1], origin=late)])
    traps = told(engine)
    assert [trap.commands for trap in traps] == [("npm",), ("rtk",)]
    assert traps[0].cost_s > traps[1].cost_s
    assert all(trap.memory_id for trap in traps)


def test_git_called_in_a_way_that_is_refused(engine: Engine) -> None:
    cause = "error: unexpected argument '-C' found"
    for day in (1, 2):
        w = Work(day)
        failed = w.run(f"git -C {ROOT} status", cause, error="Exit code 2")
        take(engine, [w.start(), failed, w.run("git status", "clean")])
    (trap,) = told(engine)
    assert "`git -C . status` fails" in trap.text
    assert "Worked instead: `git status`" in trap.text


def test_deleting_a_project_forgets_its_traps(engine: Engine) -> None:
    take(engine, refused_then_right(1))
    assert read_traps(engine.store, PROJECT).counts
    clear_project(engine.store, PROJECT, dry_run=False)
    assert read_traps(engine.store, PROJECT).counts == ()


def test_a_value_of_another_version_is_read_as_none(engine: Engine) -> None:
    engine.store.put_value("traps", PROJECT, {"counts": [{"strange": 1}]})
    assert told(engine) == []
