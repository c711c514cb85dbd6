"""What models send and understand, over HTTP on a loopback server (G4)."""

from __future__ import annotations

import json

import pytest

from tests.providers.agent_models.conftest import ANTHROPIC, NAMES, OPENAI, READ, Ask, response
from tests.support.chat_server import ChatServer, Fault
from wellkept.core.chat.messages import (
    ImagePart,
    Message,
    MessageKind,
    ModelResponse,
    ModelUsage,
    Role,
    StopReason,
    TextChunk,
    TextPart,
    ThinkingChunk,
    ThinkingPart,
    ThinkingRequest,
    ToolCallPart,
    ToolDefinition,
    ToolResultPart,
    assistant_message,
    system_message,
    tool_message,
    user_message,
)

pytestmark = pytest.mark.feature("G4")

_MARK = {"type": "ephemeral"}


def _with_tools() -> tuple[Message, ...]:
    return (
        system_message("Be brief."),
        user_message("What is known.", kind=MessageKind.MEMORY),
        user_message("Read two files."),
        assistant_message(
            "I read.",
            ToolCallPart("c1", "Read", '{"file_path": "a.py"}'),
            ToolCallPart("c2", "mcp:files:read", "{}"),
        ),
        tool_message(
            ToolResultPart("c1", "Read", "print(1)"),
            ToolResultPart("c2", "mcp:files:read", "not there", is_error=True),
        ),
        user_message("Think of the tests.", kind=MessageKind.REMINDER),
    )


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_comes_in_pieces_and_then_whole(name: str, ask: Ask) -> None:
    usage = ModelUsage(input=40, output=12, cache_read=0 if "ollama" in name else 900)
    scripted = ModelResponse(message=assistant_message("It says: größer."), usage=usage)
    with ChatServer([scripted], flavour=name.partition(":")[0]) as server:
        chunks = ask(name, server.url)
    whole = response(chunks)
    assert "".join(c.text for c in chunks if isinstance(c, TextChunk)) == "It says: größer."
    assert whole.message.text == "It says: größer."
    assert whole.message.role is Role.ASSISTANT
    assert (whole.stop, whole.usage) == (StopReason.DONE, usage)


@pytest.mark.parametrize("name", [*NAMES, "gemini:gemini-2.5-pro"])
def test_parallel_calls_come_back_with_our_names(name: str, ask: Ask) -> None:
    calls = (
        ToolCallPart("call_1", "Read", '{"file_path": "a"}'),
        ToolCallPart("call_2", "mcp__files__read", '{"x": "ü"}'),
        ToolCallPart("call_3", "Read", "{}"),
    )
    tools = (READ, ToolDefinition("mcp:files:read", "Read.", {"type": "object"}))
    with ChatServer([assistant_message("", *calls)], flavour=name.partition(":")[0]) as server:
        whole = response(ask(name, server.url, tools=tools))
    assert whole.stop is StopReason.TOOLS
    assert [(c.id, c.name, json.loads(c.arguments)) for c in whole.message.tool_calls] == [
        ("call_1", "Read", {"file_path": "a"}),
        ("call_2", "mcp:files:read", {"x": "ü"}),
        ("call_3", "Read", {}),
    ]
    [body] = server.bodies
    sent = [tool.get("name") or tool["function"]["name"] for tool in body["tools"]]
    assert sent == ["Read", "mcp__files__read"]


def test_anthropic_gets_marks_on_system_memory_and_last_message(ask: Ask) -> None:
    with ChatServer(["Fine."]) as server:
        ask(ANTHROPIC, server.url, *_with_tools(), tools=(READ,))
    [body] = server.bodies
    assert body["system"] == [{"type": "text", "text": "Be brief.", "cache_control": _MARK}]
    first, second, third = body["messages"]
    assert [m["role"] for m in body["messages"]] == ["user", "assistant", "user"]
    assert first["content"] == [
        {"type": "text", "text": "What is known.", "cache_control": _MARK},
        {"type": "text", "text": "Read two files."},
    ]
    assert [b["type"] for b in second["content"]] == ["text", "tool_use", "tool_use"]
    assert second["content"][1]["input"] == {"file_path": "a.py"}
    assert second["content"][2]["name"] == "mcp__files__read"
    assert [b["type"] for b in third["content"]] == ["tool_result", "tool_result", "text"]
    assert third["content"][1]["is_error"] is True
    assert third["content"][2]["cache_control"] == _MARK
    assert json.dumps(body).count("cache_control") == 3
    assert "cache_control" not in json.dumps(body["tools"])


