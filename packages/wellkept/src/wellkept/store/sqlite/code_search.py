"""The `CodeTexts` port over one SQLite file: two FTS5 tables of words that come already folded.

Everything in it is derived from a source tree and its history, so it is a file of its own that can
be deleted and built again. A row of another tree never matches: its first column holds a token
that only its own tree's queries ask for. A question is several statements, so each is asked of one
state: others read files in meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import nlargest
from math import log

from wellkept.core.ports.code_search import (
    CoChangedFile,
    CommitCount,
    CommitHit,
    CommitText,
    FileText,
    FileVectors,
    TextHit,
    VectorKind,
)
from wellkept.store.sqlite.database import Connection
from wellkept.store.sqlite.migrations import Migration, execute_all
from wellkept.store.sqlite.opening import DerivedFile
from wellkept.store.sqlite.search.fulltext import quote

# "WlWd": tells a file of code words from a file of memories.
APPLICATION_ID = 0x576C5764

_SCHEMA = (
    "CREATE TABLE trees (tree INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT",
    """CREATE TABLE texts (
        text INTEGER PRIMARY KEY,
        tree INTEGER NOT NULL REFERENCES trees (tree),
        path TEXT NOT NULL,
        stamp TEXT NOT NULL,
        body_length INTEGER NOT NULL,
        UNIQUE (tree, path)
    ) STRICT""",
    """CREATE VIRTUAL TABLE text_words USING fts5 (
        tree, path, symbols, body, tokenize = "unicode61 tokenchars '_'"
    )""",
    "CREATE VIRTUAL TABLE text_vocabulary USING fts5vocab (text_words, row)",
    """CREATE TABLE commits (
        entry INTEGER PRIMARY KEY,
        tree INTEGER NOT NULL REFERENCES trees (tree),
        place INTEGER NOT NULL,
        sha TEXT NOT NULL,
        subject TEXT NOT NULL,
        UNIQUE (tree, sha)
    ) STRICT""",
    "CREATE INDEX commits_place ON commits (tree, place)",
    """CREATE TABLE commit_files (
        entry INTEGER NOT NULL REFERENCES commits (entry) ON DELETE CASCADE,
        tree INTEGER NOT NULL,
        path TEXT NOT NULL,
        place INTEGER NOT NULL,
        PRIMARY KEY (entry, path)
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX commit_files_path ON commit_files (tree, path, place)",
    """CREATE VIRTUAL TABLE commit_words USING fts5 (
        tree, message, tokenize = "unicode61 tokenchars '_'"
    )""",
)

_VECTORS = """
    CREATE TABLE vectors (
        tree INTEGER NOT NULL REFERENCES trees (tree),
        path TEXT NOT NULL,
        kind TEXT NOT NULL,
        stamp TEXT NOT NULL,
        data BLOB NOT NULL,
        UNIQUE (tree, path, kind)
    ) STRICT"""

_HITS = """
    SELECT rowid, -bm25(text_words, 0, 3, 2, 1), -bm25(text_words, 0, 1, 0, 0),
        -bm25(text_words, 0, 0, 1, 0), -bm25(text_words, 0, 0, 0, 1)
    FROM text_words WHERE text_words MATCH ?"""
_SMALL_TREE = 2_000
"""In a larger tree, words in half of its files are left out: they cost much and tell little."""
_SEARCH_COMMITS = """
    SELECT c.entry, c.sha, c.place, c.subject, -bm25(commit_words, 0, 1)
    FROM commit_words JOIN commits c ON c.entry = commit_words.rowid
    WHERE commit_words MATCH ? ORDER BY bm25(commit_words, 0, 1), c.place DESC LIMIT ?"""


_RECENT = """
    SELECT f.path FROM commit_files f
    JOIN (SELECT entry FROM commits WHERE tree = ? ORDER BY place DESC LIMIT ?) USING (entry)
    GROUP BY f.path ORDER BY max(f.place) DESC, f.path"""

