"""Our `Memory` beside the real Mem0: signatures and the shapes of results; run by
`make test-integrations`."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, cast

import pytest

from tests.support.embedding_server import FakeEmbeddingServer
from wellkept import Wellkept
from wellkept_adapters.mem0 import AsyncMemory, Memory

WHY = "Mem0 has an environment of its own: make test-integrations"
mem0: Any = pytest.importorskip("mem0", reason=WHY)
pytestmark = pytest.mark.feature("I2")
METHODS = ("add", "search", "get", "get_all", "update", "delete", "delete_all", "history", "reset")


def parameters(method: Any) -> list[tuple[str, str, str]]:
    def default(value: Any) -> str:
        plain = value is None or isinstance(value, (bool, int, float, str))
        return repr(value) if plain else "required" if value is inspect.Parameter.empty else "unset"

    found = inspect.signature(method).parameters.values()
    return [(one.name, str(one.kind), default(one.default)) for one in found]


@pytest.mark.parametrize("name", METHODS)
def test_methods_take_what_those_of_mem0_take(name: str) -> None:
    assert parameters(getattr(Memory, name)) == parameters(getattr(mem0.Memory, name))
    assert callable(getattr(AsyncMemory, name))
    assert callable(getattr(mem0.AsyncMemory, name))


def walk(memory: Any) -> list[Any]:
    """Use every method; what comes back without the values that differ by nature."""
    alice = {"user_id": "alice"}
    said = [
        {"role": "user", "content": "I like pizza with mushrooms", "name": "ann"},
        {"role": "assistant", "content": "Noted, pizza with mushrooms"},
    ]
    added = memory.add(said, user_id="alice", metadata={"n": 1}, infer=False)
    name = added["results"][0]["id"]
    seen: list[Any] = [added, memory.get(name), memory.get("00000000-0000-0000-0000-000000000000")]
    seen.append(memory.search("which pizza with mushrooms?", filters=alice, threshold=0.0))
    seen.append(memory.get_all(filters=alice))
    seen += [memory.update(name, text="I like sushi"), memory.get(name)]
    seen += [memory.update(name, metadata={"m": 2}), memory.get(name)]
    seen += [memory.delete(name), memory.get(name), memory.history(name)]
    seen += [memory.delete_all(user_id="alice"), memory.get_all(filters=alice), memory.reset()]
    return [shape(one) for one in seen]


def shape(value: Any) -> Any:
    """Names, texts and kinds; not ids, times and scores."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        loose = ("id", "memory_id", "created_at", "updated_at", "score")
        return {k: type(v).__name__ if k in loose else shape(v) for k, v in fields.items()}
    if isinstance(value, list):
        return sorted((shape(one) for one in cast("list[Any]", value)), key=str)
    return value


def test_results_have_the_shape_of_those_of_mem0(wk: Wellkept, tmp_path: Path) -> None:
    with FakeEmbeddingServer() as server:
        address = f"{server.url}/v1"
        config: Any = {
            "vector_store": {
                "provider": "qdrant",
                "config": {"path": str(tmp_path / "qdrant"), "embedding_model_dims": 1536},
            },
            "embedder": {
                "provider": "openai",
                "config": {"api_key": "for-tests", "openai_base_url": address,
                           "embedding_dims": 1536, "model": "text-embedding-3-small"},
            },
            "llm": {
                "provider": "openai",
                "config": {"api_key": "for-tests", "openai_base_url": address},
            },
            "history_db_path": str(tmp_path / "history.db"),
        }  # fmt: skip
        real = mem0.Memory.from_config(config)
        theirs = walk(real)
        # The server waits for connections that are kept open.
        real.embedding_model.client.close()
        real.llm.client.close()
    ours = walk(Memory(wellkept=wk))
    assert ours == theirs
