"""Which project a call means, and what stays open."""

from __future__ import annotations

from pathlib import Path

import mcp_types as types
import pytest
from mcp.client.session import ClientRequestContext

from tests.server.mcp_client import memories_in, talking_in
from wellkept.api import Wellkept
from wellkept.api.mcp.handlers import ServerLocation
from wellkept.api.server.open_projects import MAX_OPEN

pytestmark = pytest.mark.feature("C5")


def _folders(parent: Path, *names: str) -> list[Path]:
    folders = [parent / name for name in names]
    for folder in folders:
        folder.mkdir()
    return folders


def test_memory_of_one_project_does_not_show_in_another(tmp_path: Path) -> None:
    ours, theirs = _folders(tmp_path, "ours", "theirs")
    with talking_in(tmp_path, place=ServerLocation(folder=ours)) as talk:
        talk.call("memory_store", content="Only ours")
        for name in (str(theirs), "another name"):
            assert "project at hand" in talk.error("stats", project=name)
            assert "project at hand" in talk.error("memory_store", content="Theirs", project=name)
        assert talk.call("stats", project=str(ours))["total"] == 1
        assert talk.call("stats", project="ours")["total"] == 1


@pytest.mark.parametrize(("ask_roots", "expected"), [(True, "theirs"), (False, "ours")])
def test_the_roots_of_an_older_client_say_where_it_works(
    tmp_path: Path, *, ask_roots: bool, expected: str
) -> None:
    ours, theirs = _folders(tmp_path, "ours", "theirs")

    async def roots(context: ClientRequestContext) -> types.ListRootsResult:
        return types.ListRootsResult.model_validate({"roots": [{"uri": theirs.as_uri()}]})

    place = ServerLocation(folder=ours, ask_roots=ask_roots)
    with talking_in(tmp_path, era="legacy", place=place, roots=roots) as talk:
        assert talk.call("stats")["project"] == expected


def test_a_server_started_inside_a_root_stays_where_it_is(tmp_path: Path) -> None:
    (ours,) = _folders(tmp_path, "ours")

    async def roots(context: ClientRequestContext) -> types.ListRootsResult:
        return types.ListRootsResult.model_validate({"roots": [{"uri": tmp_path.as_uri()}]})

    with talking_in(tmp_path, era="legacy", place=ServerLocation(folder=ours), roots=roots) as talk:
        assert talk.call("stats")["project"] == "ours"


def test_a_client_that_cannot_tell_its_roots_is_served_where_the_server_stands(
    tmp_path: Path,
) -> None:
    (ours,) = _folders(tmp_path, "ours")

    async def roots(context: ClientRequestContext) -> types.ErrorData:
        return types.ErrorData(code=types.INTERNAL_ERROR, message="no roots today")

    with talking_in(tmp_path, era="legacy", place=ServerLocation(folder=ours), roots=roots) as talk:
        assert talk.call("stats")["project"] == "ours"


def test_the_clients_own_word_for_the_project_comes_before_the_working_folder(
    tmp_path: Path,
) -> None:
    place = ServerLocation.of(
        {"CLAUDE_PROJECT_DIR": "/p", "CLAUDE_CODE_SESSION_ID": "s"}, cwd=tmp_path
    )
    assert place == ServerLocation(folder=Path("/p"), ask_roots=False, session="s")
    assert ServerLocation.of({}, cwd=tmp_path) == ServerLocation(folder=tmp_path)


def test_only_so_many_memories_stay_open_and_the_rest_still_answer(tmp_path: Path) -> None:
    memories = memories_in(tmp_path)
    kept: list[Wellkept] = []
    for number in range(MAX_OPEN):
        with memories.of(f"project {number}") as wk:
            kept.append(wk)
    with memories.of("one more") as wk:
        wk.remember("Still kept")
    with memories.of("one more") as again:
        assert again is not wk
        assert again.stats().total == 1
    with memories.of("project 3") as same:
        assert same is kept[3]
    memories.close()
