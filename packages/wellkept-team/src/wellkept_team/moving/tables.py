"""The rows of both engines in one form, table by table, for moving a store.

Columns have the names of PostgreSQL; what a statement does for SQLite is written beside it. Rows
are read in the order of their key, so that a copy can go on after the last one. Memories and
vectors are not here: they go through the ports, which make their indexes. Steps that can be undone
hold rows of their engine; `undo_bodies` turns them into a form of both.
"""

from __future__ import annotations

from typing import Final

from wellkept.core.records import record
from wellkept.store.sqlite.checksums import (
    EXPLANATIONS,
    KEY_VALUES,
    SCRATCHPADS,
    SESSIONS,
    SIGNALS,
    SKILL_VERSIONS,
    SKILLS,
    SummedTable,
)


@record(kw_only=True)
class MovedTable:
    """One table. `sqlite` is a query with exactly these columns, without an order."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    sqlite: str
    sqlite_columns: tuple[str, ...] = ()
    """Columns that SQLite stores, where they are not the same."""
    flags: tuple[str, ...] = ()
    """Columns that are true or false."""
    summed: SummedTable | None = None


def _plain(
    name: str,
    columns: str,
    key: str,
    *,
    flags: tuple[str, ...] = (),
    summed: SummedTable | None = None,
) -> MovedTable:
    names = tuple(columns.split())
    return MovedTable(
        name=name,
        columns=names,
        key=tuple(key.split()),
        sqlite=f"SELECT {', '.join(names)} FROM {name}",
        flags=flags,
        summed=summed,
    )


def _with_project(
    name: str, columns: str, key: str, *, via: str, summed: SummedTable | None = None
) -> MovedTable:
    """A table that has a project in PostgreSQL and finds it through another one in SQLite."""
    names = tuple(columns.split())
    listed = ", ".join(f"t.{one}" for one in names)
    return MovedTable(
        name=name,
        columns=("project", *names),
        key=tuple(key.split()),
        sqlite=f"SELECT p.project AS project, {listed} FROM {name} t JOIN {via}",
        sqlite_columns=names,
        summed=summed,
    )


TABLES: Final = (
    _plain("project_aliases", "project canonical", "project"),
    MovedTable(
        name="key_values",
        columns=("project", "space", "key", "value"),
        key=("space", "key"),
        sqlite="SELECT '' AS project, space, key, value FROM key_values WHERE space <> 'move'",
        sqlite_columns=("space", "key", "value"),
        summed=KEY_VALUES,
    ),
    _plain("file_links", "project file_a file_b weight count", "project file_a file_b"),
    _plain(
        "sessions",
        "project id client started_ms last_event_ms cwd ended_ms end_reason title model branch"
        " commit_sha prompt_count turn_count tool_count error_count agent_count observation_count"
        " discovery_tokens summarised_ms summarised_turn revision work input_tokens cached_tokens"
        " output_tokens",
        "id",
        summed=SESSIONS,
    ),
    MovedTable(
        name="processed_events",
        columns=("project", "event_id", "session_id"),
        key=("event_id",),
        sqlite="SELECT s.project AS project, t.event_id AS event_id, s.id AS session_id"
        " FROM processed_events t JOIN sessions s ON s.row = t.session",
    ),
    MovedTable(
        name="read_positions",
        columns=("project", "source", "head", "offset"),
        key=("source",),
        sqlite="SELECT '' AS project, source, head, \"offset\" FROM read_positions",
        sqlite_columns=("source", "head", "offset"),
    ),
    _plain(
        "scratchpads",
        "project session_id state updated_ms revision body",
        "session_id",
        summed=SCRATCHPADS,
    ),
    _plain(
        "signals",
        "project kind subject session_id at_ms count module detail",
        "project kind subject session_id",
        summed=SIGNALS,
    ),
    _plain("explanations", "project memory_id at_ms body", "memory_id", summed=EXPLANATIONS),
    _plain("skill_uses", "project skill count last_ms", "project skill"),
    _plain(
        "skills",
        "project id name text created_ms updated_ms origin made_by review reviewed_ms enabled note"
        " session_ids observation_ids commit_sha revision",
        "id",
        summed=SKILLS,
    ),
    _with_project(
        "skill_versions",
        "skill revision text made_by until_ms",
        "skill revision",
        via="skills p ON p.id = t.skill",
        summed=SKILL_VERSIONS,
    ),
    _with_project(
        "skill_runs",
        "skill session_id used_by at_ms succeeded",
        "skill session_id",
        via="skills p ON p.id = t.skill",
    ),
    _plain(
        "injections",
        "project id session_id client agent moment at_ms trigger_text tokens",
        "id",
    ),
    _with_project(
        "injected_lines",
        "injection number line_id memory_id kind text reason tokens work_tokens outcome outcome_by"
        " outcome_ms score",
        "injection number",
        via="injections p ON p.id = t.injection",
    ),
    _plain("silent_lines", "project line_id at_ms reason", "project line_id"),
    _plain(
        "shared_records",
        "project id seq state owner statement waiting body",
        "project id",
        flags=("waiting",),
    ),
    _plain("undo_steps", "project id action at_ms undone_ms count body", "project id"),
    # Last: what was written above is told there, too.
    _plain(
        "activity",
        "project number at_ms kind everywhere memory_id session_id subject",
        "number",
        flags=("everywhere",),
    ),
)
