"""Whether a command failed, and the line of its output that names the cause.

Failure is wider than the exit code: a pipe can hide it, and a test runner that finds no tests
exits with 0. The cause is the first line that names one, never a wrapper's closing line
(`make: *** … Error 3`, `npm ERR! code`). Unknown output gives None rather than a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from wellkept.core.text import shorten
from wellkept.text.shell.purpose import Purpose
from wellkept.text.shell.reader import ShellCommand, main_command
from wellkept.text.shell.results import error_line, read_tests, was_stopped

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
    | \[(?:started|completed|skipped|failed|data)\].* | husky\b.* | lint-staged.*
    | [→✖✗×]\ .*(?:failed|:) | lefthook.* | pre-commit\ .* | -\ (?:hook\ id|exit\ code):.*
    | make(?:\[\d+\])?:\ (?!\*\*\*\ no\ rule).* | ninja:\ build\ stopped.*
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
    | <tool_use_error>.* | undefined | raise\ .* | throw\ .* | return\ .*
    | failed:?\s*\d* | error:?\s* | \[?error\]?:?\ process\ completed\ with\ exit\ code.*
    | \*\*.* | \#\ .* | \S*test-failed-\d+\.png | fail(?:\s+\S+\s+\[(?:setup|build)\ failed\])?
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Causes outside the code: set-up, names, services. These are what a way out mends.
_SETUP_CAUSE = re.compile(
    r"""
    \bnot\ found\b | could\ not\ be\ found | no\ such\ file\ or\ directory
    | can(?:not|'t)\ (?:find|locate|open|load)\ (?!name\ |namespace\ |symbol) | no\ module\ named
    | module\ not\ found | could(?:\ not|n't)\ (?:find|locate|open|load)\b
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
    | does\ not\ exist | does\ not\ contain\ (?:main\ )?(?:module|package)
    | unsupported | requires\ .*\ version
    | unexpected\ store | out\ of\ memory | no\ space\ left | lockfile | frozen
    """,
    re.IGNORECASE | re.VERBOSE,
)
# One of these is in every line that `_SETUP_CAUSE` matches; looking for them is faster.
_SETUP_HINTS = (
    *(
        "found",
        "no such",
        "no rule",
        "cannot ",
        "can't ",
        "could not",
        "couldn't",
        "no module",
        "install",
        "recogni",
        "refused",
        "connect",
    ),
    *("resolve", "getaddrinfo", "unreachable", "no route", "unexpected", "unknown", "invalid"),
    *("missing", "no rule", "no matches", "match any", "git repository", "pathspec", "denied"),
    *("permitted", "authori", "authent", "credentials", "logged in", "login", "required"),
    *("not set", "not defined", "must", "configur", "in use", "is taken", "unable to create"),
    *("exist", "locked", "no test", "0 items", "unsupported", "version", "lockfile", "frozen"),
    *("out of memory", "no space", "not contain"),
)
_ABSENT_TOOL = re.compile(
    r"command not found: ([\w@./+-]+)|([\w@./+-]+): (?:command )?not found\s*$"
    r"|[Cc]ommand [\"']([\w@./+-]+)[\"'] (?:not found|could not be found)"
    r"|[\"']([\w@./+-]+)[\"'] is not recognized|[Nn]o module named [\"']?([\w-]+)"
    r"|exec: \"([\w@./+-]+)\": executable file not found|spawn ([\w@./+-]+) ENOENT"
    r"|[Uu]nknown command:? [\"']?([\w@./+-]+)"
)
# A target or script that was left behind to say that it is not used any more.
_MOVED = re.compile(
    r"\b(?:target|script|task|command|entry point|step)s?\b.{0,40}"
    r"\b(?:moved|gone|removed|retired|obsolete|renamed|replaced|deprecated)\b"
    r"|\b(?:moved|gone|removed|retired|obsolete|renamed|replaced|deprecated)\b.{0,40}"
    r"\b(?:target|script|task|command|entry point|step)s?\b"
    r"|\bno longer (?:used|works?|exists?|available|supported|maintained|lives? here)\b",
    re.IGNORECASE,
)
_WRONG_CALL = re.compile(
    r"un(?:recogni[sz]ed|expected|known) (?:sub-?command|option|argument|command|flag)"
    r"|(?:invalid|illegal) (?:option|argument|flag)|no such (?:option|command)|command not found",
    re.IGNORECASE,
)
_JSON_MESSAGE = re.compile(r'"(?:message|error|detail)"\s*:\s*"((?:[^"\\]|\\.){4,})"')
_CAUSE = re.compile(
    r"\b(?:\w*error|\w*exception|fatal|panic|failed|failure|cannot|can't|unable|denied|invalid"
    r"|undefined|missing|expected|refused|rejected|not allowed|aborted)\b|\"errors\"",
    re.IGNORECASE,
)
# A program that logs while it works, as in tests of error paths: `[Parser] Warning: …`.
_LOG_LINE = re.compile(
    r"\[(?!error|fatal|err_)[\w :./-]{1,40}\]\s|\d{4}-\d\d-\d\d[T ]\d\d:"
    r"|(?:warn|debug|trace|info)\b",
    re.IGNORECASE,
)
_NOTHING_RAN = re.compile(
    r"""
    ^[^\w\n]{0,12}
    (?:
    (?:error:\ )?no\ tests?\ (?:found|ran|to\ run|matched|executed|match\ )
    | no\ test\ (?:files?|suites?|cases?|modules?)\b | no\ (?:specs?|scenarios)\ (?:found|ran)
    | collected\ 0\ items | no\ examples\ found | 0\ examples,\ 0\ failures
    | ran\ 0\ tests? | 0\ (?:tests|passing)\b | testing\ 0 | no\ tests\ executed
    | no\ test\ is\ available | no\ test\ matches | testing:\ warning:\ no\ tests\ to\ run
    | no\ tests\ were\ (?:found|executed|run) | the\ following\ filters\ did\ not\ match
    | no\ matching\ tests?\b | tests\ run:\ 0,\ failures:\ 0
    )
    """,
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
# In the output of a command whose exit code a pipe hides.
_HIDDEN_FAILURE = re.compile(
    r"^\W*(?:\S+: )?(?:\S+: line \d+: )?(?:error|fatal|panic|traceback \(most recent call last\)"
    r"|err_\w+|npm err!|failed)\b|command not found|error TS\d+:|^\W*FAIL(?:ED|URE)?\b",
    re.IGNORECASE | re.MULTILINE,
)


# Programs that print what others wrote: a line about an error is not theirs.
_PRINTS_OTHERS = re.compile(
    r"(?:gh|glab) (?:api|run view|pr (?:view|list|diff|checks)|issue|release)\b|curl\b|wget\b"
    r"|docker(?: compose)? logs\b|kubectl (?:logs|describe|get)\b|journalctl\b|ssh\b"
    r"|git (?:log|show)\b|aws logs\b|(?:psql|mysql|sqlite3)\b"
)
_OWN_ERROR = r"^{program}: |command not found"

# Plain searches are much faster than the patterns below, and most output has none of these.
_HINTS = (
    "rror",
    "RROR",
    "ailed",
    "FAIL",
    "atal",
    "anic",
    "raceback",
    "not found",
    "Not Found",
    "ERR_",
)
_NOTHING_HINTS = (
    *("o test", "O TEST", "0 items", "0 tests", "0 pass", "esting 0", "run: 0", "o specs"),
    *("o scenarios", "0 examples", "o examples", "did not match", "o matching"),
)


def may_tell_failure(output: str) -> bool:
    """Whether output has a word that tells of a failure; a quick look before a real one."""
    return any(hint in output for hint in _HINTS)


_PYTEST_MARK = re.compile(r"^E\s+(?=\S)")


def failure_cause(commands: Sequence[ShellCommand], output: str, error: str | None) -> str | None:
    """The cause when a command line failed: a line of its output, or "" when none names one.
    None when it worked, was stopped by a person, or only looked something up. A look can fail too,
    but only for how it was called."""
    if was_stopped(error):
        return None
    if all(command.purpose is Purpose.LOOK for command in commands):
        cause = cause_of(output, error) if error is not None else None
        return cause if cause and _WRONG_CALL.search(cause) else None
    if error is not None or failed_silently(commands, output):
        return cause_of(output, error) or ""
    return None


def cause_of(output: str, error: str | None) -> str | None:
    """The line that names why a command failed, from its output and its error together."""
    both = f"{output}\n{error or ''}" if error != output else output
    if (cause := cause_line(both)) is not None:
        return cause
    if (nothing := _NOTHING_RAN.search(_readable(both))) is not None:
        line, _, _ = _readable(both)[nothing.start() :].lstrip("\n").partition("\n")
        return shorten(_unboxed(line), limit=MAX_CAUSE_CHARS)
    # Never the closing line of a wrapper.
    rest = error_line(both)
    if rest and not _NOISE.fullmatch(rest):
        return _unboxed(rest)
    moved = next(filter(is_moved, _telling_lines(_readable(both))), None)
    return shorten(_unboxed(moved), limit=MAX_CAUSE_CHARS) if moved else None


def cause_line(text: str) -> str | None:
    """The first line that names a cause; one about set-up goes before others."""
    lines = list(_telling_lines(_readable(text)))
    own = [line for line in lines if not _LOG_LINE.match(line)]
    found = (
        next(filter(is_setup_cause, own), None)
        or next(filter(_CAUSE.search, own), None)
        or next(filter(_CAUSE.search, lines), None)
    )
    return shorten(_unboxed(found), limit=MAX_CAUSE_CHARS) if found else None


def is_setup_cause(line: str) -> bool:
    """Whether a line names a cause in set-up, names or services, and not in the code."""
    lower = line.lower()
    has_hint = any(hint in lower for hint in _SETUP_HINTS)
    return has_hint and _SETUP_CAUSE.search(line) is not None


def is_nothing_ran(cause: str) -> bool:
    """Whether a cause says that no test ran."""
    return _NOTHING_RAN.search(cause) is not None


def is_moved(cause: str) -> bool:
    """Whether a cause says that what was called is not to be used any more."""
    return _MOVED.search(cause) is not None


def absent_tool(cause: str) -> str | None:
    """The program that a cause says is not there."""
    found = _ABSENT_TOOL.search(cause)
    name = next(filter(None, found.groups()), None) if found else None
    return name.rpartition("/")[2] if name else None


def failed_command(commands: Sequence[ShellCommand], cause: str) -> ShellCommand | None:
    """The command of a failed line that its cause speaks of, else the one the line is about."""
    tool, main = absent_tool(cause), main_command(commands)
    for command in commands:
        names = (command.words[0], command.program.rpartition("/")[2])
        if cause.startswith(tuple(f"{name}: " for name in names)) or tool in names:
            return command
    if "pathspec" in cause and main is not None and main.words[0] == "git":
        return next((one for one in commands if one.words[:2] == ("git", "add")), main)
    return main


def prints_others(command: ShellCommand) -> bool:
    """Whether a command prints what others wrote, so that an error in it is not its own."""
    return _PRINTS_OTHERS.match(command.call) is not None


def failed_silently(commands: Sequence[ShellCommand], output: str) -> bool:
    """Whether output tells of a failure that the exit code does not."""
    doing = [command for command in commands if command.purpose is not Purpose.LOOK]
    if not doing or not output:
        return False
    if any(command.purpose is Purpose.TEST for command in doing):
        if any(map(output.__contains__, _NOTHING_HINTS)) and _NOTHING_RAN.search(_readable(output)):
            return True
        result = read_tests(output)
        if result is not None:
            return result.is_failure
    main = doing[-1]
    if main.exit_counts or not may_tell_failure(output):
        return False
    if prints_others(main):
        own = _OWN_ERROR.format(program=re.escape(main.words[0]))
        return re.search(own, _readable(output), re.MULTILINE) is not None
    return _HIDDEN_FAILURE.search(_readable(output)) is not None


def _unboxed(line: str) -> str:
    """A line without the frame or mark that tools put around it; of JSON its message."""
    if line[:1] in "{[" and (message := _JSON_MESSAGE.search(line)):
        return message[1].replace('\\"', '"')
    if line[:1] in "│┃║":
        return line.strip("│┃║ ")
    return _PYTEST_MARK.sub("", line)


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
