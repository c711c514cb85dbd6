"""A command that a project declares, and what it is for, by its name or its words."""

from __future__ import annotations

import re
from enum import StrEnum

from wellkept.core.records import record

MAX_COMMAND_CHARS = 240


class Purpose(StrEnum):
    """What a declared command is for."""

    SETUP = "setup"
    TEST = "test"
    TEST_ONE = "one test"
    BUILD = "build"
    LINT = "lint"
    FORMAT = "format"
    TYPES = "types"
    RUN = "run"
    DOCS = "docs"
    RELEASE = "release"


SAID = {
    Purpose.SETUP: "How to set up for development: dependencies are installed with",
    Purpose.TEST: "How to run the tests: all tests are run with",
    Purpose.TEST_ONE: "How to run one test file: a single test file is run with",
    Purpose.BUILD: "How to build: it is compiled or packaged with",
    Purpose.LINT: "How to lint before a push: the linter (code style, static analysis) is run with",
    Purpose.FORMAT: "How to format: the code is formatted with",
    Purpose.TYPES: "How to check types: static types are checked with",
    Purpose.RUN: "How to run it locally: it is started with",
    Purpose.DOCS: "How to build the documentation: the docs are built with",
    Purpose.RELEASE: "How to release: a new version is published with",
}
PREFIX = "repo:"
"""Keys of statements that a repository gave begin with this."""


@record
class ProjectCommand:
    """A command as it is typed in the root, and the file that declares it.

    `runs` is what stands behind a named task. `rank` orders commands of one purpose: 0 is a task
    that the project names or documents for it, 1 a tool that it configures or a variant of a task,
    2 and 3 what its build files make possible, 4 a container, 5 a step of CI.
    """

    purpose: Purpose
    command: str
    source: str
    rank: int = 0
    runs: str = ""
    note: str = ""


_NAMES: tuple[tuple[Purpose, str], ...] = (
    (Purpose.RELEASE, r"release|publish|ship"),
    (Purpose.TYPES, r"type-?check|types?|mypy|pyright|tsc|check[-:_]types|types?[-:_]check"),
    (
        Purpose.FORMAT,
        r"format|fmt|prettier|black|rustfmt|fix|format[-:_]?(?:fix|write)|style[-:]fix",
    ),
    (
        Purpose.LINT,
        r"lint\w*|eslint|clippy|flake8|ruff|style|checkstyle|rubocop|standard|stan|phpstan|cs|vet"
        r"|static-?analysis|spotless|golangci-lint|lint[-:_](?:check|all|js|ts|py)",
    ),
    (Purpose.TEST, r"tests?|check|unit|spec|ci|verify|cibuild|test[-:_](?:all|unit|ci)"),
    (
        Purpose.BUILD,
        r"build|compile|dist|package|bundle|make|assemble|wheel|build[-:_](?:all|prod)",
    ),
    (
        Purpose.DOCS,
        r"docs?|documentation|site|book|api-?docs|docs[-:_](?:build|serve|live)|livehtml",
    ),
    (Purpose.RUN, r"run|dev|start|serve|server|up|develop|demo|preview"),
    (Purpose.SETUP, r"install|setup|bootstrap|init|prepare|deps|dependencies|requirements|venv"),
)
_BY_NAME = tuple((purpose, re.compile(pattern, re.I)) for purpose, pattern in _NAMES)
_DIRECT = re.compile(
    r"tests?|spec|lint|format|fmt|type-?check|build|docs?|release|publish|run|dev|start|serve"
    r"|setup|bootstrap|init|deps|install[-_](?:dev|deps|dependencies)(?:[-_]deps)?|dev[-_]install",
    re.IGNORECASE,
)
AMBIGUOUS_NAMES = frozenset({"check", "ci", "cibuild", "fix", "install"})
"""Tasks called so do different things in different projects: what they run tells."""
_PREFIXED = re.compile(r"(?P<first>[a-z]+)[-:_]", re.IGNORECASE)

