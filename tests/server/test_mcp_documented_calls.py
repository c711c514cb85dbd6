"""Calls as the design documents and other tools write them: names and arguments are understood."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import wellkept
from tests.server.mcp_client import Talk, memories_in, talking, talking_in
from wellkept.api.learning import drain_and_learn
from wellkept.api.mcp.handlers import Handlers, ServerLocation, ServerOptions
from wellkept.api.mcp.toolsets import TOOLSETS, parse_toolsets
from wellkept.api.server.open_projects import OpenProjects
from wellkept.api.verbs.check import read
from wellkept.api.verbs.table import find
from wellkept.clients.registry import translate_spooled
from wellkept.core.errors import UsageError
from wellkept.core.settings.model import Settings
from wellkept.memory.arguments import as_moment, snake
from wellkept.testing.fakes import ManualClock

pytestmark = pytest.mark.feature("B5", "B10", "C5")

_DAY_MS = 86_400_000
_NOW_MS = int(datetime.now(UTC).timestamp() * 1000)

# Each as documented: the name, the arguments, and words of the answer.
CALLS: tuple[tuple[str, dict[str, Any], str], ...] = (
    (
        "memory_store",
        {"key": "k2", "content": "We chose Redis", "category": "knowledge", "importance": 0.8},
        "inserted",
    ),
    (
        "memory_store",
        {"key": "t1", "content": "Talked about the queue", "category": "timeline"},
        "inserted",
    ),
    ("memory_recall", {"query": "staging", "category": "knowledge"}, "staging"),
    ("memory_recall", {"query": "staging", "since": _NOW_MS - 2 * 365 * _DAY_MS}, "staging"),
    ("memory_recall", {"query": "staging", "until": _NOW_MS + _DAY_MS, "limit": 10}, "staging"),
    ("memory_recall", {"query": "zebra", "category": "timeline", "since": 0}, "No words match"),
    ("memory_forget", {"key": "deploy"}, "Closed"),
    ("memory_search", {"query": "staging"}, "staging"),
    ("search", {"query": "parser", "obs_type": "bugfix"}, "last line"),
    ("search", {"obs_type": "bugfix", "concepts": ["newlines"]}, "last line"),
    ("search", {"concepts": ["nothing of the kind"]}, "Nothing known"),
    ("search", {"query": "parser", "order_by": "date_desc", "offset": 0}, "last line"),
    ("search", {"type": "observations", "orderBy": "DateAsc"}, "last line"),
    ("search", {"dateStart": "2020-01-01", "dateEnd": "2100-01-01", "limit": 5}, "last line"),
    ("search", {"query": "parser", "project": "shop"}, "last line"),
    ("timeline", {"anchor": "deploy", "depth_before": 3, "depth_after": 3}, "> "),
    ("timeline", {"query": "parser", "depth_before": 1, "depth_after": 0}, "last line"),
    ("get_observations", {"ids": ["deploy"], "orderBy": "date", "limit": 1}, "staging"),
    ("get_observations", {"ids": ["deploy"], "orderBy": "date_asc", "limit": 1}, "staging"),
    ("get_observation", {"id": "deploy"}, "staging"),
    ("inject_context", {"project": "shop", "observation_limit": 5}, ""),
    ("inject_context", {"session_id": "s1", "observation_types": ["bugfix"]}, ""),
    ("decisions", {"limit": 5}, "SQLite"),
    ("changes_for_file", {"file": "parser.py", "limit": 5}, "last line"),
    ("remember_this", {"content": "The cache is cold at start", "relatedFiles": []}, "inserted"),
    ("get_workflow_recipe", {"taskDescription": "add an endpoint"}, "No recipe fits"),
    ("analyze_impact", {"filePath": "parser.py", "maxDepth": 3}, "parser.py"),
    ("analyzeImpact", {"filePath": "parser.py"}, "parser.py"),
    ("get_dependencies", {"filePath": "parser.py"}, "parser.py"),
    ("trace_data_flow", {"filePath": "parser.py"}, "parser.py"),
    ("store_observation", {"obs_type": "discovery", "title": "Ports are fixed"}, "inserted"),
    ("__IMPORTANT", {}, "memory_recall"),
    ("mcp__wellkept__memory_search", {"query": "staging"}, "staging"),
    ("memory_stats", {}, "Memories in shop"),
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a graph, and some memories."""
    folder = tmp_path_factory.mktemp("documented") / "shop"
    folder.mkdir()
    (folder / "parser.py").write_text("def parse(text):\n    return text.split()\n", "utf-8")
    with _open(folder, None) as wk:
        wk.graph.build()
        wk.remember("Deploys go through staging", key="deploy", type="convention")
        wk.remember("We use SQLite: one file", type="decision")
        wk.remember("A talk about queues", type="timeline")
    with talking(_handlers(folder)) as talk:
        talk.text(
            "store_observation",
            kind="bugfix",
            title="Parser no longer drops the last line",
            concepts=["Newlines"],
            files_modified=["parser.py"],
        )
    return folder


