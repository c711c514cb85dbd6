"""The way out of a failure: what differed between a failed command and the one that worked."""

from __future__ import annotations

import pytest

from wellkept.core.records import replace
from wellkept.core.session.steps import SessionStep
from wellkept.observe.failures.episodes import way_outs_of
from wellkept.observe.failures.intent import Change, relation
from wellkept.observe.failures.lessons import is_same_command, is_same_failure, signature
from wellkept.observe.failures.way_out import Attempt, WayOut, compare
from wellkept.text.events.failure_cause import cause_line, failure_cause
from wellkept.text.shell.reader import ShellCommand, main_command, parse_command

pytestmark = pytest.mark.feature("D11")


def command(line: str) -> ShellCommand:
    found = main_command(parse_command(line))
    assert found is not None, line
    return found


def attempt(line: str, cause: str | None = None, folder: str = "") -> Attempt:
    one = command(line)
    return Attempt(command=one, folder=folder or (one.folder or ""), cause=cause)


def lesson(
    failed: str,
    cause: str,
    worked: str,
    *,
    edited: bool = False,
    between: str = "",
    folder: str = "",
) -> WayOut | None:
    return compare(
        attempt(failed, cause, folder),
        attempt(worked),
        edited=edited,
        between=parse_command(between) if between else (),
    )


# -- Causes ---------------------------------------------------------------------------------------

OUTPUTS = [
    ("error: unrecognized subcommand 'bun'\n\nUsage: rtk [OPTIONS] <COMMAND>\n\nFor more information, try '--help'.", "error: unrecognized subcommand 'bun'"),
    ("Exit code 2\nSHIP_REGION is not set\nmake: *** [Makefile:3: ship] Error 3", "SHIP_REGION is not set"),
    ("npm ERR! code ELIFECYCLE\nnpm ERR! errno 1\nError: connect ECONNREFUSED 127.0.0.1:5432\nnpm ERR! A complete log of this run", "Error: connect ECONNREFUSED 127.0.0.1:5432"),
    ("[STARTED] Running tasks\n[COMPLETED] Running tasks\nfatal: Unable to create '/x/.git/index.lock': File exists.\nhusky - pre-commit script failed (code 1)", "fatal: Unable to create '/x/.git/index.lock': File exists."),
    ("Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\nModuleNotFoundError: No module named 'yaml'", "ModuleNotFoundError: No module named 'yaml'"),
    ("undefined\n ERR_PNPM_RECURSIVE_EXEC_FIRST_FAIL  Command \"biome\" not found", "ERR_PNPM_RECURSIVE_EXEC_FIRST_FAIL  Command \"biome\" not found"),
    ("src/a.ts(3,1): error TS2339: Property 'x' does not exist on type 'Y'.\nFound 1 error.", "src/a.ts(3,1): error TS2339: Property 'x' does not exist on type 'Y'."),
    ("make: *** No rule to make target 'unit'.  Stop.", "make: *** No rule to make target 'unit'.  Stop."),
    ("\x1b[31mError: port 3000 is in use\x1b[0m", "Error: port 3000 is in use"),
]  # fmt: skip


@pytest.mark.parametrize(("output", "cause"), OUTPUTS)
def test_the_cause_is_the_line_that_names_it_and_not_a_wrappers(output: str, cause: str) -> None:
    assert cause_line(output) == cause


@pytest.mark.parametrize(
    ("line", "output", "error", "failed"),
    [
        ("pytest -q", "1 passed in 0.1s", None, False),
        ("pytest -q", "collected 0 items\n\nno tests ran in 0.01s", None, True),
        ("pnpm test -- --testPathPattern=x", "No tests found, exiting with code 0", None, True),
        (
            "pytest -q | tail -3",
            "FAILED tests/a.py::test_x - assert 1\n1 failed in 0.2s",
            None,
            True,
        ),
        ("bun test | tail -3", " 12 pass\n 0 fail\nRan 12 tests", None, False),
        ("cargo build 2>&1 | tail -5", "error[E0425]: cannot find value `x`", None, True),
        ("cargo build", "warning: unused error variable", None, False),
        ("make ship", "", "Exit code 2\nSHIP_REGION is not set", True),
        ("ls nowhere", "", "ls: nowhere: No such file or directory", False),
        ("make ship", "", "The user doesn't want to proceed with this tool use.", False),
        ("make ship", "", "<tool_use_error>Sibling tool call errored</tool_use_error>", False),
    ],
)
def test_failure_is_wider_than_the_exit_code(
    line: str, output: str, error: str | None, failed: bool
) -> None:
    assert (failure_cause(parse_command(line), output, error) is not None) is failed


