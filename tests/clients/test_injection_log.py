"""What a hook injects is logged through the spool, and never costs the client an answer."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.clients.hooking import Machine
from tests.support.samples import START
from wellkept.api.hook_context import HookContextProvider, open_existing
from wellkept.clients.answers.injection_spool import InjectionSpool, ShownItems
from wellkept.clients.answers.responder import HookResponder
from wellkept.clients.registry import INJECTED_EVENT, injected_events, translate_spooled
from wellkept.core.ports.injections import Injection, InjectionFilter, LineOutcome
from wellkept.core.session.sessions import SpoolEntry
from wellkept.observe.ingest.drain import DrainReport
from wellkept.observe.observer.drain import drain_spool

pytestmark = pytest.mark.feature("C11")

RULE = "Deploys go through the staging cluster first"


@pytest.fixture
def known(machine: Machine) -> Machine:
    machine.remember(RULE, type="convention")
    return machine


def drained(machine: Machine, **settings: int) -> DrainReport:
    with machine.memory() as wk:
        return drain_spool(
            wk.engine,
            replace(wk.settings, **settings),
            translate=translate_spooled,
            environment=machine.environment,
        )


def logged(machine: Machine) -> list[Injection]:
    with machine.memory() as wk:
        return list(wk.engine.store.injections(InjectionFilter(project=wk.project)))


def responder(machine: Machine) -> HookResponder:
    def open_in(folder: Path) -> Any:
        return open_existing(folder, environment=machine.environment, busy_timeout_ms=1_000)

    log = InjectionSpool(str(machine.home))
    return HookResponder(HookContextProvider(open_in), shown=ShownItems(machine.home), log=log)


def test_a_hook_logs_each_line_that_it_injects(known: Machine) -> None:
    start = known.payload(source="startup", session="s-7")
    assert RULE in known.hook("claude-code", "SessionStart", "both", payload=start).context
    assert [entry.event for entry in known.caught()] == ["SessionStart", INJECTED_EVENT]
    drained(known)
    (found,) = logged(known)
    assert (found.client, found.session_id, found.moment) == ("claude-code", "s-7", "session")
    (line,) = found.lines
    with known.memory() as wk:
        (memory,) = wk.list().items
    assert (line.line_id, line.memory_id, line.kind) == (memory.id, memory.id, "convention")
    assert line.text == f"- [CONV] {RULE} [m:{memory.short}]"
    assert line.outcome is LineOutcome.OPEN
    assert found.tokens >= line.tokens > 0
    drained(known)
    assert logged(known) == [found]


def test_a_sub_agent_is_logged_with_its_session(known: Machine) -> None:
    known.remember("Amounts are in cents", type="gotcha", files=("pay.py",))
    (known.project / "pay.py").write_text("pass")
    file = {"file_path": str(known.project / "pay.py")}
    asked = known.payload(agent_id="a1", tool_name="Read", tool_input=file)
    assert responder(known)("claude-code", "PostToolUse", asked)
    drained(known)
    (found,) = logged(known)
    assert (found.session_id, found.agent) == ("s-1", "a1")


def test_silence_is_not_logged(known: Machine) -> None:
    asked = known.payload(prompt="zebra")
    assert responder(known)("claude-code", "UserPromptSubmit", asked) == b""
    assert known.caught() == []


def test_the_answer_comes_without_a_log_when_it_cannot_be_written(known: Machine) -> None:
    known.spool.write_text("a file where the folder should be")
    start = known.payload(source="startup")
    assert RULE.encode() in responder(known)("claude-code", "SessionStart", start)


def test_secrets_in_what_asked_do_not_reach_the_log(known: Machine) -> None:
    key = "ghp_" + "a1B2c3D4e5F6" * 3
    asked = known.payload(prompt=f"how do we deploy to the staging cluster with {key}?")
    assert responder(known)("claude-code", "UserPromptSubmit", asked)
    drained(known)
    (found,) = logged(known)
    assert "how do we deploy to the staging cluster" in found.trigger
    assert key not in found.trigger


def test_concurrent_hooks_each_log_their_lines(known: Machine) -> None:
    payloads = [known.payload(source="startup", session=f"s-{n}") for n in range(8)]
    answer = responder(known)
    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(answer, "claude-code", "SessionStart", raw) for raw in payloads]
        answers = [future.result() for future in futures]
    assert all(answers)
    drained(known)
    assert {one.session_id for one in logged(known)} == {f"s-{n}" for n in range(8)}


def test_an_entry_torn_by_a_kill_costs_only_itself(known: Machine) -> None:
    answer = responder(known)
    answer("claude-code", "SessionStart", known.payload(source="startup", session="s-1"))
    (file,) = known.spool.glob("*.spool")
    file.write_bytes(file.read_bytes()[:-20])
    answer("claude-code", "SessionStart", known.payload(source="startup", session="s-2"))
    drained(known)
    assert [one.session_id for one in logged(known)] == ["s-2"]


def test_two_projects_never_see_each_others_log(known: Machine, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    elsewhere = replace(known, project=other)
    elsewhere.remember("The other one is private", type="convention")
    for one in (known, elsewhere):
        start = one.payload(source="startup", session=one.project.name)
        assert responder(one)("claude-code", "SessionStart", start)
    drained(known)
    assert [one.session_id for one in logged(known)] == [known.project.name]
    assert [one.session_id for one in logged(elsewhere)] == ["other"]


def test_the_log_is_kept_as_long_as_the_settings_say(known: Machine) -> None:
    start = known.payload(source="startup")
    responder(known)("claude-code", "SessionStart", start)
    drained(known, injections_keep_days=0)
    assert logged(known) == []


def test_forgetting_a_memory_takes_its_text_out_of_the_log(known: Machine) -> None:
    responder(known)("claude-code", "SessionStart", known.payload(source="startup"))
    drained(known)
    with known.memory() as wk:
        wk.forget(wk.list().items[0].id)
    assert [line.text for one in logged(known) for line in one.lines] == [""]


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b'{"lines": 5}',
        b'{"session": "s", "project": "p", "lines": [1, null, {}, {"text": 4}]}',
        b'{"session": 1, "project": "p", "lines": [{"text": "x"}]}',
    ],
)
def test_a_damaged_entry_is_left_out(payload: bytes) -> None:
    entry = SpoolEntry(
        event_id="e", at=START, client="codex", event=INJECTED_EVENT, payload=payload, end=9
    )
    assert translate_spooled(entry, str) == []


def test_texts_in_an_entry_are_bounded(machine: Machine) -> None:
    row = {"text": "x" * 100_000, "kind": "k" * 9_999, "id": "i"}
    fields = {"session": "s", "project": "p", "lines": [row] * 1_000, "tokens": "many"}
    entry = SpoolEntry(
        event_id="e",
        at=START + timedelta(hours=1),
        client="codex",
        event=INJECTED_EVENT,
        payload=json.dumps(fields).encode(),
        end=9,
    )
    (event,) = injected_events(entry, fields, str)
    assert len(event.lines) <= 200
    assert max(len(line.text) for line in event.lines) <= 4_000
    assert (event.tokens, event.lines[0].kind) == (0, "other")
