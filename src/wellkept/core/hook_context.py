"""Request and result of a hook's context lookup: what `clients` asks and `app` answers.

Data only. Knows neither client payloads nor how context is built.
"""

from __future__ import annotations

from wellkept.core.records import record


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
    """One line of an injected text, for the log. Without an id it is known by its text."""

    text: str
    kind: str
    id: str = ""
    memory_id: str | None = None
    reason: str = ""


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
