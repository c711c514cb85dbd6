"""claude-mem's database: observations, session summaries and prompts, with their projects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal, cast, get_args

from wellkept.core.payloads import Observation, Prompt, SessionSummary
from wellkept.store.other_tools.records import Notes, ToolNote, moment
from wellkept.store.other_tools.sqlite_file import ToolDatabase, open_copy

_Kind = Literal["decision", "bugfix", "feature", "refactor", "discovery", "change"]
_Row = dict[str, object]


def read(path: Path) -> Notes:
    """Everything that is kept there, oldest first."""
    with open_copy(path) as database:
        sessions = _sessions(database)
        for table, note in (
            ("observations", _observation),
            ("session_summaries", _summary),
            ("user_prompts", _prompt),
        ):
            if database.has(table):
                for row in database.rows(table, order="created_at_epoch"):
                    made = note(row, sessions)
                    if made.content.strip():
                        yield made


def _sessions(database: ToolDatabase) -> dict[str, tuple[str, str]]:
    """The client's session and the project, by either of the two names a session has."""
    found: dict[str, tuple[str, str]] = {}
    for row in database.rows("sdk_sessions", order="id") if database.has("sdk_sessions") else ():
        told = (_text(row, "content_session_id", "claude_session_id"), _text(row, "project"))
        for name in (
            "content_session_id",
            "claude_session_id",
            "memory_session_id",
            "sdk_session_id",
        ):
            if key := _text(row, name):
                found[key] = told
    return found


def _observation(row: _Row, sessions: dict[str, tuple[str, str]]) -> ToolNote:
    kind = _text(row, "type")
    told = Observation(
        kind=cast("_Kind", kind) if kind in get_args(_Kind) else "discovery",
        title=(_text(row, "title") or _text(row, "text").partition("\n")[0] or "Observation")[:200],
        subtitle=_text(row, "subtitle") or None,
        facts=_list(row, "facts"),
        narrative=_text(row, "narrative", "text") or None,
        concepts=_list(row, "concepts"),
        files_read=_list(row, "files_read"),
        files_modified=_list(row, "files_modified"),
    )
    lines = [told.title, told.subtitle or "", *(f"- {fact}" for fact in told.facts)]
    return ToolNote(
        ref=f"claude-mem:observation:{_text(row, 'id')}",
        content="\n".join(line for line in (*lines, told.narrative or "") if line),
        kind="observation",
        at=moment(row.get("created_at_epoch")) or moment(row.get("created_at")),
        tags=(kind,) if kind else (),
        files=told.files_modified,
        project=_text(row, "project") or None,
        session_id=_session(row, sessions),
        payload=told,
    )


def _summary(row: _Row, sessions: dict[str, tuple[str, str]]) -> ToolNote:
    names = ("request", "investigated", "learned", "completed", "next_steps", "notes")
    parts = {name: _text(row, name) or None for name in names}
    told = SessionSummary(
        request=parts["request"],
        investigated=parts["investigated"],
        learned=parts["learned"],
        completed=parts["completed"],
        next_steps=parts["next_steps"],
        notes=parts["notes"],
        files_read=_list(row, "files_read"),
        files_modified=_list(row, "files_edited"),
        made_by="model",
    )
    said = [
        f"{name.replace('_', ' ').capitalize()}: {text}" for name, text in parts.items() if text
    ]
    return ToolNote(
        ref=f"claude-mem:summary:{_text(row, 'id')}",
        content="\n".join(said),
        kind="summary",
        at=moment(row.get("created_at_epoch")) or moment(row.get("created_at")),
        files=told.files_modified,
        project=_text(row, "project") or None,
        session_id=_session(row, sessions),
        payload=told,
    )


def _prompt(row: _Row, sessions: dict[str, tuple[str, str]]) -> ToolNote:
    name = _text(row, "content_session_id", "claude_session_id")
    session_id, project = sessions.get(name, (name, ""))
    number = row.get("prompt_number")
    return ToolNote(
        ref=f"claude-mem:prompt:{_text(row, 'id')}",
        content=_text(row, "prompt_text"),
        kind="prompt",
        at=moment(row.get("created_at_epoch")) or moment(row.get("created_at")),
        project=project or None,
        session_id=session_id or None,
        payload=Prompt(number if isinstance(number, int) else 0),
    )


def _session(row: _Row, sessions: dict[str, tuple[str, str]]) -> str | None:
    name = _text(row, "memory_session_id", "sdk_session_id")
    return sessions.get(name, ("", ""))[0] or None


def _text(row: _Row, *names: str) -> str:
    found = (row.get(name) for name in names)
    return next((str(value) for value in found if value not in (None, "")), "")


def _list(row: _Row, name: str) -> tuple[str, ...]:
    """A column that holds a JSON list of texts."""
    try:
        read: object = json.loads(_text(row, name) or "[]")
    except ValueError:
        return ()
    items = cast("list[object]", read) if isinstance(read, list) else []
    return tuple(item for item in items if isinstance(item, str) and item.strip())
