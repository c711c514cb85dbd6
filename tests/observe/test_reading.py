"""Reading commands, results, edits and words: small rules, each on its own."""

from __future__ import annotations

import pytest

from wellkept.core.session.events import Edit
from wellkept.observe.session.edits import change_fact, changed_names, definitions, file_kind
from wellkept.text.events.commit_messages import commit_points, says_something
from wellkept.text.events.prompt_rules import intent_of, next_steps, tells
from wellkept.text.shell.environment import relative
from wellkept.text.shell.purpose import Purpose
from wellkept.text.shell.reader import (
    main_command,
    parse_command,
    read_commit,
)
from wellkept.text.shell.results import error_line, read_tests

pytestmark = pytest.mark.feature("C3")


@pytest.mark.parametrize(
    ("command", "purpose"),
    [
        ("cd app && CI=1 uv run pytest -q | tail -3", Purpose.TEST),
        ("npx vitest run", Purpose.TEST),
        ("go test ./...", Purpose.TEST),
        ("./gradlew test --info", Purpose.TEST),
        ("python -m unittest", Purpose.TEST),
        ("npm run build", Purpose.CHECK),
        ("npx tsc --noEmit 2>&1 | head", Purpose.CHECK),
        ("sudo apt-get install -y jq", Purpose.INSTALL),
        ("python3 -m pip install httpx", Purpose.INSTALL),
        ("python manage.py migrate", Purpose.MIGRATE),
        ("bin/rails db:migrate", Purpose.MIGRATE),
        ("git add . && git commit -m 'a; b && c'", Purpose.COMMIT),
        ("docker compose up -d", Purpose.OTHER),
        ("npm test 2>&1 | python3 -m json.tool", Purpose.TEST),
        ("sed -i s/a/b/ x.py", Purpose.OTHER),
    ],
)
def test_a_command_line_is_for_its_last_doing_part(command: str, purpose: Purpose) -> None:
    main = main_command(parse_command(command))
    assert main is not None
    assert main.purpose is purpose


@pytest.mark.parametrize(
    "command",
    [
        "ls -la",
        "grep -rn x . | wc -l",
        "git status && git diff",
        "sed -n 1,9p a.py",
        "",
        "   ",
        "'",
    ],
)
def test_looking_is_not_doing(command: str) -> None:
    main = main_command(parse_command(command))
    assert main is None or main.purpose is Purpose.OTHER


def test_a_commit_is_read_from_what_git_says_else_from_its_message() -> None:
    made = read_commit(
        parse_command("git commit -m x"),
        "[main (root-commit) 1a2b3c4] Say x\n create mode 100644 a/b.py\n",
    )
    assert made is not None
    assert (made.subject, made.branch, made.sha, made.files) == (
        "Say x",
        "main",
        "1a2b3c4",
        ("a/b.py",),
    )
    quiet = read_commit(parse_command('git commit -qm "Fix y" -m "Because z."'), "")
    assert quiet is not None
    assert (quiet.subject, quiet.body, quiet.sha) == ("Fix y", "Because z.", None)
    assert read_commit(parse_command("git commit --amend --no-edit"), "") is None


@pytest.mark.parametrize(
    ("output", "failed", "names"),
    [
        ("FAILED t/a.py::test_x - E\n1 failed, 2 passed in 1s", 1, ("t/a.py::test_x",)),
        ("FAIL: test_x (t.A)\nRan 3 tests in 1s\n\nFAILED (failures=1)", 1, ("test_x",)),
        ("Tests:       2 failed, 3 passed, 5 total\n  ● math › adds", 2, ("math › adds",)),
        ("test a::b ... FAILED\ntest result: FAILED. 3 passed; 1 failed;", 1, ("a::b",)),
        ("--- FAIL: TestX (0.0s)\nFAIL", None, ("TestX",)),
        ("  3 passing (9ms)\n  1 failing\n", 1, ()),
        ("12 passed in 0.30s", None, ()),
        ("12 examples, 0 failures", 0, ()),
    ],
)
def test_test_runners_are_understood(
    output: str, failed: int | None, names: tuple[str, ...]
) -> None:
    result = read_tests(output)
    assert result is not None
    assert (result.failed, result.names) == (failed, names)
    assert result.is_failure == bool(failed or names)


