"""Declared commands are read from each ecosystem's own files, exact and with their source (I1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from wellkept.project.commands.collect import command_statements, read_commands
from wellkept.project.commands.command import Purpose, purpose_of_name, purpose_of_words
from wellkept.project.repository.project_files import ProjectFiles

pytestmark = pytest.mark.feature("I1")


def project(root: Path, files: dict[str, str]) -> ProjectFiles:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    return ProjectFiles(root, files)


def best(root: Path, files: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Command and source for each purpose."""
    found = read_commands(project(root, files)).best()
    return {one.purpose.value: (one.command, one.source) for one in found}


ECOSYSTEMS: dict[str, tuple[dict[str, str], dict[str, tuple[str, str] | None]]] = {
    "uv and just": (
        {
            "pyproject.toml": '[project]\nname = "x"\n[tool.pytest.ini_options]\n[tool.mypy]\n',
            "uv.lock": "",
            "Justfile": "@test *options:\n  uv run pytest -n auto {{options}}\n\nlint:\n  ruff check\n",
            "tests/test_api.py": "",
        },
        {
            "test": ("just test", "Justfile"),
            "one test": ("uv run pytest tests/test_api.py", "pyproject.toml"),
            "lint": ("just lint", "Justfile"),
            "types": ("uv run mypy", "pyproject.toml"),
            "setup": ("uv sync", "uv.lock"),
        },
    ),
    "scripts": (
        {
            "scripts/check": "#!/bin/sh\n${PREFIX}ruff format --check .\n${PREFIX}ruff check .\n",
            "scripts/test": "#!/bin/sh\n${PREFIX}coverage run -m pytest $@\n",
            "CONTRIBUTING.md": "# Contributing\n\n```shell\n$ ./tools/build.sh\n$ scripts/check\n```\n",
            "tools/build.sh": "#!/bin/sh\n",
        },
        {
            "test": ("scripts/test", "scripts/test"),
            "build": ("./tools/build.sh", "CONTRIBUTING.md"),
            "lint": ("scripts/check", "scripts/check"),
        },
    ),
    "mocha": (
        {
            "package.json": '{"scripts": {"test": "mocha --require test/support/env test/"}}',
            "test/app.js": "",
        },
        {"one test": ("npx mocha --require test/support/env test/app.js", "package.json")},
    ),
    "tests called test": (
        {
            "package.json": '{"scripts": {"test": "vitest run"}, "devDependencies": {"vitest": "3"}}',
            "src/add/test.ts": "",
        },
        {"one test": ("npx vitest run src/add/test.ts", "package.json")},
    ),
    "cmake with an option for tests": (
        {
            "CMakeLists.txt": 'project(x)\noption(X_TEST "Tests." ${X_MASTER_PROJECT})\nif (X_TEST)\n'
            "  enable_testing()\nendif ()\n"
        },
        {
            "test": ("ctest --test-dir build", "CMakeLists.txt"),
            "one test": ("ctest --test-dir build -R NAME", "CMakeLists.txt"),
        },
    ),
    "cmake without tests by default": (
        {
            "CMakeLists.txt": 'project(x)\noption(X_TEST "Tests." OFF)\nif (X_TEST)\n'
            "  enable_testing()\nendif ()\n"
        },
        {"test": None},
    ),
    "an image that starts nothing": (
        {"composer.json": '{"name": "x/y"}', "Dockerfile": "FROM php:8\nWORKDIR /x\n"},
        {"build": None},
    ),
    "tox": (
        {
            "setup.py": "",
            "tox.ini": "[tox]\nenvlist = py311\n[testenv]\ncommands = pytest {posargs}\n"
            "[testenv:lint]\ncommands =\n    flake8 src\n",
        },
        {"test": ("tox", "tox.ini"), "lint": ("tox -e lint", "tox.ini")},
    ),
    "autotools": (
        {
            "configure.ac": "AC_INIT([x], [1])\n",
            "Makefile.am": "bin_PROGRAMS = x\n",
            "README.md": "# x\n\n## Building from source\n\n### Instructions\n\n"
            "```\nautoreconf -i\n./configure\nmake -j8\nmake check\n```\n",
        },
        {"test": ("make check", "README.md")},
    ),
    "a page for contributors below the documents": (
        {
            "pyproject.toml": "[project]\n",
            "conftest.py": "",
            "docs/community/contributing.md": "# Contributing\n\n## Run the tests\n\n"
            "```bash\nhatch test\n```\n\n## Lint\n\n```bash\nhatch check\n```\n",
        },
        {
            "test": ("hatch test", "docs/community/contributing.md"),
            "lint": ("hatch check", "docs/community/contributing.md"),
        },
    ),
    "one way of testing among tox's": (
        {
            "pyproject.toml": '[tool.tox.env_run_base]\ncommands = [["pytest", "-v"]]\n'
            '[tool.tox.env.random]\ncommands = [["pytest", "-n", "auto"]]\n'
        },
        {"test": ("tox", "pyproject.toml")},
    ),
    "nox": (
        {
            "pyproject.toml": "[project]\n",
            "noxfile.py": "import nox\n\n@nox.session(python=['3.12'])\ndef tests(session):\n"
            "    session.run('pytest', *session.posargs)\n",
        },
        {"test": ("nox -s tests", "noxfile.py")},
    ),
    "hatch": (
        {"pyproject.toml": '[tool.hatch.envs.default.scripts]\ntest = "pytest {args}"\n'},
        {"test": ("hatch run test", "pyproject.toml")},
    ),
    "pdm": (
        {
            "pyproject.toml": '[tool.pdm.scripts]\nlint = {cmd = "ruff check"}\n',
            "pdm.lock": "",
        },
        {"lint": ("pdm run lint", "pyproject.toml"), "setup": ("pdm install", "pdm.lock")},
    ),
    "poetry": (
        {
            "pyproject.toml": '[tool.poetry.scripts]\nwidget = "widget.cli:main"\n',
            "poetry.lock": "",
            "tests/test_a.py": "",
            "tests/conftest.py": "",
        },
        {
            "run": ("poetry run widget", "pyproject.toml"),
            "one test": ("poetry run pytest tests/test_a.py", "tests/conftest.py"),
        },
    ),
    "bun": (
        {
            "package.json": '{"scripts": {"test": "vitest --run", "format": "prettier --check .",'
            ' "format:fix": "prettier --write ."}, "devDependencies": {"vitest": "1"}}',
            "bun.lock": "",
            "src/a.test.ts": "",
        },
        {
            "test": ("bun run test", "package.json"),
            "one test": ("bunx vitest run src/a.test.ts", "package.json"),
            "format": ("bun run format:fix", "package.json"),
            "setup": ("bun install", "bun.lock"),
        },
    ),
    "pnpm named by the package": (
        {"package.json": '{"packageManager": "pnpm@9.1.0", "scripts": {"build": "tsup"}}'},
        {"build": ("pnpm run build", "package.json"), "setup": ("pnpm install", "package.json")},
    ),
    "make and go": (
        {
            "Makefile": "FLAGS = -race\n\n.PHONY: test\ntest: deps\n\t@echo testing\n"
            "\tgo test $(FLAGS) $(EXTRA) ./...\n\nVERSION := 1\n",
            "go.mod": "module x\n\ngo 1.22\n",
            "pkg/a_test.go": "package pkg\n\nfunc TestAdd(t *testing.T) {}\n",
            "cmd/x/main.go": "package main\n",
        },
        {
            "test": ("make test", "Makefile"),
            "one test": ("go test ./pkg -run TestAdd", "go.mod"),
            "run": ("go run ./cmd/x", "cmd/x/main.go"),
        },
    ),
    "taskfile": (
        {"Taskfile.yml": "version: '3'\ntasks:\n  lint:\n    cmds:\n      - golangci-lint run\n"},
        {"lint": ("task lint", "Taskfile.yml")},
    ),
    "cargo": (
        {
            "Cargo.toml": '[package]\nname = "x"\n[workspace]\nmembers = ["a"]\n',
            "tests/cli.rs": "#[test]\nfn a() {}\n",
            "tests/a.rs": "pub fn helper() {}\n",
            "src/main.rs": "",
        },
        {
            "test": ("cargo test --workspace", "Cargo.toml"),
            "one test": ("cargo test --test cli", "tests/cli.rs"),
            "run": ("cargo run --", "Cargo.toml"),
        },
    ),
    "maven": (
        {
            "pom.xml": "<project><plugin>spotless-maven-plugin</plugin></project>",
            "mvnw": "",
            "core/src/test/java/x/AddTest.java": "",
        },
        {
            "test": ("./mvnw test", "pom.xml"),
            "one test": ("./mvnw -pl core test -Dtest=AddTest", "pom.xml"),
            "format": ("./mvnw spotless:apply", "pom.xml"),
        },
    ),
    "gradle": (
        {
            "build.gradle.kts": 'plugins { id("application") }',
            "gradlew": "",
            "app/src/test/java/x/AddTest.java": "",
        },
        {
            "test": ("./gradlew test", "build.gradle.kts"),
            "one test": ("./gradlew :app:test --tests AddTest", "build.gradle.kts"),
            "run": ("./gradlew run", "build.gradle.kts"),
        },
    ),
    "composer": (
        {
            "composer.json": '{"require-dev": {"phpunit/phpunit": "^11"},'
            ' "scripts": {"lint": ["phpcs"]}}',
            "tests/AddTest.php": "",
        },
        {
            "test": ("vendor/bin/phpunit", "composer.json"),
            "one test": ("vendor/bin/phpunit tests/AddTest.php", "composer.json"),
            "lint": ("composer lint", "composer.json"),
        },
    ),
    "ruby": (
        {
            "Gemfile": "",
            "Rakefile": "require 'rake/testtask'\nRake::TestTask.new(:test)\n",
            "test/add_test.rb": "",
            ".rubocop.yml": "",
        },
        {
            "test": ("bundle exec rake test", "Rakefile"),
            "one test": ("bundle exec ruby -Ilib:test test/add_test.rb", "test/add_test.rb"),
            "lint": ("bundle exec rubocop", ".rubocop.yml"),
        },
    ),
    "a script for coverage": (
        {"scripts/test": "#!/bin/sh -e\nset -x\n${PREFIX}pytest --cov\n"},
        {"test": ("scripts/test", "scripts/test")},
    ),
    "mix": (
        {
            "mix.exs": "defmodule X do\n  defp aliases do\n    [\n"
            '      setup: ["deps.get", "ecto.setup"],\n      "test.setup": ["ecto.drop"],\n'
            '    ]\n  end\n  defp deps, do: [{:credo, "~> 1.0"}]\nend\n',
            ".formatter.exs": "[]",
            "test/test_helper.exs": "",
            "test/a_test.exs": "",
            ".github/workflows/ci.yml": "jobs:\n  a:\n    steps:\n      - run: mix test.setup\n",
        },
        {
            "test": ("mix test", "mix.exs"),
            "one test": ("mix test test/a_test.exs", "test/a_test.exs"),
            "setup": ("mix setup", "mix.exs"),
            "lint": ("mix credo", "mix.exs"),
            "format": ("mix format", ".formatter.exs"),
        },
    ),
    "cmake, with what its pages say first": (
        {
            "CMakeLists.txt": "project(x)\nif(DEV)\n  include(CTest)\nendif()\n",
            "CONTRIBUTING.md": "# Working\n\n## Build\n\n```sh\ncmake -B out --preset dev\n"
            "cmake --build out\nctest --test-dir out\n```\n",
            ".github/workflows/ci.yml": "jobs:\n  a:\n    steps:\n      - run: mkdir build\n"
            "      - run: ctest -C ${{ matrix.type }}\n",
        },
        {
            "build": ("cmake -B out --preset dev && cmake --build out", "CONTRIBUTING.md"),
            "test": ("ctest --test-dir out", "CONTRIBUTING.md"),
        },
    ),
    "cmake whose tests wait for an option": (
        {"CMakeLists.txt": "project(x)\nif(DEV)\n  enable_testing()\nendif()\n"},
        {"build": ("cmake -B build && cmake --build build", "CMakeLists.txt"), "test": None},
    ),
    "steps that are typed in another folder": (
        {
            "CMakeLists.txt": "project(x)\n",
            "README.md": "# X\n\n## Tests\n\n```sh\nmkdir build\ncd build\ncmake ..\nctest\n```\n",
        },
        {"build": ("cmake -B build && cmake --build build", "CMakeLists.txt"), "test": None},
    ),
    "a part in another language comes last": (
        {
            "mix.exs": "defmodule X do\nend\n",
            "test/a_test.exs": "",
            "package.json": '{"scripts": {"test": "jest", "build": "tsc"}}',
            "assets/a.test.js": "",
        },
        {
            "one test": ("mix test test/a_test.exs", "test/a_test.exs"),
            "build": ("mix compile", "mix.exs"),
        },
    ),
    "a cargo alias": (
        {
            "Cargo.toml": '[package]\nname = "x"\n',
            ".cargo/config.toml": '[alias]\nlint = "clippy"\n',
        },
        {"lint": ("cargo lint", ".cargo/config.toml")},
    ),
    "one folder is built": (
        {
            "README.md": "# X\n\n## Usage\n\n```sh\npip install x\n```\n",
            "app/build.gradle.kts": "",
            "app/gradlew": "",
            "examples/package.json": "{}",
        },
        {"test": ("cd app && ./gradlew test", "app/build.gradle.kts"), "setup": None},
    ),
    "what only CI can fill in, or installs for itself": (
        {
            ".github/workflows/ci.yml": "jobs:\n  a:\n    steps:\n      - run: pip install conan\n"
            "      - run: ctest -j `nproc`\n      - run: mypy src\n",
        },
        {"setup": None, "test": None, "types": ("mypy src", ".github/workflows/ci.yml")},
    ),
    "make tasks whose names promise less": (
        {
            "Makefile": "all: lint docs\ncheck-fonts: fonts\nrun_bench:\n\tcmake x\n\t./bench\ninstall:\n\tcp x /usr/bin\nlint:\n\tshellcheck x\n"
        },
        {"test": None, "setup": None, "lint": ("make lint", "Makefile")},
    ),
    "rake tasks in a namespace": (
        {"Gemfile": "", "Rakefile": "namespace :db do\n  task :test do\n  end\nend\n"},
        {"test": None},
    ),
    "gitlab and containers": (
        {
            ".gitlab-ci.yml": "stages: [test]\nunit:\n  script:\n    - pytest -q\n",
            "compose.yaml": "services:\n  web: {}\n  db: {}\n",
            ".devcontainer/devcontainer.json": '{"postCreateCommand": "npm ci"}',
        },
        {
            "test": ("pytest -q", ".gitlab-ci.yml"),
            "run": ("docker compose up", "compose.yaml"),
            "setup": ("npm ci", ".devcontainer/devcontainer.json"),
        },
    ),
}


