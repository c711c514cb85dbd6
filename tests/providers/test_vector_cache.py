"""Vectors of questions and skill texts, kept on disk by model and text."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from wellkept.models.embedders import cache
from wellkept.models.embedders.cache import CachedEmbedder
from wellkept.models.embedders.words import pack_unit

pytestmark = pytest.mark.feature("B4")


class Counting:
    """An embedder that counts what it was asked."""

    dimension = 2

    def __init__(self, model_id: str = "slow") -> None:
        self.model_id = model_id
        self.asked: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        self.asked += texts
        return [pack_unit([len(text), 1.0]) for text in texts]

    def embed_query(self, text: str) -> bytes:
        self.asked.append(text)
        return pack_unit([1.0, len(text)])


def test_a_question_is_embedded_once_in_all_processes(tmp_path: Path):
    first, second = Counting(), Counting()
    vector = CachedEmbedder(first, tmp_path, documents=False).embed_query("where?")
    assert CachedEmbedder(second, tmp_path, documents=False).embed_query("where?") == vector
    assert (first.asked, second.asked) == (["where?"], [])


def test_texts_are_kept_apart_from_questions_and_only_when_asked_for(tmp_path: Path):
    inner = Counting()
    kept = CachedEmbedder(inner, tmp_path, documents=True)
    vectors = kept.embed_documents(["a", "bb", "a"])
    assert kept.embed_documents(["bb", "a", "ccc"])[:2] == [vectors[1], vectors[0]]
    assert inner.asked == ["a", "bb", "ccc"]
    assert kept.embed_query("bb") != vectors[1]
    loose = CachedEmbedder(inner, tmp_path, documents=False)
    loose.embed_documents(["a"])
    assert inner.asked[-1] == "a"


def test_another_model_has_its_own_vectors(tmp_path: Path):
    other = Counting("other")
    CachedEmbedder(Counting(), tmp_path, documents=False).embed_query("where?")
    CachedEmbedder(other, tmp_path, documents=False).embed_query("where?")
    assert other.asked == ["where?"]


def test_half_a_record_at_the_end_is_ignored(tmp_path: Path):
    vector = CachedEmbedder(Counting(), tmp_path, documents=False).embed_query("where?")
    (path,) = tmp_path.iterdir()
    with path.open("ab") as stream:
        stream.write(b"cut")
    again = Counting()
    assert CachedEmbedder(again, tmp_path, documents=False).embed_query("where?") == vector
    assert again.asked == []


def test_records_after_half_a_record_are_still_read_right(tmp_path: Path):
    CachedEmbedder(Counting(), tmp_path, documents=False).embed_query("first")
    (path,) = tmp_path.iterdir()
    with path.open("ab") as stream:
        stream.write(b"cut")
    vector = CachedEmbedder(Counting(), tmp_path, documents=False).embed_query("second")
    again = Counting()
    assert CachedEmbedder(again, tmp_path, documents=False).embed_query("second") == vector
    assert again.asked == []


def test_a_damaged_vector_is_made_again_and_the_file_mended(tmp_path: Path):
    texts = ["first", "second", "third"]
    kept = [CachedEmbedder(Counting(), tmp_path, documents=False).embed_query(t) for t in texts]
    (path,) = tmp_path.iterdir()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    for made in (["second"], []):
        again = Counting()
        mended = CachedEmbedder(again, tmp_path, documents=False)
        assert [mended.embed_query(text) for text in texts] == kept
        assert again.asked == made


_MANY = (
    "import sys; from pathlib import Path; from tests.providers.test_vector_cache import *;"
    "kept = CachedEmbedder(Counting(), Path(sys.argv[1]), documents=True);"
    "[kept.embed_documents([f'{sys.argv[2]} {n}']) for n in range(300)]"
)


def test_two_processes_write_one_file(tmp_path: Path):
    both = [
        subprocess.Popen([sys.executable, "-c", _MANY, str(tmp_path), name]) for name in ("a", "b")
    ]
    assert [each.wait(120) for each in both] == [0, 0]
    again = Counting()
    texts = [f"{name} {number}" for name in ("a", "b") for number in range(300)]
    CachedEmbedder(again, tmp_path, documents=True).embed_documents(texts)
    assert again.asked == []


def test_a_full_file_keeps_the_newest_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cache, "MOST_RECORDS", 8)
    inner = Counting()
    kept = CachedEmbedder(inner, tmp_path, documents=False)
    for number in range(9):
        kept.embed_query(str(number))
    again = Counting()
    later = CachedEmbedder(again, tmp_path, documents=False)
    later.embed_query("8")
    later.embed_query("0")
    assert again.asked == ["0"]


def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    inner = Counting()
    kept = CachedEmbedder(inner, tmp_path / "file" / "vectors", documents=False)
    assert kept.embed_query("where?") == inner.embed_query("where?")
