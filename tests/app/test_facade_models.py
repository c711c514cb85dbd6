"""A memory whose models are servers: wired from settings, and useful when a server is gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.app.settings.model import Settings
from holdfast.core.errors import ProviderError
from holdfast.testing.embedding_server import Behaviour, FakeEmbeddingServer, Fault
from tests.app.opening import open_in

pytestmark = pytest.mark.feature("B4")


def _ollama(url: str) -> Settings:
    return Settings(embedding_provider="ollama", embedding_base_url=url, embedding_timeout_s=5)


def test_a_configured_server_makes_the_vectors_and_the_store_keeps_its_name(
    tmp_path: Path,
) -> None:
    with (
        FakeEmbeddingServer() as server,
        open_in(tmp_path, embedder=None, settings=_ollama(server.url)) as hf,
    ):
        hf.remember("The deploy key is in the vault")
        (share,) = hf.engine.store.models()
        assert (share.model_id, share.dimension) == ("ollama:qwen3-embedding:4b@1024", 1024)
        assert "vectors" in hf.recall("where is the deploy key?")[0].arms
        assert hf.engine.store.get_value("calibration", share.model_id) is not None


def test_a_server_that_is_gone_leaves_words_and_a_note(tmp_path: Path) -> None:
    with FakeEmbeddingServer() as server:
        url = server.url
        with open_in(tmp_path, embedder=None, settings=_ollama(url)) as hf:
            hf.remember("The deploy key is in the vault")
    with open_in(tmp_path, embedder=None, settings=_ollama(url)) as hf:
        found = hf.recall("deploy key")
        assert len(found) == 1
        assert any("words only" in note for note in found.notes)
        hf.remember("A second statement about lunch")
        assert hf.embedding_problem is not None
        with pytest.raises(ProviderError):
            hf.reindex()
        assert hf.list().total == 2


@pytest.mark.feature("B7")
def test_a_text_model_and_a_reranker_are_used_only_when_configured(tmp_path: Path) -> None:
    with open_in(tmp_path) as hf:
        assert hf.engine.text_model() is None
        assert hf.engine.reranker() is None
    with FakeEmbeddingServer(Behaviour(completion="It is in the vault.")) as server:
        settings = Settings(
            text_model_base_url=server.openai_url,
            text_model_name="small",
            reranker_base_url=server.openai_url,
            reranker_name="ranker",
        )
        with open_in(tmp_path, settings=settings) as hf:
            model, reranker = hf.engine.text_model(), hf.engine.reranker()
            assert model is not None
            assert model.complete("Where?", max_tokens=10) == "It is in the vault."
            assert reranker is not None
            assert len(reranker.scores("vault", ["a vault", "a tree"])) == 2


def test_a_hiccup_while_keeping_many_loses_none(tmp_path: Path) -> None:
    with (
        FakeEmbeddingServer() as server,
        open_in(tmp_path, embedder=None, settings=_ollama(server.url)) as hf,
    ):
        server.fail_next(*[Fault(status=400)] * 3)
        kept = [hf.remember(text) for text in ("alpha beta", "gamma delta", "epsilon zeta")]
        assert len(kept) == 3
        assert hf.list().total == 3
        assert hf.recall("alpha").notes == ()
        hf.reindex()
        health = hf.doctor()
        assert health.findings == ()
        assert health.model is not None
        assert health.model.vectors == health.model.wanted == 3