def test_huge_and_hostile_output_is_read_in_bounded_time() -> None:
    flood = "error " * 400_000
    assert failure_cause(parse_command("make x"), flood, "Exit code 1") is not None
    assert cause_line("=" * 500_000 + "\n" + "(" * 500_000) is None


# -- What differed --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failed", "cause", "worked", "change"),
    [
        ("make ship", "SHIP_REGION is not set", "SHIP_REGION=eu-west make ship", Change.ENVIRONMENT),
        ("rtk bun run test", "error: unrecognized subcommand 'bun'", "bun run test", Change.WRAPPER),
        ("pytest -q", "pytest: command not found", ".venv/bin/pytest -q", Change.PROGRAM),
        ("python x.py", "python: command not found", "python3 x.py", Change.PROGRAM),
        ("pytest tests/a.py", "No module named 'app'", "uv run pytest tests/a.py", Change.WRAPPER),
        ("git -C /repo pull --all", "error: unexpected argument '-C' found", "git pull --all", Change.OPTION),
        ("pnpm install", "Cannot install with \"frozen-lockfile\"", "pnpm install --no-frozen-lockfile", Change.OPTION),
        ("gh pr comment 1 --repo me/box", "Could not resolve to a Repository with the name 'me/box'.", "gh pr comment 1 --repo them/box", Change.VALUE),
        ("pnpm exec biome check a.ts", "Command \"biome\" not found", "npx biome check a.ts", Change.PROGRAM),
        ("pnpm add x@workspace:*", "zsh: no matches found: x@workspace:*", "pnpm add 'x@workspace:*'", Change.QUOTING),
        ("pnpm --filter api test -- --testPathPattern=otp", "No tests found, exiting with code 0", "npx jest --testPathPattern=otp", Change.COMMAND),
        ("python -m unittest", "Ran 0 tests in 0.000s", "python -m unittest discover -s checks", Change.COMMAND),
    ],
)  # fmt: skip
def test_what_differed_is_the_lesson(failed: str, cause: str, worked: str, change: Change) -> None:
    found = lesson(failed, cause, worked)
    assert found is not None
    assert found.change is change
    assert found.worked == worked


def test_another_folder_is_part_of_the_command_that_worked() -> None:
    found = compare(
        attempt("npx jest a", "Can't find a root directory: no such file or directory"),
        attempt("npx jest a", folder="apps/api"),
        edited=False,
    )
    assert found is not None
    assert (found.change, found.worked) == (Change.FOLDER, "cd apps/api && npx jest a")


def test_a_target_that_make_does_not_know_here_can_be_known_in_another_folder() -> None:
    found = compare(
        attempt("make unit", "make: *** No rule to make target 'unit'.  Stop."),
        attempt("make unit", folder="services/api"),
        edited=False,
    )
    assert found is not None
    assert (found.change, found.worked) == (Change.FOLDER, "cd services/api && make unit")


def test_a_setup_step_in_between_is_the_way_out() -> None:
    cause = "Error: Cannot find module 'express'"
    found = lesson("npm run dev", cause, "npm run dev", between="npm ci")
    assert found is not None
    assert (found.change, found.new) == (Change.SETUP, ("npm ci",))
    assert lesson("npm run dev", cause, "npm run dev", between="ls && cat package.json") is None


def test_a_script_of_the_project_can_be_the_step_before() -> None:
    cause = "FileNotFoundError: no such file or directory: 'fixtures/rates.json'"
    found = lesson("make report", cause, "make report", between="./tools/rates.sh")
    assert found is not None
    assert (found.change, found.new) == (Change.SETUP, ("./tools/rates.sh",))
    assert lesson("make report", cause, "make report", between="python -c 'print(1)'") is None