def _open(folder: Path, project: str | None) -> wellkept.Wellkept:
    return wellkept.open(
        folder.parent / "memory.db",
        project=project,
        cwd=folder,
        embedder="none",
        settings=Settings(),
        environment={},
    )


def _handlers(folder: Path) -> Handlers:
    memories = OpenProjects(_open, folder=folder)
    return Handlers(memories, ServerLocation(folder=folder), ServerOptions())


@pytest.mark.parametrize(("name", "arguments", "words"), CALLS)
def test_a_documented_call_is_answered(
    shop: Path, name: str, arguments: dict[str, Any], words: str
) -> None:
    with talking(_handlers(shop)) as talk:
        if arguments.get("orderBy") == "date":
            assert "order: 'date' is none of" in talk.error(name, **arguments)
        else:
            assert words in talk.text(name, **arguments)
    if name == "memory_forget":
        with _open(shop, None) as wk:
            closed = wk.list(validity="closed")
            assert [memory.key for memory in closed] == ["deploy"]  # nothing is lost
            wk.remember("Deploys go through staging", key="deploy", type="convention")


def test_a_timeline_names_the_kind_of_an_observation_as_a_search_does(shop: Path) -> None:
    with talking(_handlers(shop)) as talk:
        row = talk.text("search", obs_type="bugfix").splitlines()[0]
        assert "bugfix: Parser" in row
        assert row in talk.text("timeline", query="parser drops the last line")


def test_orders_offsets_and_concepts_are_obeyed(tmp_path: Path) -> None:
    clock = ManualClock()
    with talking_in(tmp_path, clock=clock) as talk:
        ids: list[str] = []
        for number in range(4):
            ids.append(
                talk.call("memory_store", content=f"Parser fact {number}", key=f"k{number}")["id"]
            )
            clock.now += timedelta(days=1)
        found = talk.call("search", query="parser", order_by="date_asc", offset=1, limit=2)
        assert [hit["memory"]["short"] for hit in found["hits"]] == ids[1:3]
        rest = talk.call(
            "search", query="parser", order_by="date_asc", limit=2, offset=found["next_offset"]
        )
        assert [hit["memory"]["short"] for hit in rest["hits"]] == ids[3:]
        newest = talk.call("search", order_by="DateDesc", offset=1)
        assert [hit["memory"]["short"] for hit in newest["hits"]] == ids[2::-1]
        assert [hit["memory"]["short"] for hit in talk.call("search", offset=3)["hits"]] == ids[:1]
        day = int(clock.now.timestamp() * 1000) - 2 * _DAY_MS
        since = talk.call("search", since=day)
        assert {hit["memory"]["short"] for hit in since["hits"]} == set(ids[2:])


def test_forgetting_by_key_closes_and_by_id_asks_first(talk: Talk) -> None:
    talk.call("memory_store", content="The port is 8000", key="port")
    told = talk.text("memory_forget", key="port")
    assert "Still in the history" in told
    assert talk.text("memory_recall", query="port").startswith("Nothing known about that.")
    talk.call("memory_store", content="The host is example.org", key="host")
    assert "confirm=true" in talk.text("memory_forget", ids=["host"])
    assert "Would be closed" in talk.text("memory_forget", key="host", confirm=False)
    assert talk.call("stats")["total"] == 1


def test_words_that_match_nothing_give_the_newest_of_the_time(talk: Talk) -> None:
    talk.call("memory_store", content="The queue drains at night")
    told = talk.text("memory_recall", query="zebra", since="2000-01-01")
    assert "The queue drains at night" in told
    assert "No words match" in told


def test_context_keeps_to_the_number_kinds_and_concepts_of_observations(tmp_path: Path) -> None:
    memories = memories_in(tmp_path)
    with memories.of("") as wk:
        wk.session.note(kind="bugfix", title="Worked on the parser")
        wk.session.note(kind="feature", title="Worked on the lexer", concepts=["syntax"])
        wk.session.note(kind="change", title="Worked on the printer")

        def kept(**given: Any) -> list[str]:
            own, _ = read(find("context"), {"format": "table", **given})
            told = wk.context(**own).text
            return [name for name in ("parser", "lexer", "printer") if name in told]

        assert kept() == ["parser", "lexer"]
        assert kept(observation_limit=1) == ["lexer"]
        assert kept(observationTypes=["bugfix", "change"]) == ["parser", "printer"]
        assert kept(concepts="syntax", session_id="s") == ["lexer"]
        with pytest.raises(UsageError, match="kind of observation"):
            kept(observation_types="nonsense")
    memories.close()


