"""The statements of a recall and of a write, as they are sent: each plan stays inside the
partitions of its project and of the person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any, cast

import psycopg
import pytest

import wellkept
from wellkept.core.query import Filter
from wellkept.core.records import replace
from wellkept_team.postgres.connection.database import Connection, for_psycopg
from wellkept_team.postgres.schema import PARTITIONED

pytestmark = pytest.mark.feature("T1")
QUESTIONS = (
    "which deploy needs a ticket?",
    "what is in models.py and in `src/shop/models.py`?",  # phrases
    "部署需要什么",
    "deploy ticket #12 since March",
)
# An id is used once in a tenant, which no key of a project can say: a write looks it up.
USED_ONCE = "SELECT id FROM memories WHERE tenant = %(tenant)s AND id = ANY(%(ids)s) LIMIT 1"


class Heard:
    """Every statement that was sent, with its parameters."""

    def __init__(self) -> None:
        self.statements: list[tuple[str, dict[str, Any]]] = []

    def plans(self, url: str) -> Iterator[tuple[str, set[str]]]:
        """Each statement on the large tables, with the partitions that its plan may read."""
        with closing(psycopg.connect(url, autocommit=True)) as db:
            db.execute("SET search_path TO wellkept, public")
            for sql, params in self.statements:
                if any(table in sql for table in PARTITIONED):
                    (plan,) = cast(
                        "tuple[list[dict[str, Any]]]",
                        db.execute(f"EXPLAIN (FORMAT JSON) {sql}".encode(), params).fetchone(),
                    )
                    yield sql, set(_relations(plan[0]["Plan"]))


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Heard:
    made, run = Heard(), Connection.run

    def listen(self: Connection, sql: str, **params: Any) -> Any:
        if sql.lstrip().startswith(("SELECT", "WITH", "UPDATE", "DELETE", "INSERT")):
            made.statements.append((for_psycopg(sql), {"tenant": self.tenant, **params}))
        return run(self, sql, **params)

    monkeypatch.setattr(Connection, "run", listen)
    return made


def test_no_statement_of_a_recall_reads_another_projects_partition(
    empty_postgres_url: str, heard: Heard
) -> None:
    for project in ("shop", "one", "two", "three", "four", "five", "six", "seven"):
        with wellkept.open(empty_postgres_url, project=project, embedder="static") as wk:
            for number in range(12):
                wk.remember(
                    f"Rule {number} of {project}: models.py of the blue deploy needs ticket"
                    f" #{number}, 部署需要票",
                    type="convention",
                    merge_similar=False,
                    files=["src/shop/models.py"],
                )
    with wellkept.open(empty_postgres_url, project="shop", embedder="static") as wk:
        home = wk.project
        where = Filter(project=home, tags=("a",), files=("src/shop/models.py",))
        phrases = ["models.py", "blue deploy"]
        store = wk.engine.store
        for question in QUESTIONS:  # what is looked up once for a filter, or a phrase
            wk.recall(question)
        store.search_fulltext(phrases, where, limit=9)
        heard.statements.clear()
        for question in QUESTIONS:
            assert wk.recall(question)
        wk.context(moment="session")
        assert store.search_fulltext(phrases, replace(where, tags=()), limit=9)
        store.search_substrings("models.py", where, limit=5)
        store.list(where)
        wk.remember("Rule 99: a new deploy needs a ticket", type="convention")
    own = _own_partitions(empty_postgres_url, home)
    plans = list(heard.plans(empty_postgres_url))
    assert sum(bool(read) for _, read in plans) > 10
    crossing = sorted({sql for sql, read in plans if read - own} - {USED_ONCE})
    assert not crossing, "\n\n".join(crossing)


def _own_partitions(url: str, home: str) -> set[str]:
    """Where rows of the project and of the person can lie."""
    with closing(psycopg.connect(url)) as db:
        found = db.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_inherits i ON i.inhrelid = c.oid"
            " JOIN pg_class p ON p.oid = i.inhparent WHERE p.relname = ANY(%s)"
            " AND p.relkind = 'p' AND (satisfies_hash_partition(p.oid, 8,"
            ' right(c.relname, 1)::int, %s::text COLLATE "C") OR satisfies_hash_partition('
            "p.oid, 8, right(c.relname, 1)::int, ''::text COLLATE \"C\"))",
            (list(PARTITIONED), home),
        ).fetchall()
    return {str(name) for (name,) in found}


def _relations(plan: Mapping[str, Any]) -> Iterator[str]:
    """The partitions that a plan names."""
    name = str(plan.get("Relation Name", ""))
    if name.rpartition("_")[2].isdigit():
        yield name
    for inner in plan.get("Plans", ()):
        yield from _relations(inner)
