"""Request and result of a hook's context lookup: what `clients` asks and `api` answers.

Knows neither client payloads nor how context is built.
"""

from __future__ import annotations

import re
from urllib.parse import quote

from wellkept.core.records import record
from wellkept.core.text import clean

_FAILURE_WORDS = re.compile(
    r"no tests? (?:found|ran|to run)|collected 0 items|\bran 0 tests|command not found"
    r"|\berror\b|\bfatal\b|\bfailed\b",
    re.IGNORECASE,
)


SKILL_SUMMARIES = "skills.summaries"
"""Where the store keeps name, description and id of a project's own skills, for hooks that answer
alone."""


def forced_skills(project: str) -> str:
    """Where the store keeps the names of the skills that are forced, by session."""
    return f"skills.forced/{quote(clean(project), safe='')}"


ASKED, ASKED_AT_STOP = "ask:", "ask:stop"
"""Among the ids shown in a session: when the agent was asked to word something, and that it was
asked at a stop."""


@record(kw_only=True)
class HookContextRequest:
    """One request for context. `fresh` when the agent has lost what it was shown before; `output`
    is what a failed command printed; `reading` when a file is only read."""

    client: str
    session: str
    moment: str
    agent: str | None = None
    cwd: str | None = None
    query: str = ""
    output: str = ""
    files: tuple[str, ...] = ()
    fresh: bool = False
    reading: bool = False


@record
class ContextLine:
    """One line of an injected text, for the log. Without an id it is known by its text.

    `score` is its weight in the ranking; importance and confidence are those of its memory at that
    moment. None for a line that was not ranked.
    """

    text: str
    kind: str
    id: str = ""
    memory_id: str | None = None
    reason: str = ""
    score: float | None = None
    importance: float | None = None
    confidence: float | None = None


@record
class HookContext:
    """The text to inject and the ids of the items in it; empty text means nothing to inject.

    `lines`, `project` and `tokens` are what the log of injections keeps of it.
    """

    text: str = ""
    ids: tuple[str, ...] = ()
    lines: tuple[ContextLine, ...] = ()
    project: str = ""
    tokens: int = 0


def may_have_failed(output: str) -> bool:
    """Whether output could tell of a failure that the exit code hides, so that asking is worth it.

    A pipe hides an exit code, and a run without tests ends with 0. Whether it really failed is
    decided where the output is read.
    """
    return _FAILURE_WORDS.search(output) is not None
