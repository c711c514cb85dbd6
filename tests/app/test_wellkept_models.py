"""A memory whose models are servers: wired from settings, and useful when a server is gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.opening import open_in
from tests.support.embedding_server import Behaviour, FakeEmbeddingServer, Fault
from wellkept.api.wiring import services
from wellkept.core.errors import ProviderError
from wellkept.core.settings.model import Settings
from wellkept.models.embedders.bundled_models import MINILM

pytestmark = pytest.mark.feature("B4")


def _ollama(url: str) -> Settings:
    return Settings(embedding_provider="ollama", embedding_base_url=url)


def test_a_configured_server_makes_the_vectors_and_the_store_keeps_its_name(
    tmp_path: Path,
) -> None:
    with (
        FakeEmbeddingServer() as server,
        open_in(tmp_path, embedder=None, settings=_ollama(server.url)) as wk,
    ):
        wk.remember("The deploy key is in the vault")
        (share,) = wk.engine.store.vector_models()
        assert (share.model_id, share.dimension) == ("ollama:qwen3-embedding:4b@1024", 1024)
        assert "vectors" in wk.recall("where is the deploy key?")[0].retrievers
        assert wk.engine.store.get_value("calibration", share.model_id) is not None


def test_a_server_that_is_gone_leaves_words_and_a_note(tmp_path: Path) -> None:
    with FakeEmbeddingServer() as server:
        url = server.url
        with open_in(tmp_path, embedder=None, settings=_ollama(url)) as wk:
            wk.remember("The deploy key is in the vault")
    with open_in(tmp_path, embedder=None, settings=_ollama(url)) as wk:
        found = wk.recall("deploy key")
        assert len(found) == 1
        assert any("words only" in note for note in found.notes)
        wk.remember("A second statement about lunch")
        assert wk.embedding_problem is not None
        with pytest.raises(ProviderError):
            wk.reindex()
        assert wk.list().total == 2


@pytest.mark.feature("B7")
def test_a_text_model_and_a_reranker_are_used_only_when_configured(tmp_path: Path) -> None:
    with open_in(tmp_path) as wk:
        assert wk.engine.text_model() is None
        assert wk.engine.reranker() is None
    with FakeEmbeddingServer(Behaviour(completion="It is in the vault.")) as server:
        settings = Settings(
            text_model_base_url=server.openai_url,
            text_model_name="small",
            reranker_base_url=server.openai_url,
            reranker_name="ranker",
        )
        with open_in(tmp_path, settings=settings) as wk:
            model, reranker = wk.engine.text_model(), wk.engine.reranker()
            assert model is not None
            assert model.complete("Where?", max_tokens=10) == "It is in the vault."
            assert reranker is not None
            assert len(reranker.scores("vault", ["a vault", "a tree"])) == 2


@pytest.mark.feature("B7")
@pytest.mark.parametrize("fault", [Fault(hang=True), Fault(status=500), Fault(body=b"no json")])
def test_a_reranker_that_is_slow_or_broken_is_left_out_with_a_note(
    tmp_path: Path, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "RERANKER_LIMIT_S", 0.3)
    with FakeEmbeddingServer() as server:
        settings = Settings(reranker_base_url=server.openai_url, reranker_name="ranker")
        with open_in(tmp_path, settings=settings) as wk:
            wk.remember("The deploy key is in the vault")
            wk.remember("The deploy script is in the tools folder")
            assert wk.recall("deploy key vault").notes == ()
            before = len(server.seen)
            server.fail_next(fault)
            found = wk.recall("deploy key vault")
            assert "vault" in found[0].memory.content
            assert any("Not reranked" in note for note in found.notes)
            assert len(server.seen) == before + 1


@pytest.mark.feature("B7")
@pytest.mark.skipif(MINILM.problem() is not None, reason="the extra `models` is optional")
def test_minilm_reads_the_best_and_keeps_their_vectors(tmp_path: Path) -> None:
    settings = Settings(reranker_name="minilm")
    with open_in(tmp_path, embedder="static", settings=settings) as wk:
        wk.remember("The nightly job purges expired sessions")
        wk.remember("The nightly job sends the invoices")
        found = wk.recall("what does the nightly job do with old logins")
        assert "expired sessions" in found[0].memory.content
        assert "reranker" in {part.name for part in found[0].parts}
        (kept,) = (tmp_path / "data" / "vectors").iterdir()
        size = kept.stat().st_size
        wk.recall("what does the nightly job do with old logins")
        assert kept.stat().st_size == size


@pytest.mark.feature("B7")
def test_what_a_session_is_told_waits_for_no_reranker(tmp_path: Path) -> None:
    with FakeEmbeddingServer() as server:
        settings = Settings(reranker_base_url=server.openai_url, reranker_name="ranker")
        with open_in(tmp_path, settings=settings) as wk:
            wk.remember("Deploy with make ship, never by hand", type="convention")
            assert wk.context("never deploy by hand, use make ship", moment="prompt").items
            assert server.seen == []


def test_a_hiccup_while_keeping_many_loses_none(tmp_path: Path) -> None:
    with (
        FakeEmbeddingServer() as server,
        open_in(tmp_path, embedder=None, settings=_ollama(server.url)) as wk,
    ):
        server.fail_next(*[Fault(status=400)] * 3)
        kept = [wk.remember(text) for text in ("alpha beta", "gamma delta", "epsilon zeta")]
        assert len(kept) == 3
        assert wk.list().total == 3
        assert wk.recall("alpha beta").notes == ()
        wk.reindex()
        health = wk.doctor()
        assert health.findings == ()
        assert health.model is not None
        assert health.model.vectors == health.model.wanted == 3
