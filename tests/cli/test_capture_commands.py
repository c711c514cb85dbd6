"""`wellkept status --spool` and `wellkept session list`: from caught events to a session one can read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.captured_session import SESSION, catch, catch_a_session
from tests.cli.conftest import Cli
from wellkept.api.cli import exit_codes

pytestmark = pytest.mark.feature("C1", "C2")


def test_caught_events_wait_are_taken_in_and_can_be_read(cli: Cli) -> None:
    catch_a_session()
    waiting = cli("spool", "status", "--json")
    assert waiting.json["waiting_bytes"] > 0
    taken = cli("spool", "drain", "--json").json
    assert (taken["events"], taken["prompts"], taken["observations"]) == (4, 1, 1)
    assert cli("spool", "--json").json == cli("spool", "status", "--json").json
    assert cli("spool", "status", "--json").json["waiting_bytes"] == 0
    assert cli("spool", "drain", "--json").json["events"] == 0


def test_a_session_belongs_to_the_folder_it_happened_in(cli: Cli) -> None:
    catch_a_session()
    cli("spool", "drain")
    assert cli("session", "list", "--json").json["items"] == []
    (item,) = cli("session", "list", "--all-projects", "--json").json["items"]
    assert item["project"] == f"path:{Path.cwd()}"
    assert (item["id"], item["client"], item["prompt_count"]) == (SESSION, "claude-code", 1)
    assert "work" not in item
    listed = cli("sessions", "--all-projects").out
    assert "Add a greeting." in listed


def test_a_session_is_shown_by_the_beginning_of_its_id(cli: Cli) -> None:
    catch_a_session()
    cli("spool", "drain")
    shown = cli("session", "show", SESSION[:8], "--all-projects")
    assert shown.code == exit_codes.OK
    assert "greet.py" in shown.out
    assert "translate the rest" in shown.out
    document = cli("session", "show", SESSION, "--all-projects", "--json").json
    kinds = [one["kind"] for one in document["entries"]]
    seen = document["entries"][kinds.index("observation")]["memory"]
    assert seen["payload"]["kind"] == "feature"
    assert document["summary"]["type"] == "timeline"
    missing = cli("session", "show", "nowhere")
    assert "There is no session" in missing.err


@pytest.mark.feature("A8")
def test_a_command_in_a_caught_prompt_is_obeyed(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    catch_a_session()
    cli("spool", "drain")
    monkeypatch.delenv("WELLKEPT_PROJECT")
    found = cli("recall", "how do we greet", "--json").json["hits"]
    assert any(hit["memory"]["source"] == "user_taught" for hit in found)


def test_an_entry_of_an_unknown_client_is_set_aside_and_can_be_tried_again(cli: Cli) -> None:
    from wellkept.store import spool

    folder = Path(os.environ["WELLKEPT_HOME"]) / spool.FOLDER_NAME
    spool.append(str(folder), client="abacus", session="s", event="X", payload=b"{}", now_ms=1)
    catch("SessionStart", source="startup")
    drained = cli("spool", "drain")
    assert drained.code == exit_codes.NOTHING
    assert "Failed: abacus X" in drained.out
    assert "Processed 1 event of " in drained.out
    assert "Failed: 1 entry." in cli("spool").out
    again = cli("spool", "repair", "--json")
    assert [entry["client"] for entry in again.json["set_aside"]] == ["abacus"]
    assert cli("spool", "status", "--json").json["status"]["aside_entries"] == 1


@pytest.mark.feature("C2")
@pytest.mark.parametrize("payload", [b"[1]", b"not JSON", b"\xff\xfe\x00", b'{"session_id": "s"'])
def test_a_payload_that_cannot_be_read_is_counted_and_kept(cli: Cli, payload: bytes) -> None:
    from wellkept.store import spool

    folder = str(Path(os.environ["WELLKEPT_HOME"]) / spool.FOLDER_NAME)
    for raw in (payload, b" \n"):
        spool.append(folder, client="codex", session="s", event="Stop", payload=raw, now_ms=1)
    drained = cli("spool", "drain")
    assert "Failed: codex Stop: UsageError: The payload of codex for Stop" in drained.out
    assert "Failed: 1 entry." in cli("spool").out


def test_events_that_did_not_fit_are_reported_until_repaired(cli: Cli) -> None:
    from wellkept.store import spool

    folder = str(Path(os.environ["WELLKEPT_HOME"]) / spool.FOLDER_NAME)
    for _ in range(2):
        spool.append(
            folder, client="codex", session="s", event="X", payload=b"{}", now_ms=1,
            max_total_bytes=1,
        )  # fmt: skip
    assert "2 events dropped" in cli("spool").out
    cli("spool", "repair")
    assert "dropped" not in cli("spool").out
