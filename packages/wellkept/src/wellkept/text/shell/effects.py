"""What a command line would do: only read inside the project, read elsewhere, or anything else.

Conservative: a program, option or piece of syntax that is not known to be harmless counts as
writing. Nothing is run to find out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Final

from wellkept.text.shell.strict_reader import SimpleCommand, Word, plain_commands


class Effect(StrEnum):
    """What a command line does at most."""

    READS = "reads"
    READS_OUTSIDE = "reads_outside"
    WRITES = "writes"


_NO_OPTION_WRITES: Final = frozenset(
    "basename cat cksum cmp comm cut diff dirname echo egrep expand false fgrep fold grep head"
    " hexdump id join jq ls md5sum nl nproc od paste printenv ps pwd readlink realpath rev seq"
    " sha1sum sha256sum sha512sum sleep stat strings sum tac tail tr true type uname"
    " unexpand uptime wc whereis which whoami df du free".split()
)
"""Programs that write nothing, whatever their options."""

_TALKS: Final = frozenset({"echo", "printf"})
"""Programs whose words are no paths."""

_VERSIONED: Final = frozenset(
    "bun bundle cargo cmake deno docker dotnet gcc git go java make node npm npx php pip pip3 pnpm"
    " poetry python python3 ruby rustc rustup tsc uv yarn".split()
)
_VERSION_WORDS: Final = frozenset({"--version", "-V", "-v", "version"})

_GIT_READS: Final = frozenset(
    "blame cat-file check-ignore count-objects describe diff diff-index diff-tree for-each-ref grep"
    " log ls-files ls-tree merge-base name-rev rev-list rev-parse shortlog show show-ref status"
    " whatchanged".split()
)
_GIT_OPTIONS: Final = frozenset({"--no-pager", "-P"})
_GIT_LISTS: Final[Mapping[str, frozenset[str]]] = {
    "branch": frozenset(
        "-a -r -v -vv --all --remotes --list --verbose --show-current --no-color".split()
    ),
    "tag": frozenset({"-l", "--list", "-n"}),
    "remote": frozenset({"-v", "--verbose"}),
}
"""Commands that list when they get only these words."""
_GIT_FORMS: Final = frozenset(
    {("stash", "list"), ("stash", "show"), ("worktree", "list"), ("reflog", "show"),
     ("remote", "get-url"), ("config", "--get"), ("config", "--list"), ("config", "-l"),
     ("submodule", "status"), ("notes", "list"), ("notes", "show")}
)  # fmt: skip
_FIND_WRITES: Final = ("-delete", "-exec", "-ok", "-fprint", "-fls")
_SED_PRINTS: Final = re.compile(r"\s*(?:\d+|\$)(?:,(?:\d+|\$|\+\d+))?\s*[pq]\s*")
_FOLLOWS_LINKS: Final[Mapping[str, str]] = {
    "grep": "R", "egrep": "R", "fgrep": "R", "find": "L", "rg": "L", "du": "L", "diff": "r",
}  # fmt: skip
"""Short options with which a program reads what links lead to."""
_LONG_FOLLOWS: Final = ("follow", "dereference", "recursive")
_MAX_GLOBBED: Final = 500


def effect_of(command: str, *, folder: Path, roots: Sequence[Path]) -> Effect:
    """What a command line does at most, when run in a folder; `roots` are the session's own."""
    commands = plain_commands(command)
    if commands is None or not all(map(_only_reads, commands)):
        return Effect.WRITES
    programs = [one.program for one in commands]
    # A folder inside the project may hold a repository whose configuration runs programs.
    if "cd" in programs and "git" in programs:
        return Effect.WRITES
    return Effect.READS if _stays_inside(commands, folder, roots) else Effect.READS_OUTSIDE


def _only_reads(command: SimpleCommand) -> bool:
    if command.assignments or not command.words or command.words[0].expands:
        return False
    if not all(harmless_redirect(*redirect) for redirect in command.redirects):
        return False
    if any(word.expands for word in command.arguments) and command.program not in _TALKS:
        return False
    # A file may be named like an option, and a wildcard would pass it on as one.
    leads = any(word.globs and word.text[:1] in "*?[" for word in command.arguments)
    if command.program in _NO_OPTION_WRITES:
        return True
    check = _CHECKS.get(command.program)
    words = [word.text for word in command.arguments]
    if command.program in _VERSIONED and len(words) == 1 and words[0] in _VERSION_WORDS:
        return True
    return check is not None and not leads and check(words)


def harmless_redirect(operator: str, target: Word) -> bool:
    """Whether a redirection writes no file: `2>&1`, `>/dev/null`, `< file`."""
    if target.expands or target.globs:
        return False
    if operator.endswith(("&",)):  # 2>&1
        return target.text.isdigit() or target.text == "-"
    return operator.lstrip("0123456789") == "<" or target.text == "/dev/null"


# -- Programs that read unless told otherwise -----------------------------------------------------


def _is_long(word: str, *names: str) -> bool:
    """Whether a word is one of these long options, also abbreviated as GNU programs allow."""
    if not word.startswith("--"):
        return False
    given = word[2:].partition("=")[0]
    return bool(given) and any(name.startswith(given) or given.startswith(name) for name in names)


