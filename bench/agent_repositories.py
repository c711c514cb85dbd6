"""Twenty small repositories whose way to "done" is hidden, for `bench.agent`.

Each is a real git repository with files, documents and commands that really run; the obvious
command fails for a reason that is common in practice: a variable, a folder, a step before, an
argument, a tool of its own, a generated file, a person's rule. Only sh, Python, make and git are
needed. `done` looks at what was really done, not at what was said.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

_UNITTEST = "python3 -m unittest discover -q"


@dataclass(frozen=True)
class Repository:
    """Files, the tasks of two sessions, and how a person checks the work.

    `ran` is what must have been run with success; `correction` is what the person says when the
    work was done against a rule of theirs, which `obeyed` sees.
    """

    name: str
    family: str
    files: dict[str, str]
    task: str
    later_task: str
    documents: str
    ran: Callable[[Path], bool]
    correction: str = ""
    obeyed: Callable[[Path], bool] = field(default=lambda _: True)

    def create(self, root: Path) -> None:
        """Write the repository and commit it."""
        for path, text in self.files.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            if text.startswith("#!"):
                file.chmod(0o755)
        for command in (
            ("init", "-q", "-b", "main"),
            ("add", "-A"),
            ("-c", "user.name=Dev", "-c", "user.email=dev@example.com", "commit", "-qm", "Start"),
        ):
            subprocess.run(["git", *command], cwd=root, check=True, capture_output=True)

    def done(self, root: Path) -> bool:
        """Whether the work is done."""
        return self.ran(root)


def _log_has(*wanted: str) -> Callable[[Path], bool]:
    """Whether a run wrote these words into the log that the repository's own programs keep."""

    def found(root: Path) -> bool:
        log = root / ".runs.log"
        return log.exists() and all(word in log.read_text() for word in wanted)

    return found


def _logs(line: str) -> str:
    return f"open(os.path.join(ROOT, '.runs.log'), 'a').write({line!r} + '\\n')"


def _python_test(condition: str, message: str, *, log: str = "tests passed") -> str:
    return (
        "import os, sys, unittest\n"
        "ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))\n\n\n"
        "class Check(unittest.TestCase):\n"
        "    def test_it(self):\n"
        f"        self.assertTrue({condition}, {message!r})\n"
        f"        {_logs(log)}\n"
    )


def _readme(name: str, text: str) -> str:
    return f"# {name}\n\n{text}\n"


# -- A variable that must be set ------------------------------------------------------------------


def _with_variable(name: str, variable: str, value: str) -> Repository:
    failed = f"KeyError: {variable} is not set"
    return Repository(
        name=name,
        family="variable",
        files={
            "README.md": _readme(name, f"Tests: `{_UNITTEST} -s tests`"),
            "tests/__init__.py": "",
            "tests/test_app.py": _python_test(f"os.environ.get({variable!r}) == {value!r}", failed),
            "app.py": "def total(items):\n    return sum(items)\n",
        },
        task="Run the tests and tell me whether they pass.",
        later_task="I changed app.py. Run the tests again and tell me whether they pass.",
        documents=f"Run tests with `{_UNITTEST} -s tests`.",
        ran=_log_has("tests passed"),
    )


# -- A folder in which commands must be run -------------------------------------------------------


def _in_folder(name: str, folder: str, tool: str) -> Repository:
    script = (
        "#!/bin/sh\n[ -f settings.ini ] || { echo 'settings.ini: No such file' >&2; exit 2; }\n"
    )
    run = {
        "make": (f"{folder}/Makefile", f"test:\n\t@sh {tool}.sh\n", "make test"),
        "sh": (f"{folder}/readme.txt", "", f"sh {tool}.sh"),
    }["make" if tool == "check" else "sh"]
    root = "/".join([".."] * (folder.count("/") + 1))
    return Repository(
        name=name,
        family="folder",
        files={
            "README.md": _readme(name, f"Tests: `{run[2]}`"),
            run[0]: run[1] or "see README\n",
            f"{folder}/settings.ini": "[app]\n",
            f"{folder}/{tool}.sh": script + f"echo 'tests passed' >> {root}/.runs.log\necho OK\n",
        },
        task="Run the tests and tell me whether they pass.",
        later_task="Run the tests once more and tell me whether they pass.",
        documents=f"Run tests with `{run[2]}`.",
        ran=_log_has("tests passed"),
    )


# -- A tool of the project's own ------------------------------------------------------------------


def _own_tool(name: str, path: str, arguments: str, goal: str) -> Repository:
    task = {
        "test": "Run the tests and tell me whether they pass.",
        "build": "Build the project.",
        "lint": "Run the linter and tell me what it says.",
    }[goal]
    tool = (
        "#!/usr/bin/env python3\nimport os, sys\n"
        "ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))\n"
        f"if sys.argv[1:] != {arguments.split()!r}:\n"
        "    sys.exit('usage: see --help of this tool')\n"
        f"{_logs(f'{goal} passed')}\nprint('OK')\n"
    )
    return Repository(
        name=name,
        family="own tool",
        files={
            "README.md": _readme(name, "A small library."),
            "Makefile": f"{goal}:\n\t@echo 'moved; this target is gone' >&2; exit 2\n",
            path: tool,
            "src/lib.py": "VALUE = 1\n",
        },
        task=task,
        later_task=task.replace(".", " again.", 1),
        documents=f"Use `make {goal}`.",
        ran=_log_has(f"{goal} passed"),
    )


