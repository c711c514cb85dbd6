"""Models that are downloaded on request, from a loopback hub: hashes, interruptions, failures."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import sleep

import pytest

from tests.providers import tiny_onnx
from tests.support.model_hub import FakeModelHub
from wellkept.core.errors import ProviderError, UsageError
from wellkept.models import EmbeddingChoice, downloaded_models, open_embedder, plan_embedding
from wellkept.models.downloaded_models import download, downloaded_model, remove, usable_model
from wellkept.models.rerankers import CrossEncoderReranker

pytestmark = [
    pytest.mark.feature("B4", "B7"),
    pytest.mark.skipif(
        downloaded_models.find_spec("fastembed") is None, reason="the extra `models` is optional"
    ),
]

EMBEDDER, RERANKER = "BAAI/bge-small-en-v1.5", "Xenova/ms-marco-MiniLM-L-6-v2"
_WEIGHTS = b"weights" * 100_000
_NOBODY = {"OLLAMA_HOST": "127.0.0.1:9"}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeModelHub]:
    usual = {"config.json": b"{}", "tokenizer.json": b"[]", "README.md": b"read me"}
    with FakeModelHub(
        {
            "Qdrant/bge-small-en-v1.5-onnx-Q": {"model_optimized.onnx": _WEIGHTS, **usual},
            RERANKER: tiny_onnx.repository("tree", "lunch", "vault"),
        }
    ) as found:
        monkeypatch.setenv("HF_ENDPOINT", found.url)
        monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")
        yield found


def _fetched(hub: FakeModelHub) -> list[str]:
    return [line for line in hub.seen if line.startswith("GET") and "/resolve/" in line]


def test_a_downloaded_model_has_a_manifest_with_sizes_and_hashes(hub: FakeModelHub, tmp_path: Path):
    model = download(EMBEDDER.lower(), tmp_path)
    assert downloaded_model(EMBEDDER, tmp_path) == model
    hashed = (len(_WEIGHTS), hashlib.sha256(_WEIGHTS).hexdigest())
    assert model.files["model_optimized.onnx"] == hashed
    assert set(model.files) == {"model_optimized.onnx", "config.json", "tokenizer.json"}
    assert model.dimension == 384
    assert usable_model(EMBEDDER, "embedding", tmp_path) == model


def test_a_model_is_downloaded_once_unless_asked_again(hub: FakeModelHub, tmp_path: Path):
    download(EMBEDDER, tmp_path)
    once = len(_fetched(hub))
    download(EMBEDDER, tmp_path)
    assert len(_fetched(hub)) == once
    download(EMBEDDER, tmp_path, again=True)
    assert len(_fetched(hub)) > once


def test_asking_again_mends_a_file_of_the_right_size(hub: FakeModelHub, tmp_path: Path):
    model = download(EMBEDDER, tmp_path)
    (model.folder / "model_optimized.onnx").write_bytes(bytes(len(_WEIGHTS)))
    with pytest.raises(ProviderError, match="SHA-256"):
        model.verify()
    download(EMBEDDER, tmp_path, again=True).verify()


def test_offline_the_download_is_refused_with_a_reason_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ProviderError, match="could not be downloaded: its hub cannot be rea") as e:
        download(EMBEDDER, tmp_path / "models")
    assert "afterwards it works offline" in str(e.value)
    assert not (tmp_path / "models").exists()


@pytest.mark.parametrize("status", [401, 404])
def test_what_the_hub_answers_is_said(hub: FakeModelHub, tmp_path: Path, status: int):
    hub.status = status
    with pytest.raises(ProviderError, match=f"its hub answered with status {status}"):
        download(EMBEDDER, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["model_optimized.onnx", "config.json"])
def test_a_file_damaged_on_the_way_is_refused_and_fetched_anew(
    hub: FakeModelHub, tmp_path: Path, path: str
):
    hub.damaged = {path}
    with pytest.raises(ProviderError, match=f"{path}.*its hash differs"):
        download(EMBEDDER, tmp_path)
    assert downloaded_model(EMBEDDER, tmp_path) is None
    hub.damaged = set()
    download(EMBEDDER, tmp_path).verify()


def test_too_little_room_is_said_before_anything_is_fetched(
    hub: FakeModelHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def used(_: object) -> shutil._ntuple_diskusage:  # pyright: ignore[reportPrivateUsage]
        return shutil._ntuple_diskusage(10, 10, 5)  # pyright: ignore[reportPrivateUsage]

    monkeypatch.setattr(shutil, "disk_usage", used)
    with pytest.raises(ProviderError, match="needs 1 MB more, but only 1 MB are free"):
        download(EMBEDDER, tmp_path)
    assert _fetched(hub) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_disk_that_fills_up_is_named_as_the_reason(hub: FakeModelHub, tmp_path: Path):
    folder = tmp_path / "baai--bge-small-en-v1.5"
    folder.mkdir()
    digest = hashlib.sha256(_WEIGHTS).hexdigest()
    (folder / f"model_optimized.onnx.{digest[:8]}.part").symlink_to("/dev/full")
    with pytest.raises(ProviderError, match="could not be downloaded: the disk is full") as e:
        download(EMBEDDER, tmp_path)
    assert isinstance(e.value.__cause__, OSError)
    assert e.value.__cause__.errno == errno.ENOSPC
    assert downloaded_model(EMBEDDER, tmp_path) is None


_GET = (
    "import sys; from pathlib import Path; from wellkept.models.downloaded_models import download;"
    "download(sys.argv[1], Path(sys.argv[2])).verify()"
)


def test_a_killed_download_is_no_model_and_goes_on_where_it_ended(
    hub: FakeModelHub, tmp_path: Path
):
    hub.hold_after = 300_000
    killed = subprocess.Popen([sys.executable, "-c", _GET, EMBEDDER, str(tmp_path)])
    assert hub.holding.wait(60)
    for _ in range(600):
        if any(part.stat().st_size for part in tmp_path.rglob("*.part")):
            break
        sleep(0.05)
    killed.kill()
    killed.wait()
    hub.hold_after = None
    hub.go_on.set()
    assert downloaded_model(EMBEDDER, tmp_path) is None
    with pytest.raises(ProviderError, match="not on this machine"):
        usable_model(EMBEDDER, "embedding", tmp_path)
    download(EMBEDDER, tmp_path).verify()
    (resumed,) = hub.ranges
    assert resumed.startswith("model_optimized.onnx from ")


def test_what_a_killed_download_left_can_be_removed(hub: FakeModelHub, tmp_path: Path):
    hub.damaged = {"config.json"}
    with pytest.raises(ProviderError, match="hash differs"):
        download(EMBEDDER, tmp_path)
    assert remove(EMBEDDER, tmp_path) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", "..", "."])
def test_only_models_are_removed(tmp_path: Path, name: str):
    (tmp_path / "models").mkdir()
    with pytest.raises(UsageError, match="not on this machine"):
        remove(name, tmp_path / "models")
    assert (tmp_path / "models").exists()


def test_a_connection_that_breaks_off_is_taken_up_again(hub: FakeModelHub, tmp_path: Path):
    hub.cut_after, hub.cuts = 300_000, 1
    download(EMBEDDER, tmp_path).verify()
    assert hub.ranges == ["model_optimized.onnx from 300000"]


def test_one_that_keeps_breaking_off_is_given_up_and_goes_on_next_time(
    hub: FakeModelHub, tmp_path: Path
):
    hub.cut_after, hub.cuts = 100_000, 3
    with pytest.raises(ProviderError, match="its hub cannot be reached"):
        download(EMBEDDER, tmp_path)
    download(EMBEDDER, tmp_path).verify()
    assert hub.ranges[-1] == "model_optimized.onnx from 300000"


def test_progress_ends_with_all_bytes(hub: FakeModelHub, tmp_path: Path):
    told: list[tuple[int, int]] = []
    model = download(EMBEDDER, tmp_path, progress=lambda done, total: told.append((done, total)))
    total = sum(size for size, _ in model.files.values())
    assert told[-1] == (total, total)
    assert sorted(told) == told


def test_what_is_no_hub_is_said(hub: FakeModelHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    hub.status = 200
    with pytest.raises(ProviderError, match="is no model hub"):
        download(EMBEDDER, tmp_path)


def test_models_of_one_repository_do_not_share_files(hub: FakeModelHub, tmp_path: Path):
    both = "onnx-community/bge-reranker-v2-m3-ONNX"
    small = {"onnx/model_int8.onnx": _WEIGHTS, "config.json": b"{}"}
    large = {"onnx/model.onnx": _WEIGHTS, "onnx/model.onnx_data": _WEIGHTS}
    hub.repositories = {both: {**small, **large}}
    download("BAAI/bge-reranker-v2-m3-int8", tmp_path)
    kept = download("BAAI/bge-reranker-v2-m3", tmp_path)
    assert set(kept.files) == {*large, "config.json"}
    remove("BAAI/bge-reranker-v2-m3-int8", tmp_path)
    kept.verify()


def test_a_models_folder_behind_a_link_works(hub: FakeModelHub, tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    download(EMBEDDER, tmp_path / "link")
    usable_model(EMBEDDER, "embedding", tmp_path / "link").verify()


def test_an_unknown_name_lists_similar_ones(tmp_path: Path):
    with pytest.raises(
        UsageError, match=r"No model is called 'MiniLM-L-6'\. Did you mean Xenova/ms"
    ):
        download("MiniLM-L-6", tmp_path)


def test_a_model_that_is_not_here_says_how_to_get_it(tmp_path: Path):
    with pytest.raises(ProviderError, match=f"wellkept admin models get {EMBEDDER}"):
        usable_model(EMBEDDER, "embedding", tmp_path)


def test_a_cut_file_and_the_wrong_kind_are_refused(hub: FakeModelHub, tmp_path: Path):
    model = download(EMBEDDER, tmp_path)
    with pytest.raises(ProviderError, match="no reranker model"):
        usable_model(EMBEDDER, "reranker", tmp_path)
    (model.folder / "config.json").write_text("{ }")
    with pytest.raises(ProviderError, match="3 bytes, 2 were expected"):
        usable_model(EMBEDDER, "embedding", tmp_path)


@pytest.mark.parametrize("kept", ["", "[]", "{}", '{"name": 1, "kind": "x", "files": {}}'])
def test_a_damaged_manifest_is_no_model(tmp_path: Path, kept: str):
    (tmp_path / "baai--bge-small-en-v1.5.json").write_text(kept)
    assert downloaded_model(EMBEDDER, tmp_path) is None
    assert downloaded_models.downloaded_models(tmp_path) == []


def test_a_removed_model_is_gone_with_its_files(hub: FakeModelHub, tmp_path: Path):
    download(EMBEDDER, tmp_path)
    remove(EMBEDDER, tmp_path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match="not on this machine"):
        remove(EMBEDDER, tmp_path)


def test_a_model_chosen_by_name_is_planned_with_its_own_dimension(
    hub: FakeModelHub, tmp_path: Path
):
    download(EMBEDDER, tmp_path)
    choice = EmbeddingChoice(name="fastembed", model=EMBEDDER, models_folder=tmp_path)
    plan = plan_embedding(choice, _NOBODY)
    assert plan is not None
    assert plan.model.model_id == f"fastembed:{EMBEDDER}@384"
    stored = plan_embedding(EmbeddingChoice(), _NOBODY, stored_model_id=plan.model.model_id)
    assert stored is not None
    assert stored.model == plan.model


def test_doctor_hashes_the_files_of_a_downloaded_model(hub: FakeModelHub, tmp_path: Path):
    model = download(EMBEDDER, tmp_path)
    choice = EmbeddingChoice(name="fastembed", model=EMBEDDER, models_folder=tmp_path)
    embedder = open_embedder(choice, _NOBODY)
    assert embedder is not None
    embedder.verify_weights()
    (model.folder / "config.json").write_text("[]")
    with pytest.raises(ProviderError, match="SHA-256"):
        embedder.verify_weights()


def test_a_model_that_cannot_be_loaded_is_an_error_of_ours(hub: FakeModelHub, tmp_path: Path):
    download(EMBEDDER, tmp_path)
    choice = EmbeddingChoice(name="fastembed", model=EMBEDDER, models_folder=tmp_path)
    embedder = open_embedder(choice, _NOBODY)
    assert embedder is not None
    with pytest.raises(ProviderError, match=f"The model {EMBEDDER} failed"):
        embedder.embed_query("a question")


def test_auto_never_takes_a_downloaded_model_by_itself(hub: FakeModelHub, tmp_path: Path):
    download(EMBEDDER, tmp_path)
    plan = plan_embedding(EmbeddingChoice(models_folder=tmp_path), _NOBODY)
    assert plan is not None
    assert plan.model.tier == "static"


def test_a_downloaded_reranker_scores_texts_in_their_order(hub: FakeModelHub, tmp_path: Path):
    download(RERANKER, tmp_path)
    scores = CrossEncoderReranker(RERANKER, tmp_path).scores("where", ["vault", "tree", "lunch"])
    assert scores[0] > scores[2] > scores[1]


def test_a_reranker_that_is_not_here_fails_when_it_is_asked(tmp_path: Path):
    reranker = CrossEncoderReranker("maker/reranker", tmp_path)
    assert reranker.scores("question", []) == []
    with pytest.raises(ProviderError, match="wellkept admin models get maker/reranker"):
        reranker.scores("question", ["text"])


def test_a_reranker_that_cannot_be_loaded_is_an_error_of_ours(hub: FakeModelHub, tmp_path: Path):
    hub.repositories = {RERANKER: {"onnx/model.onnx": _WEIGHTS}}
    download(RERANKER, tmp_path)
    with pytest.raises(ProviderError, match=f"The model {RERANKER} failed"):
        CrossEncoderReranker(RERANKER, tmp_path).scores("question", ["text"])


def test_a_local_model_reports_to_nobody(hub: FakeModelHub, tmp_path: Path):
    home = tmp_path / "home"
    home.mkdir()
    variables = {k: v for k, v in os.environ.items() if "TELEMETRY" not in k and k[:4] != "XDG_"}
    download(RERANKER, tmp_path / "models")
    code = (
        "import sys; from pathlib import Path;"
        "from wellkept.models.rerankers import CrossEncoderReranker as R;"
        "print(R(sys.argv[1], Path(sys.argv[2])).scores('where', ['vault', 'tree']))"
    )
    words = [sys.executable, "-c", code, RERANKER, str(tmp_path / "models")]
    subprocess.run(words, env={**variables, "HOME": str(home)}, check=True)
    assert list(home.rglob("*")) == []