def test_output_that_is_no_report_gives_no_result() -> None:
    assert read_tests("Compiling…\ndone, 3 failed attempts earlier") is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Traceback …\nValueError: bad x\n", "ValueError: bad x"),
        ("src/a.ts(1,2): error TS2322: No.\n", "error TS2322: No."),
        ("bash: foo: command not found", "foo: command not found"),
        ("fatal: not a git repository", "fatal: not a git repository"),
        ("Exit code 1\nsomething odd", "something odd"),
        ("Exit code 1", None),
    ],
)
def test_the_line_that_names_the_error_is_found(text: str, line: str | None) -> None:
    assert error_line(text) == line


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("a.py", "class A:\n    async def go(self): ...\n\ndef run(): ...\n", ["A", "A.go", "run"]),
        ("a.tsx", "export const Cart = ({ a }: P) => {\n}\nexport class S {\n  get(id) {\n  }\n}\n",
         ["Cart", "S", "S.get"]),
        ("a.go", "func (s *Srv) Do(x int) {\n}\ntype Srv struct {\n}\n", ["Srv.Do", "Srv"]),
        ("a.rs", "impl Cart {\n    pub fn add(&mut self) {}\n}\n", ["Cart", "Cart.add"]),
        ("a.java", "public class A {\n    private int sum(int x) {\n    }\n}\n", ["A", "A.sum"]),
        ("a.kt", "data class P(val x: Int)\nsuspend fun load() {\n}\n", ["P", "load"]),
        ("a.rb", "class A\n  def go!\n  end\nend\n", ["A", "A.go!"]),
        ("a.c", "static int add(int a)\n{\n}\n", ["add"]),
        ("a.sql", "CREATE TABLE IF NOT EXISTS items (id int);\n", ["items"]),
        ("a.sh", "build() {\n  make\n}\n", ["build"]),
        ("a.php", "class A {\n    public function go() {\n    }\n}\n", ["A", "A.go"]),
        ("a.unknown", "def x(): ...", []),
    ],
)  # fmt: skip
def test_definitions_are_named_in_many_languages(path: str, text: str, names: list[str]) -> None:
    assert [d.name for d in definitions(text, path=path)] == names


def changed(before: str, after: str, now: str | None = None) -> tuple[str, ...]:
    edit = Edit("a.py", before, after)
    return changed_names(edit, path="a.py", is_known=False, read_file=lambda _: now)


def test_an_edit_inside_a_function_names_it_from_the_file_as_it_is_now() -> None:
    now = "class A:\n    def go(self):\n        x = 2\n        return x\n"
    assert changed("        x = 1\n", "        x = 2\n", now) == ("~A.go",)
    assert changed("        x = 1\n", "        x = 2\n") == ()


def test_an_import_alone_names_nothing() -> None:
    assert changed("import os\n", "import os\nimport re\n") == ()


def test_what_an_edit_added_changed_and_removed_is_named() -> None:
    before = "def f():\n    return 1\n\ndef g():\n    return 1\n"
    after = "def f():\n    return 2\n\ndef h():\n    return 1\n"
    assert changed(before, after) == ("+h", "~f", "-g")
    assert change_fact("a.py", changed(before, after), is_new=False) == (
        "a.py: added h; changed f; removed g"
    )


def test_files_are_sorted_by_what_they_are_for() -> None:
    kinds = [file_kind(p) for p in ("src/a.py", "tests/test_a.py", "a.spec.ts", "README.md",
                                    "Dockerfile", ".env.local", "logo.png")]  # fmt: skip
    assert kinds == ["code", "test", "test", "document", "config", "config", "other"]


def test_paths_are_named_from_the_project_and_never_from_outside() -> None:
    roots = ("/real/p", "/link/p")
    assert relative("/real/p/a/b.py", cwd="/real/p", roots=roots) == "a/b.py"
    assert relative("/link/p/a b.py", cwd=None, roots=roots) == "a b.py"
    assert relative("../c.py", cwd="/real/p/a", roots=roots) == "c.py"
    assert relative("C:\\p\\x.py", cwd=None, roots=("C:/p",)) == "x.py"
    for outside in ("/etc/passwd", "../../x", "/real/p2/a.py", "C:\\x.py"):
        assert relative(outside, cwd="/real/p", roots=roots) is None