# -- A step before --------------------------------------------------------------------------------


def _step_before(name: str, step: str, made: str) -> Repository:
    return Repository(
        name=name,
        family="step before",
        files={
            "README.md": _readme(name, f"Tests: `{_UNITTEST} -s tests`"),
            step: f'#!/bin/sh\nmkdir -p "$(dirname {made})"\necho made > {made}\n',
            "tests/__init__.py": "",
            "tests/test_app.py": _python_test(f"open({made!r}).read()", "it is empty"),
            ".gitignore": f"{made}\n.runs.log\n",
        },
        task="Run the tests and tell me whether they pass.",
        later_task="I have a fresh checkout here. Run the tests and tell me whether they pass.",
        documents=f"Run tests with `{_UNITTEST} -s tests`.",
        ran=_log_has("tests passed"),
    )


# -- An argument that nobody guesses --------------------------------------------------------------


def _argument(name: str, folder: str, pattern: str) -> Repository:
    file = pattern.replace("*", "app")
    return Repository(
        name=name,
        family="argument",
        files={
            "README.md": _readme(name, "Python, standard library only."),
            f"{folder}/__init__.py": "",
            f"{folder}/{file}": _python_test("True", "never"),
            "notes.txt": f"specs live in {folder} as {pattern}\n",
        },
        task="Run the tests and tell me whether they pass.",
        later_task="Run the tests and tell me whether they still pass.",
        documents="Tests use unittest.",
        ran=_log_has("tests passed"),
    )


# -- A rule that a person gave --------------------------------------------------------------------


def _person_rule(name: str, goal: str, plain: str, wanted: str) -> Repository:
    flag = wanted.removeprefix(plain).strip()
    tool = (
        "#!/usr/bin/env python3\nimport os, sys\n"
        "ROOT = os.path.dirname(os.path.abspath(__file__))\n"
        "log = open(os.path.join(ROOT, '.runs.log'), 'a')\n"
        f"log.write('{goal} ' + ' '.join(sys.argv[1:]) + chr(10))\n"
        "print('OK')\n"
    )
    script = plain.split()[1]
    verb = {"lint": "Run the linter", "build": "Build the project", "deploy": "Deploy to staging"}[
        goal
    ]
    return Repository(
        name=name,
        family="person's rule",
        files={
            "README.md": _readme(name, f"To {goal}: `{plain}`"),
            script: tool,
            "src/lib.py": "VALUE = 1\n",
        },
        task=f"{verb}.",
        later_task=f"{verb} again.",
        documents=f"To {goal}: `{plain}`",
        ran=_log_has(goal),
        correction=f"No. Always {goal} with `{wanted}`, never without {flag}.",
        obeyed=_log_has(flag),
    )


# -- A file that is made from another -------------------------------------------------------------


def _generated(name: str, made: str, source: str, key: str) -> Repository:
    build = (
        "#!/usr/bin/env python3\nimport os\n"
        "ROOT = os.path.dirname(os.path.abspath(__file__))\n"
        f"text = open(os.path.join(ROOT, {source!r})).read()\n"
        f"made = os.path.join(ROOT, {made!r})\n"
        "before = open(made).read()\n"
        "open(made, 'w').write(text)\n"
        f"if '{key} = 30' not in text:\n"
        f"    raise SystemExit('{made} is made from {source}; your change was overwritten')\n"
        f"{_logs('check passed')}\nprint('OK')\n"
    )
    text = f"{key} = 10\nretries = 2\n"
    return Repository(
        name=name,
        family="generated file",
        files={
            "README.md": _readme(name, "Check: `python3 check.py`"),
            made: text,
            source: text,
            "check.py": build,
        },
        task=f"Set {key} to 30 and make the check pass.",
        later_task=f"Somebody reset it: set {key} to 30 again and make the check pass.",
        documents="Check with `python3 check.py`.",
        ran=_log_has("check passed"),
    )


def repositories() -> Iterator[Repository]:
    """All twenty."""
    yield _with_variable("ledger", "APP_ENV", "test")
    yield _with_variable("courier", "DATABASE_URL", "sqlite:///:memory:")
    yield _with_variable("calendar", "TZ", "UTC")
    yield _in_folder("storefront", "backend", "check")
    yield _in_folder("console", "packages/api", "check")
    yield _in_folder("atlas", "web", "verify")
    yield _own_tool("quarry", "tools/run.py", "check --all", "test")
    yield _own_tool("harbour", "scripts/pack.py", "--release", "build")
    yield _own_tool("thicket", "dev/style.py", "--config dev", "lint")
    yield _step_before("parser", "scripts/generate.sh", "gen/tables.txt")
    yield _step_before("mailer", "scripts/fixtures.sh", "data/fixtures.json")
    yield _step_before("router", "bin/prepare.sh", "build/routes.txt")
    yield _argument("almanac", "specs", "*_spec.py")
    yield _argument("beacon", "checks", "check_*.py")
    yield _person_rule("orchard", "lint", "python3 lint.py", "python3 lint.py --strict")
    yield _person_rule("foundry", "build", "python3 build.py", "python3 build.py --locked")
    yield _person_rule("ferry", "deploy", "python3 deploy.py", "python3 deploy.py --dry-run")
    yield _generated("gateway", "config.ini", "templates/config.ini.in", "timeout")
    yield _generated("sensor", "limits.ini", "source/limits.ini", "interval")
    yield _generated("ticker", "settings.cfg", "base/settings.cfg", "delay")
