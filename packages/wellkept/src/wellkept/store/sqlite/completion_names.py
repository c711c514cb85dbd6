"""Short lists of ids and names for shell completion, read in a few milliseconds.

Plain SQL on a connection that can only read, without the rest of the engine: a person waits for it
at every Tab. A store that is missing, busy or of another version gives nothing.
"""

import os
import sqlite3

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LIMIT = 60
_TIMEOUT_S = 0.2
_MAX_TEXT = 200
_PLACE = (
    "SELECT json_extract(value, '$.project') FROM key_values WHERE space = 'places' AND key IN ({})"
)
QUERIES = {
    "memory": "SELECT short, substr(content, 1, ?) FROM memories WHERE (project = ? OR ? = '')"
    " AND valid_to_ms IS NULL AND type NOT IN ('observation', 'prompt', 'timeline')"
    " AND short >= ? AND short < ? ORDER BY row DESC LIMIT ?",
    "session": "SELECT id, substr(coalesce(title, client), 1, ?) FROM sessions"
    " WHERE (project = ? OR ? = '') AND id >= ? AND id < ? ORDER BY last_event_ms DESC LIMIT ?",
    "skill": "SELECT name, substr(coalesce(note, ''), 1, ?) FROM skills"
    " WHERE (project = ? OR ? = '') AND name >= ? AND name < ? ORDER BY name LIMIT ?",
}


def short_list(
    path: str, kind: str, prefix: str, *, project: str, folders: "Sequence[str]"
) -> list[tuple[str, str]]:
    """Ids or names that begin with a prefix, with a few words about each, newest first.

    `project` is an identity; without one, that of the innermost known folder counts, else any.
    """
    if not os.path.isfile(path):
        return []
    try:
        address = f"file:{path.replace('%', '%25').replace('?', '%3f').replace('#', '%23')}?mode=ro"
        connection = sqlite3.connect(address, uri=True, timeout=_TIMEOUT_S)
    except sqlite3.Error:
        return []
    try:
        if kind == "project":
            return _projects(connection, prefix)
        where = project or _project(connection, folders)
        if kind == "used skill":
            return _used_skills(connection, where, prefix)
        bounds = (prefix, f"{prefix}\U0010ffff")
        values = (_MAX_TEXT, where, where, *bounds, LIMIT)
        return [(str(name), str(text)) for name, text in connection.execute(QUERIES[kind], values)]
    except sqlite3.Error:
        return []
    finally:
        connection.close()


def _project(connection: sqlite3.Connection, folders: "Sequence[str]") -> str:
    """The project of the innermost folder that has one."""
    marks = ", ".join("?" * len(folders))
    keys = [f"path:{folder}" for folder in folders]
    query = f"{_PLACE.format(marks)} ORDER BY length(key) DESC LIMIT 1"
    row = connection.execute(query, keys).fetchone()
    return str(row[0]) if row and row[0] else ""


def _used_skills(
    connection: sqlite3.Connection, project: str, prefix: str
) -> list[tuple[str, str]]:
    """Names of skills, most used first; uses are counted under keys that end with the name."""
    rows = connection.execute(
        "SELECT skill FROM skill_uses WHERE project = ? OR ? = '' ORDER BY count DESC, skill"
        " LIMIT 500",
        (project, project),
    )
    names = (str(key).rpartition(":")[2] for (key,) in rows)
    return [(name, "") for name in names if name.startswith(prefix)]


def _projects(connection: sqlite3.Connection, prefix: str) -> list[tuple[str, str]]:
    rows = connection.execute(
        "SELECT DISTINCT json_extract(value, '$.project') FROM key_values WHERE space = 'places'"
        " UNION SELECT DISTINCT project FROM memories LIMIT 500"
    )
    names = sorted(str(name).removeprefix("name:") for (name,) in rows if name)
    return [(name, "") for name in names if name.startswith(prefix)]
