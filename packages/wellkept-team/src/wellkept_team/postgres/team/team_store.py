"""The `TeamStore` port: people, tokens, audit, policies and managed skills of one tenant.

Every statement names the tenant; what a person may not do, row-level security refuses. Whoever owns
the database is not held back by it.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from psycopg import errors as pg

from wellkept.core.clock import from_ms, to_ms
from wellkept.core.errors import (
    ConflictError,
    ForbiddenError,
    NotFoundError,
    StoreReadOnlyError,
    UsageError,
)
from wellkept.core.memory import Memory
from wellkept.core.team.people import Role, Token
from wellkept.core.team.records import (
    AuditEntry,
    AuditFilter,
    ErasureReport,
    ManagedSkill,
    Organisation,
    Person,
    TeamPolicy,
    TokenInfo,
    UpkeepReport,
    policy_from_json,
    policy_to_json,
    require_person_name,
)
from wellkept.store.queries import require_limit
from wellkept_team.postgres.connection.database import Component, Connection, Row, bindable
from wellkept_team.postgres.tables.memory_rows import SELECTED, to_memory
from wellkept_team.postgres.team.erasure import erase_person
from wellkept_team.postgres.team.upkeep import AT_ONCE, keep_up, upkeep_preview

_HERE = "tenant = %(tenant)s AND project = ''"


class PostgresTeam(Component):
    """One organisation, for one who asks."""

    # -- The organisation and its people ----------------------------------------------------------

    def organisation(self) -> Organisation | None:
        with self._database.reading() as db:
            row = db.row(f"SELECT tenant, title, created_ms FROM organisations WHERE {_HERE}")
        return None if row is None else to_organisation(row)

    def create_organisation(self, title: str) -> None:
        with self._changing() as db:
            made = db.run(
                "INSERT INTO organisations VALUES (%(tenant)s, '', %(title)s, %(now)s)"
                " ON CONFLICT DO NOTHING",
                title=bindable(title),
                now=self._now_ms,
            ).rowcount
        if not made:
            raise ConflictError(f"The organisation {self._database.tenant} is there already.")

    def people(self) -> list[Person]:
        with self._database.reading() as db:
            rows = db.rows(
                f"SELECT name, role, created_ms, removed_ms FROM people WHERE {_HERE} ORDER BY name"
            )
        return [
            Person(name=n, role=Role(r), created_at=from_ms(c), removed_at=_moment(x))
            for n, r, c, x in rows
        ]

    def put_person(self, name: str, role: Role) -> None:
        plain = require_person_name(name)
        with self._changing() as db:
            self._require_another_admin(db, plain, role)
            db.run(
                "INSERT INTO people VALUES (%(tenant)s, '', %(name)s, %(role)s, %(now)s, NULL)"
                " ON CONFLICT (tenant, project, name)"
                " DO UPDATE SET role = excluded.role, removed_ms = NULL",
                name=plain,
                role=role.value,
                now=self._now_ms,
            )

    def remove_person(self, name: str) -> None:
        with self._changing() as db:
            self._require_another_admin(db, name, None)
            gone = db.run(
                f"UPDATE people SET removed_ms = %(now)s WHERE {_HERE} AND name = %(name)s"
                " AND removed_ms IS NULL",
                name=bindable(name),
                now=self._now_ms,
            ).rowcount
            if not gone:
                raise NotFoundError(f"There is no member {name!r}.")
            db.run(
                f"UPDATE tokens SET revoked_ms = %(now)s WHERE {_HERE} AND person = %(name)s"
                " AND revoked_ms IS NULL",
                name=bindable(name),
                now=self._now_ms,
            )

    def _require_another_admin(self, db: Connection, name: str, role: Role | None) -> None:
        """An organisation without an administrator could not be mended by its own people."""
        if role is Role.ADMIN:
            return
        rows = db.rows(
            f"SELECT name FROM people WHERE {_HERE} AND role = 'admin' AND removed_ms IS NULL"
        )
        if [admin for (admin,) in rows] == [name]:
            raise UsageError(
                f"{name} is the only administrator.", hint="Make somebody else one first."
            )

    # -- Tokens -----------------------------------------------------------------------------------

    def tokens(self) -> list[TokenInfo]:
        with self._database.reading() as db:
            rows = db.rows(
                "SELECT id, person, label, created_ms, expires_ms, revoked_ms FROM tokens"
                f" WHERE {_HERE} ORDER BY created_ms DESC, id"
            )
        return [
            TokenInfo(
                id=i, person=p, label=label, created_at=from_ms(c),
                expires_at=_moment(e), revoked_at=_moment(r),
            )
            for i, p, label, c, e, r in rows
        ]  # fmt: skip

    def add_token(self, token: Token, *, person: str, label: str, expires: datetime | None) -> None:
        with self._changing() as db:
            known = db.value(
                f"SELECT 1 FROM people WHERE {_HERE} AND name = %(name)s AND removed_ms IS NULL",
                name=bindable(person),
            )
            if not known:
                raise NotFoundError(f"There is no member {person!r}.", hint="Add the person first.")
            db.run(
                "INSERT INTO tokens VALUES (%(tenant)s, '', %(id)s, %(person)s, %(label)s,"
                " %(hash)s, %(now)s, %(expires)s, NULL)",
                id=token.id,
                person=bindable(person),
                label=bindable(label),
                hash=token.hash,
                now=self._now_ms,
                expires=None if expires is None else to_ms(expires),
            )

    def revoke_token(self, id: str) -> None:
        with self._changing() as db:
            gone = db.run(
                f"UPDATE tokens SET revoked_ms = %(now)s WHERE {_HERE} AND id = %(id)s"
                " AND revoked_ms IS NULL",
                id=bindable(id),
                now=self._now_ms,
            ).rowcount
        if not gone:
            raise NotFoundError(f"There is no valid token {id!r}.", hint="List the tokens.")

    def rotate_own_token(self, token: Token) -> None:
        with self._changing() as db:
            done = db.value(
                "SELECT rotate_own_token(%(id)s, %(hash)s)", id=token.id, hash=token.hash
            )
        if not done:
            raise UsageError("Only a person who came with a token can exchange it.")

    # -- Audit ------------------------------------------------------------------------------------

    def audit(self, wanted: AuditFilter) -> list[AuditEntry]:
        require_limit(wanted.limit, least=1)
        tests, params = ["tenant = %(tenant)s"], dict[str, Any]()
        for test, value in (
            ("person = %(person)s", wanted.person),
            ("starts_with(action, %(action)s)", wanted.action),
            ("subjects @> ARRAY[%(subject)s::text]", wanted.subject),
            ("number < %(before)s", wanted.before),
        ):
            if value is not None:
                tests.append(test)
                name = test.partition("%(")[2].partition(")")[0]
                params[name] = bindable(value) if isinstance(value, str) else value
        with self._database.reading() as db:
            rows = db.rows(
                "SELECT number, at_ms, project, person, token, action, subjects FROM audit"
                f" WHERE {' AND '.join(tests)} ORDER BY number DESC LIMIT %(limit)s",
                limit=wanted.limit,
                **params,
            )
        return [
            AuditEntry(
                number=n, at=from_ms(at), project=project, person=person, token=token,
                action=action, subjects=tuple(subjects),
            )
            for n, at, project, person, token, action, subjects in rows
        ]  # fmt: skip

    # -- Policies and managed skills --------------------------------------------------------------

    def policy(self, project: str) -> TeamPolicy | None:
        with self._database.reading() as db:
            body = db.value(
                "SELECT body FROM policies WHERE tenant = %(tenant)s AND project = %(project)s",
                project=bindable(project),
            )
        if body is None:
            return None
        return policy_from_json(json.loads(body))

    def put_policy(self, project: str, policy: TeamPolicy) -> None:
        with self._changing() as db:
            db.run(
                "INSERT INTO policies VALUES (%(tenant)s, %(project)s, %(body)s, %(now)s,"
                " coalesce(nullif(asking_person(), ''), '(operator)'))"
                " ON CONFLICT (tenant, project) DO UPDATE SET body = excluded.body,"
                " updated_ms = excluded.updated_ms, updated_by = excluded.updated_by",
                project=bindable(project),
                body=json.dumps(policy_to_json(policy)),
                now=self._now_ms,
            )

    def upkeep(self, *, dry_run: bool) -> UpkeepReport:
        memories = entries = 0
        while True:
            with self._changing() as db:
                if dry_run:
                    return upkeep_preview(db)
                made = keep_up(db)
            memories, entries = memories + made[0], entries + made[1]
            if max(made) < AT_ONCE:
                return UpkeepReport(is_dry_run=False, memories=memories, audit_entries=entries)

    def managed_skills(self) -> list[ManagedSkill]:
        with self._database.reading() as db:
            rows = db.rows(
                "SELECT name, text, updated_ms, updated_by FROM managed_skills"
                f" WHERE {_HERE} ORDER BY name"
            )
        return [
            ManagedSkill(name=n, text=text, updated_at=from_ms(at), updated_by=by)
            for n, text, at, by in rows
        ]

    def put_managed_skill(self, name: str, text: str) -> None:
        with self._changing() as db:
            db.run(
                "INSERT INTO managed_skills VALUES (%(tenant)s, '', %(name)s, %(text)s, %(now)s,"
                " coalesce(nullif(asking_person(), ''), '(operator)'))"
                " ON CONFLICT (tenant, project, name) DO UPDATE SET text = excluded.text,"
                " updated_ms = excluded.updated_ms, updated_by = excluded.updated_by",
                name=bindable(name),
                text=bindable(text),
                now=self._now_ms,
            )

    def remove_managed_skill(self, name: str) -> None:
        with self._changing() as db:
            gone = db.run(
                f"DELETE FROM managed_skills WHERE {_HERE} AND name = %(name)s",
                name=bindable(name),
            ).rowcount
        if not gone:
            raise NotFoundError(f"There is no managed skill {name!r}.")

    # -- A person's data --------------------------------------------------------------------------

    def memories_of(self, person: str) -> list[Memory]:
        with self._database.reading() as db:
            rows = db.rows(
                f"SELECT {SELECTED} FROM memories m WHERE m.tenant = %(tenant)s"
                " AND m.owner = %(person)s ORDER BY m.created_ms, m.id",
                person=bindable(person),
            )
        return [to_memory(row) for row in rows]

    def erase(self, person: str, *, dry_run: bool) -> ErasureReport:
        if self._database.is_guarded:
            raise ForbiddenError(
                "Erasing a person needs the owner of the database.",
                hint="An operator runs `wellkept team person erase` with --database.",
            )
        with self._database.writing() as db:
            return erase_person(db, require_person_name(person), dry_run=dry_run)

    # -- Shared -----------------------------------------------------------------------------------

    @property
    def _now_ms(self) -> int:
        return to_ms(self._clock())

    @contextmanager
    def _changing(self) -> Generator[Connection, None, None]:
        """A write transaction; what row-level security refuses is a ForbiddenError."""
        try:
            with self._database.writing() as db:
                try:
                    yield db
                except pg.InsufficientPrivilege as error:
                    raise _forbidden() from error
        except StoreReadOnlyError as error:
            raise _forbidden() from error


def _forbidden() -> ForbiddenError:
    return ForbiddenError(
        "Your role does not allow this.", hint="Ask an administrator of your organisation."
    )


def to_organisation(row: Row) -> Organisation:
    """An organisation of its row."""
    return Organisation(tenant=row[0], title=row[1], created_at=from_ms(row[2]))


def _moment(ms: int | None) -> datetime | None:
    return None if ms is None else from_ms(ms)