def test_a_run_without_tests_names_its_own_line_as_the_cause() -> None:
    output = "\n----------------------------------------------------------------------\nRan 0 tests in 0.000s\n\nNO TESTS RAN"
    cause = failure_cause(parse_command("python -m unittest"), output, "Exit code 5")
    assert cause is not None
    assert "no tests ran" in cause.casefold()


def test_what_was_removed_is_never_told() -> None:
    cause = "error: Cannot find module 'x' from '/repo/tmp/clones/q6b9z3/src/a.ts'"
    assert lesson("bun run test", cause, "bun run test", between="rm -rf tmp/clones/q6b9z3") is None
    assert episode(step("bun run test", cause), step("rm -rf tmp/x && bun run test")) == []


@pytest.mark.parametrize(
    ("failed", "cause", "worked"),
    [
        ("git commit -m x", "husky: lint failed, error", "git commit --no-verify -m x"),
        ("git push", "rejected: does not exist", "git push --force"),
        ("npm i", "permission denied", "sudo npm i"),
        ("bun run test", "expected 1 to be 2", "bun run lint"),
        ("bun run lint", "error: 3 problems", "bun run lint:fix"),
        ("docker compose up -d", "port is in use", "docker compose down"),
        ("cargo build", "error[E0425]: cannot find value `x`", "cargo build --release"),
        ("gh pr view 1 --repo a/b", "HTTP 500", "gh pr view 1 --repo c/d"),
        ("git checkout -b x", "fatal: a branch named 'x' already exists", "git checkout x"),
        ("pnpm --filter api test", "No tests found", "pnpm --filter web test"),
        ("npx vite build --filter web", "sh: vite: command not found", "npx vite build"),
        ("cargo run", "cannot find x", "cargo test"),
        ("npx jest a.spec", "No tests found", "npx jest a.spec --listTests"),
    ],
)
def test_permissions_other_tasks_and_unexplained_differences_teach_nothing(
    failed: str, cause: str, worked: str
) -> None:
    assert lesson(failed, cause, worked) is None


def test_an_edit_explains_a_success_better_than_a_repeated_command() -> None:
    assert lesson("make test", "undefined: x does not exist", "make test", edited=True) is None


def test_a_lock_that_passes_is_repeated() -> None:
    cause = "fatal: Unable to create '/r/.git/index.lock': File exists."
    found = lesson("git checkout main", cause, "git checkout main")
    assert found is not None
    assert found.change is Change.REPEAT


# -- Later failures -------------------------------------------------------------------------------


def known(failed: str, cause: str, worked: str) -> WayOut:
    found = lesson(failed, cause, worked)
    assert found is not None
    return found


RTK = "error: unrecognized subcommand 'bun'"


def test_only_the_very_command_that_failed_is_the_same() -> None:
    wrapper = known("rtk bun run test", RTK, "bun run test")
    assert is_same_command(wrapper, command("rtk bun run test"))
    assert not is_same_command(wrapper, command("rtk bun run lint --fix"))
    assert not is_same_command(wrapper, command("A=1 rtk bun run test"))


def test_what_worked_is_kept_as_it_was_typed() -> None:
    cause = "SHIP_REGION is not set"
    line = "SHIP_REGION=eu-west make ship 2>&1 | tail -5"
    (found,) = episode(step("make ship", cause), step(line))
    assert found.lines == (line,)
    (deep,) = episode(step("make ship", cause), replace(step(line), began="apps/api"))
    assert deep.lines == (f"cd apps/api && {line}",)
    for untold in (
        replace(step(line), began=None),
        step("SHIP_REGION=eu-west make ship && git push"),
        step(f"SHIP_REGION=eu-west make ship {'x' * 300}"),
        step("SHIP_REGION=[REDACTED] make ship"),
        step("SHIP_REGION=eu-west make ship\necho done"),
    ):
        assert episode(step("make ship", cause), untold) == []