@pytest.mark.parametrize("name", ECOSYSTEMS)
def test_each_ecosystem_tells_its_commands(tmp_path: Path, name: str):
    files, expected = ECOSYSTEMS[name]
    found = best(tmp_path, files)
    assert {purpose: found.get(purpose) for purpose in expected} == expected


def test_a_statement_names_what_a_task_runs_and_where_it_stands(tmp_path: Path):
    files = project(tmp_path, ECOSYSTEMS["uv and just"][0])
    texts = {one.key: one.text for one in command_statements(read_commands(files))}
    assert texts["command:test"].startswith(
        "How to run the tests: all tests are run with `just test` (Justfile, which runs"
        " `uv run pytest -n auto`)."
    )


def test_a_release_is_told_from_the_workflow_that_publishes(tmp_path: Path):
    workflow = """
name: Publish
on:
  release:
    types: [published]
jobs:
  deploy:
    steps:
      - run: pip install build
      - run: python -m build
      - uses: pypa/gh-action-pypi-publish@release/v1
"""
    files = project(tmp_path, {".github/workflows/publish.yml": workflow})
    texts = {one.key: one.text for one in command_statements(read_commands(files))}
    said = texts["command:release"]
    assert "starts at a published release" in said
    assert "`python -m build`" in said
    assert "pypa/gh-action-pypi-publish" in said
    assert "pip install" not in said


