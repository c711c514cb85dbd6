"""Meaning brings files near that share no word with a request, and is worked out only once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from wellkept.core.clock import system_clock
from wellkept.core.ports.code_search import CommitCount, CommitText, FileText, VectorKind
from wellkept.core.ports.models import Vector
from wellkept.graph.search.embeddings import (
    MAX_PIECES,
    PIECE_CHARS,
    CodeEmbeddings,
    EmbeddingScores,
    pieces,
)
from wellkept.graph.search.file_search import FileSearch
from wellkept.models.embedders.static import StaticEmbedder
from wellkept.store.sqlite.code_search import SqliteCodeSearch
from wellkept.testing.fakes import WordEmbedder

pytestmark = pytest.mark.feature("E5")

FILES = {
    "jar.py": "class CookieJar:\n    def store(self, cookie): ...\n",
    "pool.py": "def take_connection(host): ...\n\n\ndef give_back(connection): ...\n",
}


@pytest.fixture
def texts(tmp_path: Path) -> Iterator[SqliteCodeSearch]:
    store = SqliteCodeSearch.open(tmp_path / "words.db", busy_timeout_ms=1000, clock=system_clock)
    yield store
    store.close()


class Counting(WordEmbedder):
    """Tells how many texts were embedded."""

    def __init__(self, *, model_id: str = "words-256") -> None:
        super().__init__(model_id=model_id)
        self.embedded: list[str] = []

    def embed_query(self, text: str) -> Vector:
        self.embedded.append(text)
        return super().embed_query(text)


def near(
    texts: SqliteCodeSearch, embedder: WordEmbedder, request: str, *, stamp: str = "1"
) -> dict[str, EmbeddingScores]:
    embeddings = CodeEmbeddings(texts, "t", embedder=embedder, read=FILES.get)
    return embeddings.scores(request, dict.fromkeys(FILES, stamp), {})


def commit(texts: SqliteCodeSearch, order: int, subject: str, path: str) -> dict[str, CommitCount]:
    sha = f"{order:040}"
    commit = CommitText(sha=sha, order=order, subject=subject, message_words="", files=(path,))
    texts.put_commits("t", [commit])
    return {path: CommitCount(times=order, last_order=order)}


def test_the_nearest_pieces_of_a_file_count(texts: SqliteCodeSearch) -> None:
    found = near(texts, WordEmbedder(), "give the connection back")
    assert found["pool.py"].code > found["jar.py"].code


def test_vectors_are_made_once_and_again_when_the_file_or_the_model_changed(
    texts: SqliteCodeSearch,
) -> None:
    embedder = Counting()
    first = near(texts, embedder, "cookie")
    made = len(embedder.embedded)
    assert near(texts, embedder, "cookie") == first
    assert len(embedder.embedded) == made + 1
    near(texts, embedder, "cookie", stamp="2")
    assert len(embedder.embedded) == 2 * made + 1
    other = Counting(model_id="other")
    near(texts, other, "cookie", stamp="2")
    assert len(other.embedded) == made


def test_without_storing_the_scores_are_the_same(texts: SqliteCodeSearch) -> None:
    embeddings = CodeEmbeddings(texts, "t", embedder=WordEmbedder(), read=FILES.get, store=False)
    assert embeddings.scores("cookie jar", {"jar.py": "1"}, {})["jar.py"].code > 0
    assert texts.vectors("t", VectorKind.CODE, ["jar.py"]) == {}


def test_commit_subjects_count_and_the_latest_most(texts: SqliteCodeSearch) -> None:
    embeddings = CodeEmbeddings(texts, "t", embedder=WordEmbedder(), read=FILES.get)
    asked, stamps = "redirects lose credentials", {"jar.py": "1"}
    before = embeddings.scores(asked, stamps, {})["jar.py"].history
    commit_counts = commit(texts, 1, "Keep credentials on redirects", "jar.py")
    fresh = embeddings.scores(asked, stamps, commit_counts)["jar.py"].history
    commit_counts = commit(texts, 2, "Rename everything else", "jar.py")
    later = embeddings.scores(asked, stamps, commit_counts)["jar.py"].history
    assert before == 0 < later < fresh


def test_an_unreadable_file_is_scored_by_its_path(texts: SqliteCodeSearch) -> None:
    embeddings = CodeEmbeddings(texts, "t", embedder=WordEmbedder(), read=lambda _: None)
    assert 0 < embeddings.scores("cookie", {"cookie/gone.py": "1"}, {})["cookie/gone.py"].code <= 1


def test_a_request_without_words_scores_zero(texts: SqliteCodeSearch) -> None:
    assert near(texts, WordEmbedder(), "???")["jar.py"] == EmbeddingScores()


def test_pieces_are_bounded_whatever_the_file() -> None:
    huge = "\n".join(f"def f{i}(): {'x' * 1000}" for i in range(1000))
    assert len(pieces(huge)) == MAX_PIECES
    assert max(map(len, pieces(huge))) <= PIECE_CHARS
    assert pieces("") == []
    assert pieces("# Title\ntext\n## Part\nmore") == ["# Title\ntext", "## Part\nmore"]


def test_embeddings_decide_if_terms_tie(texts: SqliteCodeSearch) -> None:
    bodies = {
        "a.py": "def f(): thing that removes old logs",
        "b.py": "def g(): thing that greets people",
    }
    texts.put_texts(
        "t",
        [
            FileText(path=path, stamp="1", path_words="", symbol_words="", body_words="thing")
            for path in bodies
        ],
    )
    embeddings = CodeEmbeddings(texts, "t", embedder=StaticEmbedder(), read=bodies.get)
    finder = FileSearch(texts, "t", embeddings=embeddings)
    assert finder.find("thing for deleting stale log files")[0].path == "a.py"
    assert finder.find("thing that says hello to a person")[0].path == "b.py"