def test_the_prefix_of_a_request_stays_the_same_as_the_conversation_grows(ask: Ask) -> None:
    before = _with_tools()
    after = (*before, assistant_message("Done."), user_message("And now?"))
    with ChatServer([]) as server:
        for name in (ANTHROPIC, OPENAI):
            ask(name, server.url, *before, tools=(READ,))
            ask(name, server.url, *after, tools=(READ,))
    for shorter, longer in (server.bodies[:2], server.bodies[2:]):
        plain = [
            json.dumps(b).replace(', "cache_control": {"type": "ephemeral"}', "")
            for b in (
                {"t": shorter["tools"], "s": shorter.get("system"), "m": shorter["messages"]},
                {"t": longer["tools"], "s": longer.get("system"), "m": longer["messages"]},
            )
        ]
        assert plain[1].startswith(plain[0].removesuffix("]}"))


def test_openai_gets_one_entry_a_result_and_merged_user_messages(ask: Ask) -> None:
    with ChatServer(["Fine."]) as server:
        ask(OPENAI, server.url, *_with_tools(), tools=(READ,))
    [body] = server.bodies
    assert [m["role"] for m in body["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
    ]
    assert body["messages"][1]["content"] == "What is known.\n\nRead two files."
    assert body["messages"][2]["tool_calls"][1]["function"]["name"] == "mcp__files__read"
    assert body["messages"][4] == {"role": "tool", "tool_call_id": "c2", "content": "not there"}
    assert body["stream_options"] == {"include_usage": True}
    # Another server than OpenAI's own knows only the old name of the field.
    assert "max_tokens" in body
    assert "max_completion_tokens" not in body


def test_signed_and_redacted_thinking_is_sent_back_as_it_came(ask: Ask) -> None:
    thought = Message(
        role=Role.ASSISTANT,
        parts=(
            ThinkingPart("I should read.", "sig-1"),
            ThinkingPart("", "sealed", redacted=True),
            ToolCallPart("c1", "Read", "{}"),
        ),
    )
    with ChatServer([thought, "Done."]) as server:
        chunks = ask(ANTHROPIC, server.url, tools=(READ,))
        answer = response(chunks).message
        ask(
            ANTHROPIC,
            server.url,
            user_message("Go."),
            answer,
            tool_message(ToolResultPart("c1", "Read", "x")),
        )
    assert answer.parts == thought.parts
    assert "".join(c.text for c in chunks if isinstance(c, ThinkingChunk)) == "I should read."
    assert server.bodies[1]["messages"][1]["content"][:2] == [
        {"type": "thinking", "thinking": "I should read.", "signature": "sig-1"},
        {"type": "redacted_thinking", "data": "sealed"},
    ]


@pytest.mark.parametrize(
    ("name", "is_sent"),
    [("deepseek:deepseek-v4-pro", True), ("glm:glm-4.7", True), (OPENAI, False)],
)
def test_reasoning_of_the_running_turn_goes_back_where_it_is_wanted(
    name: str, is_sent: bool, ask: Ask
) -> None:
    thought = Message(
        role=Role.ASSISTANT, parts=(ThinkingPart("Hm."), ToolCallPart("c1", "Read", "{}"))
    )
    result = tool_message(ToolResultPart("c1", "Read", "x"))
    old = Message(role=Role.ASSISTANT, parts=(ThinkingPart("Old."), TextPart("Answer.")))
    with ChatServer([thought], flavour="deepseek") as server:
        answer = response(ask(name, server.url)).message
        assert answer.thinking == "Hm."
        ask(name, server.url, user_message("A"), old, user_message("B"), answer, result)
    sent = [m.get("reasoning_content") for m in server.bodies[1]["messages"]]
    assert sent == [None, None, None, "Hm." if is_sent else None, None]


def test_ollama_thinks_under_another_name(ask: Ask) -> None:
    thought = Message(role=Role.ASSISTANT, parts=(ThinkingPart("Hm."), TextPart("Yes.")))
    with ChatServer([thought], flavour="ollama") as server:
        chunks = ask("ollama:qwen3", server.url)
    assert response(chunks).message.thinking == "Hm."
    assert any(isinstance(chunk, ThinkingChunk) for chunk in chunks)


def test_gemini_gets_the_signatures_of_its_calls_back(ask: Ask) -> None:
    name = "gemini:gemini-3-pro"
    call = ToolCallPart("c1", "Read", "{}", "sig-g")
    with ChatServer([assistant_message("", call)], flavour="gemini") as server:
        answer = response(ask(name, server.url, tools=(READ,))).message
        ask(
            name,
            server.url,
            user_message("A"),
            answer,
            tool_message(ToolResultPart("c1", "Read", "x")),
        )
    [sent] = server.bodies[1]["messages"][1]["tool_calls"]
    assert sent["extra_content"] == {"google": {"thought_signature": "sig-g"}}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (ANTHROPIC, {"thinking": {"type": "enabled", "budget_tokens": 32_000}}),
        (
            "anthropic:claude-opus-5-5",
            {
                "thinking": {"type": "adaptive", "display": "summarized"},
                "output_config": {"effort": "xhigh"},
            },
        ),
        ("anthropic:claude-opus-4-6", {"output_config": {"effort": "max"}}),
        ("openai:gpt-5", {"reasoning_effort": "high"}),
        ("openai:gpt-5.2", {"reasoning_effort": "xhigh"}),
        ("deepseek:deepseek-v4-pro", {"thinking": {"type": "enabled"}, "reasoning_effort": "max"}),
        ("glm:glm-4.7", {"thinking": {"type": "enabled"}}),
        ("qwen:qwen3-max", {"enable_thinking": True, "thinking_budget": 32_000}),
        ("gemini:gemini-2.5-pro", {"reasoning_effort": "high"}),
        ("minimax:MiniMax-M2.7", {"thinking": {"type": "enabled", "budget_tokens": 32_000}}),
        ("openai:gpt-4o", {}),
    ],
)
def test_each_vendor_is_told_to_think_in_its_own_way(
    name: str, expected: dict[str, object], ask: Ask
) -> None:
    wanted = ThinkingRequest(budget_tokens=32_000, effort="xhigh")
    with ChatServer([]) as server:
        ask(name, server.url, thinking=wanted)
    [body] = server.bodies
    assert {key: body.get(key) for key in expected} == expected
    if not expected:
        assert not {"thinking", "reasoning_effort", "enable_thinking"} & set(body)
    if "budget_tokens" in json.dumps(expected):
        assert body["max_tokens"] > 32_000


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (ANTHROPIC, {}),
        ("anthropic:claude-sonnet-5-5", {"thinking": {"type": "disabled"}}),
        ("openai:gpt-5.2", {"reasoning_effort": "none"}),
        ("deepseek:deepseek-v4-pro", {"thinking": {"type": "disabled"}}),
        ("qwen:qwen3-max", {"enable_thinking": False}),
    ],
)
def test_thinking_is_turned_off_where_it_is_on_by_itself(
    name: str, expected: dict[str, object], ask: Ask
) -> None:
    with ChatServer([]) as server:
        ask(name, server.url, thinking=ThinkingRequest(budget_tokens=0))
    [body] = server.bodies
    names = ("thinking", "reasoning_effort", "enable_thinking", "thinking_budget")
    assert {key: body[key] for key in names if key in body} == expected


