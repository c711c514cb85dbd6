"""Services that fail, stall, break off or are overfull (G4)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from email.utils import formatdate
from typing import cast

import pytest

from tests.providers.agent_models.conftest import (
    ANTHROPIC,
    NAMES,
    OPENAI,
    READ,
    Ask,
    Waits,
    address,
    response,
)
from tests.support.chat_server import ChatServer, Fault, overflow
from tests.support.chat_server.faults import OVERFLOWING
from wellkept.core.chat.messages import (
    Message,
    ModelChunk,
    ModelRequest,
    Part,
    Role,
    TextChunk,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    user_message,
)
from wellkept.core.errors import ContextTooLongError, ProviderError, UsageError
from wellkept.models.chat.open import AgentModelSettings, RetryPolicy, open_model
from wellkept.testing.scripted_model import call, calls

pytestmark = pytest.mark.feature("G4")

_KEY = "sk-secret-0123456789"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_a_busy_service_is_asked_again(name: str, status: int, ask: Ask, waits: Waits) -> None:
    told: list[str] = []
    with ChatServer([Fault(status=status), Fault(status=status), "Here."]) as server:
        chunks = ask(name, server.url, report=told.append)
    assert response(chunks).message.text == "Here."
    assert len(server.requests) == 3
    assert 0.3 < waits.slept[0] <= 0.5 < waits.slept[1] <= 1.0
    assert f"HTTP {status}" in told[0]


@pytest.mark.parametrize("name", NAMES)
def test_a_service_that_stays_busy_is_given_up(name: str, ask: Ask, waits: Waits) -> None:
    with (
        ChatServer(lambda _: Fault(status=500)) as server,
        pytest.raises(ProviderError, match="after 4 attempts") as raised,
    ):
        ask(name, server.url)
    assert raised.value.cause == "busy"
    assert len(server.requests) == 4
    assert len(waits.slept) == 3


@pytest.mark.parametrize(
    ("header", "between"),
    [
        (("Retry-After", "7"), (7, 7)),
        (("retry-after-ms", "1500"), (1.5, 1.5)),
        (("Retry-After", formatdate(usegmt=True)), (0, 1)),
        (("Retry-After", "soon"), (0.3, 0.5)),
        (("Retry-After", "-3"), (0, 0)),
    ],
)
def test_what_the_service_says_of_waiting_counts(
    header: tuple[str, str], between: tuple[float, float], ask: Ask, waits: Waits
) -> None:
    with ChatServer([Fault(status=429, headers=dict([header]))]) as server:
        ask(ANTHROPIC, server.url)
    assert between[0] <= waits.slept[0] <= between[1]


def test_nobody_waits_an_hour(ask: Ask, waits: Waits) -> None:
    with (
        ChatServer([Fault(status=429, headers={"Retry-After": "3600"})]) as server,
        pytest.raises(ProviderError, match="3,600 s") as raised,
    ):
        ask(OPENAI, server.url)
    assert raised.value.cause == "busy"
    assert waits.slept == []


@pytest.mark.parametrize("name", [ANTHROPIC, OPENAI])
@pytest.mark.parametrize(
    ("status", "cause"), [(400, "other"), (401, "login"), (403, "login"), (404, "other")]
)
def test_what_cannot_be_mended_is_not_tried_again(
    name: str, status: int, cause: str, ask: Ask, waits: Waits
) -> None:
    with ChatServer([Fault(status=status)]) as server, pytest.raises(ProviderError) as raised:
        ask(name, server.url)
    assert raised.value.cause == cause
    assert len(server.requests) == 1


def test_an_account_without_money_is_not_asked_again(ask: Ask, waits: Waits) -> None:
    error = {"message": "You exceeded your current quota", "type": "insufficient_quota"}
    with (
        ChatServer([Fault(status=429, body=json.dumps({"error": error}))]) as server,
        pytest.raises(ProviderError, match="quota"),
    ):
        ask(OPENAI, server.url)
    assert waits.slept == []


@pytest.mark.parametrize("name", NAMES)
def test_a_stream_that_breaks_off_before_its_first_word_is_begun_again(
    name: str, ask: Ask, waits: Waits
) -> None:
    with ChatServer([Fault(cut_after=0), Fault(cut_after=1), "Whole."]) as server:
        assert response(ask(name, server.url)).message.text == "Whole."
    assert len(waits.slept) == 2


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("cut_after", [4, 5])
def test_a_stream_that_breaks_off_later_is_an_error(
    name: str, cut_after: int, waits: Waits
) -> None:
    """What a person has seen is not taken back."""
    seen: list[ModelChunk] = []
    with (
        ChatServer([Fault(cut_after=cut_after)]) as server,
        pytest.raises(ProviderError) as raised,
    ):
        asyncio.run(_read(name, server.url, seen, waits))
    assert raised.value.cause == "busy"
    assert any(isinstance(chunk, TextChunk) for chunk in seen)
    assert waits.slept == []
    assert len(server.requests) == 1


@pytest.mark.parametrize("name", [ANTHROPIC, "deepseek:deepseek-reasoner"])
@pytest.mark.parametrize(
    "parts",
    [
        (ThinkingPart("Let me see. " * 20, "sig"),),
        (TextPart("\n\n"), ToolCallPart("call_1", "Read", '{"file_path": "a.py"}')),
    ],
)
@pytest.mark.parametrize("ends", ["cut", "overloaded"])
def test_thinking_and_half_written_calls_are_begun_again(
    name: str, parts: tuple[Part, ...], ends: str, ask: Ask, waits: Waits
) -> None:
    """Nothing of the answer was shown or acted on yet."""
    lost = Message(role=Role.ASSISTANT, parts=parts)
    fault = Fault(answer=lost, cut_after=4) if ends == "cut" else Fault(answer=lost, error_at=4)
    whole = calls(call("Read", file_path="b.py"))
    with ChatServer([fault, whole], flavour="deepseek") as server:
        chunks = ask(name, server.url, tools=(READ,))
    assert len(chunks) > 3  # pieces of the lost answer came too
    [made] = response(chunks).message.tool_calls
    assert json.loads(made.arguments) == {"file_path": "b.py"}
    assert len(server.requests) == 2
    assert len(waits.slept) == 1


@pytest.mark.parametrize("name", [ANTHROPIC, OPENAI])
def test_an_error_in_the_stream_counts_as_one_of_the_service(
    name: str, ask: Ask, waits: Waits
) -> None:
    with ChatServer([Fault(error_at=1), "Fine."]) as server:
        assert response(ask(name, server.url)).message.text == "Fine."
    with ChatServer([Fault(error_at=5)]) as server, pytest.raises(ProviderError) as raised:
        ask(name, server.url)
    assert raised.value.cause == "busy"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "fault",
    [
        Fault(garbage_at=2),
        Fault(garbage_at=4),
        Fault(body="<html>Please log in</html>"),
        Fault(body=""),
    ],
)
def test_an_answer_that_is_none_is_an_error_and_no_crash(name: str, fault: Fault, ask: Ask) -> None:
    with ChatServer(lambda _: fault) as server, pytest.raises(ProviderError):
        ask(name, server.url)


@pytest.mark.parametrize("name", [ANTHROPIC, OPENAI])
def test_a_service_that_says_nothing_is_not_waited_for(name: str, ask: Ask, waits: Waits) -> None:
    with (
        ChatServer(lambda _: Fault(hang=True)) as server,
        pytest.raises(ProviderError, match="after 2 attempts") as raised,
    ):
        ask(name, server.url, silence_s=0.1, retries=RetryPolicy(attempts=2, sleep=waits))
    assert raised.value.cause == "busy"
    assert len(waits.slept) == 1


@pytest.mark.parametrize("name", [ANTHROPIC, OPENAI])
def test_a_slow_answer_ends_within_the_limit_for_all_of_it(name: str, ask: Ask) -> None:
    slow = Fault(delay_s=0.1, answer="word " * 2_000)
    with (
        ChatServer(lambda _: slow) as server,
        pytest.raises(ProviderError, match=r"not done within 0\.35 s"),
    ):
        ask(name, server.url, total_s=0.35)


@pytest.mark.parametrize("service", OVERFLOWING)
def test_a_conversation_that_does_not_fit_is_told_apart(service: str, ask: Ask) -> None:
    name = service if service in ("anthropic", "minimax", "gemini", "ollama", "qwen") else "openai"
    with ChatServer([overflow(service)]) as server, pytest.raises(ContextTooLongError):
        ask(f"{name}:some-model", server.url)
    assert len(server.requests) == 1


@pytest.mark.parametrize("name", [ANTHROPIC, OPENAI])
def test_a_request_of_too_many_bytes_does_not_fit_either(name: str, ask: Ask) -> None:
    with ChatServer([Fault(status=413)]) as server, pytest.raises(ContextTooLongError):
        ask(name, server.url)


def test_a_rate_limit_on_tokens_is_no_overflow(ask: Ask, waits: Waits) -> None:
    message = "Rate limit reached for gpt-5 on tokens per min (TPM): Limit 30000, request too large"
    fault = Fault(status=429, body=json.dumps({"error": {"message": message}}))
    with ChatServer([fault, "Fine."]) as server:
        assert response(ask(OPENAI, server.url)).message.text == "Fine."


def test_ollama_is_not_sent_what_it_would_cut_without_a_word(ask: Ask) -> None:
    long = user_message("word " * 60_000)
    with ChatServer([]) as server:
        url = server.url
        with pytest.raises(ContextTooLongError, match="OLLAMA_CONTEXT_LENGTH"):
            ask("ollama:qwen3", url, long)
        assert server.requests == []
        ask("ollama:qwen3", url, long, context_tokens=200_000)
    assert len(server.requests) == 1


@pytest.mark.parametrize("name", [ANTHROPIC, OPENAI])
def test_no_error_shows_the_key(name: str, ask: Ask) -> None:
    body = json.dumps({"error": {"type": "x", "message": f"Incorrect API key provided: {_KEY}"}})
    with (
        ChatServer([Fault(status=401, body=body)]) as server,
        pytest.raises(ProviderError) as raised,
    ):
        ask(name, server.url, api_key=_KEY)
    settings = AgentModelSettings(base_url=server.url, api_key=_KEY)
    model = open_model(name, environment={}, settings=settings)
    assert _KEY not in f"{raised.value} {raised.value!r} {settings!r} {model!r} {vars(model)!r}"
    assert "***" in str(raised.value)


def test_a_redirect_is_refused(ask: Ask) -> None:
    with ChatServer(["Elsewhere."]) as other:
        away = Fault(status=307, headers={"Location": f"{other.url}/v1/messages"})
        with ChatServer([away]) as server, pytest.raises(ProviderError, match="redirects"):
            ask(ANTHROPIC, server.url, api_key=_KEY)
        assert other.requests == []


def test_a_server_that_is_not_there_is_named(ask: Ask, waits: Waits) -> None:
    with ChatServer([]) as server:
        url = server.url
    for name in NAMES:
        with pytest.raises(ProviderError, match="server is running"):
            ask(name, url)
    assert waits.slept == []


def test_leaving_a_stream_early_closes_the_connection() -> None:
    async def left() -> None:
        settings = AgentModelSettings(base_url=server.url)
        model = open_model(ANTHROPIC, environment={}, settings=settings)
        request = ModelRequest(messages=(user_message("Hi"),))
        stream = cast("AsyncGenerator[ModelChunk]", model.stream(request))
        async with aclosing(stream) as chunks:
            async for _ in chunks:
                break

    with ChatServer([Fault(delay_s=0.01, answer="word " * 50_000)]) as server:
        asyncio.run(asyncio.wait_for(left(), 20))


def test_no_request_leaves_this_machine_in_tests(ask: Ask) -> None:
    for name in (ANTHROPIC, OPENAI):
        with pytest.raises(UsageError, match="Real requests are forbidden"):
            ask(name, "https://example.com", api_key=_KEY)


async def _read(name: str, url: str, seen: list[ModelChunk], waits: Waits) -> None:
    settings = AgentModelSettings(base_url=address(name, url), retries=RetryPolicy(sleep=waits))
    model = open_model(name, environment={}, settings=settings)
    async for chunk in model.stream(ModelRequest(messages=(user_message("Hi"),))):
        seen.append(chunk)