# Two imaginary commits without the other keep a single joint one from looking like a habit.
_TOGETHER = """
    SELECT o.path, count(*) * 1.0 / (2 + (
        SELECT count(*) FROM commit_files WHERE tree = :tree AND path = :path)) AS share
    FROM commit_files t JOIN commit_files o ON o.entry = t.entry AND o.path <> t.path
    WHERE t.tree = :tree AND t.path = :path
    GROUP BY o.path ORDER BY share DESC, o.path LIMIT :limit"""
_EVERYTHING = ("text_words", "texts", "commit_words", "commit_files", "commits")
STEPS = (
    Migration(1, "words of files and of commits", execute_all(_SCHEMA)),
    # Words are folded in another way from here on, so everything is read again.
    Migration(
        2,
        "vectors of files",
        execute_all([*(f"DELETE FROM {table}" for table in _EVERYTHING), _VECTORS]),
    ),
)


class SqliteCodeSearch(DerivedFile):
    """Words of source trees in one file."""

    steps = STEPS
    application_id = APPLICATION_ID

    # -- Files ------------------------------------------------------------------------------------

    def text_stamps(self, tree: str) -> dict[str, str]:
        with self._database.snapshot() as db:
            rows = db.execute("SELECT path, stamp FROM texts WHERE tree = ?", (_known(db, tree),))
            return dict(rows.fetchall())

    def put_texts(self, tree: str, texts: Sequence[FileText]) -> None:
        with self._database.writing() as db:
            number = _entered(db, tree)
            _drop_texts(db, number, [text.path for text in texts])
            for text in texts:
                row = db.execute(
                    "INSERT INTO texts (tree, path, stamp, body_length) VALUES (?, ?, ?, ?)",
                    (number, text.path, text.stamp, text.body_words.count(" ") + 1),
                ).lastrowid
                db.execute(
                    "INSERT INTO text_words (rowid, tree, path, symbols, body)"
                    " VALUES (?, ?, ?, ?, ?)",
                    (row, _mark(number), text.path_words, text.symbol_words, text.body_words),
                )

    def drop_texts(self, tree: str, paths: Collection[str]) -> None:
        with self._database.writing() as db:
            number = _known(db, tree)
            _drop_texts(db, number, paths)
            db.executemany(
                "DELETE FROM vectors WHERE tree = ? AND path = ?",
                ((number, path) for path in paths),
            )

    def search_texts(self, tree: str, words: Sequence[str], *, limit: int) -> list[TextHit]:
        with self._database.snapshot() as db:
            scores = _text_scores(db, _known(db, tree), words)
            best = nlargest(limit, scores, key=lambda row: (scores[row][0], -row))
            return [_text_hit(db, row, scores[row]) for row in best]

    # -- Commits ----------------------------------------------------------------------------------

    def last_commit(self, tree: str) -> CommitHit | None:
        with self._database.snapshot() as db:
            row = db.execute(
                "SELECT entry, sha, place, subject, 0.0 FROM commits WHERE tree = ?"
                " ORDER BY place DESC LIMIT 1",
                (_known(db, tree),),
            ).fetchone()
            return _commit_hit(db, row) if row else None

    def put_commits(self, tree: str, commits: Sequence[CommitText]) -> None:
        with self._database.writing() as db:
            number = _entered(db, tree)
            for commit in commits:
                _drop_commits(db, "tree = ? AND sha = ?", (number, commit.sha))
                _put_commit(db, number, commit)

    def drop_commits(self, tree: str) -> None:
        with self._database.writing() as db:
            number = _known(db, tree)
            _drop_commits(db, "tree = ?", (number,))
            # They were made of what the commits said.
            db.execute(
                "DELETE FROM vectors WHERE tree = ? AND kind = ?", (number, VectorKind.HISTORY)
            )

    def rename_in_commits(self, tree: str, names: Mapping[str, str]) -> None:
        with self._database.writing() as db:
            number = _known(db, tree)
            # By way of names that no file has, so that none of the new ones is renamed again.
            _rename(db, number, ((old, f"\0{new}") for old, new in names.items()))
            _rename(db, number, ((f"\0{new}", new) for new in dict.fromkeys(names.values())))

    def search_commits(self, tree: str, words: Sequence[str], *, limit: int) -> list[CommitHit]:
        with self._database.snapshot() as db:
            query = _query(_known(db, tree), words, columns="message")
            rows = db.execute(_SEARCH_COMMITS, (query, limit)).fetchall() if query else []
            return [_commit_hit(db, row) for row in rows]

    def commit_counts(self, tree: str, paths: Collection[str]) -> dict[str, CommitCount]:
        found: dict[str, CommitCount] = {}
        with self._database.snapshot() as db:
            number = _known(db, tree)
            for path in paths:
                times, last = db.execute(
                    "SELECT count(*), max(place) FROM commit_files WHERE tree = ? AND path = ?",
                    (number, path),
                ).fetchone()
                if times:
                    found[path] = CommitCount(times=times, last_order=last)
        return found

    def recent_files(self, tree: str, *, commits: int) -> list[str]:
        with self._database.snapshot() as db:
            rows = db.execute(_RECENT, (_known(db, tree), commits)).fetchall()
        return [path for (path,) in rows]

    def co_changed(self, tree: str, path: str, *, limit: int) -> list[CoChangedFile]:
        with self._database.snapshot() as db:
            values = {"tree": _known(db, tree), "path": path, "limit": limit}
            rows = db.execute(_TOGETHER, values).fetchall()
        return [CoChangedFile(path=other, share=share) for other, share in rows]

    def subjects(self, tree: str, path: str, *, limit: int) -> list[str]:
        with self._database.snapshot() as db:
            rows = db.execute(
                "SELECT c.subject FROM commit_files f JOIN commits c ON c.entry = f.entry"
                " WHERE f.tree = ? AND f.path = ? ORDER BY f.place DESC LIMIT ?",
                (_known(db, tree), path, limit),
            ).fetchall()
        return [subject for (subject,) in rows]

    # -- Vectors ----------------------------------------------------------------------------------

    def vectors(
        self, tree: str, kind: VectorKind, paths: Collection[str]
    ) -> dict[str, FileVectors]:
        found: dict[str, FileVectors] = {}
        with self._database.snapshot() as db:
            number = _known(db, tree)
            for path in paths:
                row = db.execute(
                    "SELECT stamp, data FROM vectors WHERE tree = ? AND path = ? AND kind = ?",
                    (number, path, kind),
                ).fetchone()
                if row:
                    found[path] = FileVectors(*row)
        return found

    def put_vectors(self, tree: str, kind: VectorKind, vectors: Mapping[str, FileVectors]) -> None:
        with self._database.writing() as db:
            number = _entered(db, tree)
            db.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?)",
                ((number, path, kind, one.stamp, one.data) for path, one in vectors.items()),
            )


