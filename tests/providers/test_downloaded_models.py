"""Models that are downloaded on request: manifests, hashes, and what is said when it fails."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wellkept.core.errors import ProviderError, UsageError
from wellkept.providers import EmbeddingChoice, downloaded_models, open_embedder, plan_embedding
from wellkept.providers.downloaded_models import download, downloaded_model, remove, usable_model
from wellkept.providers.rerankers.cross_encoder import CrossEncoderReranker

pytestmark = [
    pytest.mark.feature("B4", "B7"),
    pytest.mark.skipif(
        downloaded_models.find_spec("fastembed") is None, reason="the extra `models` is optional"
    ),
]

_WEIGHTS = b"weights" * 100
_NOBODY = {"OLLAMA_HOST": "127.0.0.1:9"}


class FakeHub:
    """A hub of one model, laid out as the real one keeps its files: blobs under their SHA-256."""

    def __init__(self, *, name: str = "maker/small", dim: int | None = 384) -> None:
        self.description = SimpleNamespace(
            model=name,
            model_file="model.onnx",
            license="mit",
            size_in_GB=0.03,
            dim=dim,
            description="small",
            sources=SimpleNamespace(hf="maker/small-onnx"),
        )
        self.downloads = 0
        self.error: Exception | None = None
        self.sent = _WEIGHTS

    def _list_supported_models(self) -> list[Any]:
        return [self.description]

    def download_model(self, description: Any, folder: str, **options: Any) -> Path:
        if self.error is not None:
            raise self.error
        self.downloads += 1
        top = Path(folder) / "models--maker--small-onnx"
        place, blobs = top / "snapshots" / "abc", top / "blobs"
        place.mkdir(parents=True, exist_ok=True)
        blobs.mkdir(exist_ok=True)
        blob = blobs / hashlib.sha256(_WEIGHTS).hexdigest()
        blob.write_bytes(self.sent)
        if not (place / "model.onnx").exists():
            (place / "model.onnx").symlink_to(blob)
        (place / "config.json").write_text("{}")
        return place


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> FakeHub:
    found = FakeHub()
    monkeypatch.setattr(downloaded_models, "_managers", lambda: {"embedding": found})
    return found


def test_a_downloaded_model_has_a_manifest_with_sizes_and_hashes(hub: FakeHub, tmp_path: Path):
    model = download("Maker/Small", tmp_path)
    assert downloaded_model("maker/small", tmp_path) == model
    assert model.files["model.onnx"] == (len(_WEIGHTS), hashlib.sha256(_WEIGHTS).hexdigest())
    assert model.dimension == 384
    assert usable_model("maker/small", "embedding", tmp_path) == model


def test_a_model_is_downloaded_once_unless_asked_again(hub: FakeHub, tmp_path: Path):
    download("maker/small", tmp_path)
    download("maker/small", tmp_path)
    assert hub.downloads == 1
    download("maker/small", tmp_path, again=True)
    assert hub.downloads == 2


def test_offline_the_download_is_refused_with_a_reason_and_leaves_no_model(
    hub: FakeHub, tmp_path: Path
):
    hub.error = OSError("Network is unreachable\nlong trace")
    with pytest.raises(ProviderError, match="could not be downloaded: Network is unreachable") as e:
        download("maker/small", tmp_path)
    assert "afterwards it works offline" in str(e.value)
    assert downloaded_model("maker/small", tmp_path) is None


def test_a_file_damaged_on_the_way_is_refused(hub: FakeHub, tmp_path: Path):
    hub.sent = b"other content"
    with pytest.raises(ProviderError, match="SHA-256 differs"):
        download("maker/small", tmp_path)
    assert downloaded_model("maker/small", tmp_path) is None


def test_an_unknown_name_lists_similar_ones(hub: FakeHub, tmp_path: Path):
    with pytest.raises(UsageError, match=r"No model is called 'small'\. Did you mean maker/small"):
        download("small", tmp_path)


def test_a_model_that_is_not_here_says_how_to_get_it(tmp_path: Path):
    with pytest.raises(ProviderError, match="wellkept models get maker/small"):
        usable_model("maker/small", "embedding", tmp_path)


def test_a_cut_file_and_the_wrong_kind_are_refused(hub: FakeHub, tmp_path: Path):
    model = download("maker/small", tmp_path)
    with pytest.raises(ProviderError, match="no reranker model"):
        usable_model("maker/small", "reranker", tmp_path)
    (model.folder / "config.json").write_text("{ }")
    with pytest.raises(ProviderError, match="3 bytes, 2 were expected"):
        usable_model("maker/small", "embedding", tmp_path)


def test_other_content_of_the_same_size_is_found_by_its_hash(hub: FakeHub, tmp_path: Path):
    model = download("maker/small", tmp_path)
    model.verify()
    (model.folder / "config.json").write_text("[]")
    with pytest.raises(ProviderError, match=r"config\.json.*SHA-256"):
        model.verify()


@pytest.mark.parametrize("kept", ["", "[]", "{}", '{"name": 1, "kind": "x", "files": {}}'])
def test_a_damaged_manifest_is_no_model(tmp_path: Path, kept: str):
    (tmp_path / "maker--small.json").write_text(kept)
    assert downloaded_model("maker/small", tmp_path) is None
    assert downloaded_models.downloaded_models(tmp_path) == []


def test_a_removed_model_is_gone_with_its_files(hub: FakeHub, tmp_path: Path):
    download("maker/small", tmp_path)
    remove("maker/small", tmp_path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match="not on this machine"):
        remove("maker/small", tmp_path)


def test_a_model_chosen_by_name_is_planned_with_its_own_dimension(hub: FakeHub, tmp_path: Path):
    download("maker/small", tmp_path)
    choice = EmbeddingChoice(name="fastembed", model="maker/small", models_folder=tmp_path)
    plan = plan_embedding(choice, _NOBODY)
    assert plan is not None
    assert plan.model.model_id == "fastembed:maker/small@384"
    stored = plan_embedding(EmbeddingChoice(), _NOBODY, stored_model_id=plan.model.model_id)
    assert stored is not None
    assert stored.model == plan.model


def test_doctor_hashes_the_files_of_a_downloaded_model(hub: FakeHub, tmp_path: Path):
    model = download("maker/small", tmp_path)
    choice = EmbeddingChoice(name="fastembed", model="maker/small", models_folder=tmp_path)
    embedder = open_embedder(choice, _NOBODY)
    assert embedder is not None
    embedder.verify_weights()
    (model.folder / "config.json").write_text("[]")
    with pytest.raises(ProviderError, match="SHA-256"):
        embedder.verify_weights()


def test_auto_never_takes_a_downloaded_model_by_itself(hub: FakeHub, tmp_path: Path):
    hub.description.model = "BAAI/bge-small-en-v1.5"
    download("BAAI/bge-small-en-v1.5", tmp_path)
    plan = plan_embedding(EmbeddingChoice(models_folder=tmp_path), _NOBODY)
    assert plan is not None
    assert plan.model.tier == "static"


def test_a_reranker_that_is_not_here_fails_when_it_is_asked(tmp_path: Path):
    reranker = CrossEncoderReranker("maker/reranker", tmp_path)
    assert reranker.scores("question", []) == []
    with pytest.raises(ProviderError, match="wellkept models get maker/reranker"):
        reranker.scores("question", ["text"])
