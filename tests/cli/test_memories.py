"""The everyday commands: remember, recall, list, show, edit, forget, context, timeline, apply."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Cli


def _feed(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8"))


def _remember(cli: Cli, *arguments: str) -> str:
    return cli("remember", "--json", *arguments).json["memory"]["short"]


@pytest.mark.feature("A3")
def test_remember_takes_words_without_quotes_and_says_what_became_of_them(cli: Cli) -> None:
    done = cli("remember", "Deploys", "go", "through", "staging", "-t", "convention")
    assert done.code == 0
    assert done.out.startswith("inserted m:")
    assert done.out.endswith("convention: Deploys go through staging\n")
    assert cli("remember", "Deploys go through staging", "-t", "convention").out.startswith("unch")


@pytest.mark.feature("A3")
def test_remember_json_is_one_document_with_the_whole_record(cli: Cli) -> None:
    kept = cli(
        "remember", "--json", "We use SQLite", "--type", "decision", "--key", "engine",
        "--tag", "a", "--tag", "b", "--file", "src/x.py", "--module", "store", "--importance", "0.4",
        "--confidence", "0.9", "--scope", "module", "--source", "agent_explicit", "--author", "Ada",
        "--session", "s1", "--seq", "2", "--at", "2026-01-02", "--pin",
        "--payload", '{"rationale": "small"}',
    ).json  # fmt: skip
    memory = kept["memory"]
    assert (kept["outcome"], kept["reason"], kept["previous"]) == ("inserted", "new", None)
    assert memory["tags"] == ["a", "b"]
    assert memory["payload"] == {"rationale": "small", "alternatives": [], "subject": ""}
    assert memory["valid_from"] == "2026-01-02T00:00:00.000Z"
    assert len(memory["short"]) == 8
    assert memory["pinned"] is True


@pytest.mark.feature("A3")
def test_a_dash_reads_the_statement_from_standard_input(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    _feed(monkeypatch, "First line\n記憶は残る\n".encode())
    assert cli("remember", "--json", "-").json["memory"]["content"] == "First line\n記憶は残る"
    _feed(monkeypatch, b"\xff\xfe\x00")
    assert cli("remember", "-").code == 2


@pytest.mark.feature("A3")
@pytest.mark.parametrize(
    "arguments",
    [
        ("remember",),
        ("remember", ""),
        ("remember", "x", "--type", "hunch"),
        ("remember", "x", "--importance", "nan"),
        ("remember", "x", "--payload", "[1]"),
        ("remember", "x", "--payload", "{"),
        ("remember", "x", "--at", "someday"),
        ("list", "--limit", "-3"),
        ("list", "--cursor", "nonsense"),
        ("list", "--since", "whenever"),
        ("recall", "x", "--limit", "0"),
        ("recall", "x", "--profile", "nope"),
        ("recall", "x", "--mode", "psychic"),
        ("forget",),
        ("frobnicate",),
        ("--nope",),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_code_2(
    cli: Cli, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    done = cli(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("Error: ")
    assert "Traceback" not in done.err


@pytest.mark.feature("B1")
def test_recall_shows_what_was_found_and_exits_1_when_nothing_was(cli: Cli) -> None:
    short = _remember(cli, "Deploys go through staging")
    found = cli("recall", "how", "do", "deploys", "go")
    assert found.code == 0
    assert f"m:{short}" in found.out
    assert "Deploys go through staging" in found.out
    nothing = cli("recall", "xylophone")
    assert (nothing.code, nothing.out) == (1, "")
    assert cli("recall", "-q", "deploys").out == f"{short}\n"


@pytest.mark.feature("B10")
def test_recall_says_that_nothing_is_known_and_lists_weak_matches_on_request(cli: Cli) -> None:
    cli("remember", "The staging database listens on port 5433")
    cli("remember", "Webhooks of carriers are retried for a day")
    done = cli("recall", "zebra unicorn quantum")
    assert done.code == 1
    assert "Nothing known about that." in done.err
    assert not done.out
    for query in ("Convert this class to hooks", "which colour has the logo"):
        assert cli("recall", query).code == 1
    shown = cli(
        "recall", "which", "port", "has", "the", "staging", "database", "--min-score", "0.5"
    )
    assert shown.code == 0
    assert cli("recall", "port", "--min-score", "2").code == 2
    weak = cli("recall", "zebra unicorn quantum webhooks of", "--min-score", "0")
    assert weak.code == 0
    assert "These are guesses" in weak.err
    assert "guesses" not in shown.err


@pytest.mark.feature("B6", "B10")
def test_what_no_longer_holds_is_told_with_its_end_and_ask_exits_1_without_an_answer(
    cli: Cli,
) -> None:
    cli("remember", "Events are carried by RabbitMQ", "--at", "2020-11-03")
    cli("remember", "Events are carried by NATS now", "--at", "2021-04-20")
    done = cli("recall", "what carried events in March 2021?")
    assert "2020-11-03 until 2021-04-20" in done.out.splitlines()[0]
    assert "2021-03-01 to 2021-04-01;" in done.err
    assert "before 2021-04-20;" in cli("recall", "what carried events before NATS?").err
    answered = cli("ask", "what", "carried", "events", "in", "March", "2021?")
    assert answered.code == 0
    assert "RabbitMQ (2020-11-03 until 2021-04-20) [m:" in answered.out
    assert cli("ask", "zebra unicorn quantum").code == 1


@pytest.mark.feature("B2")
def test_recall_explains_each_score_and_its_json_holds_the_parts(cli: Cli) -> None:
    _remember(cli, "Deploys go through staging")
    hit = cli("recall", "--json", "staging").json["hits"][0]
    assert hit["parts"]
    assert {"name", "value", "weight", "effect"} == set(hit["parts"][0])
    explained = cli("recall", "--explain", "staging").out
    assert hit["parts"][0]["name"] in explained


@pytest.mark.feature("B6")
def test_recall_filters_by_time_type_tag_and_file(cli: Cli) -> None:
    _remember(cli, "old deploy rule", "--at", "2020-01-01", "--tag", "ops")
    _remember(cli, "new deploy rule", "--file", "deploy.sh", "--type", "gotcha")
    shown = {
        option: [hit["memory"]["content"] for hit in cli("recall", "--json", *option, "deploy").json["hits"]]
        for option in (
            ("--since", "2025-01-01"),
            ("--until", "2021-01-01"),
            ("--type", "gotcha"),
            ("--tag", "ops"),
            ("--file", "deploy.sh"),
        )
    }  # fmt: skip
    assert shown[("--since", "2025-01-01")] == ["new deploy rule"]
    assert shown[("--until", "2021-01-01")] == ["old deploy rule"]
    assert shown[("--type", "gotcha")] == ["new deploy rule"]
    assert shown[("--tag", "ops")] == ["old deploy rule"]
    assert shown[("--file", "deploy.sh")] == ["new deploy rule"]


@pytest.mark.feature("A3")
def test_list_pages_without_gaps(cli: Cli) -> None:
    names = {f"number {n}" for n in range(5)}
    for name in sorted(names):
        _remember(cli, name, "--no-merge")
    seen: list[str] = []
    cursor: list[str] = []
    while True:
        page = cli("list", "--json", "--limit", "2", *cursor).json
        seen += [memory["content"] for memory in page["items"]]
        assert page["total"] == 5
        if page["next_cursor"] is None:
            break
        cursor = ["--cursor", page["next_cursor"]]
    assert len(seen) == 5
    assert set(seen) == names
    assert "--cursor" in cli("list", "--limit", "2").err


@pytest.mark.feature("A3")
def test_projects_are_kept_apart_unless_asked(cli: Cli) -> None:
    _remember(cli, "here")
    _remember(cli, "there", "--project", "other")
    assert [m["content"] for m in cli("list", "--json").json["items"]] == ["here"]
    assert cli("list", "--json", "--all-projects").json["total"] == 2
    assert "name:other" in cli("list", "--all-projects").out
    listed = cli("projects", "list", "--json").json
    assert listed["here"] == "name:demo"
    assert {item["project"] for item in listed["items"]} == {"name:demo", "name:other"}
    assert cli("projects").code == 0
    merge = ("projects", "merge", "name:other")
    planned = {"alias": "name:other", "project": "name:demo", "moved": 1, "seen": None}
    assert cli(*merge, "--dry-run", "--json").json == {**planned, "dry_run": True}
    assert cli("list", "--json").json["total"] == 1
    assert cli(*merge, "--yes", "--json").json == {**planned, "dry_run": False}
    assert cli("list", "--json").json["total"] == 2


@pytest.mark.feature("A3")
def test_projects_are_merged_by_the_names_they_are_asked_by(cli: Cli) -> None:
    _remember(cli, "there", "--project", "Other Name")
    moved = cli("projects", "merge", "other name", "--into", "third", "--yes")
    assert moved.out == "Moved 1 memory to third\n"
    assert cli("list", "--json", "--project", "third").json["total"] == 1
    nothing = cli("projects", "merge", "nobody", "--dry-run")
    assert nothing.out == "Would move 0 memories to name:demo\n"
    assert "List projects with" in nothing.err


@pytest.mark.feature("A3")
def test_show_prints_everything_about_a_memory(cli: Cli) -> None:
    short = _remember(cli, "The answer", "--key", "answer", "--tag", "deep")
    shown = cli("show", short)
    assert "The answer" in shown.out
    assert "tags: deep" in shown.out
    assert cli("show", "answer", "--json").json["items"][0]["memory"]["short"] == short
    missing = cli("show", "nothing-like-it")
    assert missing.code == 3
    assert missing.err.startswith("Error: No memory has the id or key")


@pytest.mark.feature("A3")
def test_edit_changes_what_is_named(cli: Cli) -> None:
    short = _remember(cli, "port 8080")
    edited = cli("edit", short, "--tag", "net", "--pin", "--json").json
    assert edited["count"] == 1
    (changed,) = edited["memories"]
    assert (changed["tags"], changed["pinned"]) == (["net"], True)
    bare = cli("edit", short, "--tag", "", "--file", "", "--json").json["memories"][0]
    assert bare["tags"] == []
    successor = cli("edit", short, "--content", "port 9090", "--json").json["memories"][0]
    assert successor["short"] != short
    (shown,) = cli("show", short, "--json").json["items"]
    assert shown["memory"]["superseded_by"] == successor["id"]


@pytest.mark.feature("A3")
def test_edit_without_options_opens_the_editor(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = _remember(cli, "port 8080")
    editor = tmp_path / "editor.py"
    editor.write_text(
        "import sys, pathlib\np = pathlib.Path(sys.argv[-1])\n"
        "p.write_text(p.read_text().replace('8080', '9090'))\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("EDITOR", f"{sys.executable} {editor}")
    assert "port 9090" in cli("edit", short).out
    monkeypatch.setenv("EDITOR", "true")
    last = cli("list", "--json").json["items"][0]["short"]
    assert cli("edit", last).err == "Unchanged.\n"


@pytest.mark.feature("A3")
def test_forget_shows_asks_and_deletes(cli: Cli) -> None:
    short = _remember(cli, "goes away")
    preview = cli("forget", short, "--dry-run", "--json").json
    assert (preview["dry_run"], preview["count"]) == (True, 1)
    refused = cli("forget", short)
    assert refused.code == 2
    assert "--yes" in refused.err
    assert cli("list", "--json").json["total"] == 1
    assert cli("forget", short, "--yes").code == 0
    assert cli("show", short).code == 3


@pytest.mark.feature("A3")
def test_forget_can_keep_history_or_clear_the_project(cli: Cli) -> None:
    short = _remember(cli, "once believed")
    assert cli("forget", short, "--keep-history").code == 0
    assert cli("list", "--json").json["total"] == 0
    assert cli("list", "--json", "--validity", "closed").json["total"] == 1
    assert cli("forget", "--all").code == 2
    assert cli("forget", "--all", short, "--yes").code == 2
    assert cli("forget", "--all", "--dry-run", "--json").json["count"] == 1
    assert cli("forget", "--all", "--yes").out == "Forgotten: 1 memory and 0 sessions of demo\n"
    assert cli("list", "--json", "--validity", "any").json["total"] == 0


@pytest.mark.feature("B9")
def test_context_prints_the_pack_and_what_it_cost(cli: Cli) -> None:
    _remember(cli, "Always run the linter", "--type", "convention")
    shown = cli("context", "--reasons")
    assert "Always run the linter" in shown.out
    assert "tokens" in shown.err
    packed = cli("context", "--json", "--budget", "80").json
    assert 0 < packed["used_tokens"] <= 80
    assert "Always run the linter" in packed["text"]
    (section,) = packed["sections"]
    assert (section["name"], section["title"]) == ("rules", "Rules people gave")
    assert section["ids"] == [packed["items"][0]["memory"]["id"]]
    hidden = packed["items"][0]["memory"]["short"]
    assert cli("context", "--json", "--shown", hidden).json["text"] == ""
    assert cli("context", "--sessions", "0", "--observations", "0", "--days", "7").code == 0


@pytest.mark.feature("B5")
def test_timeline_shows_what_stands_around(cli: Cli) -> None:
    shorts = [
        _remember(cli, f"event {n}", "--no-merge", "--at", f"2026-01-0{n}") for n in range(1, 6)
    ]
    found = cli("timeline", shorts[2], "--before", "1", "--after", "1", "--json").json
    assert [one["short"] for one in found["items"]] == shorts[1:4]
    assert found["anchor"] == found["items"][1]["id"]
    assert "→" in cli("timeline", shorts[2]).out


@pytest.mark.feature("A8")
def test_apply_acts_on_commands_and_leaves_other_messages_alone(cli: Cli) -> None:
    done = cli("apply", "--json", "Remember that the test user is called kiwi").json["done"]
    assert [item["command"] for item in done] == ["remember"]
    assert cli("apply", "What is the weather like?").code == 1
    assert cli("list", "--json").json["total"] == 1


@pytest.mark.feature("A3")
def test_stats_count_by_type(cli: Cli) -> None:
    _remember(cli, "a fact about cats")
    _remember(cli, "mind the gap", "--type", "gotcha")
    stats = cli("stats", "--json").json
    assert stats["total"] == 2
    assert stats["by_type"] == {"fact": 1, "gotcha": 1}
    assert "gotcha" in cli("stats").out


@pytest.mark.feature("A3")
def test_a_listing_of_any_validity_marks_closed_memories(cli: Cli) -> None:
    _remember(cli, "The port is 8080", "--key", "port")
    _remember(cli, "The port is 9090", "--key", "port")
    lines = cli("list", "--validity", "any").out.splitlines()
    closed = next(line for line in lines if "8080" in line)
    opened = next(line for line in lines if "9090" in line)
    assert len(closed.split("\t")[3]) == len("2026-01-01")
    assert opened.split("\t")[3] == ""
    items = cli("list", "--json", "--validity", "any").json["items"]
    assert {item["content"]: item.get("closed", False) for item in items} == {
        "The port is 8080": True,
        "The port is 9090": False,
    }
    assert "closed" not in cli("list").out
