"""What a shell command line is for: its parts, and what each of them does.

A line is read without running or expanding anything. What is not recognised is `OTHER`, which is
never wrong.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import lru_cache

from wellkept.core.records import record

_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n(.*?)\n\s*\2\b", re.DOTALL)
_INTERPRETER = re.compile(r"(?:python|node|ruby|bash|sh|php|perl|deno|bun|tsx|ts-node)[\d.]*$")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_WRAPPERS = frozenset("sudo env time nohup command exec xargs nice timeout stdbuf".split())
_RUNNERS = frozenset("npx bunx pnpx uvx pipx".split())
_RUN_PREFIXES = (
    ("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run"), ("hatch", "run"),
    ("pnpm", "exec"), ("yarn", "exec"), ("npm", "exec"), ("bundle", "exec"), ("rye", "run"),
    ("docker", "compose", "exec"),
)  # fmt: skip
_LOOKING = frozenset(
    "ls cat head tail less more grep rg egrep fgrep ag find fd tree pwd echo printf which whereis"
    " type file stat wc sort uniq cut awk diff cmp du df ps env date whoami id uname test [ true"
    " false cd pushd popd sleep export set source . jq xxd od nl column basename dirname realpath"
    " readlink hostname history man kill pkill lsof open".split()
)
_GIT_LOOKING = frozenset(
    "status log diff show branch blame remote ls-files rev-parse describe fetch config grep add"
    " shortlog reflog stash cat-file".split()
)


def _starting(*ways: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(ways)})")


_PACKAGER = r"(?:npm|pnpm|yarn|bun)(?: run)?"
_TASKS = r"(?:mise|task|just|poe|invoke|inv|nx|turbo|moon|hatch|composer)(?: run)?"
_TESTS = _starting(
    r"(?:pytest|py\.test|tox|nox|jest|vitest|mocha|ava|rspec|phpunit|ctest|karma)\b",
    r"(?:playwright|dotnet|mix|swift|deno|go|sbt|bazel|zig build|rails|php artisan) test\b",
    r"cargo (?:test|nextest)\b",
    rf"{_PACKAGER} test\S*|npm t\b|node --test|cypress run",
    r"(?:\S*/)?(?:mvnw?|gradlew?) .*\b(?:test|verify|check)\b",
    rf"rake (?:test|spec)\b|make (?:-\S+ )*\S*(?:test|check)\S*|{_TASKS} \S*test\S*",
    r"python\S* (?:-m (?:pytest|unittest)|manage\.py test)\b|\S*/?run[-_]?tests?\S*",
)
_CHECKS = _starting(
    r"(?:tsc|mypy|pyright|ruff|flake8|pylint|eslint|biome|prettier|black|isort|clippy)\b",
    r"(?:golangci-lint|make|cmake|ninja|gcc|clang|javac|msbuild|webpack|rollup|g\+\+)(?!\S)",
    r"cargo (?:build|check|clippy|fmt)\b|go (?:build|vet)\b|(?:dotnet|next|vite|swift) build\b",
    rf"(?:{_PACKAGER}|{_TASKS}) (?:build|lint|typecheck|type-check|check|format|fmt)\S*",
    r"(?:\S*/)?(?:mvnw?|gradlew?)\b|docker(?: compose)? build\b|pre-commit run\b",
    r"python\S* -m (?:mypy|ruff|compileall|build)\b|terraform (?:plan|validate)\b",
)
_INSTALLS = re.compile(
    _starting(
        r"(?:python\S* -m )?pip3? install|uv (?:add|pip install)|poetry add|pipenv install",
        r"pdm add|conda install|(?:npm|pnpm) (?:install|i|add)|yarn add|bun (?:add|install)",
        r"cargo (?:add|install)|go (?:get|install)|gem install|bundle add|composer require",
        r"apt(?:-get)? install|brew install|dnf install|apk add|mix deps\.get|dotnet add",
        r"playwright install",
    ).pattern
    + r"\b(?P<rest>.*)"
)
_MIGRATIONS = _starting(
    r"alembic (?:upgrade|downgrade|revision)|flask db (?:migrate|upgrade)",
    r"(?:python\S* )?(?:\./)?manage\.py (?:migrate|makemigrations)|php artisan migrate",
    r"prisma (?:migrate|db push)|(?:bin/)?(?:rails|rake) db:(?:migrate|rollback)",
    r"knex migrate|sequelize(?:-cli)? db:migrate|drizzle-kit (?:push|generate|migrate)",
    r"flyway \S*migrate|sqlx migrate|diesel migration|dbmate|goose|liquibase",
    r"typeorm migration|dotnet ef (?:migrations|database)",
)
_COMMIT_LINE = re.compile(
    r"^\[(?P<branch>[^\s\]]+)(?: \([^)]*\))? (?P<sha>[0-9a-f]{7,40})\] (?P<subject>.+)$", re.M
)
_MESSAGE_OPTION = re.compile(r"-\w*m\s*(?:=\s*)?(?P<q>[\"'])(?P<text>.*?)(?<!\\)(?P=q)", re.DOTALL)
_MADE_BY_COMMIT = re.compile(r"^ (?:create|delete) mode \d+ (?P<path>.+)$", re.M)


class Purpose(StrEnum):
    """What a command is for."""

    TEST = "test"
    CHECK = "check"
    INSTALL = "install"
    MIGRATE = "migrate"
    COMMIT = "commit"
    LOOK = "look"
    OTHER = "other"


@record
class Run:
    """One program call of a command line: its words without wrappers, and what it is for."""

    words: tuple[str, ...]
    purpose: Purpose

    @property
    def text(self) -> str:
        """The call as one line."""
        return " ".join(self.words)

    @property
    def subject(self) -> str:
        """What the call is about: its program, and its subcommand if it has one."""
        if self.purpose is Purpose.TEST:
            return "tests"
        plain = [w for w in self.words if not w.startswith("-")]
        telling = len(plain) > 1 and (_is_word(plain[1]) or _INTERPRETER.match(plain[0]))
        return " ".join(plain[:2]) if telling else self.words[0]


@record
class ParsedCommit:
    """A commit as git reported it."""

    subject: str
    branch: str | None
    sha: str | None
    body: str
    files: tuple[str, ...]


def runs(command: str) -> list[Run]:
    """The program calls of a command line, in order."""
    return list(_runs(command))


@lru_cache(maxsize=256)
def _runs(command: str) -> tuple[Run, ...]:
    """A line is looked at several times, and many come again."""
    text = _HEREDOC.sub(r"\3", command)
    found = (_unwrapped(_split_words(part)) for part in _parts(text))
    return tuple(Run(words, _purpose(words)) for words in found if words)


def main_run(found: Sequence[Run]) -> Run | None:
    """The call that a line is about: the last one that does more than look."""
    doing = [run for run in found if run.purpose is not Purpose.LOOK]
    return doing[-1] if doing else None


def installed_packages(run: Run) -> list[str]:
    """What an install call names; nothing when it only installs what is listed already."""
    match = _INSTALLS.match(run.text)
    words = match["rest"].split() if match else []
    skip_next = False
    names: list[str] = []
    for word in words:
        if skip_next or word.startswith("-"):
            skip_next = word in ("-r", "-c", "-e", "--index-url", "-i", "--extra", "-f", "--group")
            continue
        if not word.startswith((".", "/")) and re.match(r"[@\w]", word):
            names.append(word.strip("'\""))
    return names


def git_verb(words: Sequence[str]) -> str:
    """The subcommand of a git call; "" when it has none."""
    rest = list(words[1:])
    while rest and rest[0].startswith("-"):
        rest = rest[2:] if rest[0] in ("-C", "-c", "--git-dir", "--work-tree") else rest[1:]
    return rest[0] if rest else ""


def files_shown(found: Sequence[Run]) -> list[str]:
    """Files that a line prints."""
    shown = [run for run in found if run.words[0] in ("cat", "head", "tail", "less", "sed", "nl")]
    words = [word for run in shown for word in run.words[1:]]
    return [w for w in words if re.fullmatch(r"[\w./@~-]*[\w-]\.\w{1,8}", w) and "*" not in w]


def read_commit(command: str, output: str) -> ParsedCommit | None:
    """The last commit that a command line made, if its output or its words tell."""
    lines = list(_COMMIT_LINE.finditer(output))
    message = _message(command)
    subject = lines[-1]["subject"].strip() if lines else message.split("\n", 1)[0].strip()
    if not subject:
        return None
    return ParsedCommit(
        subject=subject,
        branch=lines[-1]["branch"] if lines else None,
        sha=lines[-1]["sha"] if lines else None,
        body=message.partition("\n")[2].strip(),
        files=tuple(match["path"].strip() for match in _MADE_BY_COMMIT.finditer(output)),
    )


def heredoc_files(command: str) -> list[tuple[str, str]]:
    """Files that a line writes from text inside it: (path, text)."""
    written: list[tuple[str, str]] = []
    for line, match in (
        (command[: m.start()].rsplit("\n", 1)[-1], m) for m in _HEREDOC.finditer(command)
    ):
        target = re.search(r">\s*([^\s>&|;]+)", f"{line} {match.group(3)}")
        if target and not re.search(r">>|git\s+commit", line):
            written.append((target.group(1).strip("'\""), match.group(4) + "\n"))
    return written


def _message(command: str) -> str:
    heredoc = _HEREDOC.search(command)
    if heredoc and "commit" in command[: heredoc.start()]:
        return heredoc.group(4).strip()
    parts = [m["text"] for m in _MESSAGE_OPTION.finditer(command)]
    return "\n\n".join(parts).replace('\\"', '"').strip()


# -- Taking a line apart --------------------------------------------------------------------------


def _parts(text: str) -> Iterator[str]:
    """The line cut at operators and line ends that are not inside quotes."""
    part, quote, at = "", "", 0
    while at < len(text):
        char = text[at]
        if char == "\\" and quote != "'":
            part += text[at : at + 2]
            at += 2
            continue
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "&|;\n" and text[at - 1 : at] not in (">", "<"):
            yield part
            part = ""
            at += 1
            continue
        part += char
        at += 1
    yield part


def _split_words(part: str) -> list[str]:
    part = part.strip().strip("()")
    if part.startswith("#"):
        return []
    try:
        words = shlex.split(part)
    except ValueError:
        words = part.split()
    return [w for w in words if not re.fullmatch(r"\d*[<>]+&?\d*\S*", w)]


def _unwrapped(words: list[str]) -> tuple[str, ...]:
    """The words without assignments, wrappers and runners in front of them."""
    while words:
        if _ASSIGNMENT.match(words[0]):
            words = words[1:]
        elif words[0] in _WRAPPERS:
            words = words[1:]
            while words and (words[0].startswith("-") or re.fullmatch(r"\d+[smh]?", words[0])):
                words = words[1:]
        elif words[0] in _RUNNERS and len(words) > 1:
            words = words[1:] if not words[1].startswith("-") else words[2:]
        elif prefix := next((p for p in _RUN_PREFIXES if tuple(words[: len(p)]) == p), None):
            words = words[len(prefix) :]
        else:
            break
    if words and "/" in words[0] and re.search(r"/(?:bin|node_modules|\.venv)/", words[0]):
        words = [words[0].rsplit("/", 1)[-1], *words[1:]]
    return tuple(words)


def _purpose(words: tuple[str, ...]) -> Purpose:
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
        (Purpose.INSTALL, _INSTALLS),
        (Purpose.MIGRATE, _MIGRATIONS),
        (Purpose.CHECK, _CHECKS),
    ):
        if pattern.match(text):
            return purpose
    return Purpose.OTHER


def _is_word(word: str) -> bool:
    return re.fullmatch(r"[A-Za-z][\w:-]*", word) is not None
