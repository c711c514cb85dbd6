"""The `TeamDatabase` port: one pool for all who ask, and the role that servers connect with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import LiteralString, cast

from psycopg import sql

from wellkept.core.clock import Clock
from wellkept.core.errors import UsageError
from wellkept.core.ports.store import Store
from wellkept.core.ports.team import TeamStore
from wellkept.core.team.people import LOCAL_TENANT, Principal, Role, read_token
from wellkept.core.team.records import Organisation, UpkeepReport
from wellkept_team.postgres.connection.database import CHANNEL, Database
from wellkept_team.postgres.connection.pool import MAX_CONNECTIONS, Pool, Raw, Session
from wellkept_team.postgres.migrations import migrate
from wellkept_team.postgres.search.hints import SearchHints, new_hints
from wellkept_team.postgres.search.vector_index import LARGE_PROJECT
from wellkept_team.postgres.store import PostgresStore
from wellkept_team.postgres.team.guarded_store import GuardedStore
from wellkept_team.postgres.team.schema import GRANTS, NOT_TO_BE_UPDATED
from wellkept_team.postgres.team.team_store import PostgresTeam, to_organisation
from wellkept_team.postgres.team.upkeep import keep_up_due

_OPERATOR = Session()
_LOOK_S = 0.5


class PostgresTeams:
    """A database of organisations."""

    def __init__(
        self,
        url: str,
        *,
        clock: Clock,
        busy_timeout_ms: int = 5_000,
        max_connections: int = MAX_CONNECTIONS,
        large_project: int = LARGE_PROJECT,
    ) -> None:
        self._pool = Pool(url, busy_timeout_ms=busy_timeout_ms, max_connections=max_connections)
        self._clock = clock
        self._busy_timeout_ms = busy_timeout_ms
        self._large_project = large_project
        self._hints: dict[str, SearchHints] = {}
        migrate(self._database(LOCAL_TENANT), clock=clock)

    @property
    def url(self) -> str:
        """The address, which may hold a password."""
        return self._pool.url

    def authenticate(self, token: str) -> Principal | None:
        """Whose token this is; None when it is unknown, expired or revoked."""
        known = read_token(token)
        if known is None:
            return None
        with self._pool.borrowed(Session(known.credential)) as raw:
            row = raw.execute("SELECT tenant, person, rank, token FROM asking()").fetchone()
        if row is None or row[1] is None:
            return None
        return Principal(
            tenant=row[0],
            user=row[1],
            role=list(Role)[int(row[2]) - 1],
            token_id=row[3],
            credential=known.credential,
        )

    def store_of(self, principal: Principal) -> Store:
        """The memories that a person may see."""
        read_only = not principal.role.covers(Role.WRITER)
        return GuardedStore(
            self._database(principal.tenant, principal, read_only=read_only),
            clock=self._clock,
            hints=self._hints.setdefault(
                principal.tenant, new_hints(large_project=self._large_project)
            ),
        )

    def team_of(self, principal: Principal) -> TeamStore:
        """The organisation as a person may see it."""
        # Also readers exchange their own token; rules hold back the rest.
        database = self._database(principal.tenant, principal, read_only=False)
        return PostgresTeam(database, clock=self._clock)

    def operator(self, tenant: str) -> TeamStore:
        """The organisation as whoever owns the database sees it."""
        return PostgresTeam(self._database(tenant), clock=self._clock)

    def operator_store(self, tenant: str) -> Store:
        """All memories of an organisation, as whoever owns the database sees them."""
        return PostgresStore(self._database(tenant), clock=self._clock)

    def organisations(self) -> Sequence[Organisation]:
        """Every organisation; for whoever owns the database."""
        with self._pool.borrowed(_OPERATOR) as raw:
            rows = raw.execute(
                "SELECT tenant, title, created_ms FROM organisations ORDER BY tenant"
            ).fetchall()
        return [to_organisation(row) for row in rows]

    def keep_up_due(self, *, every: timedelta) -> UpkeepReport | None:
        """Do what is due of every organisation's upkeep; None when there is nothing to do here."""
        with self._pool.borrowed(_OPERATOR) as raw:
            return keep_up_due(raw, every=every)

    def set_up_server_role(self, name: str, *, password: str | None) -> bool:
        """Make or refresh the database role that servers use; returns whether it is new."""
        role = sql.Identifier(name)
        with self._pool.borrowed(_OPERATOR) as raw, raw.transaction():
            is_new = (
                raw.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (name,)).fetchone() is None
            )
            if is_new:
                secret = (
                    sql.SQL("")
                    if password is None
                    else sql.SQL(" PASSWORD {}").format(sql.Literal(password))
                )
                raw.execute(
                    sql.SQL(
                        "CREATE ROLE {} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS{}"
                    ).format(role, secret)
                )
            for grant in GRANTS:
                raw.execute(sql.SQL(cast("LiteralString", grant)).format(role=role))
            columns = sql.SQL(", ").join(map(sql.Identifier, _memory_columns(raw)))
            raw.execute(sql.SQL("GRANT UPDATE ({}) ON memories TO {}").format(columns, role))
        return is_new

    def require_server_role(self) -> None:
        """UsageError when row-level security would not hold for the user of the address."""
        with self._pool.borrowed(_OPERATOR) as raw:
            row = raw.execute(
                "SELECT current_user, r.rolsuper OR r.rolbypassrls OR pg_has_role(c.relowner,"
                " 'USAGE') FROM pg_roles r, pg_class c WHERE r.rolname = current_user"
                " AND c.oid = 'memories'::regclass"
            ).fetchone()
        if row is None or row[1]:
            name = "its user" if row is None else row[0]
            raise UsageError(
                f"A team's server must not connect to {self._pool.place} as {name}, whom the"
                " database's own rules do not hold back.",
                hint="Run `wellkept team init` as its owner, and serve with the role that makes.",
            )

    def require_answer(self) -> None:
        """StoreError when the database does not answer."""
        with self._pool.borrowed(_OPERATOR) as raw:
            raw.execute("SELECT 1")

    def behind_s(self) -> float | None:
        """How many seconds the standby that answers is behind at most; None on the primary."""
        with self._pool.borrowed(_OPERATOR) as raw:
            row = raw.execute(
                "SELECT pg_is_in_recovery(), extract(epoch FROM"
                " clock_timestamp() - pg_last_xact_replay_timestamp())::float8"
            ).fetchone()
        return None if row is None or not row[0] else max(float(row[1] or 0.0), 0.0)

    def listen(
        self,
        on_activity: Callable[[str], None],
        *,
        on_ready: Callable[[], None],
        until: Callable[[], bool],
    ) -> None:
        """Call with the tenant at each commit that logged activity, from `on_ready` on, until told
        to end. Holds a connection of its own; StoreError when that is lost."""
        with self._pool.alone(_OPERATOR) as raw:
            raw.execute(f"LISTEN {CHANNEL}")
            on_ready()
            while not until():
                for told in raw.notifies(timeout=_LOOK_S):
                    on_activity(told.payload)

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()

    def _database(
        self, tenant: str, principal: Principal | None = None, *, read_only: bool = False
    ) -> Database:
        return Database(
            self._pool,
            tenant=tenant,
            busy_timeout_ms=self._busy_timeout_ms,
            read_only=read_only,
            credential="" if principal is None else principal.credential,
        )


def _memory_columns(raw: Raw) -> list[str]:
    """Columns of a memory that people may change."""
    rows = raw.execute(
        "SELECT attname::text FROM pg_attribute WHERE attrelid = 'memories'::regclass"
        " AND attnum > 0 AND NOT attisdropped"
    ).fetchall()
    return [name for (name,) in rows if name not in NOT_TO_BE_UPDATED]
