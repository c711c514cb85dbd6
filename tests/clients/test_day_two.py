"""What a person says plainly on day one is told on day two, through each client's own payloads."""

from __future__ import annotations

import json
import os

import pytest

from tests.clients.hooking import Machine
from tests.clients.recorded import event_name, recorded
from wellkept.clients.registry import translate_spooled
from wellkept.observe.observer.drain import drain_spool

pytestmark = [
    pytest.mark.feature("C13", "C4"),
    pytest.mark.skipif(os.name != "posix", reason="processes of POSIX systems"),
]
CORRECTION = "No, don't use float for money, integer cents everywhere."
DECISION = "Let's go with SQLite for the orders, we don't want to run a server."
NEEDS_IT = "Set up the SQLite database that holds the orders."
# How each client names its start, its prompt and its end, as recorded or as documented.
RECORDED = {
    "claude-code": ("SessionStart-startup", "UserPromptSubmit", "SessionEnd-other"),
    "codex": ("SessionStart-startup", "UserPromptSubmit", "SessionEnd-other"),
    "gemini": ("SessionStart-startup", "BeforeAgent", "SessionEnd-exit"),
    "qwen": ("SessionStart-startup", "UserPromptSubmit", "Stop"),
    "copilot": ("sessionStart-new", "userPromptSubmitted", "sessionEnd-complete"),
}
# OpenCode's plugin and Cursor send these.
DESCRIBED = {
    "opencode": ("SessionStart", "UserPromptSubmit", "SessionEnd"),
    "cursor": ("sessionStart", "beforeSubmitPrompt", "sessionEnd"),
}
_SESSION = ("session_id", "sessionId", "conversation_id")


def _payload(machine: Machine, client: str, name: str, session: str, **more: str) -> bytes:
    """A payload of this session and folder, otherwise as the client sent it."""
    shape: dict[str, object] = {"session_id": "", "cwd": "", "source": "startup"}
    if client == "cursor":
        shape = {"conversation_id": "", "workspace_roots": [str(machine.project)]}
    elif client in RECORDED:
        shape = recorded(client, name)
    shape = {key: value for key, value in shape.items() if "transcript" not in key.lower()}
    shape |= {key: session for key in _SESSION if key in shape}
    if "cwd" in shape:
        shape["cwd"] = str(machine.project)
    return json.dumps({**shape, **more}).encode()


def _run(machine: Machine, client: str, session: str, prompt: str) -> str:
    """One session with one prompt; what the client hands to its model."""
    start, asks, end = (RECORDED | DESCRIBED)[client]
    said = ""
    for name, more in ((start, {}), (asks, {"prompt": prompt}), (end, {"reason": "other"})):
        payload = _payload(machine, client, name, session, **more)
        mode = "capture" if name == end else "both"
        answered = machine.hook(client, event_name(name), mode, payload=payload)
        assert (answered.code, answered.errors) == (0, ""), (name, answered)
        said += answered.out.decode()
    with machine.memory() as memory:
        drain_spool(
            memory.engine,
            memory.settings,
            translate=translate_spooled,
            environment=machine.environment,
        )
    return said


@pytest.mark.parametrize("client", [*RECORDED, *DESCRIBED])
def test_a_correction_and_a_decision_of_day_one_are_told_on_day_two(
    machine: Machine, client: str
) -> None:
    for number, said in enumerate((CORRECTION, DECISION)):
        _run(machine, client, f"day-one-{number}", said)
    told = _run(machine, client, "day-two", NEEDS_IT)
    assert "integer cents everywhere" in told
    # Cursor takes nothing at a prompt.
    assert ("want to run a server" in told) is (client != "cursor")