def test_interleaved_thinking_is_asked_for_by_its_header(ask: Ask) -> None:
    wanted = ThinkingRequest(budget_tokens=16_000, interleaved=True)
    with ChatServer([]) as server:
        ask(ANTHROPIC, server.url, thinking=wanted)
        ask(ANTHROPIC, server.url, thinking=ThinkingRequest(budget_tokens=16_000))
    sent = [one.headers.get("anthropic-beta", "") for one in server.requests]
    assert sent == ["interleaved-thinking-2025-05-14", ""]


def test_newer_gpt_models_get_tools_without_an_effort(ask: Ask) -> None:
    """They refuse both at once on this protocol."""
    wanted = ThinkingRequest(effort="high")
    with ChatServer([]) as server:
        ask("openai:gpt-5.5", server.url, tools=(READ,), thinking=wanted)
        ask("openai:gpt-5.5", server.url, thinking=wanted)
    assert [body["reasoning_effort"] for body in server.bodies] == ["none", "high"]


def test_what_a_server_refuses_by_name_is_left_out_and_remembered(ask: Ask) -> None:
    told: list[str] = []
    refusal = {"error": {"message": "Unrecognized request argument: reasoning_effort"}}
    fault = Fault(status=400, body=json.dumps(refusal))
    with ChatServer([fault, "Fine."]) as server:
        chunks = ask(
            OPENAI, server.url, thinking=ThinkingRequest(effort="high"), report=told.append
        )
    assert response(chunks).message.text == "Fine."
    assert ["reasoning_effort" in body for body in server.bodies] == [True, False]
    assert "does not take thinking" in told[0]


