"""Live events: who hears what, in which order, and how they go on after a break."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from tests.server.http_serving import Served, served_in
from tests.server.mcp_client import memories_in
from tests.support.samples import START
from wellkept.api.http.sse import MAX_SUBSCRIBERS
from wellkept.core.changes import Mark, PutSession
from wellkept.core.records import replace
from wellkept.core.session.activity import ACTIVITY_RETENTION
from wellkept.core.session.sessions import SessionRecord

pytestmark = pytest.mark.feature("C6")


@pytest.fixture
def web(tmp_path: Path) -> Generator[Served]:
    with served_in(tmp_path) as known:
        yield known


def test_a_subscriber_hears_of_sessions_observations_and_memories(web: Served) -> None:
    with web.events() as events:
        with web.memories.of("") as wk:
            session = SessionRecord(
                id="s-1", client="cli", project=wk.project, started_at=START, last_event_at=START,
                title="Mend the parser",
            )  # fmt: skip
            wk.engine.store.apply([PutSession(session)])
        short = web.post("store_observation", kind="bugfix", title="Parser mended")["id"]
        with web.memories.of("") as wk:
            wk.engine.store.apply([PutSession(replace(session, revision=1, ended_at=START))])
        heard = [events.next() for _ in range(3)]
    assert [kind for kind, _, _ in heard] == [
        "session_started", "observation_stored", "session_ended",
    ]  # fmt: skip
    assert [number for _, number, _ in heard] == ["1", "2", "3"]
    assert heard[0][2]["title"] == "Mend the parser"
    assert (heard[1][2]["short"], heard[1][2]["type"]) == (short, "observation")


def test_what_another_process_writes_is_heard_too(web: Served, tmp_path: Path) -> None:
    with web.events() as events:
        with memories_in(tmp_path).of("") as elsewhere:
            elsewhere.remember("Said on the command line")
        kind, _, told = events.next()
    assert (kind, told["title"]) == ("memory_stored", "Said on the command line")


def test_changes_and_deletions_are_told_and_a_deleted_title_is_not(web: Served) -> None:
    short = web.remember("Soon to be forgotten")
    web.post("edit", ids=[short], pinned=True)
    web.post("forget", ids=[short])
    with web.events(after="0") as events:
        heard = [events.next() for _ in range(3)]
    assert [kind for kind, _, _ in heard] == ["memory_stored", "memory_changed", "memory_deleted"]
    assert all("title" not in told for _, _, told in heard)


def test_a_subscriber_goes_on_where_it_stopped(web: Served) -> None:
    with web.events() as events:
        web.remember("Heard before the break")
        _, last, _ = events.next()
    away = ["Otters swim at night", "Deploys need the blue button", "Invoices are in cents"]
    for content in away:
        web.remember(content)
    with web.events(headers={"Last-Event-ID": last}) as events:
        missed = [events.next()[2]["title"] for _ in range(3)]
        web.remember("Heard again after it")
        assert events.next()[2]["title"] == "Heard again after it"
    assert missed == away


def test_a_subscriber_that_was_away_too_long_is_told_of_the_gap(web: Served) -> None:
    web.remember("The first")
    with web.memories.of("") as wk:
        (memory,) = wk.list().items
        many = [Mark(memory.id, "stale", None)] * (ACTIVITY_RETENTION + 5)
        wk.engine.store.apply(many)
    with web.events(headers={"Last-Event-ID": "1"}) as events:
        kind, number, told = events.next()
        assert (kind, number) == ("gap", str(ACTIVITY_RETENTION + 6))
        assert told["oldest"] == 7
        web.remember("After the gap")
        assert events.next()[2]["title"] == "After the gap"


def test_an_id_from_another_database_is_a_gap_and_no_id_at_all_a_problem(web: Served) -> None:
    with web.events(headers={"Last-Event-ID": "999"}) as events:
        assert events.next()[0] == "gap"
    for wrong in ("abc", "-1", "1.5", "9" * 40):
        answer = web.client.get("/api/events", headers={"Last-Event-ID": wrong})
        assert answer.status_code == 400


def test_a_backup_put_in_place_is_a_gap_for_those_who_listen(web: Served, tmp_path: Path) -> None:
    web.remember("In the backup")
    with memories_in(tmp_path).of("") as elsewhere:
        copy = elsewhere.backup(tmp_path / "copy.db")
        with web.events() as events:
            web.remember("Lost again")
            assert events.next()[1] == "2"
            elsewhere.restore(copy)
            kind, number, told = events.next()
            assert (kind, number, told["after"]) == ("gap", "1", 2)
            web.remember("After the restore")
            assert events.next()[2]["title"] == "After the restore"
            titles = {item["content"] for item in web.client.get("/api/list").json()["items"]}
    assert titles == {"In the backup", "After the restore"}


def test_a_project_hears_nothing_of_another(web: Served) -> None:
    with web.events(project="alpha") as alpha, web.events(all_projects="true") as everything:
        web.remember("Only beta knows", project="beta")
        web.remember("Alpha knows this", project="alpha")
        assert alpha.next()[2]["title"] == "Alpha knows this"
        assert everything.next()[2]["title"] == "Only beta knows"
        assert everything.next()[2]["title"] == "Alpha knows this"


def test_a_silent_line_is_kept_alive(web: Served) -> None:
    with web.events() as events:
        assert events.next_comment() == ": alive"
        assert events.next_comment() == ": alive"


def test_a_subscriber_that_does_not_read_holds_nobody_up(web: Served) -> None:
    with web.events(after="0"), web.events() as quick:
        for number in range(150):
            web.remember(f"Line {number} " + "of a long tale " * 200, type="fact", key=f"k{number}")
        numbers = [int(quick.next()[1]) for _ in range(150)]
    assert numbers == sorted(set(numbers))


def test_a_backlog_longer_than_a_page_comes_whole_and_in_order(web: Served) -> None:
    with web.memories.of("") as wk:
        for number in range(250):
            wk.remember(f"Entry {number} of the backlog", key=f"entry-{number}")
    with web.events(after="0") as events:
        numbers = [int(events.next()[1]) for _ in range(250)]
    assert numbers == list(range(1, 251))


def test_subscribers_are_bounded_and_leave_room_when_they_go(web: Served) -> None:
    address, headers = f"{web.address}/api/events", dict(web.client.headers)
    with httpx2.Client(headers=headers, limits=httpx2.Limits(), timeout=30) as client:

        def hold(_: int) -> httpx2.Response:
            request = client.build_request("GET", address)
            return client.send(request, stream=True)

        with ThreadPoolExecutor(8) as callers:
            held = list(callers.map(hold, range(MAX_SUBSCRIBERS)))
        lines = [answer.iter_lines() for answer in held]
        assert all(next(line).startswith("retry") for line in lines)
        refused = hold(0)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        refused.close()
        for answer in held:
            answer.close()
        for _ in range(10_000):
            again = hold(0)
            again.close()
            if again.status_code == 200:
                break
        else:
            raise AssertionError("No room was left by those who went.")
