"""Names, keys, addresses and the table of models (G4)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.chat_server import ChatServer
from wellkept.core.chat.messages import (
    ModelRequest,
    ThinkingRequest,
    ToolDefinition,
    user_message,
)
from wellkept.core.errors import ProviderError, UsageError
from wellkept.core.ports.models import AgentModel
from wellkept.models.chat.catalog import builtin_catalog, load_catalog
from wellkept.models.chat.open import AgentModelSettings, open_model
from wellkept.models.chat.wire import ToolNames, call_id

pytestmark = pytest.mark.feature("G4")


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("anthropic:claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
        ("openai:gpt-5", "OPENAI_API_KEY"),
        ("deepseek:deepseek-v4-pro", "DEEPSEEK_API_KEY"),
        ("qwen:qwen3-max", "DASHSCOPE_API_KEY"),
        ("glm:glm-4.7", "ZAI_API_KEY"),
        ("minimax:MiniMax-M2.7", "MINIMAX_API_KEY"),
        ("gemini:gemini-2.5-pro", "GEMINI_API_KEY"),
    ],
)
def test_each_vendor_wants_its_key_and_takes_it_from_its_variable(name: str, variable: str) -> None:
    keyless = open_model(name, environment={"OTHER_API_KEY": "x"})
    with pytest.raises(ProviderError, match=variable) as raised:
        keyless.stream(ModelRequest(messages=(user_message("Hello"),)))
    assert raised.value.cause == "login"
    info = open_model(name, environment={variable: "sk-1"}).info
    assert (f"{info.provider}:{info.name}", info.has_tools) == (name, True)


def test_ollama_needs_no_key_and_is_small() -> None:
    info = open_model("ollama:qwen3", environment={}).info
    assert info.small
    assert info.context_tokens == 32_768
    larger = open_model("ollama:qwen3", environment={"OLLAMA_CONTEXT_LENGTH": "65536"})
    assert larger.info.context_tokens == 65_536


def test_a_name_without_a_model_takes_the_usual_one_and_aliases_count() -> None:
    key = {"ANTHROPIC_API_KEY": "sk-1"}
    assert open_model("anthropic", environment=key).info.name == "claude-sonnet-5-5"
    assert open_model("anthropic:opus", environment=key).info.name == "claude-opus-5-5"
    assert open_model("ollama:qwen3:4b", environment={}).info.name == "qwen3:4b"


@pytest.mark.parametrize("name", ["gpt-5", "", "nobody:model", ":x"])
def test_a_name_nobody_knows_is_refused_with_the_choices(name: str) -> None:
    with pytest.raises(UsageError, match="anthropic, openai"):
        open_model(name, environment={})


def test_a_vendors_key_is_not_sent_to_another_server() -> None:
    environment = {"ANTHROPIC_API_KEY": "sk-vendor", "ANTHROPIC_AUTH_TOKEN": "sk-other"}
    with ChatServer([]) as server:
        _ask("anthropic:x", environment, AgentModelSettings(base_url=server.url))
        _ask("anthropic:x", environment | {"ANTHROPIC_BASE_URL": server.url}, None)
        own = AgentModelSettings(base_url=server.url, api_key="sk-own")
        _ask("anthropic:x", environment, own)
        _ask("openai:x", {"OPENAI_API_KEY": "sk-o", "OPENAI_BASE_URL": server.openai_url}, None)
    sent = [
        one.headers.get("x-api-key") or one.headers.get("authorization") for one in server.requests
    ]
    assert sent == [None, "sk-vendor", "sk-own", "Bearer sk-o"]


def test_nothing_is_read_from_the_process_behind_our_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is sent is what was given."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "sk-stray")
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "stray")
    for name in ("ANTHROPIC_CUSTOM_HEADERS", "OPENAI_CUSTOM_HEADERS"):
        monkeypatch.setenv(name, "X-Gateway: stray\nX-Other: stray")
    with ChatServer([]) as server:
        _ask("minimax:x", {}, AgentModelSettings(base_url=server.url))
        _ask("deepseek:x", {}, AgentModelSettings(base_url=server.openai_url))
    assert "stray" not in str([one.headers for one in server.requests])


def test_a_key_that_cannot_be_sent_is_refused() -> None:
    with pytest.raises(UsageError, match="characters") as raised:
        open_model("openai:gpt-5", environment={"OPENAI_API_KEY": "sk-1\n"})
    assert "sk-1" not in str(raised.value)


def test_a_skill_may_ask_for_another_model_of_the_same_vendor_only() -> None:
    with ChatServer([]) as server:
        settings = AgentModelSettings(base_url=server.url)
        for wanted in ("haiku", "claude-opus-4-6", "anthropic:sonnet", "openai:gpt-5", "gpt-5", ""):
            _ask("anthropic:claude-sonnet-4-5", {}, settings, model=wanted)
    assert [body["model"] for body in server.bodies] == [
        "claude-haiku-5-5",
        "claude-opus-4-6",
        "claude-sonnet-5-5",
        "claude-sonnet-4-5",
        "claude-sonnet-4-5",
        "claude-sonnet-4-5",
    ]


def test_a_users_file_adds_vendors_and_models_and_overrides(tmp_path: Path) -> None:
    own = tmp_path / "models.toml"
    own.write_text(
        """
        [providers.corp]
        protocol = "openai"
        base_url = "https://models.corp.example/v1"
        default_model = "inhouse-1"
        key_variables = ["CORP_KEY"]

        [providers.anthropic]
        default_model = "claude-opus-5-5"

        [[models]]
        provider = "corp"
        match = "inhouse-*"
        context_tokens = 64_000
        small = true

        [[models]]
        provider = "ollama"
        match = "qwen3*"
        context_tokens = 131_072
        small = false
        """
    )
    settings = AgentModelSettings(models_file=own)
    corp = open_model("corp", environment={"CORP_KEY": "sk-1"}, settings=settings).info
    assert (corp.name, corp.context_tokens, corp.small) == ("inhouse-1", 64_000, True)
    qwen = open_model("ollama:qwen3:8b", environment={}, settings=settings).info
    assert (qwen.context_tokens, qwen.small, qwen.thinking.levels) == (
        131_072,
        False,
        ("deep_think", "ultra_think"),
    )
    key = {"ANTHROPIC_API_KEY": "sk-1"}
    assert open_model("anthropic", environment=key, settings=settings).info.name == (
        "claude-opus-5-5"
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[[models]]\nmatch = 'x'", "needs provider"),
        ("[[models]]\nprovider = 'nobody'\nmatch = 'x'", "Unknown model provider"),
        (
            "[[models]]\nprovider = 'ollama'\nmatch = 'x'\ncontext_tokens = 'big'",
            "context_tokens = 'big'",
        ),
        ("[[models]]\nprovider = 'ollama'\nmatch = 'x'\ncontext_tokens = 0", "context_tokens = 0"),
        ("[[models]]\nprovider = 'ollama'\nmatch = 'x'\nthinking = 'hard'", "thinking is one of"),
        ("[[models]]\nprovider = 'ollama'\nmatch = 'x'\ncolour = 1", "no field 'colour'"),
        ("[providers.x]\nprotocol = 'smtp'\nbase_url = 'x'\ndefault_model = 'y'", "protocol is"),
        ("[providers.x]\nprotocol = 'openai'", "needs base_url"),
        ("[providers.openai]\nbase_url = 3", "base_url = 3"),
        ("models = 3", "must be a list"),
        ("[other]", "unknown table"),
        ("= broken", "cannot be read"),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(text: str, problem: str, tmp_path: Path) -> None:
    own = tmp_path / "models.toml"
    own.write_text(text)
    with pytest.raises(UsageError, match=problem):
        load_catalog(own)


@pytest.mark.parametrize(
    ("name", "context", "form"),
    [
        ("anthropic:claude-haiku-4-5-20251001", 200_000, "budget"),
        ("anthropic:claude-opus-4-5", 200_000, "budget"),
        ("anthropic:claude-opus-4-6", 1_000_000, "adaptive"),
        ("anthropic:claude-opus-4-8", 1_000_000, "adaptive"),
        ("anthropic:claude-haiku-5-5", 1_000_000, "adaptive"),
        ("anthropic:claude-unheard-of", 200_000, "adaptive"),
        ("openai:gpt-5-mini", 400_000, "effort"),
        ("openai:gpt-5.5-pro", 1_050_000, "effort"),
        ("openai:o3", 200_000, "effort"),
        ("openai:gpt-4.1-mini", 1_047_576, "none"),
        ("qwen:qwen3-coder-plus", 1_000_000, "none"),
    ],
)
def test_the_most_specific_row_counts(name: str, context: int, form: str) -> None:
    provider, _, model = name.partition(":")
    row = builtin_catalog().row(provider, model)
    assert (row.info.context_tokens, row.thinking) == (context, form)


def test_tool_names_go_there_and_back() -> None:
    own = [
        "Read",
        "mcp:files:read",
        "mcp__files__read",
        "mcp:a__b:c",
        "mcp:a:b__c",
        "mcp:größe:x",
        "mcp:s:" + "t" * 100,
        "",
        "mcp:files:read!",
    ]
    names = ToolNames(own)
    sent = [names.sent(name) for name in own]
    assert len(set(sent)) == len(own)
    assert all(1 <= len(one) <= 64 and one.isascii() for one in sent)
    assert [names.own(one) for one in sent] == own
    assert names.sent("mcp:files:read") != "mcp__files__read"
    assert ToolNames(["mcp:files:read"]).sent("mcp:files:read") == "mcp__files__read"
    assert names.own("Hallucinated") == "Hallucinated"


def test_ids_of_calls_that_other_providers_made_are_taken() -> None:
    assert call_id("toolu_01Ab-c") == "toolu_01Ab-c"
    assert call_id("functions.Read:0") == call_id("functions.Read:0") != call_id("functions.Read:1")


def _ask(
    name: str,
    environment: dict[str, str],
    settings: AgentModelSettings | None,
    model: str | None = None,
) -> None:
    async def asked() -> None:
        opened = open_model(name, environment=environment, settings=settings)
        request = ModelRequest(messages=(user_message("Hi"),), model=model)
        async for _ in opened.stream(request):
            pass

    asyncio.run(asked())


@pytest.mark.feature("G9")
@pytest.mark.parametrize("provider", builtin_catalog().providers())
def test_a_model_has_a_level_of_thinking_only_if_it_is_sent_one(provider: str) -> None:
    preset = builtin_catalog().preset(provider)
    tools = (ToolDefinition("look", "Look.", {"type": "object", "properties": {}}),)
    with ChatServer([]) as server:
        url = server.openai_url if preset.protocol == "openai" else server.url
        bodies: list[dict[str, object]] = []
        for thinking in (None, ThinkingRequest(budget_tokens=16_000, effort="high")):
            model = open_model(
                provider, environment={}, settings=AgentModelSettings(base_url=url, api_key="k")
            )
            asked = ModelRequest(messages=(user_message("Hello"),), tools=tools, thinking=thinking)
            asyncio.run(_all(model, asked))
            bodies.append({k: v for k, v in server.bodies[-1].items() if k != "max_tokens"})
    assert (bodies[0] != bodies[1]) is bool(model.info.thinking.levels)


async def _all(model: AgentModel, request: ModelRequest) -> None:
    async for _ in model.stream(request):
        pass
