"""What a failing command teaches: whether its line tells anything, and what ended the failure.

Precise before complete: a line that only says that something failed ("task failed", "exit code 1"),
and what git or its hooks say of the moment (a conflict, a rejected push, a commit that is not clean
yet), is no error to learn from.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from wellkept.core.records import record
from wellkept.core.scratchpad import ErrorRetry, ResolvedBy
from wellkept.core.text import content_words, shorten
from wellkept.observe.reading.command_purpose import Purpose, git_verb
from wellkept.observe.reading.shell import ShellCommand

COMMAND_CHARS = 160
_SIGNATURE_CHARS = 160
_MIN_WORDS = 2
_VARYING = re.compile(
    r"0x[0-9a-f]+|\b[0-9a-f]{7,40}\b|\d+(?:\.\d+)*|(?<=['\"`])[^'\"`]{40,}(?=['\"`])", re.I
)
_FOLDERS = re.compile(r"(?:[A-Za-z]:)?(?:[\w.@-]*[/\\])+(?=[\w.@-])")
_SAYS_NOTHING = frozenset(
    "error errors err failed failure failures fail failing fatal warning warnings exception task"
    " tasks script scripts exit exited exits status code command commands process run running"
    " returned problem problems issue issues found see log logs output details more information"
    " verbose non-zero nonzero total summary".split()
)
_LIKE_ERROR = re.compile(
    r"error|exception|fatal|panic|fail|fault|cannot|can't|could ?n[o']t|unable|no such|denied"
    r"|refused|invalid|undefined|unknown|unrecogni[sz]ed|missing|unexpected|unsupported|illegal"
    r"|conflict|tim(?:ed|e) ?out|exceed|exhausted|in use|required|mismatch|already|expected|abort"
    r"|locked|stale|corrupt|\bmust\b|\bno\b|\bnot\b|n't\b|:\d+(?::\d+)?:|[^\W\d_a-zA-Z]",
    re.I,
)
_OF_THE_MOMENT = frozenset(
    "merge rebase pull push cherry-pick am apply checkout switch restore stash reset clone commit"
    " add tag worktree".split()
)


@record
class Resolution:
    """What ended an error: in words, and in which way."""

    how: str
    by: ResolvedBy


def is_telling(line: str, *, command: str) -> bool:
    """Whether a line says what went wrong, beyond that something did and what was run."""
    own = set(content_words(re.sub(r"[^\w]+", " ", command)))
    words = {w for w in content_words(line) if (len(w) > 2 or not w.isascii()) and not w.isdigit()}
    return _LIKE_ERROR.search(line) is not None and len(words - own - _SAYS_NOTHING) >= _MIN_WORDS


def is_of_the_moment(run: ShellCommand) -> bool:
    """Whether a failure of a command speaks of the state of the checkout, not of the project."""
    return run.words[0] == "git" and git_verb(run.words) in _OF_THE_MOMENT


def error_signature(subject: str, line: str) -> str:
    """An error without what varies: numbers, addresses, folders."""
    text = _FOLDERS.sub("", line)
    told = _VARYING.sub("#", text).lower()
    return shorten(f"{subject.rstrip(': ')}: {told}", limit=_SIGNATURE_CHARS)


def shown(run: ShellCommand) -> str:
    """A command as it is told later, on one line."""
    if run.purpose is Purpose.COMMIT:
        return "git commit"
    return shorten(" ".join(run.call.split()), limit=COMMAND_CHARS)


def is_same_task(error: ErrorRetry, run: ShellCommand) -> bool:
    """Whether a command does what failed before: any test run, the same words but for options, or
    the same call with a wrapper left out. `docker compose down` is no way to say `… up`."""
    if run.purpose is Purpose.TEST and error.tool == run.subject:
        return True
    failed, worked = _words(error.command), _words(run.call)
    return failed == worked or _is_part(worked, failed)


def ending(
    error: ErrorRetry, run: ShellCommand, *, between: Sequence[str], edited: Sequence[str]
) -> Resolution | None:
    """How it came that a command works which failed: it was said in another way, another one came
    first, or something was edited. Fewer tests are no other way to run the tests."""
    failed, worked = _words(error.command), _words(run.call)
    if _is_part(worked, failed):
        return Resolution(f"`{shown(run)}` instead", "instead")
    if edited:
        return Resolution(f"an edit of {', '.join(f'`{path}`' for path in edited[:3])}", "edit")
    if shown(run) != error.command and failed == worked:
        return Resolution(f"`{shown(run)}` instead", "instead")
    return Resolution(f"run `{between[-1]}` first", "first") if between else None


def _words(command: str | None) -> list[str]:
    return [word for word in (command or "").split() if not word.startswith("-")]


def _is_part(part: Sequence[str], whole: Sequence[str]) -> bool:
    """Whether a call is the end of a longer one: a wrapper stood before it."""
    return 2 <= len(part) < len(whole) and list(whole[-len(part) :]) == list(part)
