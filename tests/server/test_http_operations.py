"""The operations and the page's routes over real HTTP."""

from __future__ import annotations

import json
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.server.http_serving import Served, served_in
from tests.server.mcp_client import memories_in, talking_in
from tests.support.samples import START
from wellkept.api.http.app import openapi_document
from wellkept.core.changes import PutSession
from wellkept.core.session.sessions import SessionRecord

pytestmark = pytest.mark.feature("C5")


@pytest.fixture
def web(tmp_path: Path) -> Generator[Served]:
    with served_in(tmp_path) as known:
        yield known


def test_every_route_says_what_it_gives_and_how_it_fails() -> None:
    document = openapi_document()
    assert openapi_document() is document  # made once: nobody needs a token for it
    names: list[str] = []
    for methods in document["paths"].values():
        for said in methods.values():
            names.append(said["operationId"])
            (content,) = said["responses"]["200"]["content"].values()
            assert "$ref" in content["schema"]
            assert "application/problem+json" in said["responses"]["4XX"]["content"]
    assert len(names) == len(set(names))


@pytest.mark.feature("B6")
def test_recall_says_since_when_an_answer_about_the_past_no_longer_holds(
    tmp_path: Path, web: Served
) -> None:
    with web.memories.of("") as wk:
        wk.remember("Events are carried by RabbitMQ", at="2020-11-03")
        wk.remember("Events are carried by NATS now", at="2021-04-20")
    was, now = web.get("memory_recall", query="what carried events in March 2021?")["hits"]
    assert (was["memory"]["valid_from"][:10], was["memory"]["valid_to"][:10]) == (
        "2020-11-03",
        "2021-04-20",
    )
    assert not now["memory"]["closed"]
    with talking_in(tmp_path) as talk:
        said = talk.text("memory_recall", query="what carried events in March 2021?")
        assert "fact · 2020-11-03 until 2021-04-20" in said


def test_what_is_stored_is_found_by_post_and_by_query(web: Served) -> None:
    short = web.remember("Deploys go through staging first", tags=["deploy"])
    assert web.post("recall", query="deploys")["hits"][0]["memory"]["short"] == short
    found = web.get("recall", query="deploys", tags=["deploy"])
    assert found["hits"][0]["memory"]["short"] == short
    assert web.get("memory_recall", query="staging")["hits"][0]["memory"]["short"] == short
    assert web.get("stats")["total"] == 1


@pytest.mark.feature("B10")
def test_what_hardly_answers_is_left_out_unless_asked_for(web: Served) -> None:
    short = web.remember("Deploys go through staging first")
    asked = "how do deploys reach customers of the shop?"
    assert web.get("recall", query=asked, min_score=0)["hits"][0]["memory"]["short"] == short
    assert not web.get("memory_recall", query=asked, min_score=0.9).get("hits")
    assert not web.get("memory_recall", query="zebra unicorn quantum").get("hits")


def test_http_and_mcp_give_the_same_answers(tmp_path: Path) -> None:
    with talking_in(tmp_path) as talk:
        short = talk.call("memory_store", content="One memory, two doors")["id"]
        told = talk.call("memory_show", ids=[short])
    with served_in(tmp_path) as web:
        assert told == web.post("show", ids=[short]) == web.get("show", ids=short)


def test_memories_are_listed_in_pages_with_filters(web: Served) -> None:
    for number in range(5):
        tags = ["odd"] if number % 2 else []
        # With a key each: statements that differ in a number replace one another.
        web.remember(f"Fact number {number} stands alone", key=f"k{number}", tags=tags)
    first = web.get("list", limit=2, order="oldest")
    assert (first["total"], len(first["items"])) == (5, 2)
    rest = web.get("list", limit=100, order="oldest", cursor=first["next_cursor"])
    assert rest["next_cursor"] is None
    listed = [memory["content"] for memory in (*first["items"], *rest["items"])]
    assert listed == [f"Fact number {number} stands alone" for number in range(5)]
    assert web.get("list", tags="odd")["total"] == 2
    assert web.get("list", needs_review=True)["total"] == 0


def test_a_memory_is_read_corrected_confirmed_doubted_and_forgotten(web: Served) -> None:
    short = web.remember("The port is 80", key="facts/port")
    assert web.shown("facts/port")["short"] == short
    (edited,) = web.post("edit", ids=short, content="The port is 8080", pinned=True)["memories"]
    assert (edited["content"], edited["pinned"]) == ("The port is 8080", True)
    assert web.shown(short)["superseded_by"] == edited["id"]
    new = edited["short"]
    assert web.post("edit", ids=new, action="confirm")["memories"][0]["user_verified"]
    (doubted,) = web.post("edit", ids=new, action="flag")["memories"]
    assert (doubted["user_verified"], doubted["needs_review"]) == (False, True)
    assert web.post("forget", ids=new)["count"] == 1
    assert web.client.get(f"/api/show?ids={new}").status_code == 404


def test_an_edit_of_what_changed_meanwhile_is_refused(web: Served) -> None:
    short = web.remember("Two people look at this")
    seen = web.shown(short)["updated_at"]
    edit = {"ids": short, "tags": ["late"], "if_updated_at": "2020-01-01T00:00:00Z"}
    late = web.client.post("/api/edit", json=edit)
    assert late.status_code == 409
    assert web.shown(short)["tags"] == []
    right = web.post("edit", ids=short, tags=["right"], if_updated_at=seen)
    assert right["memories"][0]["tags"] == ["right"]


