"""What clients wrote down of their sessions, read from recorded files."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from wellkept.clients.hook_spec import ClientFolders
from wellkept.clients.registry import SOURCES, transcripts
from wellkept.core.chat.transcripts import ReadStats, Transcript, UnreadableFile
from wellkept.core.session.events import (
    Compacted,
    Event,
    PromptSubmitted,
    SessionStarted,
    SubagentEnded,
    SubagentStarted,
    TokenUsage,
    ToolCalled,
    ToolKind,
    TurnEnded,
)

pytestmark = pytest.mark.feature("C7")
RECORDED = Path(__file__).parent / "transcripts"
ID = "ses_1a2b3c"


def found(
    source: str, *paths: Path, project: str = "/home/dev/shop"
) -> list[Transcript | UnreadableFile]:
    folders = ClientFolders(home=paths[0], project=Path(project), environment={})
    return list(transcripts(source, folders=folders, paths=paths))


def one(source: str, *paths: Path) -> Transcript:
    (only,) = found(source, *paths)
    assert isinstance(only, Transcript), only
    return only


def told(transcript: Transcript, reading: ReadStats | None = None) -> list[Event]:
    reading = reading or ReadStats()
    return [step.event for part in transcript.parts for step in part.read(reading)]


def lines(path: Path, records: Sequence[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def claude(kind: str, content: object, number: int, **more: object) -> dict[str, object]:
    role = {"message": {"role": kind, "content": content}}
    at = f"2026-03-02T08:00:{number:02}.000Z"
    common = {"sessionId": "s-1", "cwd": "/home/dev/shop", "gitBranch": "main"}
    return {"type": kind, "uuid": f"u{number}", "timestamp": at, **common, **role, **more}


@pytest.mark.parametrize("source", sorted(SOURCES))
def test_a_recorded_session_tells_its_prompt_its_tools_and_its_last_words(source: str) -> None:
    transcript = one(source, RECORDED / f"{source}.jsonl")

    events = told(transcript)

    assert transcript.cwd == "/home/dev/shop"
    assert isinstance(events[0], SessionStarted)
    assert [e.text for e in events if isinstance(e, PromptSubmitted)] == ["Please greet the zebra."]
    calls = [e for e in events if isinstance(e, ToolCalled)]
    assert any(call.error and "3" in call.error for call in calls if call.kind is ToolKind.SHELL)
    (edited,) = [call for call in calls if call.kind is ToolKind.EDIT]
    assert [Path(edit.path).name for edit in edited.edits] == ["hello.txt"]
    assert isinstance(events[-1], TurnEnded)
    assert (events[-1].last_message or "").startswith("All ")
    assert all(event.origin.imported for event in events)


@pytest.mark.parametrize("source", sorted(SOURCES))
def test_reading_twice_gives_the_same_events_at_the_same_places(source: str) -> None:
    part = one(source, RECORDED / f"{source}.jsonl").parts[0]

    assert list(part.read(ReadStats())) == list(part.read(ReadStats()))


@pytest.mark.feature("D10")
@pytest.mark.parametrize("source", sorted(SOURCES))
def test_what_was_injected_is_not_told(source: str) -> None:
    events = told(one(source, RECORDED / f"{source}.jsonl"))

    assert "wellkept-memory" not in repr(events)


def test_records_of_unknown_kinds_are_counted_and_passed_over(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "s-1.jsonl",
        [
            {"type": "from-the-future", "sessionId": "s-1", "cwd": "/home/dev/shop"},
            {"nothing": "known"},
            claude("user", "Hello there", 1),
            claude("user", [{"type": "hologram"}], 2),
        ],
    )
    reading = ReadStats()

    events = told(one("claude-code", path), reading)

    assert [e.text for e in events if isinstance(e, PromptSubmitted)] == ["Hello there"]
    assert reading.passed_over["from-the-future"] == 1
    assert reading.damaged == 0


def test_damage_and_a_torn_end_do_not_hide_what_stands_around_them(tmp_path: Path) -> None:
    path = lines(tmp_path / "s-1.jsonl", [claude("user", "First", 1)])
    with path.open("ab") as file:
        file.write(b"\x00\xff\xfe not json\n[1, 2]\n")
        file.write(json.dumps(claude("user", "Second", 2)).encode() + b"\n")
        file.write(b'{"type":"user","uuid":"u3","mess')
    reading = ReadStats()

    events = told(one("claude-code", path), reading)

    assert [e.text for e in events if isinstance(e, PromptSubmitted)] == ["First", "Second"]
    assert (reading.damaged, reading.torn_bytes) == (2, 32)


def test_records_that_ran_together_on_one_line_are_all_read(tmp_path: Path) -> None:
    path = lines(tmp_path / "s-1.jsonl", [claude("user", "First", 1)])
    with path.open("ab") as file:
        file.write(json.dumps(claude("user", "Second", 2)).encode())
        file.write(json.dumps({"type": "summary", "summary": "x"}).encode())
        file.write(json.dumps(claude("user", "Third", 3)).encode() + b"\n")
        file.write(json.dumps(claude("user", "Fourth", 4)).encode() + b'{"type":"us\n')
    reading = ReadStats()

    events = told(one("claude-code", path), reading)

    said = [e.text for e in events if isinstance(e, PromptSubmitted)]
    assert said == ["First", "Second", "Third", "Fourth"]
    assert reading.damaged == 1


def test_meta_records_and_side_chains_are_not_the_persons_words(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "s-1.jsonl",
        [
            claude("user", "Real", 1),
            claude("user", "Caveat", 2, isMeta=True),
            claude("user", "Do the sub-task", 3, isSidechain=True),
            claude("user", "A summary of all before", 4, isCompactSummary=True),
        ],
    )

    events = told(one("claude-code", path))

    assert [e.text for e in events if isinstance(e, PromptSubmitted)] == ["Real"]
    assert [e.summary for e in events if isinstance(e, Compacted)] == ["A summary of all before"]


def test_a_sub_agents_file_belongs_to_its_session(tmp_path: Path) -> None:
    use = {"type": "tool_use", "id": "t1", "name": "Task", "input": {"subagent_type": "Explore"}}
    done = {"type": "tool_result", "tool_use_id": "t1", "content": "Found it"}
    main = lines(
        tmp_path / "s-1.jsonl",
        [
            claude("user", "Look", 1),
            claude("assistant", [use], 2),
            claude("user", [done], 9, toolUseResult={"agentId": "a7", "content": []}),
        ],
    )
    read = {"type": "tool_use", "id": "t2", "name": "Read", "input": {"file_path": "a.py"}}
    lines(
        tmp_path / "s-1" / "subagents" / "agent-a7.jsonl",
        [
            claude("assistant", [read], 3, agentId="a7", isSidechain=True),
            claude("user", [{**done, "tool_use_id": "t2"}], 4, agentId="a7", isSidechain=True),
        ],
    )

    transcript = one("claude-code", main.parent)
    events = told(transcript)

    assert len(transcript.parts) == 2
    assert [e.agent_type for e in events if isinstance(e, SubagentStarted)] == ["Explore"]
    assert [e.last_message for e in events if isinstance(e, SubagentEnded)] == ["Found it"]
    assert [e.origin.agent for e in events if isinstance(e, ToolCalled)] == [None, "a7"]


def test_the_first_generation_of_codex_files_is_read(tmp_path: Path) -> None:
    say = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go"}]}
    arguments = json.dumps({"command": ["bash", "-lc", "pytest -q"]})
    answer = json.dumps({"output": "1 failed", "metadata": {"exit_code": 1}})
    path = lines(
        tmp_path / "rollout-2025-06-01-x.jsonl",
        [
            {"id": "c-1", "timestamp": "2025-06-01T10:00:00Z", "cwd": "/home/dev/shop"},
            {"record_type": "state"},
            say,
            {"type": "function_call", "name": "shell", "arguments": arguments, "call_id": "f1"},
            {"type": "function_call_output", "call_id": "f1", "output": answer},
        ],
    )

    events = told(one("codex", path))

    (call,) = [e for e in events if isinstance(e, ToolCalled)]
    assert (call.command, call.output, call.error) == ("pytest -q", "1 failed", "Exit code 1")


def test_an_old_gemini_document_is_read(tmp_path: Path) -> None:
    message = {"id": "m1", "timestamp": "2025-09-01T10:00:00Z", "type": "user", "content": "Hi"}
    document = {"sessionId": "g-1", "projectHash": "x", "messages": [message]}
    folder = tmp_path / "hash" / "chats"
    path = lines(folder / "session-2025-09-01T10-00-abc.json", [document])
    (folder.parent / ".project_root").write_text("/home/dev/shop", "utf-8")

    transcript = one("gemini", path)

    assert transcript.cwd == "/home/dev/shop"
    assert [e.text for e in told(transcript) if isinstance(e, PromptSubmitted)] == ["Hi"]


def opencode_session() -> dict[str, Any]:
    return json.loads((RECORDED / "opencode.jsonl").read_text("utf-8"))


def opencode_files(folder: Path) -> Path:
    """The session as older versions kept it: a file for each session, message and part."""
    session = opencode_session()
    rows = {f"session/p1/{session['info']['id']}": session["info"]}
    for message in session["messages"]:
        info = message["info"]
        rows[f"message/{info['sessionID']}/{info['id']}"] = info
        rows |= {f"part/{info['id']}/{part['id']}": part for part in message["parts"]}
    for name, row in rows.items():
        lines(folder / "storage" / f"{name}.json", [row])
    return folder


def opencode_database(folder: Path) -> Path:
    """The session as newer versions keep it: tables with a document in each row."""
    session, path = opencode_session(), folder / "opencode.db"
    times = "time_created INTEGER, time_updated INTEGER"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(
            f"CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, title TEXT, {times});"
            f"CREATE TABLE message (id TEXT, session_id TEXT, data TEXT, {times});"
            f"CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT, {times});"
        )
        info = session["info"]
        row = (info["id"], None, info["directory"], info["title"], *info["time"].values())
        database.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?)", row)
        for message in session["messages"]:
            made, said = message["info"]["time"]["created"], {**message["info"]}
            names = (said.pop("id"), said.pop("sessionID"))
            values = (*names, json.dumps(said), made, made)
            database.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", values)
            for part in message["parts"]:
                kept = {key: value for key, value in part.items() if not key.endswith("ID")}
                kept |= {"callID": part["callID"]} if "callID" in part else {}
                values = (kept.pop("id"), *names, json.dumps(kept), made, made)
                database.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", values)
        database.commit()
    return folder


@pytest.mark.parametrize("written", [opencode_files, opencode_database])
def test_opencode_tells_the_same_however_it_is_kept(
    written: Callable[[Path], Path], tmp_path: Path
) -> None:
    exported = one("opencode", RECORDED / "opencode.jsonl")
    kept = one("opencode", written(tmp_path))

    assert told(kept) == told(exported)
    assert (kept.cwd, kept.last_at, kept.session_id) == ("/home/dev/shop", exported.last_at, ID)
    assert kept.usage() == TokenUsage(input=480, cached=200, output=40)


def test_a_sub_agent_of_opencode_belongs_to_its_parent_and_a_summary_is_kept(
    tmp_path: Path,
) -> None:
    session = opencode_session()
    child = json.loads(json.dumps(session).replace(ID, "ses_child"))
    child["info"]["parentID"] = ID
    session["messages"][-1]["info"]["summary"] = True
    lines(tmp_path / "a.json", [session])
    lines(tmp_path / "b.json", [child])

    events = told(one("opencode", tmp_path))

    assert [e.text for e in events if isinstance(e, PromptSubmitted)] == ["Please greet the zebra."]
    assert {e.origin.agent for e in events} == {None, "ses_child"}
    assert {e.origin.session_id for e in events} == {ID}
    (compacted,) = [e for e in events if isinstance(e, Compacted)]
    assert compacted.summary == "All zebras are greeted."


def test_an_opencode_session_that_went_on_gives_the_same_ids_again(tmp_path: Path) -> None:
    session = opencode_session()
    *earlier, last = session["messages"]
    path = lines(tmp_path / "s.json", [{**session, "messages": earlier}])
    before = one("opencode", path)
    session["info"]["time"]["updated"] += 5
    lines(path, [{**session, "messages": [*earlier, last]}])
    after = one("opencode", path)

    known = [event.origin.event_id for event in told(before)[:-1]]
    assert [event.origin.event_id for event in told(after)][: len(known)] == known
    assert before.parts[0].head != after.parts[0].head


@pytest.mark.parametrize("source", sorted(SOURCES))
def test_files_that_are_no_transcripts_are_named_with_a_reason(source: str, tmp_path: Path) -> None:
    (tmp_path / "binary.jsonl").write_bytes(os.urandom(4096))
    (tmp_path / "empty.jsonl").write_bytes(b"")
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)

    unread = found(source, tmp_path, tmp_path / "missing")

    assert all(isinstance(one, UnreadableFile) for one in unread)
    assert {one.path.name for one in unread if isinstance(one, UnreadableFile)} == {
        "binary.jsonl",
        "empty.jsonl",
        "missing",
    }