# -- Rows -----------------------------------------------------------------------------------------


def _known(db: Connection, tree: str) -> int:
    """The row of a tree; 0, which none has, for an unknown one."""
    row = db.execute("SELECT tree FROM trees WHERE name = ?", (tree,)).fetchone()
    return 0 if row is None else int(row[0])


def _entered(db: Connection, tree: str) -> int:
    db.execute("INSERT OR IGNORE INTO trees (name) VALUES (?)", (tree,))
    return _known(db, tree)


def _mark(tree: int) -> str:
    """The token that only rows of a tree hold."""
    return f"tree{tree}"


def _query(tree: int, words: Iterable[str], *, columns: str) -> str:
    """An FTS5 expression for any of the words in the columns of a tree's rows."""
    quoted = " OR ".join(quote(word) for word in words if word)
    return f'tree : "{_mark(tree)}" AND {{{columns}}} : ({quoted})' if quoted and tree else ""


def _text_scores(db: Connection, tree: int, words: Sequence[str]) -> dict[int, list[float]]:
    """BM25 of all, of path, symbols and body apart, for every row that holds a word.

    FTS5 takes a word that is in more than half of the rows for nothing, and counts the rows of all
    trees; in a small tree such words carry the sense. So each word is asked alone and its weight
    put right: out with what FTS5 multiplied by, in with log(1 + (N - n + 0.5) / (n + 0.5)).
    """
    in_file = db.execute("SELECT count(*) FROM texts").fetchone()[0]
    in_tree = db.execute("SELECT count(*) FROM texts WHERE tree = ?", (tree,)).fetchone()[0]
    scores: dict[int, list[float]] = {}
    for word in words:
        query = _query(tree, (word,), columns="path symbols body")
        rows = db.execute(_HITS, (query,)).fetchall() if query else []
        if not rows or (in_tree > _SMALL_TREE and len(rows) > in_tree / 2):
            continue
        known = db.execute("SELECT doc FROM text_vocabulary WHERE term = ?", (word,)).fetchone()
        put_right = log(1 + (in_tree - len(rows) + 0.5) / (len(rows) + 0.5)) / _fts5_rarity(
            in_file, known[0] if known else 1
        )
        for row, *parts in rows:
            sums = scores.setdefault(row, [0.0, 0.0, 0.0, 0.0])
            for i, score in enumerate(parts):
                sums[i] += score * put_right
    return scores