_WORDS: tuple[tuple[Purpose, str], ...] = (
    (
        Purpose.RELEASE,
        r"twine upload|npm publish|pnpm publish|bun publish|cargo publish|gem push|goreleaser"
        r"|semantic-release|changeset publish|flit publish|poetry publish|hatch publish|uv publish"
        r"|mvn\w*(?: -\S+)* (?:deploy|release:\w+)|gradlew?(?: -\S+)* publish\w*|np\b|rake release"
        r"|gh release create|lerna publish|release-it",
    ),
    (
        Purpose.TYPES,
        r"mypy|pyright|ty check|pyre|tsc\b(?!.*\bbuild)|vue-tsc|attw|sorbet|srb tc|phpstan|psalm",
    ),
    (
        Purpose.FORMAT,
        r"black\b|isort|ruff format|prettier\b|mix format|cargo fmt|rustfmt|gofmt|gofumpt"
        r"|goimports|spotless\w*Apply|biome format|dprint|rubocop -[aA]|php-cs-fixer fix|yapf"
        r"|autopep8|blacken-docs|cog\b",
    ),
    (
        Purpose.LINT,
        r"hatch (?:check|fmt)|ruff check|ruff\b|flake8|pylint|eslint|standard\b|neostandard"
        r"|biome (?:lint|check|ci)|oxlint|cargo clippy|golangci-lint|go vet|staticcheck|rubocop"
        r"|checkstyle|spotless\w*Check|mix credo|shellcheck|codespell|pre-commit run|markdownlint"
        r"|phpcs|xo\b|actionlint|vale\b",
    ),
    (
        Purpose.TEST,
        r"pytest|python\S* -m (?:pytest|unittest)|hatch test|make (?:check|test)|tox\b|nox\b"
        r"|vitest|jest|mocha|tap\b|borp|ava\b|c8\b|node --test|deno test|bun test"
        r"|npm (?:run )?test|pnpm (?:run )?test|yarn (?:run )?test|go test|cargo (?:test|nextest)"
        r"|mvn\w*\b.*\b(?:test|verify)\b|gradlew?\b.*\b(?:test|check)\b|rspec|rake (?:test|spec)"
        r"|rake$|cucumber|minitest|phpunit|pest\b|ctest|dotnet test|mix test|swift test"
        r"|zig build test|stack test|cabal test|dart test|flutter test|coverage run"
        r"|playwright test|cypress run|bats\b",
    ),
    (
        Purpose.DOCS,
        r"mkdocs|sphinx-build|sphinx-autobuild|mdbook|docusaurus|typedoc|cargo doc|javadoc|yard\b"
        r"|mix docs|jekyll (?:build|serve)|make(?: -C \S+)? (?:html|livehtml|docs)|vitepress"
        r"|hugo\b",
    ),
    (
        Purpose.BUILD,
        r"python\S* -m build|cargo build|go build|tsup|rollup|webpack|vite build|esbuild|bun build"
        r"|mvn\w*\b.*\b(?:package|compile|install)\b|gradlew?\b.*\b(?:build|assemble)\b|cmake"
        r"|make$|make build|npm run build|pnpm (?:run )?build|yarn (?:run )?build|bun run build"
        r"|gem build|dotnet build|docker build|hatch build|poetry build|flit build|uv build"
        r"|mix compile|zig build",
    ),
    (
        Purpose.SETUP,
        r"(?:python\S* -m )?pip3? install|uv (?:sync|pip install)|poetry install"
        r"|pdm (?:install|sync)|npm (?:ci|install|i)\b|pnpm (?:install|i)\b|yarn install|yarn$"
        r"|bun install|bundle install|composer install|go mod download|cargo fetch|mix deps\.get",
    ),
)  # fmt: skip
_BEFORE = r"(?:\S+ (?:run|exec|dlx) |npx |bunx |uvx |\S+=\S+ )*"
# `mix test.setup` and `npm run test:types` are other tasks than `mix test` and `npm run test`.
_BY_WORDS = tuple(
    (purpose, re.compile(rf"{_BEFORE}(?:{words})(?![\w.:-])")) for purpose, words in _WORDS
)
_PREPARES = re.compile(r"(?:cd|mkdir|rm|export|set|echo|cp|source|\.)\s")

_NO_WORK = re.compile(r"--(?:version|help)\b|@latest\b")


def purpose_of_name(name: str) -> Purpose | None:
    """What a task of this name is for: `test`, `lint:fix`, `build-docs`."""
    for purpose, pattern in _BY_NAME:
        if pattern.fullmatch(name):
            return purpose
    last = re.split(r"[-:_]", name)[-1]
    if last != name and (narrow := purpose_of_name(last)) in (Purpose.TYPES, Purpose.DOCS):
        return narrow
    prefixed = _PREFIXED.match(name) if not name.endswith((":", "watch")) else None
    purpose = purpose_of_name(prefixed["first"]) if prefixed else None
    # `run_benchmarks` runs something else than the program.
    return purpose if purpose is not Purpose.RUN else None


def names_a_purpose(name: str) -> bool:
    """Whether a task is called like a purpose as a whole: `test`, not `test-fonts`."""
    return any(pattern.fullmatch(name) for _, pattern in _BY_NAME)


def rank_of_name(name: str) -> int:
    """0 for a task that is called like its purpose (`test`), 1 for a variant (`test:watch`), for
    one called like a tool (`black`), and for one that does many things (`ci`)."""
    is_direct = _DIRECT.fullmatch(name) is not None
    return 0 if is_direct else 1


def purpose_of_words(command: str) -> Purpose | None:
    """What a command line is for, by its first program that does more than prepare."""
    text = " ".join(command.split())
    if _NO_WORK.search(text):
        return None
    parts = re.split(r"\s*(?:&&|;|\|\|)\s*", text)
    first = next((part for part in parts if not _PREPARES.match(part)), "")
    return next((purpose for purpose, pattern in _BY_WORDS if pattern.match(first)), None)


def one_line(command: str) -> str:
    """A command on one line; "" when it is too long or not a single command line."""
    lines = [line.strip() for line in command.replace("\\\n", " ").splitlines()]
    told = [line for line in lines if line and not line.startswith("#")]
    text = " ".join(" && ".join(told).split())
    return text if len(text) <= MAX_COMMAND_CHARS else ""
