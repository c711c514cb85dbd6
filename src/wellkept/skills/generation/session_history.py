"""What a session tells to someone who wants to learn a procedure from it.

`SessionHistory` is made of what is in the store; everything in it was redacted before. `portable`
takes out of a text what holds only on the machine where it was written.
Knows nothing of where stories come from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from wellkept.core.records import record
from wellkept.core.session_steps import SessionStep

_HOME: Final = re.compile(
    r"(?:/mnt)?(?:/[a-z])?/(?:home|Users)/[^/\s'\"`:;,()]+|/root(?=[/\s'\"`:;,)]|$)"
    r"|\b[A-Za-z]:[\\/]+Users[\\/]+[^\\/\s'\"`:;,()]+",
    re.IGNORECASE,
)


@record(kw_only=True)
class SessionHistory:
    """One session: what was asked, what was done, and by what it can be cited.

    `prompts` are the person's words in order, so that a step's `prompt` counts from 1 in them.
    `is_commit_lost` means that no branch holds its last commit any more.
    """

    session_id: str
    title: str | None = None
    prompts: tuple[str, ...] = ()
    steps: tuple[SessionStep, ...] = ()
    files_read: tuple[str, ...] = ()
    tool_count: int = 0
    is_open: bool = False
    commit_sha: str | None = None
    is_commit_lost: bool = False
    observation_ids: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()


def portable(text: str, *, roots: Iterable[str] = ()) -> str:
    """The text with the project's folder as `.` and anybody's home as `~`."""
    for root in sorted(roots, key=len, reverse=True):
        plain = root.replace("\\", "/").rstrip("/")
        for form in (plain, plain.replace("/", "\\")) if len(plain) > 1 else ():
            text = re.sub(rf"{re.escape(form)}(?:[\\/](?=[\w.])|(?![\w.-]))", _inside, text)
    return _HOME.sub("~", text)


def _inside(found: re.Match[str]) -> str:
    return "" if found.group()[-1] in "\\/" else "."
