"""Chat endpoints: three wire protocols, one way to ask, and a hard time limit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.embedding_server import Behaviour, FakeEmbeddingServer, Fault
from wellkept.core.errors import ProviderError
from wellkept.core.ports.models import ChatModel
from wellkept.models.chat.text import (
    SYSTEM_TEXT,
    ChatChoice,
    EndpointModel,
    available_models,
    open_chat_model,
)
from wellkept.models.headless.model import HeadlessModel
from wellkept.models.http import NO_RETRIES, Endpoint

pytestmark = pytest.mark.feature("C10")
_KEY = "sk-test-key"
Maker = Callable[[FakeEmbeddingServer, float], ChatModel]


def _endpoint(url: str, limit_s: float) -> Endpoint:
    return Endpoint(url, api_key=_KEY, timeout_s=limit_s, retries=NO_RETRIES)


MAKERS: dict[str, Maker] = {
    "openai": lambda s, limit: EndpointModel(
        "openai", _endpoint(s.openai_url, limit), model="small"
    ),
    "anthropic": lambda s, limit: EndpointModel(
        "anthropic", _endpoint(s.url, limit), model="small"
    ),
    "ollama": lambda s, limit: EndpointModel("ollama", _endpoint(s.url, limit), model="small"),
}


@pytest.fixture(params=list(MAKERS))
def make(request: pytest.FixtureRequest) -> Maker:
    return MAKERS[request.param]


def test_a_question_is_answered_with_its_cost(make: Maker) -> None:
    with FakeEmbeddingServer(Behaviour(completion="Because.", api_key=_KEY)) as server:
        answer = make(server, 10).ask("Why?", max_tokens=64)
    assert (answer.text, answer.input_tokens, answer.output_tokens) == ("Because.", 120, 7)
    (sent,) = server.seen
    assert "Why?" in str(sent.body["messages"])
    assert SYSTEM_TEXT in str(sent.body)
    assert "64" in str(sent.body)


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        (Fault(status=429), "busy"),
        (Fault(status=500), "busy"),
        (Fault(status=401), "login"),
        (Fault(status=400), "other"),
        (Fault(drop=True), "busy"),
        (Fault(body=b"<html>Welcome</html>"), "answer"),
    ],
)
def test_a_failure_is_asked_once_and_says_its_cause(make: Maker, fault: Fault, cause: str) -> None:
    with FakeEmbeddingServer() as server:
        server.fail_next(fault)
        with pytest.raises(ProviderError) as caught:
            make(server, 10).ask("Why?", max_tokens=64)
    assert caught.value.cause == cause
    assert len(server.seen) == 1
    assert _KEY not in str(caught.value)


@pytest.mark.parametrize("fault", [Fault(hang=True), Fault(trickle=True)])
def test_a_server_that_hangs_or_trickles_is_left_at_the_limit(make: Maker, fault: Fault) -> None:
    with FakeEmbeddingServer() as server:
        server.fail_next(fault)
        with pytest.raises(ProviderError) as caught:
            make(server, 0.5).ask("Why?", max_tokens=64)
    assert caught.value.cause == "busy"


@pytest.mark.parametrize(
    "body",
    [
        b'{"choices": [], "content": [], "message": {"content": ""}}',
        b'{"choices": [{"message": {"content": null}}], "content": [{"type": "thinking"}],'
        b' "message": {"content": " "}}',
    ],
)
def test_a_blank_answer_is_an_error(make: Maker, body: bytes) -> None:
    with FakeEmbeddingServer() as server:
        server.fail_next(Fault(body=body))
        with pytest.raises(ProviderError, match="blank answer") as caught:
            make(server, 10).ask("p", max_tokens=8)
    assert caught.value.cause == "answer"


def test_an_anthropic_address_may_end_with_its_version() -> None:
    with FakeEmbeddingServer(Behaviour(completion="Yes.")) as server:
        model = EndpointModel("anthropic", _endpoint(f"{server.url}/v1/", 10), model="small")
        assert model.ask("p", max_tokens=8).text == "Yes."
    assert server.seen[0].headers["x-api-key"] == _KEY


def test_ollama_is_given_room_for_the_whole_prompt() -> None:
    with FakeEmbeddingServer(Behaviour(completion="Yes.")) as server:
        EndpointModel("ollama", _endpoint(server.url, 10), model="small").ask(
            "x" * 60_000, max_tokens=500
        )
    options = server.seen[0].body["options"]
    assert isinstance(options, dict)
    assert options["num_ctx"] > 20_000


def test_the_mark_of_a_login_changes_with_the_key_and_tells_it_not() -> None:
    models = [
        EndpointModel("openai", Endpoint("http://127.0.0.1/v1", api_key=key), model="m")
        for key in ("sk-one", "sk-two")
    ]
    assert len({model.login for model in models}) == 2
    assert not any("sk-" in model.login for model in models)


def test_the_choice_in_the_settings_opens_a_model_without_contacting_it(tmp_path: Path) -> None:
    def opened(**named: str) -> ChatModel | None:
        return open_chat_model(ChatChoice(folder=tmp_path, **named), {})  # type: ignore[arg-type]

    assert opened() is None
    assert _named(opened(provider="anthropic")) == "anthropic/claude-haiku-4-5"
    assert _named(opened(provider="ollama")) == "ollama/qwen3:4b"
    assert isinstance(opened(provider="claude"), HeadlessModel)
    assert _named(opened(provider="openai", model="small")) == "openai/small"
    with pytest.raises(ProviderError, match="no name"):
        opened(provider="openai")


def _named(model: ChatModel | None) -> str:
    return model.model_id if model else ""


def test_a_key_of_openai_is_not_sent_to_another_server(tmp_path: Path) -> None:
    with FakeEmbeddingServer(Behaviour(completion="Yes.")) as server:
        choice = ChatChoice(
            provider="openai", model="m", base_url=server.openai_url, folder=tmp_path
        )
        model = open_chat_model(choice, {"OPENAI_API_KEY": _KEY})
        assert model is not None
        model.ask("p", max_tokens=8)
    assert "Authorization" not in server.seen[0].headers


def test_what_could_be_chosen_is_told_without_asking_anybody(tmp_path: Path) -> None:
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    environment = {
        "PATH": str(tmp_path),
        "OLLAMA_HOST": "127.0.0.1:9",
        "ANTHROPIC_API_KEY": "sk-secret",
    }
    found = {s.name: s for s in available_models(ChatChoice(folder=tmp_path), environment)}
    assert {name for name, status in found.items() if status.available} == {"claude", "anthropic"}
    assert "sk-secret" not in repr(found)
    assert "not installed" in found["codex"].reason
