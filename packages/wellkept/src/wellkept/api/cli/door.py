"""The words of `wellkept`: what the help shows, where every other command is offered, and the words
that it had before.

A command has one module and one click object. `WORDS` names its module, `PLACES` puts it under a
noun, `TURNS` makes it an option of a verb. Invariant: a word that has a place keeps working and
says the place on standard error, except to programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from types import MappingProxyType
from typing import Final, NamedTuple

from wellkept.core.errors import UsageError

DOOR: Final = MappingProxyType(
    {
        "Every day": {
            "init": "Learn what this project says about itself.",
            "pages": "Read and correct the project pages: layout, commands, rules, ...",
            "install": "Install Wellkept in a coding client, or remove it.",
            "status": "Show installed clients and running processes.",
            "open": "Open the page in a browser; start a server when none is running.",
            "remember": "Store a memory.",
            "recall": "Search memories.",
            "list": "List memories, newest first.",
            "show": "Show memories in full.",
            "edit": "Change a memory, or many.",
            "forget": "Delete memories permanently.",
            "undo": "Take an action back by its id, or list what can be taken back.",
            "context": "Show the context an agent would get, within a token budget.",
            "why": "Show what agents were told lately, or where one line comes from.",
            "review": "Show what a session, or the project, left to look at.",
        },
        "By subject": {
            "session": "Sessions: what happened, what was learned, what is handed over.",
            "skill": "Find, run, validate, write, enable and disable skills.",
            "graph": "Build and query the code graph.",
            "agent": "Let an agent work on a task, or talk with it.",
            "team": "Share memories through git or a server; run a server for a team.",
            "config": "Show and change settings.",
            "admin": "Import, export, back up, repair, maintain.",
        },
    }
)
"""What `wellkept --help` shows."""

NOUNS: Final = tuple(DOOR["By subject"])
UNSHOWN: Final = ("uninstall", "off", "on", "hook", "mcp", "serve", "completion")
"""Words of people in a hurry and of files that clients have: offered, but not in the help."""

WORDS: Final = MappingProxyType(
    {
        "agent": "+agent",
        "chat": "+agent",
        "move": "+team",
        "remote": "+team",
        "share": "+team",
        "team": "+team",
        "demo": "data.demo",
        "export": "data.export_import",
        "import": "data.export_import",
        "init": "data.init",
        "tour": "data.tour",
        "ask": "memory.ask",
        "health": "memory.health",
        "follow": "run.events",
        "hook": "run.hook",
        "install": "run.install",
        "mcp": "run.mcp",
        "open": "run.open_",
        "off": "run.pause",
        "on": "run.pause",
        "serve": "run.serve",
        "token": "run.serve",
        "spool": "run.spool",
        "status": "run.status",
        "uninstall": "run.uninstall",
        "completion": "system.completion",
        "model": "system.model",
        "models": "system.models",
        "storage": "system.storage",
        "methodology": "work.methodology",
        "observer": "work.observer",
    }
)
"""Every command by the word that its function has, with its module under `cli`; `+` marks another
distribution."""

PLACES: Final = MappingProxyType(
    {
        "agent run": "agent",
        "agent chat": "chat",
        "team join": "remote add",
        "team leave": "remote remove",
        "team sync": "remote sync",
        "team share": "share add",
        "team unshare": "share remove",
        "team review": "remote review",
        "admin import": "import",
        "admin export": "export",
        "admin move": "move",
        "admin drain": "spool drain",
        "admin models": "models",
        "admin models test": "model test",
        "admin token": "token",
        "admin demo": "demo",
    }
)
"""Where a command stands under a noun, and its words in the code."""


class Turn(NamedTuple):
    """An option that makes a verb another command. Its value becomes that command's last argument;
    with several commands, it names the one."""

    option: str
    value: str
    command: str
    help: str


TURNS: Final[MappingProxyType[str, tuple[Turn, ...]]] = MappingProxyType(
    {
        "pages": (
            Turn("--edit", "ID", "page edit", "Correct the line of this record; give --to."),
            Turn("--write", "", "page write", "Write them as Markdown files; take edits over."),
        ),
        "init": (Turn("--tour", "", "tour", "Also show a summary and try three questions."),),
        "install": (Turn("--remove", "", "uninstall", "Remove Wellkept from the client."),),
        "status": (
            Turn("--health", "", "health", "Is the memory alive, trusted and of use?"),
            Turn("--stats", "", "stats", "Count memories, and what agents were given."),
            Turn("--storage", "", "storage", "What fills the store."),
            Turn("--learning", "", "observer", "What is being learned."),
            Turn("--spool", "", "spool status", "Events that are not stored yet."),
            Turn("--model", "", "model status", "The model that reads sessions."),
            Turn("--methodology", "", "methodology show", "The methodology in use."),
            Turn("--methodologies", "", "methodology list", "Installed methodologies."),
            Turn("--shared", "", "share status", "What is shared through git."),
            Turn("--remote", "", "remote status", "What is shared through a server."),
        ),
        "remember": (Turn("--apply", "", "apply", "Execute the memory commands in the text."),),
        "recall": (
            Turn("--answer", "", "ask", "Answer in words, with citations."),
            Turn("--recipe", "", "recipe", "The steps that solved such a task before."),
        ),
        "session events": (Turn("--follow", "", "follow", "Keep printing until stopped."),),
        "team join": (
            Turn("--git", "", "share on", "Share through git."),
            Turn("--rotate", "", "remote rotate", "Exchange your token for a new one."),
        ),
        "team leave": (Turn("--git", "", "share off", "Take nothing in through git any more."),),
        "team sync": (
            Turn("--git", "", "share update", "Through git."),
            Turn("--list", "", "remote list", "List the servers of every project here."),
        ),
        "team review": (
            Turn("--approve", "", "remote approve", "Say yes as a reviewer, to IDs."),
            Turn("--reject", "", "remote reject", "Say no as a reviewer, to IDs."),
        ),
        "config set": (
            Turn("--methodology", "", "methodology use", "Choose the methodology."),
            Turn("--model", "", "model choose", "Choose the model that reads sessions."),
        ),
        "admin doctor": (Turn("--spool", "", "spool repair", "Retry events that failed."),),
    }
)
"""Commands that are an option of another."""


FORWARDED: Final = MappingProxyType(
    {
        "timeline": "list --around",
        "facets": "list --count",
        "history": "show --history",
        "log": "why",
        "config show": "config list",
        "config path": "config list --path",
        "backup": "admin backup",
        "doctor": "admin doctor",
        "projects": "admin projects",
        "projects list": "admin projects",
        "projects join": "admin join",
        "projects merge": "admin join --merge",
        "project join": "admin join",
        "project merge": "admin join --merge",
        "restore": "admin restore",
        "maintain": "admin maintain",
        "refresh": "admin maintain --only refresh",
        "decay": "admin maintain --only decay",
        "prune": "admin maintain --only prune",
        "compact": "admin maintain --only compact",
        "reindex": "admin reindex",
        "skill commands": "skill list --commands",
        "skill detect": "skill search --select",
        "skill remind": "skill show --remind",
        "skill add": "skill new --url",
        "skill force": "skill enable --force",
        "skill refine": "skill generate --refine",
        "skill hooks": "skill trust --dry-run",
        "skill untrust": "skill trust --revoke",
        "skill refresh": "skill validate --refresh",
        "injected": "why",
        "sessions": "session list",
        "sessions list": "session list",
        "sessions show": "session show",
        "sessions timeline": "session show --timeline",
        "events": "session events",
        "handoff": "session handoff",
        "methodology relay": "session handoff --relay",
        "observer verdict": "session verdict",
        "observer commands": "session commands",
        "archive": "session archive",
        "graph status": "graph show",
        "graph notes": "graph show",
        "graph coverage": "graph show --coverage",
        "graph related": "graph show --related",
        "graph modules": "graph map",
        "graph prefetch": "graph show --reads",
        "observer prefetch": "graph show --reads",
        "observer related": "graph show --related",
        "observer recipe": "recall --recipe",
        "observer status": "status --learning",
        "observer traps": "list --type trap",
        "bulk": "edit --action",
        "flag": "edit --action flag",
        "correct": "edit {} --because {}",
        "relate": "edit {} --relate {} --to {}",
        "confidence": "edit {} --confidence {}",
    }
)
"""Words of before -> the verb and the option that do the same now; {} takes the next argument."""


def _moved() -> dict[str, str]:
    moved = {old: new for new, old in PLACES.items()} | dict(FORWARDED)
    for place, turns in TURNS.items():
        for turn in turns:
            steps = turn.command.split("|")
            for step in steps:
                value = step if len(steps) > 1 else turn.value
                moved[step] = f"{place} {turn.option} {value}".rstrip()
    groups = {"spool": "status --spool", "model": "status --model", "share": "status --shared"}
    moved |= {**groups, "remote": "status --remote", "methodology": "status --methodologies"}
    del moved["uninstall"], moved["agent"]
    return moved


MOVED: Final = MappingProxyType(_moved())
"""Words that have a place -> the place."""


def below(place: str) -> list[str]:
    """The words that stand under a place."""
    inner = (one.removeprefix(f"{place} ") for one in PLACES if one.startswith(f"{place} "))
    return [one for one in inner if " " not in one]


def words_of(arguments: Sequence[str]) -> list[str]:
    """The words that name a command: those before any option of its own."""
    rest = list(arguments)
    if rest and rest[0].partition("=")[0] == "--store":
        rest = rest[1:] if "=" in rest[0] else rest[2:]
    return list(takewhile(lambda one: not one.startswith("-"), rest))


def place_of(words: Sequence[str]) -> tuple[str, str] | None:
    """The words that called a command, and where it stands now, when these are not the same."""
    first = words[0]
    both = f"{first} {words[1]}" if len(words) > 1 else first
    if both in MOVED:
        return both, MOVED[both]
    return (first, MOVED[first]) if first in MOVED and first not in NOUNS else None


def turned(place: str, arguments: Sequence[str]) -> tuple[str, str, list[str]] | None:
    """The option that makes a verb another command, that command's words and its arguments."""
    for turn in TURNS.get(place, ()):
        for number, one in enumerate(arguments):
            if one == "--":
                break
            name, has_value, value = one.partition("=")
            if name != turn.option:
                continue
            rest = [*arguments[:number], *arguments[number + 1 :]]
            if not turn.value:
                return turn.option, turn.command, rest
            if not has_value:
                value = rest.pop(number) if number < len(rest) else "--help"
            steps = turn.command.split("|")
            if len(steps) == 1:
                return turn.option, turn.command, [*rest, value]
            if value not in steps:
                raise UsageError(
                    f"{turn.option} takes no {value!r}.", hint=f"Choose from: {', '.join(steps)}."
                )
            return f"{turn.option} {value}", value, rest
    return None