def _short(word: str) -> str:
    return word[1:] if word.startswith("-") and not word.startswith("--") else ""


def _positional(words: Iterable[str]) -> list[str]:
    return [word for word in words if not word.startswith("-") or word == "-"]


def _cd(words: Sequence[str]) -> bool:
    return len(words) == 1 and not words[0].startswith("-")


def _date(words: Sequence[str]) -> bool:
    return all(
        word.startswith("+") or word in ("-u", "-R", "-I", "--utc", "--iso-8601") for word in words
    )


def _env(words: Sequence[str]) -> bool:
    return not words


def _file(words: Sequence[str]) -> bool:
    return not any("C" in _short(word) or _is_long(word, "compile") for word in words)


def _find(words: Sequence[str]) -> bool:
    return not any(word.startswith(_FIND_WRITES) for word in words)


def _rg(words: Sequence[str]) -> bool:
    return not any(_is_long(word, "pre", "hostname-bin") for word in words)


def _sed(words: Sequence[str]) -> bool:
    """Only `sed -n '10,20p' FILE …`: scripts can write files and run programs."""
    if not words or words[0] != "-n" or len(words) < 2:
        return False
    steps = words[1].rstrip("; ").split(";")
    return all(map(_SED_PRINTS.fullmatch, steps)) and not any(
        word.startswith("-") for word in words[2:]
    )


def _printf(words: Sequence[str]) -> bool:
    """Also `test`: with -v both evaluate the name that they are given."""
    return not any("$(" in word or "`" in word or word.startswith("-v") for word in words)


def _sort(words: Sequence[str]) -> bool:
    return not any(
        "o" in _short(word) or _is_long(word, "output", "compress-program", "temporary-directory")
        for word in words
    )


def _tree(words: Sequence[str]) -> bool:
    return not any("o" in _short(word) or _is_long(word, "output") for word in words)


def _uniq(words: Sequence[str]) -> bool:
    return len(_positional(words)) <= 1  # the second one is written


def _git(words: Sequence[str]) -> bool:
    rest = list(words)
    while rest and rest[0] in _GIT_OPTIONS:
        rest = rest[1:]
    if not rest:
        return False
    command, rest = rest[0], rest[1:]
    if any(_is_long(word, "output", "open-files-in-pager", "ext-diff") for word in rest):
        return False
    if command == "grep" and any("O" in _short(word) for word in rest):
        return False
    if command in _GIT_READS:
        return True
    if command in _GIT_LISTS and all(word in _GIT_LISTS[command] for word in rest):
        return True
    if command == "tag" and rest[:1] in (["-l"], ["--list"]):
        return not any(word.startswith("-") for word in rest[1:])
    if command == "reflog" and not rest:
        return True
    return bool(rest) and (command, rest[0]) in _GIT_FORMS


_CHECKS: Final[Mapping[str, Callable[[Sequence[str]], bool]]] = {
    "cd": _cd, "date": _date, "env": _env, "file": _file, "find": _find, "git": _git, "rg": _rg,
    "printf": _printf, "sed": _sed, "sort": _sort, "test": _printf, "[": _printf, "tree": _tree,
    "uniq": _uniq,
}  # fmt: skip


# -- Where it reads -------------------------------------------------------------------------------


def _stays_inside(commands: Sequence[SimpleCommand], folder: Path, roots: Sequence[Path]) -> bool:
    known = [root.resolve() for root in roots]
    here = folder
    for command in commands:
        words = [] if command.program in _TALKS else list(command.arguments)
        words += [target for operator, target in command.redirects if not operator.endswith("&")]
        if _follows_links(command.program, words):
            return False
        if not all(_is_inside(word, here, known) for word in words):
            return False
        if command.program == "cd":
            here = here / command.arguments[0].text
    return True


def _follows_links(program: str, words: Sequence[Word]) -> bool:
    letter = _FOLLOWS_LINKS.get(program)
    return letter is not None and any(
        letter in _short(word.text)
        or word.text == "-follow"
        or (word.text != "--recursive" and _is_long(word.text, *_LONG_FOLLOWS))
        for word in words
    )


def _is_inside(word: Word, folder: Path, roots: Sequence[Path]) -> bool:
    text = word.text
    if text == "/dev/null":
        return True
    if word.tilde:
        return False
    if text.startswith("-"):  # an option may hold a path: --file=/etc/x, -f/etc/x
        starts = [at for mark in ("/", "..", "~") if (at := text.find(mark)) >= 0]
        text = text[min(starts) :] if starts else ""
    elif "=" in text and text.partition("=")[2].startswith(("/", "~", "..")):
        text = text.partition("=")[2]
    if not text or "\0" in text:
        return True
    if not word.globs:
        return _leads_inside(folder / text, roots)
    if text.startswith("/") or ".." in text.split("/"):
        return False
    try:
        found = list(islice(folder.glob(text), _MAX_GLOBBED + 1))
    except (OSError, ValueError, NotImplementedError):
        return False
    return len(found) <= _MAX_GLOBBED and all(_leads_inside(one, roots) for one in found)


def _leads_inside(path: Path, roots: Sequence[Path]) -> bool:
    try:
        full = path.resolve()
    except (OSError, RuntimeError, ValueError):
        return False
    return any(full.is_relative_to(root) for root in roots)