def test_a_lesson_answers_only_the_same_failure() -> None:
    wrapper = known("rtk bun run test", RTK, "bun run test")
    assert is_same_failure(wrapper, command("rtk bun run lint"), RTK)
    assert not is_same_failure(wrapper, command("rtk git status"), RTK)
    assert not is_same_failure(wrapper, command("bun run lint"), RTK)
    owner = known(
        "gh pr comment 1 --repo me/box",
        "Could not resolve to a Repository with the name 'me/box'.",
        "gh pr comment 1 --repo them/box",
    )
    assert is_same_failure(owner, command("gh api repos/me/box --repo me/box"), "Extra data")
    assert not is_same_failure(owner, command("gh pr list --repo them/box"), "HTTP 500")


def test_the_same_failure_has_one_signature_whatever_varies() -> None:
    one = known("make ship", "/a/b/run.sh: line 3: X is not set", "X=1 make ship")
    two = known("make ship", "/c/run.sh: line 9: X is not set", "X=1 make ship")
    other = known("make run", "/c/run.sh: line 9: X is not set", "X=1 make run")
    assert signature(one) == signature(two) != signature(other)


def test_intent_is_read_through_wrappers_and_paths() -> None:
    for left, right in (
        ("pytest -q", "uv run pytest -q"),
        ("make ship", "cd sub && X=1 make ship"),
        ("/usr/bin/docker ps -a", "docker ps"),
    ):
        assert relation(command(left), command(right)) is not None, (left, right)
    assert relation(command("npm run build"), command("npm run test")) is None


def step(
    line: str, error: str | None = None, *, folder: str | None = "", prompt: int = 1
) -> SessionStep:
    return SessionStep(
        "run",
        line,
        ok=error is None,
        error=error,
        command=line,
        folder=folder,
        began="",
        prompt=prompt,
    )


def episode(*steps: SessionStep, said: str = "") -> list[WayOut]:
    return way_outs_of(steps[-1], steps[:-1], roots=("/home/me/shop",), said=said)


def test_a_wrong_value_inside_a_long_argument_is_found_by_its_name() -> None:
    def query(owner: str) -> str:
        return (
            f'gh api graphql -f query=\'{{ repository(owner: "{owner}", name: "shop") {{ id }} }}\''
        )

    cause = "gh: Could not resolve to a Repository with the name 'guessed/shop'."
    (found,) = episode(step(query("guessed"), cause), step(query("right")))
    assert (found.change, found.old, found.new) == (Change.VALUE, ("owner", "guessed"), ("right",))
    # The error of a pipe's last command says nothing; the value does.
    assert is_same_failure(found, command(query("guessed")), "JSONDecodeError: Extra data")
    assert is_same_failure(found, command(query("third")), cause.replace("guessed", "third"))
    assert not is_same_failure(found, command(query("third")), "JSONDecodeError: Extra data")
    assert not is_same_failure(found, command(query("right")), cause)
    assert found.lines == (query("right"),)


def test_the_same_words_in_another_folder_teach_when_they_succeed() -> None:
    cause = "error: could not find `Cargo.toml` in `/home/me/shop` or any parent directory"
    failed = step("cargo test", cause)
    (found,) = episode(failed, step("cd core && cargo test", folder="core"))
    assert (found.change, found.new) == (Change.FOLDER, ("core",))
    assert found.lines == ("cd core && cargo test",)
    red = step("cd core && cargo test", "error[E0063]: missing field `x`", folder="core")
    assert episode(failed, red) == []


def test_a_second_failure_of_the_set_up_is_no_way_out() -> None:
    cause = "No tests found, exiting with code 0"
    again = "Error: Can't find a root directory while resolving a config file path."
    failed = step("pnpm --filter api test -- --testPathPattern=a.spec", cause)
    other = step("pnpm --filter api exec jest --config x --testPathPattern=a.spec", again)
    assert episode(failed, other) == []


def test_git_add_fails_for_its_folder_and_not_the_commit_behind_it() -> None:
    cause = "fatal: pathspec 'api/a.ts' did not match any files"
    line = "git add api/a.ts && git commit -m x"
    found = episode(step(line, cause, folder="api"), step(f"cd /home/me/shop && {line}"))
    assert [(one.failed, one.change) for one in found] == [("git add api/a.ts", Change.FOLDER)]


