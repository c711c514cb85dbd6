"""What a program call is for, by its words: tests, checks, installs, migrations, commits, looking.

What is not recognised is `Purpose.OTHER`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

_LOOKING = frozenset(
    "ls cat head tail less more grep rg egrep fgrep ag find fd tree pwd echo printf which whereis"
    " type file stat wc sort uniq cut awk diff cmp du df ps env date whoami id uname test [ true"
    " false cd pushd popd sleep export set source . jq xxd od nl column basename dirname realpath"
    " readlink hostname history man kill pkill lsof open unset declare local readonly typeset tee"
    " break continue return exit shift read wait trap :".split()
)
_GIT_LOOKING = frozenset(
    "status log diff show branch blame remote ls-files rev-parse describe fetch config grep add"
    " shortlog reflog stash cat-file".split()
)
_GIT_STATE = frozenset(
    "merge rebase pull push cherry-pick am apply checkout switch restore stash reset clone commit"
    " add tag worktree".split()
)


def _any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(patterns)})")


_PACKAGER = (
    r"(?:npm|pnpm|yarn|bun)"
    r"(?: (?:--filter|-F|-C|--cwd|--prefix|--workspace|-w|workspace)[ =]\S+| -\S+)*(?: run)?"
)
_TASKS = r"(?:mise|task|just|poe|invoke|inv|nx|turbo|moon|hatch|composer)(?: run)?"
_TESTS = _any_of(
    r"(?:pytest|py\.test|tox|nox|jest|vitest|mocha|ava|rspec|phpunit|ctest|karma)\b",
    r"(?:playwright|dotnet|mix|swift|deno|go|sbt|bazel|zig build|rails|php artisan|flutter|dart)"
    r" test\b",
    r"cargo (?:test|nextest)\b",
    rf"{_PACKAGER} (?:exec |dlx )?(?:jest|vitest|mocha|playwright test)\b",
    rf"{_PACKAGER} test\S*|npm t\b|node --test|cypress run",
    r"(?:\S*/)?(?:mvnw?|gradlew?) .*\b(?:test|verify|check)\b",
    rf"rake (?:test|spec)\b|make (?:-\S+ )*\S*(?:test|check)\S*|{_TASKS} \S*test\S*",
    r"python\S* (?:-m (?:pytest|unittest)|manage\.py test)\b|\S*/?run[-_]?tests?\S*",
)
_CHECKS = _any_of(
    r"(?:tsc|mypy|pyright|ruff|flake8|pylint|eslint|biome|prettier|black|isort|clippy)\b",
    r"(?:golangci-lint|make|cmake|ninja|gcc|clang|javac|msbuild|webpack|rollup|g\+\+)(?!\S)",
    r"cargo (?:build|check|clippy|fmt)\b|go (?:build|vet)\b|(?:flutter|dart) (?:analyze|build)\b",
    r"(?:dotnet|next|vite|swift) build\b",
    rf"(?:{_PACKAGER}|{_TASKS}) (?:build|lint|typecheck|type-check|check|format|fmt)\S*",
    r"(?:\S*/)?(?:mvnw?|gradlew?)\b|docker(?: compose)? build\b|pre-commit run\b",
    r"python\S* -m (?:mypy|ruff|compileall|build)\b|terraform (?:plan|validate)\b",
)
INSTALLS = re.compile(
    _any_of(
        r"(?:python\S* -m )?pip3? install|uv (?:add|sync|pip install)|poetry (?:add|install)",
        r"pdm (?:add|install)|conda install|(?:npm|pnpm) (?:install|i|add|ci)|pipenv install",
        r"yarn (?:add|install)|bun (?:add|install)|bundle (?:add|install)|go (?:get|install)",
        r"cargo (?:add|install)|gem install|composer (?:require|install)|go mod download",
        r"apt(?:-get)? install|brew install|dnf install|apk add|mix deps\.get|dotnet add",
        r"playwright install",
    ).pattern
    + r"\b(?P<rest>.*)"
)
_MIGRATIONS = _any_of(
    r"alembic (?:upgrade|downgrade|revision)|flask db (?:migrate|upgrade)",
    r"(?:python\S* )?(?:\./)?manage\.py (?:migrate|makemigrations)|php artisan migrate",
    r"prisma (?:migrate|db push)|(?:bin/)?(?:rails|rake) db:(?:migrate|rollback)",
    r"knex migrate|sequelize(?:-cli)? db:migrate|drizzle-kit (?:push|generate|migrate)",
    r"flyway \S*migrate|sqlx migrate|diesel migration|dbmate|goose|liquibase",
    r"typeorm migration|dotnet ef (?:migrations|database)",
)


class Purpose(StrEnum):
    """What a command is for."""

    TEST = "test"
    CHECK = "check"
    INSTALL = "install"
    MIGRATE = "migrate"
    COMMIT = "commit"
    LOOK = "look"
    OTHER = "other"


def changes_git_state(words: Sequence[str]) -> bool:
    """Whether a failure of a call is about the checkout of the moment, not about the project."""
    return words[0] == "git" and git_verb(words) in _GIT_STATE


def purpose_of(words: Sequence[str]) -> Purpose:
    """What a call of these words is for."""
    text = " ".join(words)
    if words[0] == "git":
        verb = git_verb(words)
        if verb == "commit" and "--dry-run" not in words:
            return Purpose.COMMIT
        return Purpose.LOOK if verb in _GIT_LOOKING or not verb else Purpose.OTHER
    shows = (words[0] == "sed" and "-i" not in text) or text.endswith("-m json.tool")
    if words[0] in _LOOKING or shows:
        return Purpose.LOOK
    for purpose, pattern in (
        (Purpose.TEST, _TESTS),
        (Purpose.INSTALL, INSTALLS),
        (Purpose.MIGRATE, _MIGRATIONS),
        (Purpose.CHECK, _CHECKS),
    ):
        if pattern.match(text):
            return purpose
    return Purpose.OTHER


def git_verb(words: Sequence[str]) -> str:
    """The subcommand of a git call; "" when there is none."""
    rest = list(words[1:])
    while rest and rest[0].startswith("-"):
        rest = rest[2:] if rest[0] in ("-C", "-c", "--git-dir", "--work-tree") else rest[1:]
    return rest[0] if rest else ""
