"""What policies keep no longer goes by itself: whole, audited, and never more than that."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from psycopg import errors as pg

from tests.postgres_team import NewTeam, Team
from tests.support.samples import Samples
from wellkept.core.changes import IndexEntry, Insert
from wellkept.core.errors import ForbiddenError, StoreError
from wellkept.core.memory import Memory
from wellkept.core.query import Filter, Validity
from wellkept.core.team.people import Role
from wellkept.core.team.records import AuditFilter, SharedRecord, SharedState, TeamPolicy
from wellkept.core.types import Scope

pytestmark = pytest.mark.feature("T2")

NOW = datetime.now(UTC)
LONG_AGO = NOW - timedelta(days=100)
EVERYTHING = Filter(project=None, validity=Validity.ANY, archived=None)


def kept(team: Team, number: int, content: str, *, at: datetime, **more: object) -> Memory:
    samples = Samples(seed=number, project="name:shop")
    made = samples.memory(
        content, created_at=at, updated_at=at, valid_from=at, accessed_at=at, **more
    )
    store = team.server.store_of(team.person(Role.WRITER))
    store.apply([Insert(made, IndexEntry("beside it", "model", samples.vector()))])
    store.close()
    return made


def contents(team: Team) -> set[str]:
    with closing(team.teams.operator_store(team.tenant)) as store:
        assert store.check(deep=True) == []  # words, fragments, labels, vectors, counts
        return {one.content for one in store.iterate(EVERYTHING)}


def filled(team: Team) -> dict[str, Memory]:
    return {
        "old": kept(team, 1, "An old word.", at=LONG_AGO, tags=("a",), files=("x.py",)),
        "new": kept(team, 2, "A new word.", at=NOW),
        "pinned": kept(team, 3, "A pinned word.", at=LONG_AGO, pinned=True),
        "own": kept(team, 4, "About me.", at=LONG_AGO, scope=Scope.USER),
        "shared": kept(team, 5, "Shared still.", at=LONG_AGO),
        "ended": kept(team, 6, "Shared once.", at=LONG_AGO),
    }


def shared(team: Team, one: Memory, state: SharedState) -> None:
    made = SharedRecord(
        id=one.id, project=one.project, state=state, owner="writer", statement="s" + one.id,
        waiting=False, body='{"shared": null, "text": "Shared once."}',
    )  # fmt: skip
    with closing(team.teams.operator_store(team.tenant)) as store:
        store.put_shared_records(one.project, [made])


def test_only_what_the_policy_names_goes_and_it_goes_whole(team: Team) -> None:
    made = filled(team)
    shared(team, made["shared"], SharedState.TEAM)
    shared(team, made["ended"], SharedState.CLOSED)
    assert team.operator.upkeep(dry_run=False).memories == 0  # no policy, nothing goes
    team.operator.put_policy("", TeamPolicy(retention_days=30))
    preview = team.operator.upkeep(dry_run=True)
    (project,) = preview.projects
    assert (project.project, project.days) == ("name:shop", 30)
    assert set(project.ids) == {made["old"].id, made["ended"].id}
    assert len(contents(team)) == 6
    assert team.operator.upkeep(dry_run=False).memories == 2
    left = {"A new word.", "A pinned word.", "About me.", "Shared still."}
    assert contents(team) == left
    assert team.operator.upkeep(dry_run=False).memories == 0
    with closing(team.teams.operator_store(team.tenant)) as store:
        (gone,) = store.shared_records("name:shop", [made["ended"].id])
        assert (gone.state, "Shared once" in gone.body) == (SharedState.ERASED, False)
        assert gone.seq == store.shared_head("name:shop")
        hits = store.search_fulltext(["word"], EVERYTHING, limit=10)
        assert len(hits) == 2
    deleted = team.operator.audit(AuditFilter(action="memory deleted"))
    assert {entry.subjects[0] for entry in deleted} == {made["old"].id, made["ended"].id}


def test_a_projects_own_policy_comes_first(team: Team) -> None:
    kept(team, 1, "An old word.", at=LONG_AGO)
    team.operator.put_policy("", TeamPolicy(retention_days=30))
    team.operator.put_policy("name:shop", TeamPolicy(retention_days=3650))
    assert team.operator.upkeep(dry_run=True).memories == 0


def test_the_audit_log_is_pruned_by_policy_and_says_so(team: Team, postgres_url: str) -> None:
    team.operator.put_person("kim", Role.READER)
    before = team.operator.audit(AuditFilter(limit=1000))
    assert team.operator.upkeep(dry_run=False).audit_entries == 0  # kept for good, as usual
    age_audit(postgres_url, team, days=50)
    team.operator.put_policy("", TeamPolicy(audit_days=40))
    assert team.operator.upkeep(dry_run=True).audit_entries == len(before)
    admin = team.server.team_of(team.person(Role.ADMIN))
    assert admin.upkeep(dry_run=False).audit_entries == len(before)
    left = team.operator.audit(AuditFilter(limit=1000))
    assert [one.action for one in left] == ["audit pruned", "policy added"]
    assert left[0].person == "admin"
    assert left[0].subjects[0] == str(len(before))
    assert left[0].subjects[1].startswith("before ")


def test_who_is_no_administrator_learns_and_deletes_nothing(
    team: Team, new_team: NewTeam, server_url: str
) -> None:
    filled(team)
    team.operator.put_policy("", TeamPolicy(retention_days=30))
    for role in (Role.READER, Role.WRITER, Role.REVIEWER):
        for dry_run in (True, False):
            with pytest.raises(ForbiddenError):
                team.server.team_of(team.person(role)).upkeep(dry_run=dry_run)
    other = new_team()
    with closing(psycopg.connect(server_url, autocommit=True)) as db:
        db.execute("SET search_path TO wellkept, public")
        for credential in ("", other.tokens[Role.ADMIN].credential):
            db.execute("SELECT set_config('wellkept.credential', %s, false)", (credential,))
            for call in (
                "upkeep_preview(%s)", "keep_up(%s, 10)", "outdated(%s)", "delete_outdated(%s, 10)",
                "prune_audit(%s, 10)", "policy_days(%s, '', 'retention_days')",
            ):  # fmt: skip
                with pytest.raises(pg.InsufficientPrivilege):
                    db.execute(f"SELECT * FROM {call}".encode(), (team.tenant,))
    assert len(contents(team)) == 6


def test_a_server_keeps_up_every_organisation_in_its_time_and_once(
    team: Team, new_team: NewTeam
) -> None:
    other = new_team()
    for one in (team, other):
        filled(one)
        one.operator.put_policy("", TeamPolicy(retention_days=30))
    every = timedelta(hours=1)
    done = team.server.keep_up_due(every=every)
    assert done is not None
    assert done.memories >= 6  # three of each; other tests' organisations may be due, too
    assert len(contents(team)) == len(contents(other)) == 3
    assert team.server.keep_up_due(every=every) is None
    (entry, *_) = team.operator.audit(AuditFilter(action="memory deleted"))
    assert entry.person == "(upkeep)"


def test_while_one_process_keeps_up_another_leaves_it_alone(team: Team, postgres_url: str) -> None:
    from wellkept_team.postgres.team.upkeep_schema import UPKEEP_LOCK

    filled(team)
    team.operator.put_policy("", TeamPolicy(retention_days=30))
    with closing(psycopg.connect(postgres_url)) as db:
        db.execute("SELECT pg_advisory_xact_lock(%s)", (UPKEEP_LOCK,))
        assert team.server.keep_up_due(every=timedelta(0)) is None
    assert len(contents(team)) == 6


def test_one_organisation_that_fails_does_not_keep_the_others_from_it(
    team: Team, new_team: NewTeam, postgres_url: str
) -> None:
    other = new_team()
    for one in (team, other):
        filled(one)
        one.operator.put_policy("", TeamPolicy(retention_days=30))
    with closing(psycopg.connect(postgres_url, autocommit=True)) as db:
        db.execute(
            'UPDATE wellkept.policies SET body = \'{"retention_days": "soon"}\' WHERE tenant = %s',
            (team.tenant,),
        )
        with pytest.raises(StoreError, match="failed"):
            team.server.keep_up_due(every=timedelta(hours=1))
        db.execute("DELETE FROM wellkept.policies WHERE tenant = %s", (team.tenant,))
    assert len(contents(other)) == 3
    assert len(contents(team)) == 6


def age_audit(url: str, team: Team, *, days: int) -> None:
    with closing(psycopg.connect(url, autocommit=True)) as db:
        db.execute(
            "UPDATE wellkept.audit SET at_ms = at_ms - %s WHERE tenant = %s",
            (days * 86_400_000, team.tenant),
        )


def test_who_pulls_or_reviews_what_others_shared_is_noted(team: Team) -> None:
    made = filled(team)
    shared(team, made["shared"], SharedState.TEAM)
    for role in (Role.READER, Role.WRITER):
        store = team.server.store_of(team.person(role))
        found = store.shared_changes("name:shop", after=0, limit=9, seen_by=role.value)
        assert [one.id for one in found] == [made["shared"].id]
        store.shared_changes("name:shop", after=0, limit=9, seen_by="")  # the server itself
    entries = team.operator.audit(AuditFilter(action="shared read"))
    assert [(one.person, one.subjects) for one in entries] == [("reader", (made["shared"].id,))]
