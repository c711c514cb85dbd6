"""Whether a command failed, and the line of its output that names the cause.

Failure is wider than the exit code: a pipe can hide it, and a test runner that finds no tests
exits with 0. The cause is the first line that names one, never a wrapper's closing line
(`make: *** … Error 3`, `npm ERR! code`). Unknown output gives None rather than a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from wellkept.core.text import shorten
from wellkept.observe.reading.command_purpose import Purpose
from wellkept.observe.reading.command_results import read_tests, was_stopped
from wellkept.observe.reading.shell import ShellCommand

MAX_CAUSE_CHARS = 240
_MAX_READ_CHARS = 200_000
_MAX_LINES = 4_000
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

# Lines that say that something failed, but not what.
_NOISE = re.compile(
    r"""
    exit\ code\ \d+ | exit\ status:?\ \d+ | (?:process|command)\ (?:exited|failed).*
    | usage:\ .* | for\ more\ information.* | see\ .*--help.* | try\ .*--help.*
    | =+.* | -{3,}.* | \#{3,}.*
    | \[(?:started|completed|skipped)\].* | husky\b.* | lint-staged.*
    | make(?:\[\d+\])?:\ .* | ninja:\ build\ stopped.*
    | npm\ (?:err!|error)\ (?:code|errno|syscall|path|command|lifecycle|a\ complete\ log).*
    | npm\ (?:err!|error)\s* | error\ command\ failed.* | elifecycle.*
    | err_pnpm_recursive_(?:run|exec)_first_fail\W+\S*\s+(?:run\ )?\S+.*exit\ status.*
    | error:\ script\ ".*"\ exited.* | error:\ "\S+"\ exited.*
    | error:\ failed\ to\ push\ some\ refs.* | error:\ process\ didn't\ exit.*
    | traceback\ \(most\ recent\ call\ last\):? | file\ ".*",\ line\ \d+.*
    | at\ .*[:(]\d+:\d+\)?.* | \^+ | ~+\^*~*
    | note:\ .* | hint:\ .* | info\b.* | warning:\ .*
    | \d+\ (?:errors?|warnings?|problems?|issues?)\b.* | found\ \d+\ (?:errors?|problems?|issues?).*
    | ran\ \d+\ tests?\b.* | [\d\s]+[|│].* | [✓✔»>$].*
    | <tool_use_error>.* | undefined
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Causes outside the code: set-up, names, services. These are what a way out mends.
_SETUP_CAUSE = re.compile(
    r"""
    \bnot\ found\b | could\ not\ be\ found | no\ such\ file\ or\ directory
    | cannot\ find\ (?:module|package|command|name\ of) | module\ not\ found | no\ module\ named
    | is\ not\ installed | please\ install | not\ recognized\ as
    | econnrefused | connection\ refused | could\ not\ connect | couldn't\ connect
    | failed\ to\ connect | could\ not\ resolve | getaddrinfo | unreachable | no\ route\ to\ host
    | un(?:recogni[sz]ed|expected|known)\ (?:sub-?command|option|argument|command|flag|script)
    | invalid\ (?:option|choice|argument|flag) | no\ such\ (?:option|command|subcommand)
    | missing\ script | no\ rule\ to\ make
    | no\ matches\ found | did\ not\ match\ any | not\ a\ git\ repository | pathspec
    | permission\ denied | operation\ not\ permitted | access\ denied | unauthori[sz]ed
    | authentication\ failed | bad\ credentials | not\ logged\ in | login\ required
    | (?:is|are)\ (?:required|not\ set|not\ defined) | must\ be\ set | must\ set
    | not\ configured | missing\ (?:required|environment|env) | no\ configuration\ file
    | address\ already\ in\ use | eaddrinuse | port\ .*\ (?:in\ use|is\ taken)
    | unable\ to\ create | file\ exists | already\ exists | is\ locked
    | no\ tests?\ (?:found|ran|files|to\ run) | collected\ 0\ items | no\ test\ files
    | does\ not\ exist | unsupported | requires\ .*\ version
    | unexpected\ store | out\ of\ memory | no\ space\ left | lockfile | frozen
    """,
    re.IGNORECASE | re.VERBOSE,
)
_CAUSE = re.compile(
    r"\b(?:\w*error|\w*exception|fatal|panic|failed|failure|cannot|can't|unable|denied|invalid"
    r"|undefined|missing|expected|refused|rejected|not allowed|aborted)\b",
    re.IGNORECASE,
)
_NOTHING_RAN = re.compile(
    r"^\W*(?:no tests? (?:found|ran|to run)|no test files|collected 0 items|ran 0 tests"
    r"|0 (?:tests|passed|passing)\b|testing 0)",
    re.IGNORECASE | re.MULTILINE,
)
# In the output of a command whose exit code a pipe hides.
_HIDDEN_FAILURE = re.compile(
    r"^\W*(?:\S+: )?(?:\S+: line \d+: )?(?:error|fatal|panic|traceback \(most recent call last\)"
    r"|err_\w+|npm err!|failed)\b|command not found|error TS\d+:|^FAILED\b",
    re.IGNORECASE | re.MULTILINE,
)


def failure_cause(commands: Sequence[ShellCommand], output: str, error: str | None) -> str | None:
    """The cause when a command line failed: a line of its output, or "" when none names one.
    None when it worked, was stopped by a person, or only looked something up."""
    if was_stopped(error):
        return None
    if all(command.purpose is Purpose.LOOK for command in commands):
        return None
    if error is not None or failed_silently(commands, output):
        return cause_line(f"{output}\n{error or ''}") or ""
    return None


def cause_line(text: str) -> str | None:
    """The first line that names a cause; one about set-up goes before others."""
    lines = list(_telling_lines(_readable(text)))
    for pattern in (_SETUP_CAUSE, _CAUSE):
        for line in lines:
            if pattern.search(line):
                return shorten(line, limit=MAX_CAUSE_CHARS)
    return None


def is_setup_cause(cause: str) -> bool:
    """Whether a cause lies in set-up, names or services, and not in the code being worked on."""
    return _SETUP_CAUSE.search(cause) is not None


def failed_silently(commands: Sequence[ShellCommand], output: str) -> bool:
    """Whether output tells of a failure that the exit code does not."""
    doing = [command for command in commands if command.purpose is not Purpose.LOOK]
    if not doing or not output:
        return False
    text = _readable(output)
    tests = any(command.purpose is Purpose.TEST for command in doing)
    if tests:
        if _NOTHING_RAN.search(text):
            return True
        result = read_tests(text)
        if result is not None:
            return result.is_failure
    if doing[-1].exit_counts:
        return False
    return _HIDDEN_FAILURE.search(text) is not None


def _readable(text: str) -> str:
    if len(text) > _MAX_READ_CHARS:
        half = _MAX_READ_CHARS // 2
        text = f"{text[:half]}\n{text[-half:]}"
    return _ANSI.sub("", text)


def _telling_lines(text: str) -> Iterator[str]:
    lines = text.splitlines()
    if len(lines) > _MAX_LINES:
        lines = [*lines[: _MAX_LINES // 2], *lines[-_MAX_LINES // 2 :]]
    for line in lines:
        stripped = line.strip()
        if stripped and not _NOISE.fullmatch(stripped):
            yield stripped
