"""Context in each client's own form, within its limit."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clients.recorded import FRAME
from wellkept.clients import claude_code, codex, cursor, gemini
from wellkept.clients.answers.render import CONTEXT_EVENTS, LIMIT, render, takes_context
from wellkept.clients.hook_spec import HookMode
from wellkept.clients.registry import CLIENTS

pytestmark = pytest.mark.feature("C4", "D10")
_PAIRS = [(client, event) for client, events in CONTEXT_EVENTS.items() for event in events]


_FLAT = {
    "cursor": "additional_context",
    "copilot": "additionalContext",
    "generic": "context",
}


def _text_in(client: str, event: str, answer: bytes) -> str:
    """The text as the client reads it, checking that there is nothing else."""
    if client == "opencode":
        return answer.decode("utf-8")
    body = json.loads(answer)
    if client in _FLAT:
        (name,) = body
        assert name == _FLAT[client]
        return body[name]
    assert list(body) == ["hookSpecificOutput"]
    inside = body["hookSpecificOutput"]
    assert sorted(inside) == ["additionalContext", "hookEventName"]
    assert inside["hookEventName"] == event
    return inside["additionalContext"]


@pytest.mark.parametrize(("client", "event"), _PAIRS)
def test_the_text_arrives_as_it_is(client: str, event: str) -> None:
    text = f'{FRAME}\n"quoted" \\ back\x00\x1b tab\t\r\n中文 😀 \u2028 %s {{}}'
    assert _text_in(client, event, render(client, event, text)) == text


@given(st.sampled_from(_PAIRS), st.text())
def test_any_text_arrives_or_nothing_does(pair: tuple[str, str], text: str) -> None:
    client, event = pair
    answer = render(client, event, text)
    assert answer == b"" if not text.strip() else _text_in(client, event, answer) == text


@pytest.mark.parametrize("client", sorted(CONTEXT_EVENTS))
def test_nothing_to_say_prints_nothing(client: str) -> None:
    for event in CONTEXT_EVENTS[client]:
        assert render(client, event, "") == render(client, event, " \n") == b""


@pytest.mark.parametrize(
    ("client", "event"),
    [
        ("claude-code", "SessionEnd"),
        ("claude-code", "SubagentStop"),
        ("claude-code", "PreCompact"),
        ("codex", "Stop"),
        ("codex", "SessionEnd"),
        ("gemini", "BeforeTool"),
        ("gemini", "AfterAgent"),
        ("cursor", "beforeSubmitPrompt"),
        ("cursor", "stop"),
        ("opencode", "Stop"),
        ("emacs", "SessionStart"),
    ],
)
def test_an_event_that_takes_no_context_gets_none(client: str, event: str) -> None:
    assert not takes_context(client, event)
    assert render(client, event, FRAME) == b""


def test_every_client_is_in_the_table() -> None:
    # Wellkept's own agent has no hook process: its loop asks by itself.
    assert set(CONTEXT_EVENTS) == set(CLIENTS) - {"wellkept"}


def test_every_hook_that_answers_is_at_an_event_that_takes_context() -> None:
    for module in (claude_code, codex, gemini, cursor):
        answering = {hook.event for hook in module.HOOKS if hook.mode is not HookMode.CAPTURE}
        assert answering <= set(CONTEXT_EVENTS[module.CLIENT])


def _size(client: str, text: str) -> int:
    return len(text.encode("utf-8")) if client == "codex" else len(text.encode("utf-16-le")) // 2


@pytest.mark.parametrize(("client", "event"), _PAIRS)
@pytest.mark.parametrize(
    "line", ["- an item\n", "- 😀😀😀\n", "- 中文中文\n", "😀" * 90_000, "x" * 10_001]
)
def test_a_long_text_is_cut_to_the_limit(client: str, event: str, line: str) -> None:
    text = f"<wellkept-memory>\n{line * (20_000 // len(line) + 1)}</wellkept-memory>"
    kept = _text_in(client, event, render(client, event, text))
    assert _size(client, kept) <= LIMIT
    assert kept.startswith("<wellkept-memory>\n")
    assert kept.endswith("\n[…]\n</wellkept-memory>")
    assert set(kept.splitlines()[1:-2]) <= {line.strip()}


@given(st.integers(0, 60), st.text(alphabet="a😀中\n", max_size=90))
def test_a_cut_never_splits_a_character(missing: int, end: str) -> None:
    text = "x" * (LIMIT - missing) + end
    for client, event in (("claude-code", "SessionStart"), ("codex", "SessionStart")):
        answer = render(client, event, text)
        if answer:
            kept = _text_in(client, event, answer)
            assert _size(client, kept) <= LIMIT
            assert kept == text or (kept.endswith("\n[…]") and text.startswith(kept[:-4]))


def test_a_text_at_the_limit_is_not_cut() -> None:
    text = "x" * LIMIT
    assert _text_in("codex", "SessionStart", render("codex", "SessionStart", text)) == text


def test_rendering_loads_nothing_that_would_slow_the_hook_down() -> None:
    program = (
        "import sys; from wellkept.clients.answers.render import render;"
        "heavy = {'json', 're', 'typing', 'dataclasses'} & set(sys.modules);"
        "sys.exit(bool(heavy) or not render('codex', 'SessionStart', 'x'))"
    )
    path = f"import sys; sys.path.insert(0, {'packages/wellkept/src'!r}); {program}"
    assert subprocess.run([sys.executable, "-I", "-S", "-c", path], check=False).returncode == 0
