"""The form of a command: what stays the same when its targets vary.

`command_form` separates the words that make up a form (program, subcommand, workspace, options,
environment, folder) from values such as a test's name or a number. Commands that nobody needs to
be told about (looking, moving files, version control, one-off scripts) have no form.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from wellkept.core.records import record
from wellkept.observe.failures.permissions import is_permission
from wellkept.text.shell.purpose import Purpose
from wellkept.text.shell.reader import ShellCommand

SLOT = "\N{BULLET}"
"""Stands for a value in a form."""
_MAX_WORDS = 30
_MAX_FORM_CHARS = 240
_SCRIPT_RUNNERS = frozenset(
    "npm pnpm yarn bun make just task poe invoke nx turbo rake composer deno mise".split()
)
_SUBCOMMANDS = {
    "gh": 2, "glab": 2, "docker": 2, "docker-compose": 1, "kubectl": 1, "helm": 1, "terraform": 1,
    "tofu": 1, "pulumi": 1, "aws": 2, "gcloud": 2, "az": 2, "fly": 1, "flyctl": 1, "vercel": 1,
    "wrangler": 2, "firebase": 1, "supabase": 2, "heroku": 1, "railway": 1, "ansible-playbook": 0,
    "cargo": 1, "go": 1, "dotnet": 2, "flutter": 1, "dart": 1, "swift": 1, "mix": 1, "rails": 1,
    "uv": 1, "poetry": 1, "hatch": 1, "alembic": 1, "prisma": 2, "vitest": 1, "playwright": 1,
    "cypress": 1, "biome": 1, "ruff": 1, "next": 1, "vite": 1, "ng": 1, "expo": 1, "tauri": 1,
    "cdk": 1, "serverless": 1, "skaffold": 1, "bazel": 1, "buf": 1, "sqlx": 2, "php": 1,
    "bundle": 2,
}  # fmt: skip
# Options whose value says which part of the project, or which set-up, is meant.
_STRUCTURAL = frozenset(
    "--filter -F --workspace -w --prefix -C --cwd --dir --project -p --config -c -f --file"
    " --profile --env --environment -m --package --features --target --platform --flavor -e"
    " --manifest-path --rootDir --root --repo -R --scheme --context --namespace -n --region"
    " --env-file --conf".split()
)
_WORKSPACE = frozenset("--filter -F --workspace -w --prefix -C --cwd --dir --manifest-path".split())
_RUNS = re.compile(r"(?:^|[:_-])(?:dev|start|serve|server|preview|watch|run|up)(?:$|[:_-])")
_DEPLOYS = re.compile(r"(?:^|[:_-])(?:deploy|release|publish|ship|rollout|apply|promote)")
_LINTS = re.compile(
    r"lint|format|fmt|prettier|type-?check|tsc|mypy|pyright|clippy|ruff|analyze|biome"
)
_BUILDS = re.compile(r"build|compile|generate|codegen|bundle|gen(?:$|[:_-])")
_NOT_PLAIN = re.compile(r"[$`\n]|\[redacted", re.IGNORECASE)
# Folders of one session or one machine.
_SCRATCH = re.compile(
    r"(?:^|[=\s:])(?:/private)?/(?:tmp|var/folders|dev|home|Users|root)/|^[A-Z]:\\"
)
_NO_HELP = frozenset({"--help", "-h", "--version", "-V", "--dry-run"})

_NEEDS_QUOTES = re.compile(r"[*?\[\]{} ]")


@record(kw_only=True)
class CommandForm:
    """A command in its form; `words` hold `SLOT` for each of `values`.

    `kind` is what it is for: test, build, lint, run, deploy, migrate, install or tool. `folder` is
    from the project's root, "" for the root.
    """

    kind: str
    words: tuple[str, ...]
    values: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    wrappers: tuple[str, ...] = ()
    folder: str = ""

    @property
    def key(self) -> str:
        """Names the form."""
        where = f"cd {self.folder} && " if self.folder else ""
        return where + " ".join((*self.environment, *self.wrappers, *self.words))

    @property
    def family(self) -> str:
        """What commands of one purpose in one part of the project share."""
        plain = [word for word in self.words if word and word[0] not in f"-{SLOT}"]
        return f"{self.kind} {self.folder} {' '.join(plain)}"

    @property
    def unusual(self) -> int:
        """How much of it a newcomer would not guess."""
        return (
            3 * bool(self.environment)
            + 2 * bool(self.folder)
            + 2
            * any(wrapper.split()[0] not in ("npx", "bunx", "pnpx") for wrapper in self.wrappers)
            + 2 * ("/" in self.words[0])
            + any(word.partition("=")[0] in _STRUCTURAL for word in self.words[1:])
        )


def command_form(command: ShellCommand, *, folder: str | None) -> CommandForm | None:
    """The form of a command that ran in a folder of the project; None when it has none worth
    keeping, or when its folder is not known."""
    kind = _kind(command)
    if kind is None or folder is None or len(command.words) > _MAX_WORDS:
        return None
    line = " ".join((*command.environment, *command.wrappers, command.program, *command.words[1:]))
    if len(line) > _MAX_FORM_CHARS or _NOT_PLAIN.search(line) or _SCRATCH.search(line):
        return None
    if is_permission(line) or not _NO_HELP.isdisjoint(command.words):
        return None
    given = [_as_written(word, command.text) for word in command.words[1:]]
    words, values = _slotted((command.program, *given), name=command.words[0])
    return CommandForm(
        kind=kind,
        words=words,
        values=values,
        environment=command.environment,
        wrappers=command.wrappers,
        folder="" if _names_workspace(command.words) else _plain_folder(folder),
    )


def _as_written(word: str, line: str) -> str:
    """A word with the quotes it had: without them the shell would read a pattern otherwise."""
    if _NEEDS_QUOTES.search(word) is None:
        return word
    return next((one for one in (f"'{word}'", f'"{word}"') if one in line), word)


def slots(form: CommandForm) -> list[str]:
    """The words of a form that hold a value."""
    return [word for word in form.words if SLOT in word]


def shown(form: CommandForm, seen: Sequence[Sequence[str]]) -> str:
    """The form as a command line; a value of which several were seen is `X`."""
    parts = iter(seen)
    words = [
        word.replace(SLOT, _value(next(parts, ()))) if SLOT in word else _value([word])
        for word in form.words
    ]
    where = [f"cd {form.folder} &&"] if form.folder else []
    return " ".join((*where, *form.environment, *form.wrappers, *words))


def _value(seen: Sequence[str]) -> str:
    if len(seen) != 1:
        return "X"
    if re.fullmatch(r"[\w@%+=:,./*?{}\[\]~^ -]+|'[^']*'|\"[^\"]*\"", seen[0]):
        return seen[0]
    return shlex.quote(seen[0])


def _kind(command: ShellCommand) -> str | None:
    words, purpose = command.words, command.purpose
    if words[0] in ("gh", "glab"):
        return "tool"
    named = " ".join(words[1:6])
    match purpose:
        case Purpose.TEST:
            return "test"
        case Purpose.CHECK:
            return "lint" if _LINTS.search(command.call) else "build"
        case Purpose.MIGRATE:
            return "migrate"
        case Purpose.INSTALL:
            # Adding a package is done once; installing from the list is needed again.
            return "install" if len(words) < 4 and _is_listed(words) else None
        case Purpose.OTHER if words[0] in _SCRIPT_RUNNERS or words[0] in _SUBCOMMANDS:
            return _kind_of_script(named)
        case _:
            return None


def _kind_of_script(named: str) -> str:
    plain = [word for word in named.split() if not word.startswith("-")]
    for kind, pattern in (("deploy", _DEPLOYS), ("build", _BUILDS), ("lint", _LINTS)):
        if any(map(pattern.search, plain)):
            return kind
    return "run" if any(map(_RUNS.search, plain)) else "tool"


def _plain_folder(folder: str) -> str:
    return "" if folder in (".", "./") else folder.rstrip("/")


def _names_workspace(words: Sequence[str]) -> bool:
    """Whether a command says itself which part of the project it is for: its folder is chance."""
    return any(word.partition("=")[0] in _WORKSPACE for word in words[1:])


def _is_listed(words: Sequence[str]) -> bool:
    return all(word.startswith("-") for word in words[2:])


def _slotted(words: Sequence[str], *, name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words with slots, and the values of the slots."""
    form: list[str] = []
    values: list[str] = []
    for word, value in _parts(words, name=name):
        if value is not None and word == SLOT and form and form[-1] == SLOT:
            # Several targets in a row are one value.
            values[-1] = f"{values[-1]} {value}"
            continue
        form.append(word)
        if value is not None:
            values.append(value)
    return tuple(form), tuple(values)


def _parts(words: Sequence[str], *, name: str) -> Iterator[tuple[str, str | None]]:
    yield words[0], None
    left = 2 if name in _SCRIPT_RUNNERS else _SUBCOMMANDS.get(name, 0)
    if re.match(r"python|node$|ruby$", name):
        left = 2
    before = ""
    for word in words[1:]:
        option, equals, value = word.partition("=")
        if word.startswith("-"):
            is_kept = not equals or option in _STRUCTURAL
            yield (word, None) if is_kept else (f"{option}={SLOT}", value)
        elif before in _STRUCTURAL or (left and _is_subcommand(word, before)):
            left -= before not in _STRUCTURAL
            yield word, None
        else:
            left = 0
            yield SLOT, word
        before = word


def _is_subcommand(word: str, before: str) -> bool:
    is_name = re.fullmatch(r"[A-Za-z][\w:.-]*", word) is not None
    return is_name and not before.startswith("-")
