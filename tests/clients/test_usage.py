"""Tokens of a session, from what its client wrote down."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.clients.hooking import Machine
from tests.clients.test_injection_log import drained
from wellkept.clients.transcripts.usage import usage_of
from wellkept.core.session.events import TokenUsage

pytestmark = pytest.mark.feature("C11")


def claude(message: str, output: int, **more: int) -> dict[str, Any]:
    usage = {"input_tokens": 3, "output_tokens": output, **more}
    return {"type": "assistant", "message": {"id": message, "usage": usage}}


def written(path: Path, *records: object) -> Path:
    path.write_text("".join(f"{json.dumps(one)}\n" for one in records))
    return path


def test_claude_code_repeats_a_message_as_it_grows(tmp_path: Path) -> None:
    path = written(
        tmp_path / "a.jsonl",
        {"type": "user", "message": {"content": 'says "usage"'}},
        claude("m1", 1, cache_creation_input_tokens=100, cache_read_input_tokens=7),
        claude("m1", 40, cache_creation_input_tokens=100, cache_read_input_tokens=7),
        claude("m2", 2),
    )
    assert usage_of("claude-code", [path]) == TokenUsage(input=106, cached=7, output=42)
    agent = written(tmp_path / "agent-1.jsonl", claude("m3", 8))
    assert usage_of("claude-code", [path, agent]) == TokenUsage(input=109, cached=7, output=50)


def test_codex_tells_totals(tmp_path: Path) -> None:
    def told(given: int, output: int) -> dict[str, Any]:
        total = {"input_tokens": given, "cached_input_tokens": 30, "output_tokens": output}
        info = {"total_token_usage": total, "last_token_usage": {"input_tokens": 1}}
        return {"type": "event_msg", "payload": {"type": "token_count", "info": info}}

    path = written(tmp_path / "rollout.jsonl", told(50, 5), told(130, 9))
    assert usage_of("codex", [path]) == TokenUsage(input=100, cached=30, output=9)


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_gemini_counts_each_message_once(tmp_path: Path, suffix: str) -> None:
    tokens = {"input": 20, "cached": 5, "output": 3, "thoughts": 2, "total": 25}
    messages = [
        {"id": "1", "type": "gemini", "tokens": {"input": 1, "output": 1}},
        {"id": "1", "type": "gemini", "tokens": tokens},
        {"id": "2", "type": "user"},
    ]
    path = tmp_path / f"session{suffix}"
    if suffix == ".json":
        path.write_text(json.dumps({"messages": messages}))
    else:
        written(path, *messages)
    assert usage_of("gemini", [path]) == TokenUsage(input=15, cached=5, output=5)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b'{"message": {"usage": ',
        b'{"message": {"usage": 5}}\n',
        b"\xff\xfe\x00",
        b"[" * 5_000,
        b'{"x": "usage"}\n[1]\n',
    ],
)
def test_what_tells_nothing_is_unmeasured(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(raw)
    assert [usage_of(name, [path]) for name in ("claude-code", "codex", "gemini")] == [None] * 3
    assert usage_of("claude-code", [tmp_path / "missing", tmp_path]) is None
    assert usage_of("cursor", [path]) is None


def test_odd_numbers_count_as_none(tmp_path: Path) -> None:
    odd = {"input_tokens": -5, "output_tokens": "many", "cache_read_input_tokens": True}
    path = written(tmp_path / "a.jsonl", {"message": {"id": "m", "usage": odd}})
    assert usage_of("claude-code", [path]) == TokenUsage()


def test_the_end_of_a_session_stores_its_tokens(machine: Machine) -> None:
    path = written(machine.project / "t.jsonl", claude("m1", 40, cache_read_input_tokens=7))
    machine.hook("claude-code", "SessionStart", payload=machine.payload(source="startup"))
    ended = machine.payload(reason="exit", transcript_path=str(path))
    machine.hook("claude-code", "SessionEnd", payload=ended)
    drained(machine)
    with machine.memory() as wk:
        session = wk.engine.store.get_session("s-1")
    assert session is not None
    assert (session.input_tokens, session.cached_tokens, session.output_tokens) == (3, 7, 40)


def test_without_a_transcript_the_tokens_stay_unknown(machine: Machine) -> None:
    machine.hook("claude-code", "SessionStart", payload=machine.payload(source="startup"))
    ended = machine.payload(reason="exit", transcript_path="/nowhere/t.jsonl")
    machine.hook("claude-code", "SessionEnd", payload=ended)
    drained(machine)
    with machine.memory() as wk:
        session = wk.engine.store.get_session("s-1")
    assert session is not None
    assert (session.input_tokens, session.output_tokens) == (None, None)