def test_thinking_with_a_signature_nobody_knows_is_left_out(ask: Ask) -> None:
    error = {"message": "messages.1.content.0: Invalid `signature` in `thinking` block"}
    fault = Fault(status=400, body=json.dumps({"type": "error", "error": error}))
    answer = Message(role=Role.ASSISTANT, parts=(ThinkingPart("Hm", "alien"), TextPart("A")))
    with ChatServer([fault, "Fine."]) as server:
        ask(ANTHROPIC, server.url, user_message("A"), answer, user_message("B"))
    kinds = [[b["type"] for b in body["messages"][1]["content"]] for body in server.bodies]
    assert kinds == [["thinking", "text"], ["text"]]


@pytest.mark.parametrize("name", [ANTHROPIC, OPENAI])
def test_hard_conversations_become_requests_that_are_taken(name: str, ask: Ask) -> None:
    """Begins with an answer, has empty texts, broken arguments and foreign ids."""
    messages = (
        assistant_message("Summary."),
        user_message("  "),
        assistant_message("", ToolCallPart("functions.Read:0", "Lese Datei!", "{not json")),
        tool_message(ToolResultPart("functions.Read:0", "Lese Datei!", "")),
    )
    with ChatServer([]) as server:
        ask(name, server.url, *messages)
    [body] = server.bodies
    text = json.dumps(body)
    assert body["messages"][0]["role"] == "user"
    assert "functions.Read:0" not in text
    assert "Lese Datei!" not in text
    assert "invalid_json" in text
    assert '"text": ""' not in text
    assert '"content": ""' not in text


@pytest.mark.parametrize("name", [ANTHROPIC, OPENAI, "deepseek:deepseek-chat"])
def test_images_are_sent_to_models_that_see(name: str, ask: Ask) -> None:
    image = ImagePart("aGk=", "image/png")
    messages = (
        Message(role=Role.USER, parts=(TextPart("Look."), image)),
        assistant_message("", ToolCallPart("c1", "Read", "{}")),
        tool_message(ToolResultPart("c1", "Read", "a picture", images=(image,))),
    )
    with ChatServer([]) as server:
        ask(name, server.url, *messages)
    text = json.dumps(server.bodies[0])
    sees = not name.startswith("deepseek")
    assert text.count("aGk=") == (2 if sees else 0)
    assert ("takes none" in text) is not sees


@pytest.mark.parametrize(
    ("stop", "expected"),
    [(StopReason.LENGTH, StopReason.LENGTH), (StopReason.REFUSED, StopReason.REFUSED)],
)
@pytest.mark.parametrize("name", [ANTHROPIC, OPENAI])
def test_why_an_answer_ended_is_told(
    name: str, stop: StopReason, expected: StopReason, ask: Ask
) -> None:
    with ChatServer([ModelResponse(message=assistant_message("A"), stop=stop)]) as server:
        assert response(ask(name, server.url)).stop is expected


def test_the_answer_never_asks_for_more_room_than_there_is(ask: Ask) -> None:
    with ChatServer([]) as server:
        ask("ollama:llama3", server.url, user_message("word " * 24_000))
        ask(ANTHROPIC, server.url, max_tokens=500_000)
        ask(ANTHROPIC, server.url)
        ask(OPENAI, server.url, max_tokens=60)
    limits = [body["max_tokens"] for body in server.bodies]
    assert limits[0] < 4_096
    assert limits[1:] == [64_000, 32_000, 60]
