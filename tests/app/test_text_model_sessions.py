"""From hook event to memory by way of a model: endpoint or client, after the drain, never in it.

The model points at words; the words as they were said are kept, not its own.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import wellkept
from tests.app.test_live import Scene, events_of
from tests.providers.fake_clients import FakeClient, answers
from tests.support.embedding_server import Behaviour, FakeEmbeddingServer, Fault
from wellkept.api.learning import drain_and_learn
from wellkept.core.query import Filter
from wellkept.core.records import replace
from wellkept.core.settings.model import Settings
from wellkept.models.chat.text import CLIENTS
from wellkept.models.headless.clients import headless_client
from wellkept.observe.model.consolidation import archived_material
from wellkept.observe.observer.drain import drain_spool
from wellkept.observe.observer.spool_folder import SpoolFolder

pytestmark = pytest.mark.feature("C3", "C8", "C10")
SAID = "Looking at the data I see that receipts are printed in Euro for the shop in Bonn"
ITEM = {
    "type": "fact",
    "content": "The shop in Bonn prints receipts in Euro.",
    "evidence": [{"event": "e1", "quote": "receipts are printed in Euro"}],
}
ANSWER = json.dumps({"memories": [{**ITEM, "type": "requirement"}]})


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    made = Scene(tmp_path)
    made.catch("UserPromptSubmit", prompt=SAID)
    made.catch("Stop", last_assistant_message="Noted.")
    made.catch("SessionEnd", reason="exit")
    return made


def _open(scene: Scene, settings: Settings) -> wellkept.Wellkept:
    return wellkept.open(
        cwd=scene.work, embedder="none", settings=settings, environment=scene.environment
    )


def _by_model(wk: wellkept.Wellkept) -> list[str]:
    rows = wk.engine.store.iterate(Filter(project=None))
    return [row.content for row in rows if (row.author or "").startswith("model:")]


def _endpoint(server: FakeEmbeddingServer, *, timeout_s: float = 60.0) -> Settings:
    return Settings(
        text_model_provider="anthropic",
        text_model_base_url=server.url,
        text_model_name="small",
        text_model_timeout_s=timeout_s,
    )


def test_an_endpoint_reads_the_session_after_the_drain(scene: Scene) -> None:
    with (
        FakeEmbeddingServer(Behaviour(completion=ANSWER)) as server,
        _open(scene, _endpoint(server)) as wk,
    ):
        report = drain_and_learn(wk, translate=events_of, environment=scene.environment)
        assert report.model is not None
        assert (report.model.written, report.model.memories) == (1, 1)
        assert _by_model(wk) == [SAID]
        assert wk.doctor().facts["text model"] == "anthropic/small"
        assert "1 of 50 today" in wk.doctor().facts["model calls"]


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-ins are Unix scripts")
@pytest.mark.parametrize("name", list(CLIENTS))
def test_a_client_reads_the_session_after_the_drain(
    scene: Scene, tmp_path: Path, name: str
) -> None:
    fake = FakeClient(tmp_path, headless_client(name), answers(name, ANSWER))
    scene.environment |= {"HOME": str(fake.home), "PATH": "/usr/bin:/bin"}
    settings = Settings(
        text_model_provider=name, text_model_command=str(fake.program), text_model_name="a/small"
    )
    with _open(scene, settings) as wk:
        drain_and_learn(wk, translate=events_of, environment=scene.environment)
        assert _by_model(wk) == [SAID]
        assert SAID in str(fake.seen["stdin"])
        assert wk.engine.query_model() is None


@pytest.mark.parametrize("fault", [Fault(hang=True), Fault(trickle=True)])
def test_a_hanging_endpoint_holds_neither_drain_nor_lock(scene: Scene, fault: Fault) -> None:
    with (
        FakeEmbeddingServer(Behaviour(completion=ANSWER)) as server,
        _open(scene, _endpoint(server, timeout_s=1)) as wk,
    ):
        server.fail_next(fault)
        drained = drain_spool(
            wk.engine, wk.settings, translate=events_of, environment=scene.environment
        )
        # The drain is done and its lock free before the model is asked at all.
        assert drained.due
        assert server.seen == []
        with SpoolFolder.of(scene.environment).draining() as is_free:
            assert is_free
        report = drain_and_learn(wk, translate=events_of, environment=scene.environment)
        assert report.model is not None
        assert report.model.failed == 1
        assert len(server.seen) == 1
        # From then on it is left alone, and nothing is lost.
        later = drain_and_learn(wk, translate=events_of, environment=scene.environment)
        assert later.model is not None
        assert later.model.waiting == 1
        assert len(server.seen) == 1
        assert any("is not asked before" in f.message for f in wk.doctor().findings)


@pytest.mark.parametrize(("tokens", "is_whole"), [(500, False), (8_000, True)])
def test_after_as_many_failures_as_the_settings_allow_the_events_are_archived(
    scene: Scene, tokens: int, is_whole: bool
) -> None:
    scene.catch("UserPromptSubmit", prompt=SAID + ". " + "The lamp is green. " * 120)
    with FakeEmbeddingServer(Behaviour(completion="no JSON here")) as server:
        settings = replace(
            _endpoint(server), text_model_max_failures=1, text_model_batch_tokens=tokens
        )
        with _open(scene, settings) as wk:
            drain_and_learn(wk, translate=events_of, environment=scene.environment)
            assert len(server.seen) == 1
            (archived,) = archived_material(wk.engine).values()
            assert (str(archived).count("lamp") > 50) is is_whole


def test_the_daily_calls_of_the_settings_are_kept(scene: Scene) -> None:
    with FakeEmbeddingServer(Behaviour(completion=ANSWER)) as server:
        none = Settings(
            text_model_provider="openai",
            text_model_base_url=server.openai_url,
            text_model_name="small",
            text_model_daily_calls=0,
        )
        with _open(scene, none) as wk:
            drain_and_learn(wk, translate=events_of, environment=scene.environment)
            assert server.seen == []
        with _open(scene, _endpoint(server)) as wk:
            drain_and_learn(wk, translate=events_of, environment=scene.environment)
            assert _by_model(wk) == [SAID]


def test_without_a_model_nothing_is_asked_and_nothing_is_different(scene: Scene) -> None:
    with _open(scene, Settings()) as wk:
        report = drain_and_learn(wk, translate=events_of, environment=scene.environment)
        assert report.model is not None
        assert report.model.written == 0
        assert wk.engine.text_model() is None
        assert wk.engine.query_model() is None
        assert "text model" not in wk.doctor().facts