def test_a_raw_tool_call_is_read_like_a_hooks(tmp_path: Path, home: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    environment = {"WELLKEPT_HOME": str(home), "WELLKEPT_EMBEDDING_PROVIDER": "none"}

    def open_in(cwd: Path, project: str | None = None) -> wellkept.Wellkept:
        return wellkept.open(project=project, cwd=cwd, environment=environment)

    memories = OpenProjects(open_in, folder=folder)
    handlers = Handlers(memories, ServerLocation(folder=folder), ServerOptions())
    with talking(handlers) as talk:
        told = talk.text(
            "store_observation",
            session_id="s-1",
            tool_name="Bash",
            tool_input={"command": "pytest -q"},
            tool_output="2 passed",
            project="shop",
        )
        assert "captured" in told
        assert "session_id" in talk.error("store_observation", tool_name="Bash")
        assert "tool_name" in talk.error("store_observation", session_id="s-1")
    memories.close()
    with open_in(folder) as wk:
        report = drain_and_learn(wk, translate=translate_spooled, environment=environment)
        assert report.events == 1
        session = wk.engine.store.get_session("s-1")
        assert session is not None
        assert session.project == wk.project


def test_a_raw_tool_call_for_another_store_is_refused(talk: Talk) -> None:
    text = talk.error("store_observation", session_id="s", tool_name="Bash", tool_input={})
    assert "default store" in text


def test_the_project_at_hand_may_be_named(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    with talking_in(tmp_path, place=ServerLocation(folder=folder)) as talk:
        talk.call("memory_store", content="Kept in the shop", project="Shop")
        assert talk.call("stats")["total"] == 1
        assert talk.call("stats", project="shop")["total"] == 1
        assert "project at hand" in talk.error("stats", project="other")


@pytest.mark.parametrize("text", ["", "default", "graph", "graph,skills", "ALL", "graph skills"])
def test_toolsets_add_to_the_default_ones(tmp_path: Path, text: str) -> None:
    sets = parse_toolsets(text)
    assert "default" in sets
    with talking_in(tmp_path, options=ServerOptions(toolsets=sets)) as talk:
        names = set(talk.tools())
    assert ("graph_impact" in names) is (text not in ("", "default"))
    assert len(names) > 9 or sets == {"default"}
    if text == "ALL":
        assert sets == set(TOOLSETS)


def test_an_unknown_toolset_is_named_with_the_choices() -> None:
    with pytest.raises(UsageError, match=r"grahp.*Choose from: default"):
        parse_toolsets("grahp")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (1_700_000_000_000, "2023-11-14T22:13:20+00:00"),
        (1_700_000_000, "2023-11-14T22:13:20+00:00"),
        ("1700000000000", "2023-11-14T22:13:20+00:00"),
        ("20231114", "20231114"),
        ("2023-11-14", "2023-11-14"),
        ("7d", "7d"),
        (True, True),
        (10**30, str(10**30)),
        (-5, "-5"),
        (None, None),
    ],
)
def test_moments_may_be_unix_times(given: object, expected: object) -> None:
    assert as_moment(given) == expected


def test_names_are_read_in_any_case() -> None:
    assert [snake(name) for name in ("filePath", "file-path", "File_Path", "maxDepth")] == [
        "file_path",
        "file_path",
        "file_path",
        "max_depth",
    ]


def test_types_may_be_plural_or_kinds_of_observations(talk: Talk) -> None:
    talk.call("memory_store", content="Never edit generated files", type="gotcha")
    talk.call("store_observation", kind="bugfix", title="Parser keeps the last line")
    assert "generated files" in talk.text("memory_search", types=["gotchas"])
    assert "bugfix: Parser" in talk.text("memory_search", types="bugfix")
    assert "Choose one of" in talk.error("memory_search", types="nonsense")


def test_habits_and_prompts_are_found_only_by_their_type(tmp_path: Path) -> None:
    memories = memories_in(tmp_path)
    with memories.of("") as wk:
        wk.remember("Please look at the parser", type="prompt")
        wk.remember("parser.py and lexer.py change together", type="causal_dependency")
        wk.remember("The parser is recursive", type="fact")
    memories.close()
    with talking_in(tmp_path) as talk:
        for found in (talk.call("memory_search"), talk.call("memory_search", query="parser")):
            assert [hit["memory"]["type"] for hit in found["hits"]] == ["fact"]
        (hit,) = talk.call("memory_search", types="prompts")["hits"]
        assert hit["memory"]["content"] == "Please look at the parser"


def test_null_is_no_argument(talk: Talk) -> None:
    talk.call("memory_store", content="Null is nothing", importance=None, tags=None, unknown=None)
    result = talk.text("memory_search", query=None, types=None, since=None)
    assert json.dumps("Null is nothing")[1:-1] in result
