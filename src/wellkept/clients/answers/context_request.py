"""What an event asks: for which moment, about which words and files, from where.

Pure: an event in, a question out. Knows neither payloads nor memory.
"""

from __future__ import annotations

from wellkept.core.events import (
    Event,
    Origin,
    PromptSubmitted,
    SessionStarted,
    SubagentStarted,
    ToolCalled,
    ToolKind,
    ToolStarting,
)
from wellkept.core.records import record

MAX_QUERY_CHARS = 2_000
MAX_OUTPUT_CHARS = 1_000
# Sources of a session start after which the agent knows nothing of what it was told before.
_FORGETFUL = frozenset({"startup", "clear", "compact"})
_CHANGING = frozenset({ToolKind.EDIT, ToolKind.WRITE})
_FILE_KINDS = _CHANGING | {ToolKind.READ}


@record(kw_only=True)
class HookContextRequest:
    """One request for context. `fresh` when the agent knows nothing of what it was told before."""

    client: str
    session: str
    moment: str
    cwd: str | None = None
    query: str = ""
    files: tuple[str, ...] = ()
    fresh: bool = False


def question_of(event: Event) -> HookContextRequest | None:
    """The question that an event asks; None for an event that asks none."""
    match event:
        case SessionStarted(origin=origin, source=source):
            return _asked(origin, "session", fresh=source in _FORGETFUL)
        case SubagentStarted(origin=origin):
            return _asked(origin, "session")
        case PromptSubmitted(origin=origin, text=text) if text.strip():
            return _asked(origin, "prompt", query=text)
        case ToolStarting(origin=origin, kind=ToolKind.SHELL, command=str(command)):
            return _asked(origin, "command", query=command)
        case ToolStarting(origin=origin, kind=kind, files=files) if files and kind in _CHANGING:
            return _asked(origin, "file", files=files)
        case ToolCalled(origin=origin, error=str(error)) if error.strip():
            # What went wrong stands at the end of a long output.
            said = f"{event.command or ''}\n{error}\n{event.output[-MAX_OUTPUT_CHARS:]}"
            return _asked(origin, "prompt", query=said)
        case ToolCalled(origin=origin, kind=kind, files=files) if files and kind in _FILE_KINDS:
            return _asked(origin, "file", files=files)
        case _:
            return None


def _asked(
    origin: Origin,
    moment: str,
    *,
    query: str = "",
    files: tuple[str, ...] = (),
    fresh: bool = False,
) -> HookContextRequest:
    # A sub-agent has a conversation of its own, in which nothing was said yet.
    session = f"{origin.session_id}/{origin.agent}" if origin.agent else origin.session_id
    return HookContextRequest(
        client=origin.client,
        session=session,
        moment=moment,
        cwd=origin.cwd,
        query=query.strip()[:MAX_QUERY_CHARS],
        files=files,
        fresh=fresh,
    )