def test_what_a_person_said_and_the_variable_that_holds_it_belong_together() -> None:
    steps = (
        step("docker compose up -d", "zsh: command not found: docker", prompt=1),
        step("DB_HOST=10.0.0.7 npm run dev", prompt=2),
    )
    (found,) = episode(*steps, said="check again on 10.0.0.7")
    assert (found.change, found.worked) == (Change.ENVIRONMENT, "DB_HOST=10.0.0.7 npm run dev")
    assert is_same_failure(found, command("docker ps"), "zsh: command not found: docker")
    assert found.lines == ("DB_HOST=10.0.0.7 npm run dev",)
    assert episode(*steps, said="go on") == []


def test_a_wrong_argument_is_told_to_the_same_subcommand_only() -> None:
    cause = 'npm error Missing script: "check"'
    found = known("npm --prefix ui run check", cause, "npm --prefix ui run build")
    assert found.change is Change.ARGUMENT
    assert is_same_failure(found, command("npm --prefix ui run check --if-present"), cause)
    assert not is_same_failure(found, command("npm run check"), "Found 2 errors.")


def test_an_alternative_that_may_not_have_run_is_no_proof() -> None:
    failed = step("docker ps", "zsh: command not found: docker")
    tried = step("/usr/local/bin/docker ps || ~/.docker/bin/docker ps || echo none")
    assert episode(failed, tried) == []


@pytest.mark.parametrize(
    ("failed", "cause", "worked"),
    [
        ("npm test", "1 failing", "DEBUG=1 npm test"),
        ("git push", "! [rejected] main -> main (fetch first)", "git push"),
        ("git push", "error: failed to push", "git push --force"),
        ("npm run build", "Error: Cannot find module 'x'", "rm -rf node_modules"),
        ("gh run view 123", "run 123 not found", "gh run view 456"),
        ("git comit", "git: 'comit' is not a git command. Did you mean commit?", "git commit -m x"),
        ("npm i", "npm error ERESOLVE unable to resolve", "npm i --legacy-peer-deps"),
    ],
)
def test_what_is_no_lesson(failed: str, cause: str, worked: str) -> None:
    assert episode(step(failed, cause), step(worked)) == []


def test_paths_in_a_lesson_are_from_the_projects_root() -> None:
    cause = "bash: /home/me/shop/bin/x: No such file or directory"
    (found,) = episode(
        step("npm run e2e", cause), step("npm ci"), step("npm run e2e --prefix /home/me/shop/web")
    ) or [None]
    assert found is None
    (kept,) = episode(step("npm run e2e", cause), step("npm ci"), step("npm run e2e"))
    assert kept.cause == "bash: bin/x: No such file or directory"


@pytest.mark.parametrize(
    ("output", "is_nothing"),
    [
        ("No tests found, exiting with code 0", True),
        ("No test files found, exiting with code 1", True),
        ("collected 0 items", True),
        ("?   example.org/shop [no test files]", False),
        ("testing: warning: no tests to run", True),
        ("No tests executed!", True),
        ("0 examples, 0 failures", True),
        ("error: no tests to run", True),
        ("No test is available in shop.dll", True),
        ("Tests run: 0, Failures: 0, Errors: 0", True),
        ("12 pass\n0 fail", False),
    ],
)
def test_a_runner_that_ran_nothing_has_failed(output: str, is_nothing: bool) -> None:
    cause = failure_cause(parse_command("npm test"), output, None)
    assert (cause is not None) is is_nothing


@pytest.mark.parametrize(
    "output",
    [
        "error: Job queue is at capacity\n\n 1241 pass\n 0 fail\nRan 1241 tests across 80 files.",
        "[Parser] Error: bad input\n===== 12 passed in 0.40s =====",
    ],
)
def test_errors_that_passing_tests_print_are_no_failure(output: str) -> None:
    assert failure_cause(parse_command("bun run test 2>&1 | tail"), output, None) is None


def test_what_a_program_prints_of_others_is_not_its_own_failure() -> None:
    text = "error: something in a comment"
    assert failure_cause(parse_command("gh pr view 1 | head"), text, None) is None
    own = "gh: Not Found (HTTP 404)"
    assert failure_cause(parse_command("gh api x | jq ."), own, None) == own