def test_what_a_prompt_is_after() -> None:
    assert intent_of("The cart total is wrong for refunds") == "fix"
    assert intent_of("Please rename Foo to Bar") == "refactor"
    assert intent_of("Add a login page") == "feature"
    assert intent_of("How does this work?") == "other"
    assert intent_of("ok can you fix the device approvals gap?") == "fix"
    assert intent_of("Add error handling to the broken import") == "feature"
    plan = "Implement the following plan:\n\n# Plan-first pipeline\n\nFix the bug that fails."
    assert intent_of(plan) == "other"


@pytest.mark.parametrize("text", ["y", "6", "commit", "yeah lets do it", "да", "ok", "all there"])
def test_a_prompt_that_only_goes_on_tells_nothing(text: str) -> None:
    assert not tells(text)


@pytest.mark.parametrize(
    "text", ["Fix the login bug", "rename parser", "why is the total wrong for refunds?"]
)
def test_a_prompt_that_names_its_work_tells(text: str) -> None:
    assert tells(text)


@pytest.mark.feature("B9")
@pytest.mark.parametrize(
    "subject",
    [
        "Merge branch 'main' into x",
        "chore: bump version to 1.2.3",
        "v1.2.3",
        "chore(deps): bump lodash from 1 to 2",
        "Bump actions/checkout from 3 to 4",
        "release/0.3.0",
        "Release version 0.3.0",
        "wip",
        "fix typo",
        "chore: update dependencies",
        "Initial commit",
    ],
)
def test_a_commit_message_without_content_says_nothing(subject: str) -> None:
    assert not says_something(subject)


@pytest.mark.feature("B9")
@pytest.mark.parametrize(
    "subject",
    [
        "fix(auth): keep the session after a refresh",
        "Merge sort for the large tables",
        "Release the lock before waiting",
        "Update the retry limit because the API is slow",
        "Test the parser with empty input",
    ],
)
def test_a_commit_message_with_content_says_something(subject: str) -> None:
    assert says_something(subject)


@pytest.mark.feature("B9")
def test_the_body_of_a_commit_is_read_in_points_without_trailers() -> None:
    body = (
        "Keep the session.\nIt was lost.\n\n- first point that\n  goes on\n- second\n\n"
        "Co-Authored-By: Some One <a@b.c>\n🤖 Generated with a tool"
    )
    assert commit_points(body) == [
        "Keep the session. It was lost.",
        "first point that goes on",
        "second",
    ]
    assert says_something("wip", body)
    assert not says_something("Bump version to 1.2", body)


def test_next_steps_come_from_lists_and_plain_words() -> None:
    message = (
        "Done.\n\n**Next steps:**\n1. Ship it\n2. **Tell** people\n\nI haven't run the linter."
    )
    assert next_steps(message) == ["Ship it", "Tell people", "I haven't run the linter."]
    assert next_steps("Next steps: none really") == ["none really"]
    assert next_steps("All good.\n- a list\n- of things") == []


@pytest.mark.parametrize(
    ("message", "steps"),
    [
        ("Fixed it.\n\nNext: tag the release", ["tag the release"]),
        ("**Next up:**\n- tag it\n- tell people", ["tag it", "tell people"]),
        ("Fixed it. Next: tag the release.", ["Next: tag the release."]),
        ("Fixed it. I still need to tag it.", ["I still need to tag it."]),
        ("The next: one is fine.", []),
    ],
)
def test_next_steps_are_read_from_short_forms_too(message: str, steps: list[str]) -> None:
    assert next_steps(message) == steps


def test_a_file_of_thousands_of_definitions_is_read_in_good_time() -> None:
    before = "".join(f"def old_{n}():\n    return {n}\n" for n in range(4_000))
    after = "".join(f"def new_{n}():\n    return {n}\n" for n in range(4_000))
    assert len(changed(before, after)) == 12
