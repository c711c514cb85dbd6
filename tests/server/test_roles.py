"""Who asks, and what their role lets them do, over HTTP and MCP."""

from __future__ import annotations

import re
from collections.abc import Generator
from pathlib import Path

import httpx2
import pytest

from tests.server.http_serving import Served, served_team
from wellkept.api.http.app import PREFIX, all_endpoints
from wellkept.api.server.access import Access, require_access
from wellkept.api.verbs.generate import all_verbs
from wellkept.core.errors import ForbiddenError, UsageError
from wellkept.core.team.people import LOCAL, Principal, Role, asked_by, asking
from wellkept.core.verbs import Effect

pytestmark = pytest.mark.feature("T2")


def person(role: Role) -> Principal:
    return Principal(tenant="acme", user="robin", role=role, credential="known to the database")


@pytest.fixture
def team(tmp_path: Path) -> Generator[Served]:
    tokens = {f"token-of-{role.value}": person(role) for role in Role}
    with served_team(tmp_path, tokens.get) as known:
        yield known


def ask(web: Served, role: Role, method: str, path: str, **more: object) -> httpx2.Response:
    headers = {"Authorization": f"Bearer token-of-{role.value}"}
    return httpx2.request(method, f"{web.address}{path}", headers=headers, timeout=30, **more)  # type: ignore[arg-type]


def test_each_role_may_do_what_those_below_it_may() -> None:
    ladder = list(Role)
    for n, role in enumerate(ladder):
        assert [role.covers(other) for other in ladder] == [m <= n for m in range(len(ladder))]
    with pytest.raises(ForbiddenError, match="Tidying needs the role reviewer; robin is writer"):
        person(Role.WRITER).require(Role.REVIEWER, what="Tidying")


def test_a_credential_is_not_shown() -> None:
    assert "known to the database" not in repr(person(Role.READER))
    with pytest.raises(UsageError):
        Principal(tenant="", user="robin", role=Role.READER)


def test_whoever_works_on_this_machine_is_its_administrator() -> None:
    assert asking() == LOCAL
    assert (LOCAL.role, LOCAL.is_local) == (Role.ADMIN, True)
    require_access(Access(role=Role.ADMIN, on_files=True), what="Anything")
    with asked_by(person(Role.READER)):
        assert asking().user == "robin"
    assert asking() == LOCAL


def test_every_route_asks_for_the_role_that_it_declares(team: Served) -> None:
    known = {one.name: one for one in all_endpoints()}
    assert {name for name, one in known.items() if one.role is None} == {"health", "ready"}
    asked = [(one.role, way, one.path) for one in known.values() for way in one.method.split()]
    assert {role for role, *_ in asked} == {None, *Role}
    for role, method, path in asked:
        if role not in (None, Role.READER):
            plain = re.sub(r"\{\w+(:path)?\}", "x", path)
            answer = ask(team, Role.READER, method, f"{PREFIX}{plain}")
            assert answer.status_code == 403, (method, path, answer.text)


def test_nothing_that_changes_or_removes_is_open_to_readers() -> None:
    changing = [one for _, one in all_verbs() if one.effect is not Effect.READS]
    # Without an id, undo lists; with one, it asks for a reviewer itself.
    assert [one.words for one in changing if one.role is Role.READER] == ["undo"]


def test_a_token_yields_who_asks_and_without_one_nothing_is_told(team: Served) -> None:
    assert ask(team, Role.READER, "GET", "/api/stats").status_code == 200
    for header in ("Bearer nobodys", "Bearer", "Basic token-of-admin", ""):
        answer = httpx2.get(f"{team.address}/api/stats", headers={"Authorization": header})
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
    assert httpx2.get(f"{team.address}/api/health").status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "body", "least"),
    [
        ("POST", "/api/memory_store", {"content": "Deploys run on Mondays."}, Role.WRITER),
        ("POST", "/api/edit", {"ids": "nothing", "importance": 0.5}, Role.WRITER),
        ("POST", "/api/edit", {"ids": "nothing", "needs_review": False}, Role.REVIEWER),
        ("POST", "/api/edit", {"action": "archive", "ids": ["nothing"]}, Role.REVIEWER),
        ("POST", "/api/forget", {"everything": True, "dry_run": True}, Role.ADMIN),
    ],
)
def test_a_role_that_does_not_suffice_is_refused(
    team: Served, method: str, path: str, body: dict[str, object] | None, least: Role
) -> None:
    for role in Role:
        answer = ask(team, role, method, path, json=body)
        assert (answer.status_code == 403) == (not role.covers(least)), answer.text
        if answer.status_code == 403:
            assert f"; robin is {role.value}" in answer.json()["detail"]


def test_what_works_on_files_is_not_offered_by_a_teams_server(team: Served) -> None:
    for path in ("/api/skill_list", "/api/doctor", "/api/config/list"):
        answer = ask(team, Role.ADMIN, "GET", path)
        assert answer.status_code == 403
        assert "files" in answer.json()["detail"]


def test_mcp_obeys_the_same_roles(team: Served) -> None:
    call = {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "memory_store", "arguments": {"content": "Builds need Node 20."}},
    }  # fmt: skip

    def told(role: Role) -> str:
        headers = {
            "Authorization": f"Bearer token-of-{role.value}",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2025-06-18",
        }
        hello = {
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18", "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"},
            },
        }  # fmt: skip
        url = f"{team.address}/mcp"
        begun = httpx2.post(url, json=hello, headers=headers, timeout=30)
        session = begun.headers.get("mcp-session-id", "")
        more = {**headers, "Mcp-Session-Id": session} if session else headers
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        httpx2.post(url, json=ready, headers=more, timeout=30)
        return httpx2.post(url, json=call, headers=more, timeout=30).text

    assert "needs the role writer; robin is reader" in told(Role.READER)
    assert "needs the role" not in told(Role.WRITER)
