"""A team's server over the real database: people, roles and projects over HTTP and MCP."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from bench.laptops import Laptop
from tests.postgres_team import NewTeam, Team
from tests.server.http_serving import Served, served
from wellkept.api.mcp.handlers import ServerLocation
from wellkept.core.clock import system_clock
from wellkept.core.errors import ForbiddenError, UsageError
from wellkept.core.settings.model import Settings
from wellkept.core.team.people import Role, asked_by
from wellkept_team.people.memories import TeamMemories
from wellkept_team.postgres.team.team_database import PostgresTeams
from wellkept_team.server.projects import MAX_OPEN, TeamProjects

pytestmark = pytest.mark.feature("T2")


def projects_of(url: str, folder: Path) -> TeamProjects:
    folder.mkdir(exist_ok=True)
    memories = TeamMemories(
        PostgresTeams(url, max_connections=4, clock=system_clock),
        settings=Settings(),
        folder=folder,
        environment=os.environ,
        embedder="none",
    )
    return TeamProjects(memories, folder=folder)


@pytest.fixture
def web(server_url: str, tmp_path: Path) -> Generator[list[Served]]:
    """Two servers over one database."""
    with ExitStack() as stack:
        both: list[Served] = []
        for name in ("one", "two"):
            projects = projects_of(server_url, tmp_path / name)
            location = ServerLocation(folder=tmp_path / name, ask_roots=False)
            people = projects.memories.teams.authenticate
            both.append(stack.enter_context(served(projects, mcp=location, people=people)))
        yield both


class Person:
    """Somebody who asks a server with their token."""

    def __init__(self, web: Served, token: str) -> None:
        self._web, self._token = web, token

    def ask(self, method: str, path: str, **body: Any) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {self._token}", "Wellkept-Project": "shop"}
        return httpx2.request(
            method, f"{self._web.address}/api/{path}", headers=headers, timeout=60,
            json=None if method == "GET" else body,
        )  # fmt: skip

    def told(self, method: str, path: str, **body: Any) -> Any:
        answer = self.ask(method, path, **body)
        assert answer.status_code == 200, answer.text
        return answer.json()


def test_what_one_writes_another_finds_over_another_process(web: list[Served], team: Team) -> None:
    first, second = web
    writer = Person(first, team.tokens[Role.WRITER].text)
    reader = Person(second, team.tokens[Role.READER].text)
    kept = writer.told("POST", "memory_store", content="Deploys need the blue button", type="fact")
    found = reader.told("GET", "list")["items"]
    assert [one["content"] for one in found] == ["Deploys need the blue button"]
    hits = reader.told("POST", "memory_recall", query="what does a deploy need?")
    assert "blue button" in str(hits)
    assert reader.told("GET", "team/me")["role"] == "reader"
    assert [p["project"] for p in reader.told("GET", "projects")["items"]] == ["name:shop"]
    # Reading is noted with who read it; the reader changes nothing.
    admin = Person(first, team.tokens[Role.ADMIN].text)
    read = admin.told("GET", "team/audit?action=memory+read")["items"]
    assert {entry["person"] for entry in read} == {"reader"}
    ids = [kept["id"]]
    assert reader.ask("POST", "edit", ids=ids, importance=0.1).status_code == 403
    assert reader.ask("POST", "forget", ids=ids).status_code == 403
    assert writer.ask("POST", "edit", ids=ids, user_verified=True).status_code == 403
    reviewer = Person(first, team.tokens[Role.REVIEWER].text)
    reviewer.told("POST", "edit", ids=ids, user_verified=True)
    reviewer.told("POST", "forget", ids=ids)
    assert reader.told("GET", "list")["total"] == 0


def test_organisations_share_a_server_and_nothing_else(
    web: list[Served], team: Team, new_team: NewTeam
) -> None:
    other = new_team()
    Person(web[0], team.tokens[Role.WRITER].text).told(
        "POST", "memory_store", content="Ours alone", type="fact"
    )
    stranger = Person(web[0], other.tokens[Role.ADMIN].text)
    assert stranger.told("GET", "list")["total"] == 0
    assert stranger.told("GET", "projects")["items"] == []
    names = {one["name"] for one in stranger.told("GET", "team/people")["items"]}
    assert names == {role.value for role in Role}
    assert all(
        entry["person"] in {*names, "(operator)"}
        for entry in stranger.told("GET", "team/audit")["items"]
    )


def test_an_administrator_looks_after_people_tokens_policies_and_skills(
    web: list[Served], team: Team
) -> None:
    admin = Person(web[0], team.tokens[Role.ADMIN].text)
    admin.told("PUT", "team/people/kim", role="writer")
    issued = admin.told("POST", "team/tokens", person="kim", label="laptop", days=7)
    kim = Person(web[1], issued["token"])
    assert kim.told("GET", "team/me")["user"] == "kim"
    assert kim.ask("PUT", "team/people/eve", role="admin").status_code == 403
    mine = kim.told("POST", "team/tokens/rotate")
    assert kim.ask("GET", "team/me").status_code == 401
    kim = Person(web[1], mine["token"])
    assert kim.told("GET", "team/me")["token_id"] == mine["id"]
    new = admin.told("POST", f"team/tokens/{mine['id']}/rotate")
    assert kim.ask("GET", "team/me").status_code == 401
    kim = Person(web[1], new["token"])
    admin.told("DELETE", f"team/tokens/{new['id']}")
    assert kim.ask("GET", "team/me").status_code == 401
    states = {one["id"]: one["revoked_at"] for one in admin.told("GET", "team/tokens")["items"]}
    assert all(states[one["id"]] for one in (issued, mine, new))
    admin.told("DELETE", "team/people/kim")
    admin.told("PUT", "team/skills/release", text="# Release\nTag it.")
    reader = Person(web[1], team.tokens[Role.READER].text)
    (skill,) = reader.told("GET", "team/skills")["items"]
    assert (skill["name"], skill["updated_by"]) == ("release", "admin")
    assert admin.ask("PUT", "team/policy", injected_types=["nothing"]).status_code == 400


@pytest.mark.feature("F11")
def test_a_laptop_has_the_skills_of_its_organisation_after_a_sync(
    web: list[Served], team: Team, tmp_path: Path
) -> None:
    admin = Person(web[0], team.tokens[Role.ADMIN].text)
    admin.told("PUT", "team/skills/release", text="# Release\nTag it.")
    laptop = Laptop(tmp_path / "kim", "kim")
    try:
        token = team.tokens[Role.READER].text
        added = laptop.wk.remote.add(web[1].address, token=token)
        assert added.report.problem is None, added.report.problem
        (skill,) = laptop.wk.skills.list(source="managed")
        assert (skill.name, skill.source.name) == ("release", "team")
        assert "Tag it." in skill.body
        with pytest.raises(UsageError, match="cannot be switched off"):
            laptop.wk.skills.disable("release")
        admin.told("PUT", "team/skills/release", text="# Release\nTag it twice.")
        laptop.sync()
        assert "twice" in laptop.wk.skills.get("release").body
        admin.told("DELETE", "team/skills/release")
        laptop.sync()
        assert laptop.wk.skills.list(source="managed") == []
        admin.told("PUT", "team/skills/release", text="# Release\nTag it.")
        laptop.sync()
        laptop.wk.remote.remove()
        assert laptop.wk.skills.list(source="managed") == []
    finally:
        laptop.wk.close()


def test_a_policy_says_which_types_agents_are_told_unasked(web: list[Served], team: Team) -> None:
    admin = Person(web[0], team.tokens[Role.ADMIN].text)
    for content, kind in (
        ("Always run make lint", "convention"),
        ("Orders are kept in vendor tables", "decision"),
    ):
        admin.told("POST", "memory_store", content=content, type=kind, said_by_person=True)

    def told() -> str:
        asked = admin.told("POST", "inject_context", query="are orders kept in vendor tables?")
        return str(admin.told("POST", "inject_context")) + str(asked)

    assert "make lint" in told()
    assert "vendor" in told()
    admin.told("PUT", "team/policy", injected_types=["decision"], retention_days=30)
    assert admin.told("GET", "team/policy?project=name:shop") == {
        "injected_types": ["decision"], "retention_days": 30, "audit_days": None,
    }  # fmt: skip
    assert "make lint" not in told()
    assert "vendor" in told()


def test_a_folder_of_the_server_is_no_project_and_nobody_is_local(
    server_url: str, team: Team, tmp_path: Path
) -> None:
    projects = projects_of(server_url, tmp_path / "data")
    with pytest.raises(ForbiddenError), projects.of("shop"):
        pass
    with asked_by(team.person(Role.ADMIN)):
        for folder in ("/etc", "~/x", "../x", "C:\\x", "."):
            with pytest.raises(UsageError), projects.of(folder):
                pass
        for number in range(MAX_OPEN + 3):
            with projects.of(f"p{number}") as wk:
                assert wk.project == f"name:p{number}"
        assert len(projects._people) == MAX_OPEN  # pyright: ignore[reportPrivateUsage]
    projects.close()


def test_an_unreachable_database_is_said_plainly_and_recovers(tmp_path: Path) -> None:
    from wellkept.core.errors import StoreError

    with pytest.raises(StoreError, match="cannot be reached"):
        projects_of("postgresql://nobody:secret@127.0.0.1:9/none", tmp_path / "data")


@pytest.mark.feature("T1")
def test_live_events_reach_their_organisation_from_another_process(
    web: list[Served], team: Team, new_team: NewTeam
) -> None:
    first, second = web
    other = new_team()

    def headers(of: Team) -> dict[str, str]:
        token = of.tokens[Role.WRITER].text
        return {"Authorization": f"Bearer {token}", "Wellkept-Project": "shop"}

    with second.events(headers=headers(team)) as mine:
        for of, text in ((other, "Theirs"), (team, "Ours, one"), (team, "Ours, two")):
            Person(first, of.tokens[Role.WRITER].text).told(
                "POST", "memory_store", content=f"{text} is new", type="fact"
            )
        titles = [mine.next()[2]["title"] for _ in range(2)]
    assert titles == ["Ours, one is new", "Ours, two is new"]


@pytest.mark.feature("T5")
def test_a_server_goes_on_after_the_database_ended_its_connections(
    web: list[Served], team: Team, owner: PostgresTeams, server_url: str
) -> None:
    import psycopg

    writer = Person(web[0], team.tokens[Role.WRITER].text)
    writer.told("POST", "memory_store", content="Before the restart", type="fact")
    role = server_url.split("//")[1].split("@", maxsplit=1)[0]
    with psycopg.connect(owner.url, autocommit=True) as db:
        db.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s", (role,)
        )
    assert writer.told("GET", "list")["total"] == 1
    reader = Person(web[1], team.tokens[Role.READER].text)
    assert reader.told("GET", "list")["total"] == 1
    assert reader.ask("POST", "memory_store", content="x", type="fact").status_code == 403
