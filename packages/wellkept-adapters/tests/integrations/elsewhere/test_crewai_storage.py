"""`WellkeptStorage` under CrewAI's own `Memory`; run by `make test-integrations`."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from wellkept import UsageError, Wellkept

WHY = "CrewAI has an environment of its own: make test-integrations"
backend: Any = pytest.importorskip("crewai.memory.storage.backend", reason=WHY)
crew_types: Any = pytest.importorskip("crewai.memory.types", reason=WHY)
pytestmark = pytest.mark.feature("I2")
EXAMPLE = Path(__file__).resolve().parents[5] / "examples" / "crewai_storage.py"


@pytest.fixture
def storage(wk: Wellkept) -> Any:
    from wellkept_adapters.crewai import WellkeptStorage

    return WellkeptStorage(wk)


def record(content: str, **fields: Any) -> Any:
    return crew_types.MemoryRecord(content=content, **fields)


def nearest(storage: Any, text: str, **conditions: Any) -> list[str]:
    (vector,) = storage.embedder([text])
    return [one.content for one, _ in storage.search(vector, **conditions)]


def test_it_is_a_storage_backend_and_keeps_records_whole(storage: Any) -> None:
    assert isinstance(storage, backend.StorageBackend)
    given = record(
        "We deploy on Fridays",
        scope="/team/a b",
        categories=["process"],
        metadata={"n": 1},
        importance=0.7,
        source="ann",
        private=True,
    )
    storage.save([given])
    assert storage.get_record(given.id) == given
    assert storage.get_record("nothing") is None


def test_search_is_by_vector_within_scope_category_and_metadata(storage: Any) -> None:
    storage.save(
        [
            record("We deploy on Fridays", scope="/a", categories=["process"]),
            record("We deploy to the staging cluster", scope="/a/b", metadata={"n": 2}),
            record("The cat sleeps all day", scope="/ab"),
        ]
    )
    assert nearest(storage, "when do we deploy on Fridays?")[0] == "We deploy on Fridays"
    assert set(nearest(storage, "deploy", scope_prefix="/a")) == {
        "We deploy on Fridays",
        "We deploy to the staging cluster",
    }
    assert nearest(storage, "deploy", categories=["process", "other"]) == ["We deploy on Fridays"]
    assert nearest(storage, "deploy", metadata_filter={"n": 2}) == [
        "We deploy to the staging cluster"
    ]
    assert nearest(storage, "deploy", limit=1, min_score=0.999) == []
    assert storage.search([]) == []
    with pytest.raises(UsageError, match=r"storage\.embedder"):
        storage.search([0.1, 0.2, 0.3])


def test_lists_counts_and_scopes(storage: Any) -> None:
    base = datetime(2026, 1, 1)
    for n, scope in enumerate(["/a", "/a/b", "/c"]):
        storage.save([record(f"Fact {n}", scope=scope, categories=["x", scope],
                             created_at=base + timedelta(days=n))])  # fmt: skip
    assert [one.content for one in storage.list_records()] == ["Fact 2", "Fact 1", "Fact 0"]
    assert [one.content for one in storage.list_records("/a", limit=1, offset=1)] == ["Fact 0"]
    assert storage.count() == 3
    assert storage.count("/a") == 2
    assert storage.list_scopes() == ["/a", "/c"]
    assert storage.list_scopes("/a") == ["/a/b"]
    assert storage.list_categories("/a") == {"x": 2, "/a": 1, "/a/b": 1}
    info = storage.get_scope_info("/a")
    assert (info.record_count, info.child_scopes) == (2, ["/a/b"])
    assert info.oldest_record == base.replace(tzinfo=UTC)


def test_update_moves_and_delete_removes_for_good(storage: Any, wk: Wellkept) -> None:
    one, two = record("One", scope="/a"), record("Two", scope="/a", categories=["x"])
    storage.save([one, two])
    storage.update(one.model_copy(update={"content": "Uno", "scope": "/b"}))
    assert [r.content for r in storage.list_records("/a")] == ["Two"]
    assert storage.get_record(one.id).content == "Uno"
    assert storage.delete(record_ids=[one.id]) == 1
    assert storage.delete(older_than=datetime(2001, 1, 1)) == 0
    assert storage.delete(categories=["x"]) == 1
    assert wk.stats(validity="any").total == 0
    storage.save([record("Three", scope="/a"), record("Four", scope="/c")])
    storage.reset("/a")
    assert storage.count() == 1


def test_awaited_calls_do_the_same(storage: Any) -> None:
    async def run() -> None:
        await storage.asave([record("We deploy on Fridays")])
        (vector,) = storage.embedder(["deploy Fridays"])
        ((found, score),) = await storage.asearch(vector)
        assert found.content == "We deploy on Fridays"
        assert 0 < score <= 1
        assert await storage.adelete(record_ids=[found.id]) == 1

    asyncio.run(run())


def test_the_memory_of_a_crew_runs_on_it(storage: Any, wk: Wellkept) -> None:
    memory_class: Any = pytest.importorskip("crewai.memory", reason=WHY).Memory
    memory = memory_class(storage=storage, embedder=storage.embedder)
    memory.remember("We deploy on Fridays", scope="/team", categories=["p"], importance=0.7)
    (match,) = memory.recall("when do we deploy on Fridays?", scope="/team", depth="shallow")
    assert match.record.content == "We deploy on Fridays"
    (kept,) = wk.iterate()
    assert "crewai" in kept.tags
    assert memory.forget(scope="/team") == 1
    memory.close()
    assert wk.stats(validity="any").total == 0


def test_the_example_runs(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)],
        cwd=tmp_path,
        env={**os.environ},
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "We deploy on Fridays" in done.stdout