@pytest.mark.parametrize("edit", [{}, {"type": "nonsense"}, {"importance": 2}, {"colour": "red"}])
def test_an_edit_that_makes_no_sense_changes_nothing(web: Served, edit: dict[str, Any]) -> None:
    short = web.remember("Stays as it is")
    before = web.shown(short)
    answer = web.client.post("/api/edit", json={"ids": short, **edit})
    assert answer.status_code == 400
    assert answer.json()["detail"]
    assert web.shown(short) == before


@pytest.mark.parametrize("body", ["{bad", "[]", '"text"', '{"content": "plain"}'])
def test_a_body_that_is_no_json_object_is_told_as_that(web: Served, body: str) -> None:
    kind = "text/plain" if "plain" in body else "application/json"
    answer = web.client.post("/api/memory_store", content=body, headers={"Content-Type": kind})
    assert answer.status_code == 400
    assert "must be a JSON object, sent with Content-Type" in answer.json()["detail"]


@pytest.mark.feature("C1")
def test_sessions_are_listed_and_shown_within_their_project(web: Served) -> None:
    with web.memories.of("") as wk:
        for name, project in (("mine-1", wk.project), ("mine-2", wk.project), ("theirs", "other")):
            session = SessionRecord(
                id=name, client="cli", project=project, started_at=START, last_event_at=START
            )
            wk.engine.store.apply([PutSession(session)])
    listed = web.get("session/list", limit=1)
    assert [one["id"] for one in listed["items"]] == ["mine-2"]
    assert web.get("session/list", offset=listed["next_offset"])["items"][0]["id"] == "mine-1"
    assert len(web.get("session/list", all_projects=True)["items"]) == 3
    assert web.get("session/show", name="mine-1")["session"]["client"] == "cli"
    assert web.client.get("/api/session/show?name=theirs").status_code == 404
    assert (
        web.get("session/show", name="theirs", all_projects=True)["session"]["project"] == "other"
    )


def test_a_project_is_chosen_by_query_body_or_header_and_never_sees_another(web: Served) -> None:
    web.remember("Alpha keeps this", project="alpha")
    web.remember("Größe keeps that", project="größe")
    assert web.get("list", project="alpha")["total"] == 1
    header = {"Wellkept-Project": "gr%C3%B6%C3%9Fe"}
    for path in ("list", "recall", "stats"):
        answer = web.client.get(f"/api/{path}", headers=header)
        assert "Alpha" not in answer.text
        assert answer.json().get("total", 1) == 1
    assert web.get("list")["total"] == 0
    short = web.get("list", project="alpha")["items"][0]["short"]
    assert web.client.get(f"/api/show?ids={short}", headers=header).status_code == 404
    assert web.client.post("/api/forget", json={"ids": short}).status_code == 404
    assert {one["memories"] for one in web.get("projects")["items"]} == {1}


@pytest.mark.feature("A10")
def test_a_secret_sent_by_http_is_not_kept(web: Served) -> None:
    secret = "ghp_" + "a1B2c3D4" * 4 + "e5F6"
    short = web.remember(f"The token is {secret} for now")
    assert secret not in json.dumps(web.shown(short))


def test_health_and_doctor_answer(web: Served) -> None:
    web.remember("Something to look at")
    assert web.get("health")["status"] == "ok"
    report = web.get("doctor")
    assert report["healthy"]
    assert report["facts"]["memories"] == "1"


def test_thirty_two_requests_at_once_on_one_store_all_count(web: Served) -> None:
    def work(number: int) -> str:
        short = web.remember(f"Thing {number} was told by caller {number}", key=f"k{number}")
        web.get("recall", query=f"caller {number}")
        web.get("list", limit=5)
        return short

    with ThreadPoolExecutor(32) as callers:
        ids = set(callers.map(work, range(64)))
    assert len(ids) == 64
    assert web.get("stats")["total"] == 64


def test_callers_that_contradict_each_other_at_once_are_all_answered(web: Served) -> None:
    def work(number: int) -> str:
        return web.remember(f"The port is {number}", type="fact")

    with ThreadPoolExecutor(16) as callers:
        assert len(set(callers.map(work, range(32)))) == 32


def test_two_servers_on_one_database_see_what_the_other_wrote(tmp_path: Path) -> None:
    with served_in(tmp_path) as one, served_in(tmp_path) as other:
        with ThreadPoolExecutor(8) as callers:
            told = [
                callers.submit(web.remember, f"Written number {number} by two", key=f"k{number}")
                for number in range(20)
                for web in ((one, other)[number % 2],)
            ]
            ids = {call.result() for call in told}
        assert len(ids) == 20
        assert one.get("stats")["total"] == other.get("stats")["total"] == 20


def test_more_projects_than_are_kept_open_still_answer(tmp_path: Path) -> None:
    with served_in(tmp_path) as web:
        for number in range(12):
            web.remember("The same in each", project=f"project-{number}")
        assert all(
            web.get("stats", project=f"project-{number}")["total"] == 1 for number in range(12)
        )
    memories_in(tmp_path).close()
