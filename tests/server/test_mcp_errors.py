"""What a client sees when something is wrong: what happened, and what to do about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.mcp_client import (
    ERAS,
    TRANSPORTS,
    Era,
    Talk,
    Transport,
    made,
    memories_in,
    talking,
    talking_in,
)
from wellkept.api import Wellkept
from wellkept.api.mcp.errors import ADVICE, error_text
from wellkept.api.mcp.handlers import ServerLocation
from wellkept.api.mcp.toolsets import all_tools
from wellkept.api.server.open_projects import OpenProjects
from wellkept.core import errors

pytestmark = pytest.mark.feature("C5")


def _family(kind: type[errors.WellkeptError]) -> set[type[errors.WellkeptError]]:
    return {kind}.union(*(_family(child) for child in kind.__subclasses__()))


def test_every_error_has_advice() -> None:
    ours = {kind for kind in _family(errors.WellkeptError) if kind.__module__ == errors.__name__}
    assert set(ADVICE) == ours


def test_an_error_that_is_not_in_the_table_gets_the_advice_of_its_parent() -> None:
    class OddError(errors.StoreBusyError):
        pass

    text = error_text(OddError("The lock is held.", hint="By 42."))
    assert text == f"The lock is held. By 42. {ADVICE[errors.StoreBusyError]}"


def test_names_are_unique_and_descriptions_survive_clients_that_cut() -> None:
    tools = [tool for _, tool in all_tools()]
    assert len({tool["name"] for tool in tools}) == len(tools)
    for tool in tools:
        assert 0 < len(tool["description"].encode()) <= 2048


def test_arguments_that_do_not_fit_are_named(talk: Talk) -> None:
    text = talk.error("memory_search", limit=0, colour="red", quary="x")
    assert "limit:" in text
    assert "colour is unknown" in text
    assert "quary is unknown (did you mean query?)" in text
    assert "It takes: query" in text
    assert "project" not in text


def test_a_missing_argument_is_named(talk: Talk) -> None:
    assert "content" in talk.error("memory_store")
    assert "ids" in talk.error("get_observations", ids=[])


def test_an_unknown_type_is_answered_with_the_choices(talk: Talk) -> None:
    said = talk.error("memory_store", content="x", type="gotchya")
    assert "rule, fact, decision, trap, recipe, event" in said


def test_a_file_outside_the_project_is_refused(talk: Talk) -> None:
    assert talk.error("memory_store", content="x", files=["../../etc/passwd"])
    assert talk.call("stats")["total"] == 0


def test_an_ambiguous_name_says_what_it_fits(tmp_path: Path) -> None:
    memories = memories_in(tmp_path)
    with memories.of("") as wk:
        full = [wk.remember(f"Fact {name}", key=name).memory.id for name in ("one", "two")]
    memories.close()
    with talking_in(tmp_path) as talk:
        text = talk.error("get_observations", ids=[full[0][:8]])
        assert "fits several" in text
        assert ADVICE[errors.ConflictError] in text


def test_an_unknown_tool_is_a_protocol_error_that_lists_the_tools(talk: Talk) -> None:
    refused = talk.refused("call_tool", "memory_serach", {})
    assert refused.error.code == -32602
    assert "Did you mean memory_search?" in refused.error.message
    assert "skill_run" in refused.error.message


def test_a_damaged_store_is_told_and_the_server_lives_on(tmp_path: Path) -> None:
    database = tmp_path / "data" / "memory.db"
    database.parent.mkdir()
    database.write_bytes(b"not a database at all" * 100)
    with talking_in(tmp_path) as talk:
        assert "wellkept admin doctor" in talk.error("stats")
        database.unlink()
        assert talk.call("stats")["total"] == 0


def test_what_is_not_offered_is_not_announced(talk: Talk) -> None:
    offered = talk.client.server_capabilities
    assert offered.tools is not None
    assert offered.prompts is not None
    assert offered.resources is not None
    assert not offered.resources.subscribe
    assert offered.completions is None
    assert offered.logging is None  # pyright: ignore[reportDeprecated]


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("era", ERAS)
def test_a_mistake_of_ours_is_an_error_without_its_inner_words(
    tmp_path: Path, era: Era, transport: Transport
) -> None:
    def broken(folder: Path, project: str | None) -> Wellkept:
        raise RuntimeError("inner words")

    memories = OpenProjects(broken, folder=tmp_path)
    server = made(memories, ServerLocation(folder=tmp_path), transport)
    with talking(server, era=era) as talk:
        refused = talk.refused("call_tool", "stats", {})
        assert refused.error.code == -32603
        assert "inner words" not in refused.error.message
        assert "memory_recall" in talk.tools()
