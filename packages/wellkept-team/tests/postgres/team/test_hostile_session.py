"""A session that speaks SQL with a reader's credential gets no further than the reader."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest
from psycopg import errors as pg

from tests.postgres_team import NewTeam, Team
from tests.support.samples import Samples
from wellkept.core.query import Filter
from wellkept.core.team.people import Role
from wellkept.core.types import Scope

pytestmark = pytest.mark.feature("T2")
HERE = Filter(project="example")

Db = psycopg.Connection[Any]


@pytest.fixture
def other(new_team: NewTeam) -> Team:
    """Another organisation with a memory of its own."""
    team = new_team()
    samples = Samples()
    store = team.server.store_of(team.person(Role.ADMIN))
    store.apply([samples.insert("theirs", key="k", model_id="m", vector=samples.vector())])
    store.put_value("space", "key", "value")
    store.close()
    return team


@pytest.fixture
def hostile(server_url: str, team: Team) -> Iterator[Db]:
    """SQL as the server's role, with the credential of a reader."""
    store = team.server.store_of(team.person(Role.WRITER))
    samples = Samples()
    store.apply(
        [
            samples.insert("shared", model_id="m", vector=samples.vector()),
            samples.insert("personal", scope=Scope.USER, model_id="m", vector=samples.vector()),
        ]
    )
    store.close()
    with closing(psycopg.connect(server_url, autocommit=True)) as db:
        db.execute("SET search_path = wellkept, public")
        enter(db, team.tokens[Role.READER].credential)
        yield db


def enter(db: Db, credential: str) -> None:
    db.execute("SELECT set_config('wellkept.credential', %s, false)", (credential,))


def tables(db: Db) -> list[str]:
    rows = db.execute(
        "SELECT c.relname FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace"
        " WHERE s.nspname = 'wellkept' AND c.relkind IN ('r', 'p') AND c.relname <> 'schema_steps'"
    ).fetchall()
    return [name for (name,) in rows]


def seen(db: Db, table: str, where: str = "true") -> int | None:
    """How many rows of a table a session sees; None when it may not look at all."""
    try:
        row = db.execute(f"SELECT count(*) FROM {table} WHERE {where}".encode()).fetchone()
    except pg.InsufficientPrivilege:
        return None
    assert row is not None
    return row[0]


def test_no_row_of_another_organisation_is_seen(hostile: Db, other: Team, team: Team) -> None:
    names = tables(hostile)
    assert len(names) > 60
    for table in names:
        found = seen(hostile, table, f"tenant <> '{team.tenant}'")
        assert not found, table
    assert seen(hostile, "memories") == 1
    # Not by naming the other, not by claiming to be it.
    assert seen(hostile, "memories", f"tenant = '{other.tenant}'") == 0
    key = team.tokens[Role.READER].credential.rsplit(".", 1)[1]
    for forged in (
        f"{other.tenant}.{other.tokens[Role.ADMIN].id}.{key}",
        f"{other.tenant}.{team.tokens[Role.READER].id}.{key}",
        f"{team.tenant}.{team.tokens[Role.ADMIN].id}.{key}",
        f"{other.tenant}.{other.tokens[Role.ADMIN].id}.{other.tokens[Role.ADMIN].hash}",
        other.tokens[Role.ADMIN].text,
        "' OR true --",
        "",
    ):
        enter(hostile, forged)
        assert [seen(hostile, table) for table in ("memories", "people", "texts")] == [0, 0, 0]


def test_partitions_hashes_and_catalogue_roles_do_not_help(hostile: Db) -> None:
    for table in ("memories_0", "texts_3", "fragments_1", "labels_2"):
        assert seen(hostile, table) is None
    for statement in (
        "SELECT hash FROM tokens",
        "SELECT * FROM tokens",
        "SET ROLE postgres",
        "ALTER TABLE memories DISABLE ROW LEVEL SECURITY",
        "DROP POLICY memories_see ON memories",
        "CREATE FUNCTION wellkept.asking_tenant() RETURNS TEXT LANGUAGE sql AS 'SELECT 1'",
        "SELECT note('x', 'y', 'z', ARRAY['w'])",
        "INSERT INTO audit VALUES ('t', '', 1, 1, 'p', '', 'a', ARRAY['x'])",
        "UPDATE audit SET person = 'nobody'",
        "DELETE FROM audit",
        "UPDATE memories SET owner = 'reader'",
        "UPDATE tokens SET person = 'reader'",
    ):
        with pytest.raises(psycopg.Error) as refused:
            hostile.execute(statement.encode())
        assert refused.value.sqlstate in {"42501", "42723"}, statement
    # A temporary function or table does not stand in for ours.
    hostile.execute("CREATE TEMP TABLE tokens AS SELECT 1 AS one")
    hostile.execute("SET search_path = pg_temp, wellkept, public")
    assert seen(hostile, "wellkept.memories") == 1


def test_personal_memories_of_others_leave_no_trace(hostile: Db) -> None:
    for table in ("memories", "texts", "fragments", "vectors", "labels"):
        assert seen(hostile, table, "home = ''") == 0
    rows = hostile.execute("SELECT content FROM memories").fetchall()
    assert rows == [("shared",)]
    for function, kind in (("texts_holding", "bigint"), ("fragments_holding", "int")):
        row = hostile.execute(
            f"SELECT count(*) FROM {function}(ARRAY[''], ARRAY[]::{kind}[], 'all')".encode()
        ).fetchone()
        assert row == (0,)


def test_a_reader_changes_nothing(hostile: Db, team: Team) -> None:
    before = team.server.store_of(team.person(Role.WRITER)).stats(Filter(project=None)).total
    for statement in (
        "UPDATE memories SET content = 'x'",
        "DELETE FROM memories",
        "UPDATE people SET role = 'admin'",
        "DELETE FROM people",
        "UPDATE tokens SET revoked_ms = 1",
        "DELETE FROM sessions",
    ):
        assert hostile.execute(statement.encode()).rowcount == 0, statement
    for statement in (
        f"INSERT INTO people VALUES ('{team.tenant}', '', 'eve', 'admin', 1, NULL)",
        f"INSERT INTO key_values VALUES ('{team.tenant}', '', 's', 'k', '1')",
        f"INSERT INTO tokens VALUES ('{team.tenant}', '', 'x', 'admin', '', 'h', 1, NULL, NULL)",
        f"INSERT INTO policies VALUES ('{team.tenant}', '', '{{}}', 1, 'eve')",
    ):
        with pytest.raises(pg.InsufficientPrivilege):
            hostile.execute(statement.encode())
    store = team.server.store_of(team.person(Role.WRITER))
    assert store.stats(Filter(project=None)).total == before
    assert {memory.content for memory in store.list(HERE)} == {"shared", "personal"}


def test_a_revoked_token_ends_inside_an_open_session(hostile: Db, team: Team) -> None:
    assert seen(hostile, "memories") == 1
    team.operator.revoke_token(team.tokens[Role.READER].id)
    assert seen(hostile, "memories") == 0
    assert team.server.authenticate(team.tokens[Role.READER].text) is None