@pytest.mark.parametrize(
    "text", ["{", "jobs: [1, 2]\n", "on: push\njobs:\n  a: 3\n", "&a [*a]", "x: " + "[" * 5_000]
)
def test_odd_workflows_and_manifests_are_survived(tmp_path: Path, text: str):
    names = (
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
        "package.json",
        "pyproject.toml",
        "Taskfile.yml",
        "composer.json",
        "Cargo.toml",
        "Makefile",
        "justfile",
        ".devcontainer/devcontainer.json",
        "compose.yaml",
    )
    assert list(command_statements(read_commands(project(tmp_path, dict.fromkeys(names, text)))))


@pytest.mark.parametrize(
    ("line", "purpose"),
    [
        ("uv run pytest -n auto", Purpose.TEST),
        ("npx eslint .", Purpose.LINT),
        ("ruff format --check", Purpose.FORMAT),
        ("tsc --noEmit", Purpose.TYPES),
        ("CGO_ENABLED=0 go build ./...", Purpose.BUILD),
        ("npm ci", Purpose.SETUP),
        ("twine upload dist/*", Purpose.RELEASE),
        ("black --version", None),
        ("go install golang.org/x/tools/gopls@latest", None),
        ("echo pytest", None),
    ],
)
def test_a_command_line_tells_what_it_is_for(line: str, purpose: Purpose | None):
    assert purpose_of_words(line) is purpose


@pytest.mark.parametrize(
    ("name", "purpose"),
    [
        ("test:unit", Purpose.TEST),
        ("lint-fix", Purpose.LINT),
        ("fmt", Purpose.FORMAT),
        ("publish", Purpose.RELEASE),
        ("test:watch", None),
        ("frobnicate", None),
    ],
)
def test_a_task_tells_by_its_name_what_it_is_for(name: str, purpose: Purpose | None):
    assert purpose_of_name(name) is purpose
