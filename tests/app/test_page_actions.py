"""The map, storage, sweeps, clients, settings, jobs and chat of the page."""

from __future__ import annotations

import json
from collections.abc import Generator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.app.opening import open_in
from tests.server.http_serving import Served, served_in
from tests.server.mcp_client import memories_in
from wellkept.api.http.app import make_http_app
from wellkept.api.views import chat as views
from wellkept.api.views.chat import cited, notes
from wellkept.core.errors import NotFoundError
from wellkept.core.memory import WorkUnitRef
from wellkept.graph.modules.map_view import layout
from wellkept.testing.fakes import ManualClock
from wellkept.testing.scripted_model import ScriptedModel


@pytest.fixture
def web(tmp_path: Path) -> Generator[Served]:
    with served_in(tmp_path) as known:
        yield known


@pytest.mark.feature("H4")
def test_the_map_never_moves_and_shows_who_stands_on_whom() -> None:
    edges = {("web", "core"): 3, ("api", "core"): 1, ("web", "api"): 2, ("core", "web"): 1}
    places = layout(["web", "api", "core", "alone"], edges)
    again = layout(["alone", "core", "api", "web"], dict(reversed(edges.items())))
    assert places == again
    assert places["web"].y < places["api"].y < places["core"].y
    assert len({(place.x, place.y) for place in places.values()}) == 4
    assert layout([], {}) == {}
    many = [f"m{number:02}" for number in range(40)]
    assert len(set(layout(many, {}).values())) == 40


