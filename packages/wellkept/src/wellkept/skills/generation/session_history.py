"""The history of one session, as input for skill generation.

`SessionHistory` is built from stored, redacted data. `portable` removes machine-specific paths.
Knows nothing of the store.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from wellkept.core.records import record
from wellkept.core.session.steps import SessionStep

_HOME: Final = re.compile(
    r"(?:/mnt)?(?:/[a-z])?/(?:home|Users)/[^/\s'\"`:;,()]+|/root(?=[/\s'\"`:;,)]|$)"
    r"|\b[A-Za-z]:[\\/]+Users[\\/]+[^\\/\s'\"`:;,()]+",
    re.IGNORECASE,
)


@record(kw_only=True)
class SessionHistory:
    """One session: requests, steps, and ids to cite.

    `prompts` are the user's messages in order; a step's `prompt` counts from 1 in them.
    `is_commit_lost` means that no branch contains its last commit.
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
    """The text with the project's folder as `.` and home folders as `~`."""
    for root in sorted(roots, key=len, reverse=True):
        plain = root.replace("\\", "/").rstrip("/")
        for form in (plain, plain.replace("/", "\\")) if len(plain) > 1 else ():
            text = re.sub(rf"{re.escape(form)}(?:[\\/](?=[\w.])|(?![\w.-]))", _inside, text)
    return _HOME.sub("~", text)


def _inside(found: re.Match[str]) -> str:
    return "" if found.group()[-1] in "\\/" else "."
