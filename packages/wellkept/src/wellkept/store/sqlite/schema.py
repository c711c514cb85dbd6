"""The tables as the migrations make them; what a step made is never changed here afterwards.

Canonical: `memories` (all columns but `extra`), `project_aliases`, `key_values`, `file_links`,
`sessions`, `processed_events`, `read_positions`, `activity`, `injections`, `injected_lines`,
`silent_lines`, `undo_steps`, `shared_records`. Step 16 gave some of them these names.
Derived and rebuildable: `labels`, `words`, `fragments`, `vectors`, `text_edits`, and the
columns `short` and `extra`. The columns `checksum` are in `checksums`. `row` is the integer that
joins them and never leaves the engine.
"""

from __future__ import annotations

_MEMORIES = """
CREATE TABLE memories (
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    short TEXT NOT NULL,
    project TEXT NOT NULL CHECK (project <> ''),
    type TEXT NOT NULL,
    scope TEXT NOT NULL,
    source TEXT NOT NULL,
    session_id TEXT,
    seq INTEGER,
    author TEXT,
    importance REAL NOT NULL CHECK (importance BETWEEN 0 AND 1),
    confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    valid_from_ms INTEGER NOT NULL,
    valid_to_ms INTEGER,
    accessed_ms INTEGER NOT NULL,
    access_count INTEGER NOT NULL CHECK (access_count >= 0),
    stale_ms INTEGER,
    archived_ms INTEGER,
    needs_review INTEGER NOT NULL CHECK (needs_review IN (0, 1)),
    user_verified INTEGER NOT NULL CHECK (user_verified IN (0, 1)),
    pinned INTEGER NOT NULL CHECK (pinned IN (0, 1)),
    key TEXT,
    superseded_by TEXT,
    content_chars INTEGER NOT NULL,
    tags TEXT NOT NULL,
    files TEXT NOT NULL,
    modules TEXT NOT NULL,
    provenance_sessions TEXT NOT NULL,
    commit_sha TEXT,
    work_unit TEXT,
    relations TEXT NOT NULL,
    evidence TEXT NOT NULL,
    graph_node TEXT,
    half_life_days REAL,
    citation TEXT,
    work_tokens INTEGER,
    payload TEXT,
    content TEXT NOT NULL,
    extra TEXT NOT NULL DEFAULT '',
    -- Where a memory is seen from: its project, or everywhere ('') when it is about the person.
    home TEXT NOT NULL GENERATED ALWAYS AS (CASE scope WHEN 'user' THEN '' ELSE project END)
        VIRTUAL
) STRICT"""

_MEMORY_INDEXES = (
    "CREATE INDEX memories_short ON memories (short)",
    # With the two columns at the end, the usual listing is counted and sorted in the index alone.
    """CREATE INDEX memories_home ON memories (home, created_ms, id, valid_to_ms, archived_ms)""",
    "CREATE INDEX memories_project ON memories (project)",
    "CREATE INDEX memories_created ON memories (created_ms, id)",
    "CREATE INDEX memories_session ON memories (session_id, seq) WHERE session_id IS NOT NULL",
    "CREATE INDEX memories_successor ON memories (superseded_by) WHERE superseded_by IS NOT NULL",
    """CREATE UNIQUE INDEX memories_open_key ON memories (project, key)
       WHERE key IS NOT NULL AND valid_to_ms IS NULL AND scope <> 'user'""",
    """CREATE UNIQUE INDEX memories_open_user_key ON memories (key)
       WHERE key IS NOT NULL AND valid_to_ms IS NULL AND scope = 'user'""",
)

