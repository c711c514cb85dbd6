"""Semantic similarity of a request to files: to their code, and to the subjects of their commits.

A file's code is embedded in pieces, one per function, class or heading; the nearest few count. Its
history is the decayed mean of its latest commit subjects. Vectors are computed when a file first
becomes a candidate, and reused until the file or its history changes.
Does not know git or the file system: the caller passes a function that reads a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wellkept.core.ports.code_search import CodeSearchStore, CommitCount, FileVectors, VectorKind
from wellkept.core.ports.models import Embedder
from wellkept.core.records import record

MAX_PIECES: Final = 48
"""Pieces embedded per file."""
PIECE_CHARS: Final = 400
"""Characters embedded per piece: name, signature, first comment."""
NEAREST: Final = 3
SUBJECTS: Final = 20
_SUBJECT_DECAY: Final = 0.9
_MAX_CHARS: Final = 200_000
_SCALE: Final = 127.0
_PIECE = re.compile(
    r"(?m)^(?=[ \t]{0,4}(?:export |pub |public |private |static |async )*"
    r"(?:class|def|func|fn|function|impl|interface|struct|enum|trait|module|#{1,4}) )"
)
_WORD_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_+")
_Matrix = NDArray[np.float32]

ReadText = Callable[[str], str | None]
"""Returns the text of a file, or None if it has none."""


@record
class EmbeddingScores:
    """Cosine similarity of a request to a file's code and to its commit subjects."""

    code: float = 0.0
    history: float = 0.0


class CodeEmbeddings:
    """Vectors of one tree. With `store` false, new vectors are not written."""

    def __init__(
        self,
        texts: CodeSearchStore,
        tree: str,
        *,
        embedder: Embedder,
        read: ReadText,
        store: bool = True,
    ) -> None:
        self._texts = texts
        self._tree = tree
        self._embedder = embedder
        self._read = read
        self._store = store

    def scores(
        self, request: str, stamps: Mapping[str, str], commit_counts: Mapping[str, CommitCount]
    ) -> dict[str, EmbeddingScores]:
        """Similarity of the request to files, given with the stamps of their texts."""
        vector = self._vector(request)
        code = self._updated(VectorKind.CODE, stamps, self._code)
        latest = {path: str(count.last_order) for path, count in commit_counts.items()}
        history = self._updated(VectorKind.HISTORY, latest, self._history)
        return {
            path: EmbeddingScores(
                self._similarity(vector, code.get(path)),
                self._similarity(vector, history.get(path)),
            )
            for path in stamps
        }

    def similarities(self, request: str, texts: Sequence[str]) -> list[float]:
        """Cosine similarity of the request to texts that are not stored."""
        cosines = self._matrix(texts) @ self._vector(request)
        return [float(cosine) for cosine in cosines]

    def _updated(
        self, kind: VectorKind, stamps: Mapping[str, str], embed: Callable[[str], _Matrix]
    ) -> dict[str, bytes]:
        """Vectors of files, computed again where the stamp or the model differs."""
        keys = {path: f"{self._embedder.model_id} {stamp}" for path, stamp in stamps.items()}
        known = self._texts.vectors(self._tree, kind, list(keys))
        # Unit vectors quantised to one byte per number.
        fresh = {
            path: FileVectors(key, np.rint(embed(path) * _SCALE).astype(np.int8).tobytes())
            for path, key in keys.items()
            if path not in known or known[path].stamp != key
        }
        if fresh and self._store:
            self._texts.put_vectors(self._tree, kind, fresh)
        return {path: (fresh.get(path) or known[path]).data for path in keys}

    def _code(self, path: str) -> _Matrix:
        return self._matrix([path, *pieces(self._read(path) or "")])

    def _history(self, path: str) -> _Matrix:
        subjects = self._matrix(self._texts.subjects(self._tree, path, limit=SUBJECTS))
        weights = np.power(np.float32(_SUBJECT_DECAY), np.arange(len(subjects), dtype=np.float32))
        mean = weights @ subjects
        return (mean / (np.linalg.norm(mean) or 1.0)).reshape(1, -1).astype(np.float32)

    def _matrix(self, texts: Sequence[str]) -> _Matrix:
        rows = [self._vector(text) for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(rows), self._embedder.dimension)

    def _vector(self, text: str) -> _Matrix:
        """The vector of a text, with identifiers split into words."""
        plain = _WORD_BOUNDARY.sub(" ", text)
        return np.frombuffer(self._embedder.embed_query(plain), dtype=np.float32)

    def _similarity(self, vector: _Matrix, data: bytes | None) -> float:
        """Mean cosine with the nearest few vectors."""
        if not data:
            return 0.0
        rows = np.frombuffer(data, dtype=np.int8).reshape(-1, self._embedder.dimension)
        cosines = np.sort(rows @ vector)[-NEAREST:] / _SCALE
        return float(cosines.mean())


def pieces(text: str) -> list[str]:
    """The beginnings of a file's parts: the file itself, and each function, class or heading."""
    parts = (part.strip() for part in _PIECE.split(text[:_MAX_CHARS]))
    return [part[:PIECE_CHARS] for part in parts if part][:MAX_PIECES]
