"""Every client's translator on payloads that are not what they should be."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clients.recorded import AT, EVENT_ID, FRAME, event_name, names, recorded
from wellkept.clients import (
    claude_code,
    codex,
    copilot,
    cursor,
    gemini,
    generic,
    opencode,
    qwen,
)
from wellkept.clients.registry import CLIENTS, translate, translator
from wellkept.core.chat import runtime_events
from wellkept.core.errors import UsageError

pytestmark = pytest.mark.feature("C2", "C4")

EVENTS = {
    module.CLIENT: tuple(module.READERS)
    for module in (claude_code, codex, gemini, cursor, opencode, qwen, copilot, generic)
} | {runtime_events.CLIENT: tuple(runtime_events.KINDS)}
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
_FIELDS = """session_id conversation_id cwd prompt source model tool_name tool_input tool_response
tool_output toolName toolArgs toolResult sessionId textResultForLlm tool_use_id duration_ms error error_message mcp_context agent_id agent_type trigger
compact_summary last_assistant_message prompt_response reason text status edits file_path
workspace_roots subagent_type command llmContent exit_code""".split()
_TOOLS = st.sampled_from(["Bash", "Edit", "Write", "Read", "apply_patch", "mcp__a__b", "Grep"])


@st.composite
def _payloads(draw: st.DrawFn) -> tuple[str, str, dict[str, object]]:
    """A client, one of its events, and a payload that is right in some places."""
    client = draw(st.sampled_from(sorted(EVENTS)))
    event = draw(st.sampled_from(EVENTS[client]))
    names_and_values = draw(st.lists(st.tuples(st.sampled_from(_FIELDS), _JSON)))
    payload: dict[str, object] = {str(name): value for name, value in names_and_values}
    if draw(st.booleans()):
        payload |= {"session_id": "s", "conversation_id": "s", "sessionId": "s"}
    if draw(st.booleans()):
        payload["tool_name"] = payload["toolName"] = draw(_TOOLS)
    return client, event, payload


@given(_payloads())
def test_no_payload_is_too_strange(case: tuple[str, str, dict[str, object]]) -> None:
    client, event, payload = case
    found = translator(client)(event, payload, event_id=EVENT_ID, at=AT)
    assert len(found) <= 1
    for one in found:
        assert one.origin.client == client
        str(one).encode("utf-8")


def _recordings() -> list[tuple[str, str]]:
    return [
        (client, name)
        for client in ("claude-code", "codex", "gemini", "qwen", "copilot")
        for name in names(client)
    ]


@given(case=st.sampled_from(_recordings()), data=st.data())
def test_no_recorded_payload_breaks_when_its_fields_go_wrong(
    case: tuple[str, str], data: st.DataObject
) -> None:
    client, name = case
    payload = recorded(client, name)
    for key in data.draw(st.lists(st.sampled_from(sorted(payload)), max_size=3)):
        if data.draw(st.booleans()):
            payload.pop(key, None)
        else:
            payload[key] = data.draw(_JSON)
    translator(client)(event_name(name), payload, event_id=EVENT_ID, at=AT)


@given(
    st.sampled_from(sorted(EVENTS)),
    st.data(),
    st.sampled_from(
        "prompt tool_response tool_output error text tool_input toolArgs toolResult".split()
    ),
)
def test_injected_text_never_comes_out_of_any_client(
    client: str, data: st.DataObject, field: str
) -> None:
    event = data.draw(st.sampled_from(EVENTS[client]))
    words = data.draw(st.text(max_size=20).filter(lambda t: "green" not in t))
    escaped = FRAME.replace("<", "&lt;").replace(">", "&gt;")
    shapes: list[object] = [
        f"{words}{FRAME}{words}",
        f"{words}{escaped}{words}",
        {"resultType": "success", "textResultForLlm": escaped},
        {"content": [{"type": "text", "text": FRAME}], "stdout": FRAME, "llmContent": FRAME},
        {"command": f"echo {FRAME}", "file_path": "/p", "old_string": FRAME, "content": FRAME},
    ]
    payload: dict[str, object] = {
        "session_id": "s",
        "sessionId": "s",
        "tool_name": data.draw(_TOOLS),
        "toolName": data.draw(_TOOLS),
        field: data.draw(st.sampled_from(shapes)),
    }
    found = translator(client)(event, payload, event_id=EVENT_ID, at=AT)
    assert "green" not in str(found)


@pytest.mark.parametrize("client", sorted(CLIENTS))
@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b"null", b"7", b"\xff\xfe", b"[" * 100_000, b'{"session_id":1}']
)
def test_bytes_that_are_no_payload_tell_nothing(client: str, raw: bytes) -> None:
    for event in EVENTS[client]:
        assert translate(client, event, raw, event_id=EVENT_ID, at=AT) == []


@pytest.mark.parametrize("client", sorted(CLIENTS))
def test_an_unknown_event_tells_nothing(client: str) -> None:
    payload = json.dumps({"session_id": "s", "prompt": "x"}).encode()
    assert translate(client, "NoSuchEvent", payload, event_id=EVENT_ID, at=AT) == []


def test_bytes_that_are_not_utf8_still_give_the_rest() -> None:
    raw = b'{"session_id":"s","prompt":"caf\xe9 \\ud800"}'
    (found,) = translate("codex", "UserPromptSubmit", raw, event_id=EVENT_ID, at=AT)
    assert getattr(found, "text", "") == "caf\ufffd \ufffd"


def test_nesting_without_end_is_cut() -> None:
    deep: object = "the end"
    for _ in range(300):
        deep = {"content": [deep]}
    payload: dict[str, object] = {"session_id": "s", "tool_name": "Bash", "tool_response": deep}
    assert len(translator("codex")("PostToolUse", payload, event_id=EVENT_ID, at=AT)) == 1


@pytest.mark.parametrize(
    "piece",
    [
        *("<wellkept-memory>", "<wellkept-memory", "</wellkept-memory>", "<hook_context>"),
        *("\n*** ", "&lt;wellkept-memory&gt;", "&lt;wellkept-memory", "&lt;/wellkept-memory&gt;"),
        "&lt;",
    ],
)
def test_a_huge_text_of_our_own_marks_is_dealt_with_in_one_pass(piece: str) -> None:
    huge = piece * (4_000_000 // len(piece))
    payload: dict[str, object] = {"session_id": "s", "prompt": huge}
    translator("gemini")("BeforeAgent", payload, event_id=EVENT_ID, at=AT)
    payload |= {"tool_name": "apply_patch", "tool_input": {"command": f"*** Begin Patch{huge}"}}
    translator("codex")("PostToolUse", payload, event_id=EVENT_ID, at=AT)


def test_an_unknown_client_is_named_with_those_that_are_known() -> None:
    with pytest.raises(
        UsageError, match="claude-code, codex, gemini, cursor, opencode, qwen, copilot"
    ):
        translator("emacs")


def test_every_event_that_an_installer_hooks_is_understood() -> None:
    for module in (claude_code, codex, gemini, cursor, qwen, copilot):
        assert {hook.event for hook in module.HOOKS} <= set(EVENTS[module.CLIENT])