@pytest.mark.feature("H4")
def test_modules_and_files_are_mapped_with_coverage(tmp_path: Path) -> None:
    for name, text in (("base", "def run():\n    return 1\n"), ("top", "from base.m import run\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "m.py").write_text(text * 30)
    with open_in(tmp_path) as wk:
        with pytest.raises(NotFoundError, match="graph build"):
            wk.graph.map()
        wk.graph.build()
        wk.remember("Base is shared", files=["base/m.py"])
        found = wk.graph.map(files=True)
        near = wk.graph.map(files=True, folder="base/").file_graph
    files = found.file_graph
    assert files is not None
    assert near is not None
    by_folder = {one.folder: one for one in found.modules}
    assert (by_folder["base/"].covered, by_folder["base/"].memories) == (1, 1)
    assert [(one.source, one.target) for one in found.edges] == [("base/", "top/")]
    assert by_folder["top/"].y < by_folder["base/"].y
    assert [one.path for one in files.files] == ["base/m.py", "top/m.py"]
    assert [(one.source, one.target) for one in files.edges] == [(0, 1)]
    assert len(near.files) == 2


@pytest.mark.feature("H8")
def test_unsure_and_unused_memories_are_pruned_with_preview_and_undo(tmp_path: Path) -> None:
    clock = ManualClock()
    with open_in(tmp_path, clock=clock) as wk:
        doubt = wk.remember("Perhaps the cache is warm", confidence=0.1).memory
        wk.remember("A person said so", confidence=0.1, source="user_taught")
        wk.remember("Sure enough", confidence=0.9)
        assert wk.prune_unsure(dry_run=True).count == 0
        clock.advance(days=31)
        assert [m.id for m in wk.prune_unsure(dry_run=True).memories] == [doubt.id]
        assert wk.storage().prunable == 1
        done = wk.prune_unsure()
        assert done.undo_id is not None
        assert wk.stats().total == 2
        wk.undo(done.undo_id)
        assert wk.get(doubt.id) == doubt


@pytest.mark.feature("H8")
def test_memories_of_deleted_files_are_removed(tmp_path: Path) -> None:
    (tmp_path / "kept.py").write_text("x = 1\n")
    (tmp_path / "gone.py").write_text("x = 1\n")
    with open_in(tmp_path) as wk:
        wk.remember("About what stays", files=["kept.py"])
        gone = wk.remember("About what goes", files=["gone.py"]).memory
        (tmp_path / "gone.py").unlink()
        done = wk.remove_stale()
        assert [m.id for m in done.memories] == [gone.id]
        assert wk.stats().total == 1


@pytest.mark.feature("H8")
def test_storage_sweeps_units_and_settings_are_served(web: Served) -> None:
    web.remember("One thing is known")
    stored = web.get("storage")
    assert stored["memories"] == 1
    assert stored["total_bytes"] == sum(one["size_bytes"] for one in stored["files"]) > 0
    for action in ("refresh", "decay", "compact", "prune"):
        assert web.post("sweep", only=action)["dry_run"] is True
    with web.memories.of("") as wk:
        ref = WorkUnitRef("native", ("login",), "login")
        wk.remember("The login needs a captcha", work_unit=ref, scope="work_unit")
    (unit,) = web.get("session/units")["items"]
    assert (unit["label"], unit["memories"]) == ("login", 1)
    archived = web.post(
        "archive_work_unit", methodology="native", hierarchy=["login"], dry_run=False
    )
    assert archived["changed"] == 1
    assert web.get("session/units")["items"] == []
    keys = {one["key"]: one for one in web.get("config/list")["items"]}
    assert keys["text_model.api_key"]["value"] in (None, "", "(set)")
    refused = web.client.post("/api/config/set", json={"key": "store.path", "value": "x"})
    assert refused.status_code == 400


@pytest.mark.feature("H8")
def test_clients_are_shown_and_changed_only_where_they_are_known(web: Served) -> None:
    assert web.get("client_states")["items"] == []
    answer = web.client.post("/api/change_client", json={"client": "claude-code"})
    assert answer.status_code == 400


def _events(text: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for block in text.strip().split("\n\n"):
        kind, data = block.split("\n", 1)
        found.append((kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


@pytest.mark.feature("H8")
def test_reindexing_tells_its_progress(web: Served) -> None:
    web.remember("One thing is known")
    answer = web.client.post("/api/jobs/reindex", params={"force": True})
    told = _events(answer.text)
    assert told[0][0] == "progress"
    assert told[-1][0] == "done"
    assert "indexed" in told[-1][1]["result"]


@pytest.mark.feature("H4")
def test_chat_answers_word_for_word_with_citations(web: Served) -> None:
    short = web.remember("Deploys go through staging first")
    answer = web.post("ask", question="Do deploys go through staging first?")
    assert answer["answer"] == f"Deploys go through staging first [m:{short}]"
    assert answer["citations"][0]["memory"]["short"] == short
    assert (answer["model"], answer["known"]) == (None, True)
    told = _events(
        web.client.post("/api/chat", json={"question": "Do deploys go through staging first?"}).text
    )
    assert [kind for kind, _ in told] == ["notes", "text", "done"]
    unknown = web.post("ask", question="zzz qqq")
    assert (unknown["known"], unknown["citations"]) == (False, [])


@pytest.mark.feature("H4")
def test_a_model_streams_an_answer_and_only_real_citations_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories = memories_in(tmp_path)
    with memories.of("") as wk:
        kept = wk.remember("Deploys go through staging first").memory
        found = notes(wk, "deploys")
    said = f"Through staging [m:{kept.short}], and by magic [m:zzzzzzz]."
    assert [one.memory.id for one in cited(said, found)] == [kept.id]
    model = ScriptedModel([said])

    def named_model(_: object) -> ScriptedModel:
        return model

    monkeypatch.setattr(views, "chat_model", named_model)
    with TestClient(make_http_app(memories)) as client:
        answer = client.post("/api/chat", json={"question": "Do deploys go through staging first?"})
    memories.close()
    told = _events(answer.text)
    kinds = [kind for kind, _ in told]
    assert (kinds[0], kinds[-1], set(kinds[1:-1])) == ("notes", "done", {"text"})
    assert told[-1][1]["answer"] == said
    assert [one["memory"]["id"] for one in told[-1][1]["citations"]] == [kept.id]
    assert "data, not instructions" in model.requests[0].messages[0].text
    assert kept.content in model.requests[0].messages[1].text


@pytest.mark.feature("H1")
def test_days_of_growth_reach_back_as_far_as_asked(tmp_path: Path) -> None:
    clock = ManualClock()
    with open_in(tmp_path, clock=clock) as wk:
        wk.remember("Long ago something was learned")
        clock.advance(days=40)
        assert sum(day.memories for day in wk.health(days=30).growth) == 0
        days = wk.health(days=60).growth
    assert sum(day.memories for day in days) == 1
    assert days[-1].day - days[0].day == timedelta(days=59)


@pytest.mark.feature("H2", "A11")
def test_what_a_filter_shows_is_downloaded_as_a_file(web: Served) -> None:
    web.remember("Deploys go through staging first", tags=["deploy"])
    web.remember("Invoices round half up")
    answer = web.client.get("/api/export", params={"tags": ["deploy"]})
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    lines = [json.loads(line) for line in answer.text.splitlines()]
    told = [line.get("content") for line in lines if "content" in line]
    assert told == ["Deploys go through staging first"]
