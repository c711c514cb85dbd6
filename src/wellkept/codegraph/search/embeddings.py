"""How near a request is in meaning to files: to their code, and to what was said of their changes.

Words that differ may mean the same; vectors tell. A file's code is embedded in pieces, one for each
function or heading, of which the nearest few count; its history as the faded mean of the last
commits' subjects. Vectors are made when a file first comes into question and kept until the file,
or its history, has changed, so that a large tree costs no more than what is asked about it.
Knows neither git nor the file system: whoever asks gives a way to read a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wellkept.core.ports.code_search import CodeSearchStore, CommitCount, FileVectors, VectorKind
from wellkept.core.ports.store import Embedder
from wellkept.core.records import record

PIECES: Final = 48
"""How many pieces of a file are looked at."""
PIECE_CHARS: Final = 400
"""A piece is embedded this far: its name, its signature and what its comment says."""
NEAREST: Final = 3
SUBJECTS: Final = 20
_SUBJECT_FADE: Final = 0.9
_MAX_CHARS: Final = 200_000
_SCALE: Final = 127.0
_PIECE = re.compile(
    r"(?m)^(?=[ \t]{0,4}(?:export |pub |public |private |static |async )*"
    r"(?:class|def|func|fn|function|impl|interface|struct|enum|trait|module|#{1,4}) )"
)
_JOINT = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_+")
_Matrix = NDArray[np.float32]

Read = Callable[[str], str | None]
"""The text of a file; None where there is none to read."""


@record
class EmbeddingScores:
    """Cosines of a request with the code of a file and with what was said of its changes."""

    code: float = 0.0
    said: float = 0.0


class CodeEmbeddings:
    """Vectors of one tree. With `keep` off, what is worked out is not written down."""

    def __init__(
        self,
        texts: CodeSearchStore,
        tree: str,
        *,
        embedder: Embedder,
        read: Read,
        keep: bool = True,
    ) -> None:
        self._texts = texts
        self._tree = tree
        self._embedder = embedder
        self._read = read
        self._keep = keep

    def likeness(
        self, request: str, stamps: Mapping[str, str], commit_counts: Mapping[str, CommitCount]
    ) -> dict[str, EmbeddingScores]:
        """For files, each with the stamp of its text, how near they are."""
        asked = self._vector(request)
        code = self._renewed(VectorKind.CODE, stamps, self._code)
        times = {path: str(touch.last_order) for path, touch in commit_counts.items()}
        said = self._renewed(VectorKind.HISTORY, times, self._said)
        return {
            path: EmbeddingScores(
                self._near(asked, code.get(path)), self._near(asked, said.get(path))
            )
            for path in stamps
        }

    def _renewed(
        self, kind: VectorKind, stamps: Mapping[str, str], make: Callable[[str], _Matrix]
    ) -> dict[str, bytes]:
        """The vectors of files, made anew where they are of another stamp or model."""
        marks = {path: f"{self._embedder.model_id} {stamp}" for path, stamp in stamps.items()}
        known = self._texts.vectors(self._tree, kind, list(marks))
        fresh = {
            path: FileVectors(mark, _packed(make(path)))
            for path, mark in marks.items()
            if path not in known or known[path].stamp != mark
        }
        if fresh and self._keep:
            self._texts.put_vectors(self._tree, kind, fresh)
        return {path: (fresh.get(path) or known[path]).data for path in marks}

    def _code(self, path: str) -> _Matrix:
        return self._matrix([path, *pieces(self._read(path) or "")])

    def _said(self, path: str) -> _Matrix:
        said = self._matrix(self._texts.subjects(self._tree, path, limit=SUBJECTS))
        fades = np.power(np.float32(_SUBJECT_FADE), np.arange(len(said), dtype=np.float32))
        mean = fades @ said
        return (mean / (np.linalg.norm(mean) or 1.0)).reshape(1, -1).astype(np.float32)

    def _matrix(self, texts: Sequence[str]) -> _Matrix:
        rows = [self._vector(text) for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(rows), self._embedder.dimension)

    def _vector(self, text: str) -> _Matrix:
        """The vector of a text whose identifiers are taken apart."""
        return np.frombuffer(self._embedder.embed_query(_JOINT.sub(" ", text)), dtype=np.float32)

    def _near(self, asked: _Matrix, data: bytes | None) -> float:
        """The mean cosine with the nearest few vectors."""
        if not data:
            return 0.0
        rows = np.frombuffer(data, dtype=np.int8).reshape(-1, self._embedder.dimension)
        cosines = np.sort(rows @ asked)[-NEAREST:] / _SCALE
        return float(cosines.mean())


def pieces(text: str) -> list[str]:
    """The beginnings of a file's parts: of each function, class or heading, and of the file."""
    parts = (part.strip() for part in _PIECE.split(text[:_MAX_CHARS]))
    return [part[:PIECE_CHARS] for part in parts if part][:PIECES]


def _packed(matrix: _Matrix) -> bytes:
    """Unit vectors, a byte for each number."""
    return np.rint(matrix * _SCALE).astype(np.int8).tobytes()