_LABELS = (
    """CREATE TABLE labels (
        kind TEXT NOT NULL CHECK (kind IN ('tag', 'file', 'module')),
        value TEXT NOT NULL,
        memory INTEGER NOT NULL REFERENCES memories (row) ON DELETE CASCADE,
        PRIMARY KEY (kind, value, memory)
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX labels_memory ON labels (memory)",
)

WORD_TOKENIZER = "porter unicode61 remove_diacritics 2"

WORDS_TABLE = f"""
CREATE VIRTUAL TABLE words USING fts5 (
    content, extra, content = 'memories', content_rowid = 'row',
    tokenize = '{WORD_TOKENIZER}'
)"""

# Trigrams without positions: a quarter of the room and a third of the work. Two marks at the end
# make every character the first of a trigram, so that fragments of one or two are found as well.
_PADDING = "char(57344, 57344)"
_PADDED, _PADDED_VALUE = f"content || {_PADDING}", f"? || {_PADDING}"

_FRAGMENT_SOURCE = f"""
CREATE VIEW fragment_source AS SELECT row, {_PADDED} AS content FROM memories"""

FRAGMENTS_TABLE = """
CREATE VIRTUAL TABLE fragments USING fts5 (
    content, content = 'fragment_source', content_rowid = 'row',
    tokenize = 'trigram', detail = 'none'
)"""

_TEXT_INDEXES = (
    WORDS_TABLE,
    _FRAGMENT_SOURCE,
    FRAGMENTS_TABLE,
    "CREATE VIRTUAL TABLE fragment_terms USING fts5vocab (fragments, row)",
    f"""CREATE TRIGGER memories_index_insert AFTER INSERT ON memories BEGIN
        INSERT INTO words (rowid, content, extra) VALUES (new.row, new.content, new.extra);
        INSERT INTO fragments (rowid, content) VALUES (new.row, new.{_PADDED});
    END""",
    f"""CREATE TRIGGER memories_index_delete AFTER DELETE ON memories BEGIN
        INSERT INTO words (words, rowid, content, extra)
            VALUES ('delete', old.row, old.content, old.extra);
        INSERT INTO fragments (fragments, rowid, content)
            VALUES ('delete', old.row, old.{_PADDED});
    END""",
    """CREATE TRIGGER memories_index_words AFTER UPDATE OF content, extra ON memories
    WHEN old.content IS NOT new.content OR old.extra IS NOT new.extra BEGIN
        INSERT INTO words (words, rowid, content, extra)
            VALUES ('delete', old.row, old.content, old.extra);
        INSERT INTO words (rowid, content, extra) VALUES (new.row, new.content, new.extra);
    END""",
    f"""CREATE TRIGGER memories_index_fragments AFTER UPDATE OF content ON memories
    WHEN old.content IS NOT new.content BEGIN
        INSERT INTO fragments (fragments, rowid, content)
            VALUES ('delete', old.row, old.{_PADDED});
        INSERT INTO fragments (rowid, content) VALUES (new.row, new.{_PADDED});
    END""",
)

_VECTORS = (
    """CREATE TABLE models (
        model INTEGER PRIMARY KEY,
        model_id TEXT NOT NULL UNIQUE,
        dimension INTEGER NOT NULL CHECK (dimension > 0)
    ) STRICT""",
    # A vector that is written again gets a new seq, so that "everything after seq" finds it.
    """CREATE TABLE vectors (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        memory INTEGER NOT NULL REFERENCES memories (row) ON DELETE CASCADE,
        model INTEGER NOT NULL REFERENCES models (model),
        home TEXT NOT NULL,
        scale REAL NOT NULL,
        codes BLOB NOT NULL,
        UNIQUE (memory, model)
    ) STRICT""",
    # Written again under a new seq, for the same reason.
    """CREATE TRIGGER memories_move_vectors AFTER UPDATE OF project, scope ON memories
    WHEN old.home IS NOT new.home BEGIN
        INSERT OR REPLACE INTO vectors (memory, model, home, scale, codes)
            SELECT memory, model, new.home, scale, codes FROM vectors WHERE memory = new.row;
    END""",
)

_SHELF = (
    """CREATE TABLE project_aliases (
        alias TEXT PRIMARY KEY,
        canonical TEXT NOT NULL CHECK (canonical <> alias)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE shelf (
        space TEXT NOT NULL,
        key TEXT NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (space, key)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE file_links (
        project TEXT NOT NULL,
        file_a TEXT NOT NULL,
        file_b TEXT NOT NULL CHECK (file_a < file_b),
        weight REAL NOT NULL CHECK (weight BETWEEN 0 AND 1),
        count INTEGER NOT NULL,
        PRIMARY KEY (project, file_a, file_b)
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX file_links_other ON file_links (project, file_b)",
)

FIRST_SCHEMA: tuple[str, ...] = (
    _MEMORIES,
    *_MEMORY_INDEXES,
    *_LABELS,
    *_TEXT_INDEXES,
    *_VECTORS,
    *_SHELF,
)

# -- Step 2 ---------------------------------------------------------------------------------------

SESSION_SCHEMA: tuple[str, ...] = (
    """CREATE TABLE sessions (
        row INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE CHECK (id <> ''),
        client TEXT NOT NULL,
        project TEXT NOT NULL CHECK (project <> ''),
        started_ms INTEGER NOT NULL,
        last_event_ms INTEGER NOT NULL,
        cwd TEXT,
        ended_ms INTEGER,
        end_reason TEXT,
        title TEXT,
        model TEXT,
        branch TEXT,
        commit_sha TEXT,
        prompt_count INTEGER NOT NULL,
        turn_count INTEGER NOT NULL,
        tool_count INTEGER NOT NULL,
        error_count INTEGER NOT NULL,
        agent_count INTEGER NOT NULL,
        observation_count INTEGER NOT NULL,
        discovery_tokens INTEGER NOT NULL,
        summarised_ms INTEGER,
        summarised_turn INTEGER NOT NULL,
        revision INTEGER NOT NULL CHECK (revision > 0),
        work TEXT NOT NULL
    ) STRICT""",
    "CREATE INDEX sessions_latest ON sessions (last_event_ms, id)",
    "CREATE INDEX sessions_project ON sessions (project, last_event_ms, id)",
    # A session's row number keeps the many rows of this table short.
    """CREATE TABLE taken_events (
        event_id TEXT PRIMARY KEY,
        session INTEGER NOT NULL REFERENCES sessions (row) ON DELETE CASCADE
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX taken_events_session ON taken_events (session)",
    """CREATE TABLE reading_marks (
        source TEXT PRIMARY KEY,
        head TEXT NOT NULL,
        offset INTEGER NOT NULL CHECK (offset >= 0)
    ) STRICT, WITHOUT ROWID""",
)

# -- Step 3 ---------------------------------------------------------------------------------------

# A hook that begins a session lists a few kinds of memories by importance; without these every
# memory of the project would be read for each kind.
# Tells a process that has kept something of the word index that an indexed text has changed.
TEXT_EDITS: tuple[str, ...] = (
    """CREATE TABLE text_edits (
        only INTEGER PRIMARY KEY CHECK (only = 1),
        count INTEGER NOT NULL
    ) STRICT""",
    "INSERT INTO text_edits (only, count) VALUES (1, 0)",
    """CREATE TRIGGER memories_count_edits AFTER UPDATE OF content, extra ON memories
    WHEN old.content IS NOT new.content OR old.extra IS NOT new.extra BEGIN
        UPDATE text_edits SET count = count + 1;
    END""",
)

KIND_INDEXES: tuple[str, ...] = (
    """CREATE INDEX memories_kind ON memories
       (home, type, importance, id, valid_to_ms, stale_ms, archived_ms)""",
    "CREATE INDEX memories_pinned ON memories (home) WHERE pinned = 1",
)

# -- Step 5 ---------------------------------------------------------------------------------------

# The latest row is never removed, so numbers are never given twice.
NEWS: tuple[str, ...] = (
    """CREATE TABLE news (
        number INTEGER PRIMARY KEY,
        at_ms INTEGER NOT NULL,
        kind TEXT NOT NULL,
        project TEXT NOT NULL,
        everywhere INTEGER NOT NULL CHECK (everywhere IN (0, 1)),
        memory_id TEXT,
        session_id TEXT
    ) STRICT""",
)

# -- Step 6 ---------------------------------------------------------------------------------------

# Where each word stands, and which texts were edited last, for a process that keeps something of
# the word index. A jump in the numbers means that more was edited than is named here.
WORD_PLACES: tuple[str, ...] = (
    "CREATE VIRTUAL TABLE word_places USING fts5vocab (words, instance)",
    """CREATE TABLE edited_texts (
        number INTEGER PRIMARY KEY,
        memory INTEGER NOT NULL
    ) STRICT""",
    """CREATE TRIGGER memories_name_edits AFTER UPDATE OF content, extra ON memories
    WHEN old.content IS NOT new.content OR old.extra IS NOT new.extra BEGIN
        INSERT INTO edited_texts (memory) VALUES (new.row);
        DELETE FROM edited_texts WHERE number <= (SELECT max(number) FROM edited_texts) - 1000;
    END""",
)

# -- Step 7 ---------------------------------------------------------------------------------------

# News of skills have neither a memory nor a session to point to, so they name what they are about.
SKILL_USES: tuple[str, ...] = (
    """CREATE TABLE skill_uses (
        project TEXT NOT NULL CHECK (project <> ''),
        skill TEXT NOT NULL CHECK (skill <> ''),
        count INTEGER NOT NULL CHECK (count > 0),
        last_ms INTEGER NOT NULL,
        PRIMARY KEY (project, skill)
    ) STRICT, WITHOUT ROWID""",
    "ALTER TABLE news ADD COLUMN subject TEXT",
)

# -- Step 8 ---------------------------------------------------------------------------------------

# Names are not unique: two projects that are merged may both have one, and then both are kept.
SKILL_LIBRARY: tuple[str, ...] = (
    """CREATE TABLE skill_library (
        id TEXT PRIMARY KEY,
        project TEXT NOT NULL,
        name TEXT NOT NULL,
        text TEXT NOT NULL,
        created_ms INTEGER NOT NULL,
        updated_ms INTEGER NOT NULL,
        origin TEXT NOT NULL,
        made_by TEXT NOT NULL,
        review TEXT NOT NULL,
        reviewed_ms INTEGER,
        enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
        note TEXT,
        session_ids TEXT NOT NULL,
        observation_ids TEXT NOT NULL,
        commit_sha TEXT,
        revision INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX skill_library_project ON skill_library (project, created_ms)",
    """CREATE TABLE skill_editions (
        skill TEXT NOT NULL REFERENCES skill_library (id) ON DELETE CASCADE,
        revision INTEGER NOT NULL,
        text TEXT NOT NULL,
        made_by TEXT NOT NULL,
        until_ms INTEGER NOT NULL,
        PRIMARY KEY (skill, revision)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE skill_runs (
        skill TEXT NOT NULL REFERENCES skill_library (id) ON DELETE CASCADE,
        session_id TEXT NOT NULL,
        used_by TEXT NOT NULL,
        at_ms INTEGER NOT NULL,
        succeeded INTEGER CHECK (succeeded IN (0, 1)),
        PRIMARY KEY (skill, session_id)
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX skill_runs_session ON skill_runs (session_id)",
)

# -- Step 9 ---------------------------------------------------------------------------------------

# A sighting is what one session showed of one subject; how often something was seen is counted
# over sessions when it is asked for, so that no order of arrival can matter.
OBSERVER: tuple[str, ...] = (
    """CREATE TABLE scratchpads (
        session_id TEXT PRIMARY KEY CHECK (session_id <> ''),
        project TEXT NOT NULL CHECK (project <> ''),
        state TEXT NOT NULL,
        updated_ms INTEGER NOT NULL,
        revision INTEGER NOT NULL CHECK (revision > 0),
        body TEXT NOT NULL
    ) STRICT""",
    "CREATE INDEX scratchpads_latest ON scratchpads (updated_ms, session_id)",
    """CREATE TABLE sightings (
        project TEXT NOT NULL CHECK (project <> ''),
        kind TEXT NOT NULL,
        subject TEXT NOT NULL CHECK (subject <> ''),
        session_id TEXT NOT NULL CHECK (session_id <> ''),
        at_ms INTEGER NOT NULL,
        count INTEGER NOT NULL CHECK (count > 0),
        module TEXT NOT NULL,
        detail TEXT NOT NULL,
        PRIMARY KEY (project, kind, subject, session_id)
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX sightings_session ON sightings (session_id, kind)",
    "CREATE INDEX sightings_module ON sightings (project, kind, module)",
    """CREATE TABLE explanations (
        memory_id TEXT PRIMARY KEY REFERENCES memories (id) ON DELETE CASCADE,
        project TEXT NOT NULL,
        at_ms INTEGER NOT NULL,
        body TEXT NOT NULL
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX explanations_latest ON explanations (project, at_ms)",
)

# -- Step 10 --------------------------------------------------------------------------------------

# Each row that a trigger puts into a text index makes SQLite write the index out at once, which
# took nine tenths of the time of an insert. Whoever inserts a memory now indexes it in statements
# of their own; changes and removals, which are rare, still follow by trigger.
INDEXED_BY_WRITER: tuple[str, ...] = ("DROP TRIGGER memories_index_insert",)
INDEX_WORDS = "INSERT INTO words (rowid, content, extra) VALUES (?, ?, ?)"
INDEX_FRAGMENTS = f"INSERT INTO fragments (rowid, content) VALUES (?, {_PADDED_VALUE})"

# -- Step 11 --------------------------------------------------------------------------------------

# Which memories were changed or lost something last, for a process that keeps something of them.
# A jump in the numbers means that more was changed than is named here. The latest is never removed,
# so numbers are never given twice. A vector that is written again has a new seq and is not named.
_KEPT_CHANGES = 5_000


def _noting(name: str, event: str, row: str) -> str:
    return f"""CREATE TRIGGER {name} AFTER {event} BEGIN
        INSERT INTO changed_rows (memory) VALUES ({row});
        DELETE FROM changed_rows
            WHERE number <= (SELECT max(number) FROM changed_rows) - {_KEPT_CHANGES};
    END"""


CHANGED_ROWS: tuple[str, ...] = (
    """CREATE TABLE changed_rows (
        number INTEGER PRIMARY KEY,
        memory INTEGER NOT NULL
    ) STRICT""",
    _noting("memories_note_update", "UPDATE ON memories", "old.row"),
    _noting("memories_note_delete", "DELETE ON memories", "old.row"),
    _noting("vectors_note_delete", "DELETE ON vectors", "old.memory"),
)

# -- Step 12 --------------------------------------------------------------------------------------

# What agents were given. A line outlives its memory as a row of counts: only its text goes with it.
# A session's tokens are unknown (NULL) until a client reports them.
INJECTIONS: tuple[str, ...] = (
    """CREATE TABLE injections (
        id TEXT PRIMARY KEY CHECK (id <> ''),
        project TEXT NOT NULL CHECK (project <> ''),
        session_id TEXT NOT NULL,
        client TEXT NOT NULL,
        agent TEXT,
        moment TEXT NOT NULL,
        at_ms INTEGER NOT NULL,
        trigger_text TEXT NOT NULL,
        tokens INTEGER NOT NULL CHECK (tokens >= 0)
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX injections_latest ON injections (project, at_ms, id)",
    "CREATE INDEX injections_session ON injections (session_id, at_ms, id)",
    """CREATE TABLE injected_lines (
        injection TEXT NOT NULL REFERENCES injections (id) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        line_id TEXT NOT NULL CHECK (line_id <> ''),
        memory_id TEXT,
        kind TEXT NOT NULL,
        text TEXT NOT NULL,
        reason TEXT NOT NULL,
        tokens INTEGER NOT NULL CHECK (tokens >= 0),
        work_tokens INTEGER,
        outcome TEXT NOT NULL,
        outcome_by TEXT NOT NULL,
        outcome_ms INTEGER,
        PRIMARY KEY (injection, number)
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX injected_lines_line ON injected_lines (line_id)",
    """CREATE INDEX injected_lines_memory ON injected_lines (memory_id)
       WHERE memory_id IS NOT NULL""",
    """CREATE TABLE silent_lines (
        project TEXT NOT NULL CHECK (project <> ''),
        line_id TEXT NOT NULL CHECK (line_id <> ''),
        at_ms INTEGER NOT NULL,
        reason TEXT NOT NULL,
        PRIMARY KEY (project, line_id)
    ) STRICT, WITHOUT ROWID""",
    """CREATE TRIGGER memories_forget_lines AFTER DELETE ON memories BEGIN
        UPDATE injected_lines SET text = '', reason = '', outcome_by = ''
            WHERE memory_id = old.id;
        DELETE FROM silent_lines WHERE line_id = old.id;
    END""",
    "ALTER TABLE sessions ADD COLUMN input_tokens INTEGER",
    "ALTER TABLE sessions ADD COLUMN cached_tokens INTEGER",
    "ALTER TABLE sessions ADD COLUMN output_tokens INTEGER",
)

# -- Step 14 --------------------------------------------------------------------------------------

# Counts by facet read the index alone: a row with its text is many times as large. It has no
# generated column, since SQLite before 3.41 reads the row for one. What may be undone is kept whole
# for a while.
REPORTS: tuple[str, ...] = (
    """CREATE INDEX memories_facets ON memories (project, scope, type, source, confidence,
       work_unit, needs_review, user_verified, valid_to_ms, archived_ms, stale_ms, pinned,
       valid_from_ms, created_ms)""",
    "ALTER TABLE injected_lines ADD COLUMN score TEXT",
    """CREATE TABLE undo_steps (
        id TEXT PRIMARY KEY CHECK (id <> ''),
        project TEXT NOT NULL CHECK (project <> ''),
        action TEXT NOT NULL,
        at_ms INTEGER NOT NULL,
        undone_ms INTEGER,
        count INTEGER NOT NULL CHECK (count >= 0),
        body TEXT NOT NULL
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX undo_steps_latest ON undo_steps (project, at_ms)",
)

# -- Step 15 --------------------------------------------------------------------------------------

# What a team shares. The latest number of a project is never removed, so none is given twice.
SHARED_RECORDS: tuple[str, ...] = (
    """CREATE TABLE shared_records (
        project TEXT NOT NULL CHECK (project <> ''),
        id TEXT NOT NULL CHECK (id <> ''),
        seq INTEGER NOT NULL CHECK (seq > 0),
        state TEXT NOT NULL,
        owner TEXT NOT NULL,
        statement TEXT NOT NULL,
        waiting INTEGER NOT NULL CHECK (waiting IN (0, 1)),
        body TEXT NOT NULL,
        PRIMARY KEY (project, id)
    ) STRICT, WITHOUT ROWID""",
    "CREATE UNIQUE INDEX shared_records_seq ON shared_records (project, seq)",
    "CREATE INDEX shared_records_statement ON shared_records (project, statement)",
)

# -- Step 16 --------------------------------------------------------------------------------------

# The names that PostgreSQL has. SQLite changes references and triggers with a table; an index keeps
# its name, so it is made anew.
RENAMED: tuple[str, ...] = (
    "ALTER TABLE shelf RENAME TO key_values",
    "ALTER TABLE news RENAME TO activity",
    "ALTER TABLE sightings RENAME TO signals",
    "ALTER TABLE taken_events RENAME TO processed_events",
    "ALTER TABLE reading_marks RENAME TO read_positions",
    "ALTER TABLE skill_library RENAME TO skills",
    "ALTER TABLE skill_editions RENAME TO skill_versions",
    "ALTER TABLE project_aliases RENAME COLUMN alias TO project",
    "DROP INDEX sightings_session",
    "DROP INDEX sightings_module",
    "DROP INDEX skill_library_project",
    "DROP INDEX taken_events_session",
    "CREATE INDEX signals_session ON signals (session_id, kind)",
    "CREATE INDEX signals_module ON signals (project, kind, module)",
    "CREATE INDEX skills_project ON skills (project, created_ms)",
    "CREATE INDEX processed_events_session ON processed_events (session)",
)