def _fts5_rarity(rows: int, holding: int) -> float:
    """The factor that FTS5's bm25 gives a word."""
    rarity = log((rows - holding + 0.5) / (holding + 0.5))
    return rarity if rarity > 0 else 1e-6


def _text_hit(db: Connection, row: int, parts: Sequence[float]) -> TextHit:
    path, length = db.execute(
        "SELECT path, body_length FROM texts WHERE text = ?", (row,)
    ).fetchone()
    return TextHit(
        path=path,
        score=parts[0],
        path_score=parts[1],
        symbol_score=parts[2],
        body_score=parts[3],
        body_length=length,
    )


def _rename(db: Connection, tree: int, names: Iterable[tuple[str, str]]) -> None:
    """Give files in commits other names; a commit that names both keeps one row."""
    db.executemany(
        "UPDATE OR REPLACE commit_files SET path = ? WHERE tree = ? AND path = ?",
        ((new, tree, old) for old, new in names),
    )


def _drop_texts(db: Connection, tree: int, paths: Collection[str]) -> None:
    for path in paths:
        row = db.execute(
            "DELETE FROM texts WHERE tree = ? AND path = ? RETURNING text", (tree, path)
        ).fetchone()
        if row:
            db.execute("DELETE FROM text_words WHERE rowid = ?", row)


def _drop_commits(db: Connection, where: str, values: tuple[object, ...]) -> None:
    entries = f"(SELECT entry FROM commits WHERE {where})"
    db.execute(f"DELETE FROM commit_words WHERE rowid IN {entries}", values)
    db.execute(f"DELETE FROM commit_files WHERE entry IN {entries}", values)
    db.execute(f"DELETE FROM commits WHERE {where}", values)


def _put_commit(db: Connection, tree: int, commit: CommitText) -> None:
    entry = db.execute(
        "INSERT INTO commits (tree, place, sha, subject) VALUES (?, ?, ?, ?)",
        (tree, commit.order, commit.sha, commit.subject),
    ).lastrowid
    db.execute(
        "INSERT INTO commit_words (rowid, tree, message) VALUES (?, ?, ?)",
        (entry, _mark(tree), commit.message_words),
    )
    db.executemany(
        "INSERT OR IGNORE INTO commit_files VALUES (?, ?, ?, ?)",
        ((entry, tree, path, commit.order) for path in commit.files),
    )


def _commit_hit(db: Connection, row: tuple[int, str, int, str, float]) -> CommitHit:
    entry, sha, place, subject, score = row
    files = db.execute(
        "SELECT path FROM commit_files WHERE entry = ? ORDER BY path", (entry,)
    ).fetchall()
    return CommitHit(
        sha=sha, order=place, subject=subject, score=score, files=tuple(path for (path,) in files)
    )
