"""People, tokens, roles, audit, policies and erasure, on the real database."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from tests.postgres_team import NewTeam, Team
from tests.support.samples import Samples
from wellkept.core.changes import Close, Delete, Replace
from wellkept.core.errors import (
    ConflictError,
    ForbiddenError,
    NotFoundError,
    StoreReadOnlyError,
    UsageError,
)
from wellkept.core.ports.store import Store
from wellkept.core.query import Filter
from wellkept.core.records import replace
from wellkept.core.team.people import Role, new_token, read_token
from wellkept.core.team.records import AuditFilter, SharedRecord, SharedState, TeamPolicy
from wellkept.core.types import MemoryType, Scope
from wellkept_team.postgres.team.team_database import PostgresTeams

pytestmark = pytest.mark.feature("T2")
HERE = Filter(project="example")


def store_of(team: Team, role: Role) -> Store:
    return team.server.store_of(team.person(role))


def actions(
    team: Team, *, person: str | None = None, action: str | None = None, subject: str | None = None
) -> list[tuple[str, str]]:
    found = team.operator.audit(AuditFilter(person=person, action=action, subject=subject))
    return [(entry.person, entry.action) for entry in found]


def test_a_token_names_its_person_until_it_ends(team: Team) -> None:
    token = team.tokens[Role.WRITER]
    known = team.server.authenticate(token.text)
    assert known is not None
    assert (known.tenant, known.user, known.role) == (team.tenant, "writer", Role.WRITER)
    assert known.token_id == token.id
    for wrong in (
        "", "wkt_", token.text[:-1], token.text + "x", token.text.replace(team.tenant, "org-none"),
        new_token(team.tenant).text, token.credential,
    ):  # fmt: skip
        assert team.server.authenticate(wrong) is None
    late = new_token(team.tenant)
    ago = datetime.now(UTC) - timedelta(seconds=1)
    team.operator.add_token(late, person="writer", label="old", expires=ago)
    assert team.server.authenticate(late.text) is None
    team.operator.remove_person("writer")
    assert team.server.authenticate(token.text) is None
    with pytest.raises(NotFoundError):
        team.operator.add_token(new_token(team.tenant), person="writer", label="", expires=None)


def test_nothing_that_is_stored_opens_a_session(team: Team) -> None:
    token = team.tokens[Role.ADMIN]
    assert read_token(token.text) == token
    stored = repr(team.operator.tokens()) + token.hash
    assert token.secret not in stored
    assert token.credential.rsplit(".", 1)[1] not in stored
    assert token.secret not in repr(token)
    assert team.server.authenticate(f"wkt_{team.tenant}.{token.id}.{token.hash[:43]}") is None


def test_a_person_may_exchange_their_own_token(team: Team) -> None:
    old, new = team.tokens[Role.READER], new_token(team.tenant)
    mine = team.server.team_of(team.person(Role.READER))
    assert [one.id for one in mine.tokens()] == [old.id]
    mine.rotate_own_token(new)
    assert team.server.authenticate(old.text) is None
    known = team.server.authenticate(new.text)
    assert known is not None
    assert (known.user, known.role) == ("reader", Role.READER)


def test_only_administrators_change_people_tokens_and_policies(team: Team) -> None:
    for role in (Role.READER, Role.WRITER, Role.REVIEWER):
        theirs = team.server.team_of(team.person(role))
        with pytest.raises(ForbiddenError):
            theirs.put_person("eve", Role.ADMIN)
        with pytest.raises(ForbiddenError):
            theirs.put_policy("", TeamPolicy(retention_days=1))
        with pytest.raises((ForbiddenError, NotFoundError)):
            theirs.revoke_token(team.tokens[Role.ADMIN].id)
        assert {entry.person for entry in theirs.audit(AuditFilter())} <= {role.value}
    admin = team.server.team_of(team.person(Role.ADMIN))
    admin.put_person("kim", Role.READER)
    admin.put_policy("p", TeamPolicy(retention_days=9, injected_types=(MemoryType.GOTCHA,)))
    assert admin.policy("p") == TeamPolicy(retention_days=9, injected_types=(MemoryType.GOTCHA,))
    assert admin.policy("other") is None
    assert "kim" in {person.name for person in admin.people()}
    with pytest.raises(UsageError, match="only administrator"):
        admin.put_person("admin", Role.READER)
    with pytest.raises(UsageError, match="only administrator"):
        admin.remove_person("admin")
    with pytest.raises(ForbiddenError):
        admin.erase("kim", dry_run=True)


def test_organisations_know_nothing_of_each_other(team: Team, new_team: NewTeam) -> None:
    other = new_team()
    sample = Samples().insert("ours", key="k")
    store_of(team, Role.WRITER).apply([sample])
    theirs = store_of(other, Role.ADMIN)
    assert theirs.get([sample.memory.id]) == []
    theirs.apply([sample])
    assert [m.id for m in theirs.list(HERE)] == [sample.memory.id]
    # A credential of one organisation names the other in vain.
    stranger = replace(other.person(Role.ADMIN), tenant=team.tenant)
    assert team.server.store_of(stranger).list(HERE).items == ()
    assert team.server.team_of(stranger).people() == []
    with pytest.raises(ConflictError):
        team.operator.create_organisation("again")


def test_who_wrote_a_memory_is_set_by_the_database_and_bounds_who_deletes_it(team: Team) -> None:
    samples = Samples()
    mine, other = samples.insert("mine"), samples.insert("another")
    team.join("second", Role.WRITER)
    store_of(team, Role.WRITER).apply([mine, other])
    token = team.join("third", Role.WRITER)
    third = team.server.authenticate(token.text)
    assert third is not None
    theirs = team.server.store_of(third)
    with pytest.raises(ForbiddenError):
        theirs.apply([Delete(mine.memory.id)])
    assert theirs.search_fulltext(["mine"], HERE, limit=5), "a refused change leaves all as it was"
    theirs.apply([Close(mine.memory.id, mine.memory.valid_from)])  # history is kept
    with pytest.raises(StoreReadOnlyError):
        store_of(team, Role.READER).apply([Delete(other.memory.id)])
    store_of(team, Role.WRITER).apply([Delete(other.memory.id)])
    store_of(team, Role.REVIEWER).apply([Delete(mine.memory.id)])
    assert store_of(team, Role.ADMIN).stats(replace(HERE, project=None)).total == 0


def test_personal_memories_are_seen_by_one_person_only(team: Team) -> None:
    samples = Samples()
    vector = samples.vector()
    wanted = Filter(project="example")

    def own(text: str) -> Store:
        store = store_of(team, Role.WRITER if text == "writer" else Role.ADMIN)
        store.apply(
            [
                samples.insert(
                    f"I am {text}", scope=Scope.USER, key="me", model_id="m", vector=vector
                )
            ]
        )
        return store

    first, second = own("writer"), own("admin")
    for store, text in ((first, "writer"), (second, "admin")):
        assert [m.content for m in store.list(wanted)] == [f"I am {text}"]
        found = store.find_key("me", project="example", user_scope=True)
        assert found is not None
        assert found.content == f"I am {text}"
        for hits in (
            store.search_fulltext(["am"], wanted, limit=9),
            store.search_substrings(["am"], wanted, limit=9),
            store.search_vectors(vector, model_id="m", where=wanted, limit=9),
        ):
            assert [hit.id for hit in hits] == [found.id]
    moved = first.find_key("me", project="example", user_scope=True)
    assert moved is not None
    first.apply([Replace(replace(moved, scope=Scope.GLOBAL, key=None))])
    assert len(second.search_fulltext(["am"], wanted, limit=9)) == 2
    assert len(second.search_vectors(vector, model_id="m", where=wanted, limit=9)) == 2


def test_every_change_and_every_read_of_anothers_memory_is_noted(team: Team) -> None:
    samples = Samples()
    shared = samples.insert("shared", key="k")
    writer = store_of(team, Role.WRITER)
    writer.apply([shared])
    writer.get([shared.memory.id])
    assert actions(team, subject=shared.memory.id) == [("writer", "memory added")]
    reader = store_of(team, Role.READER)
    reader.get([shared.memory.id])
    reader.contents([shared.memory.id])
    reader.list(HERE)
    list(reader.iterate(HERE))
    reader.find_key("k", project="example", user_scope=False)
    assert actions(team, action="memory read") == [("reader", "memory read")] * 5
    store_of(team, Role.REVIEWER).apply(
        [Replace(replace(shared.memory, content="changed")), Delete(shared.memory.id)]
    )
    assert actions(team, person="reviewer") == [
        ("reviewer", "memory deleted"),
        ("reviewer", "memory changed"),
    ]
    reader.record_access([shared.memory.id], at=datetime.now(UTC))
    reader.close()
    entry = team.operator.audit(AuditFilter(action="memory deleted"))[0]
    assert (entry.token, entry.subjects) == (team.tokens[Role.REVIEWER].id, (shared.memory.id,))
    assert ("(operator)", "person added") in actions(team, action="person")
    older = team.operator.audit(AuditFilter(before=entry.number, limit=1))[0]
    assert older.number < entry.number


def test_a_read_with_an_ended_token_fails_and_is_not_answered(team: Team) -> None:
    sample = Samples().insert("shared")
    store_of(team, Role.WRITER).apply([sample])
    reader = store_of(team, Role.READER)
    team.operator.revoke_token(team.tokens[Role.READER].id)
    assert reader.get([sample.memory.id]) == []
    assert reader.search_fulltext(["shared"], HERE, limit=5) == []


def test_erasing_a_person_leaves_no_trace_and_a_dry_run_changes_nothing(team: Team) -> None:
    samples = Samples()
    written = [
        samples.insert("one", author="writer"),
        samples.insert("two", scope=Scope.USER),
    ]
    named = samples.insert("by another about", author="writer")
    store_of(team, Role.WRITER).apply(written)
    store_of(team, Role.ADMIN).apply([named])
    store_of(team, Role.READER).list(HERE)
    assert [m.content for m in team.operator.memories_of("writer")] == ["one", "two"]
    preview = team.operator.erase("writer", dry_run=True)
    assert (preview.memories, preview.mentions, preview.tokens) == (2, 1, 1)
    assert (preview.is_dry_run, preview.is_verified) == (True, False)
    assert len(team.operator.memories_of("writer")) == 2
    done = team.operator.erase("writer", dry_run=False)
    assert (done.memories, done.mentions, done.is_verified) == (2, 1, True)
    assert team.operator.memories_of("writer") == []
    assert team.server.authenticate(team.tokens[Role.WRITER].text) is None
    assert "writer" not in {entry.person for entry in team.operator.audit(AuditFilter(limit=500))}
    left = store_of(team, Role.ADMIN)
    assert [(m.content, m.author) for m in left.list(HERE)] == [("by another about", None)]
    assert left.search_fulltext(["one", "two"], HERE, limit=5) == []
    with pytest.raises(NotFoundError):
        team.operator.erase("writer", dry_run=True)


@pytest.mark.feature("T3")
def test_what_an_erased_person_shared_is_erased_for_all_laptops(team: Team) -> None:
    store = store_of(team, Role.WRITER)
    mine, other = (
        SharedRecord(
            id=name,
            project="example",
            state=SharedState.TEAM,
            owner=owner,
            statement=f"says {name}",
            waiting=False,
            body=json.dumps({"shared": None, "confirmed_by": ["reviewer", "writer"]}),
        )
        for name, owner in (("a", "writer"), ("b", "reviewer"))
    )
    store.put_shared_records("example", [mine, other])
    assert team.operator.erase("writer", dry_run=False).is_verified
    left = store_of(team, Role.ADMIN).shared_changes("example", after=0, limit=9, seen_by=None)
    assert [(one.id, one.seq, one.state) for one in left] == [
        ("b", 2, SharedState.TEAM),
        ("a", 3, SharedState.ERASED),
    ]
    assert all('"writer"' not in one.body for one in left)


def test_skills_of_the_organisation_reach_everybody_and_only_admins_change_them(
    team: Team,
) -> None:
    admin = team.server.team_of(team.person(Role.ADMIN))
    admin.put_managed_skill("release", "# Release")
    admin.put_managed_skill("release", "# Release, again")
    reader = team.server.team_of(team.person(Role.READER))
    (skill,) = reader.managed_skills()
    assert (skill.name, skill.text, skill.updated_by) == ("release", "# Release, again", "admin")
    with pytest.raises(ForbiddenError):
        reader.put_managed_skill("evil", "x")
    with pytest.raises(NotFoundError):
        team.server.team_of(team.person(Role.REVIEWER)).remove_managed_skill("release")
    admin.remove_managed_skill("release")
    assert reader.managed_skills() == []


def test_a_server_refuses_a_user_whom_the_rules_do_not_hold_back(
    owner: PostgresTeams, server: PostgresTeams
) -> None:
    server.require_server_role()
    with pytest.raises(UsageError, match="must not connect"):
        owner.require_server_role()


def test_a_large_project_is_searched_by_index_under_the_rules_too(team: Team) -> None:
    samples = Samples()
    near = samples.vector()
    changes = [
        samples.insert(
            f"n{n}", author="robin" if n % 100 == 0 else None, model_id="m",
            vector=samples.near(near, noise=5.0 if n % 100 == 0 else 0.5),
        )
        for n in range(400)
    ]  # fmt: skip
    store = store_of(team, Role.WRITER)
    store.apply(changes)
    rare = replace(HERE, authors=("robin",))
    exact = {
        where: store.search_vectors(near, model_id="m", where=where, limit=40)
        for where in (HERE, rare)
    }
    from wellkept.core.clock import system_clock
    from wellkept_team.postgres.store import PostgresStore

    keeper = PostgresStore.open(team.teams.url, tenant=team.tenant, clock=system_clock)
    keeper._vector_indexes.least = 300  # pyright: ignore[reportPrivateUsage]
    while keeper.continue_upgrade():
        pass
    keeper.close()
    fresh = store_of(team, Role.READER)
    for where, wanted in exact.items():
        found = fresh.search_vectors(near, model_id="m", where=where, limit=40)
        assert len(found) == len(wanted)
        assert len({h.id for h in found} & {h.id for h in wanted}) >= 0.9 * len(wanted)
    assert len(exact[rare]) == 4
