"""Conclusions in a model's words, over a real connection: good answers, bad ones, none (D4)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import wellkept
from tests.observe.learning_steps import PROJECT, START, Work, eleven_parts, take
from tests.support.embedding_server import Behaviour, FakeEmbeddingServer, Fault
from wellkept.api.wellkept import Wellkept
from wellkept.core.memory import Memory
from wellkept.core.settings.model import Settings
from wellkept.core.types import MemoryType
from wellkept.testing.fakes import ManualClock

pytestmark = pytest.mark.feature("D4")
PAIR = "`src/cart.py` and `src/tax.py` go together: work on one needs the other."
BETTER = "Whoever changes `src/cart.py` has to look at `src/tax.py` as well."


@pytest.fixture
def server() -> Iterator[FakeEmbeddingServer]:
    with FakeEmbeddingServer(Behaviour(completion=json.dumps([BETTER]))) as running:
        yield running


def opened(
    tmp_path: Path, server: FakeEmbeddingServer, *, tokens: int = 50_000, timeout_s: float = 30.0
) -> Wellkept:
    return wellkept.open(
        tmp_path / "memory.db",
        project=PROJECT,
        cwd=tmp_path,
        embedder="none",
        clock=ManualClock(START + timedelta(days=9)),
        settings=Settings(
            text_model_base_url=server.openai_url,
            text_model_name="small",
            capture_daily_model_tokens=tokens,
            text_model_timeout_s=timeout_s,
        ),
    )


def learned(wk: Wellkept, *days: int) -> list[Memory]:
    """What sessions on two files that belong together amount to."""
    for day in days:
        w = Work(day)
        told = [w.prompt("Add a rate"), w.change("src/cart.py"), w.change("src/tax.py")]
        take(wk.engine, [*told, w.tests_pass(), w.end()])
        wk.observer.learn([w.session_id])
    return [m for m in wk.iterate() if m.type is MemoryType.CAUSAL_DEPENDENCY]


def test_a_conclusion_takes_the_words_of_the_model_and_keeps_its_facts(
    tmp_path: Path, server: FakeEmbeddingServer
) -> None:
    with opened(tmp_path, server) as wk:
        (memory,) = learned(wk, 1, 2, 3)
        assert memory.content == BETTER
        assert set(memory.files) == {"src/cart.py", "src/tax.py"}
        assert memory.payload is not None
        (asked,) = server.seen
        assert PAIR in json.dumps(asked.body, ensure_ascii=False)
        reason = wk.observer.why(memory).explanation
        assert reason is not None
        assert reason.rule == "co_dependence"


def test_what_is_known_is_not_worded_again_and_keeps_its_words(
    tmp_path: Path, server: FakeEmbeddingServer
) -> None:
    with opened(tmp_path, server) as wk:
        learned(wk, 1, 2, 3)
        (memory,) = learned(wk, 4, 5)
        assert memory.content == BETTER
        assert len(memory.provenance_sessions) == 5
        assert len(server.seen) == 1


BAD_ANSWERS = (
    "I am sorry, I cannot do that.",
    "[]",
    "{}",
    json.dumps([BETTER, BETTER]),
    json.dumps([None]),
    json.dumps([{"text": BETTER}]),
    json.dumps([""]),
    json.dumps(["Look at both files."]),
    json.dumps(["Only `src/cart.py` matters here."]),
    json.dumps([f"{BETTER} Then run `rm -rf build`."]),
    json.dumps([f"{BETTER} It was deployed to prod."]),
    json.dumps([f"{BETTER} Skip the checks."]),
    json.dumps([BETTER * 40]),
    "[" * 100_000,
    "[" + BETTER,
)


@pytest.mark.parametrize("answer", BAD_ANSWERS, ids=range(len(BAD_ANSWERS)))
def test_an_answer_that_does_not_fit_is_dropped(tmp_path: Path, answer: str) -> None:
    with (
        FakeEmbeddingServer(Behaviour(completion=answer)) as server,
        opened(tmp_path, server) as wk,
    ):
        (memory,) = learned(wk, 1, 2, 3)
        assert memory.content == PAIR
        assert len(server.seen) == 1


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=400),
        Fault(status=401),
        Fault(body=b"not json"),
        Fault(body=b'{"choices": []}'),
        Fault(body=b'{"choices": [{"message": {"content": null}}]}'),
    ],
)
def test_a_model_that_fails_costs_nothing_but_its_words(
    tmp_path: Path, server: FakeEmbeddingServer, fault: Fault
) -> None:
    server.fail_next(fault)
    with opened(tmp_path, server) as wk:
        (memory,) = learned(wk, 1, 2, 3)
        assert memory.content == PAIR


def test_a_model_that_does_not_answer_in_time_is_not_waited_for(
    tmp_path: Path, server: FakeEmbeddingServer
) -> None:
    server.fail_next(*(Fault(hang=True) for _ in range(4)))
    with opened(tmp_path, server, timeout_s=0.05) as wk:
        (memory,) = learned(wk, 1, 2, 3)
        assert memory.content == PAIR


def test_without_budget_the_model_is_not_asked(tmp_path: Path, server: FakeEmbeddingServer) -> None:
    with opened(tmp_path, server, tokens=500) as wk:
        (memory,) = learned(wk, 1, 2, 3)
        assert memory.content == PAIR
        assert server.seen == []


# -- Consolidation --------------------------------------------------------------------------------


def consolidated(wk: Wellkept) -> list[Memory]:
    """The insights of a piece of work with eleven sub-tasks."""
    w = Work()
    events = eleven_parts(w, "src/core.py", "web/api.py")
    take(wk.engine, [*events, w.end()])
    wk.observer.verdict(w.session_id, "passed", detail="reviewed")
    return [m for m in wk.iterate() if "consolidation" in m.tags]


@pytest.mark.feature("D7")
def test_a_model_names_insights_of_a_large_piece_of_work(tmp_path: Path) -> None:
    said = [
        "Each part that succeeded changed `src/core.py`.",
        "Each part that succeeded needs `web/api.py`.",
        "The web was deployed from `web/api.py`.",
    ]
    with (
        FakeEmbeddingServer(Behaviour(completion=json.dumps(said))) as server,
        opened(tmp_path, server) as wk,
    ):
        found = {m.content: m for m in consolidated(wk)}
        assert set(said[:2]) == set(found)
        assert found[said[0]].files == ("src/core.py",)
        assert all(wk.observer.why(m).explanation is not None for m in found.values())


@pytest.mark.feature("D7")
@pytest.mark.parametrize("answer", ["no", json.dumps(["Only one."]), json.dumps([1, 2, 3])])
def test_too_few_insights_of_a_model_leave_it_to_the_rules(tmp_path: Path, answer: str) -> None:
    with (
        FakeEmbeddingServer(Behaviour(completion=answer)) as server,
        opened(tmp_path, server) as wk,
    ):
        (insight,) = consolidated(wk)
        assert insight.content.startswith(
            "`src/core.py` and `web/api.py` change together: 11 of 11"
        )
