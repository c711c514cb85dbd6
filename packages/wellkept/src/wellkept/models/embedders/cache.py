"""Keep the vectors of questions and skill texts on disk, by model and text.

A slow model then embeds each text once, not in every process. One file a model holds records of a
key (a hash of the text), a checksum and a vector, appended in one write each; when it is full, the
newest half is kept. Invariants: a file that is damaged or cannot be read or written costs only
time; text itself is not stored.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from contextlib import suppress
from time import sleep
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from wellkept.core.ports.models import Embedder, Vector

MOST_RECORDS = 8_192
_KEY_BYTES = 16
_HEAD_BYTES = _KEY_BYTES + 4
_WRITE_SECONDS = 0.02


class _VectorFile:
    """The vectors of one model."""

    def __init__(self, folder: Path, model_id: str, dimension: int) -> None:
        name = hashlib.sha256(model_id.encode()).hexdigest()[:24]
        self._path = folder / f"{name}.vectors"
        self._record_bytes = _HEAD_BYTES + 4 * dimension
        self._known: dict[bytes, Vector] | None = None
        self._damaged = False

    def get(self, text: str) -> Vector | None:
        """The vector of a text, if it is kept."""
        return self._records().get(_key(text))

    def put(self, vectors: dict[str, Vector]) -> None:
        """Keep vectors by text."""
        known = self._records()
        added = {_key(text): vector for text, vector in vectors.items()}
        known.update(added)
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if len(known) > MOST_RECORDS:
                self._known = known = dict(list(known.items())[-MOST_RECORDS // 2 :])
                self._rewrite(known)
                return
            if self._damaged or self._ends_in_half_a_record():
                self._known = None  # another process may have added some since
                self._rewrite(self._records() | added)
                self._known = None
                return
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(handle, _packed(added))
            finally:
                os.close(handle)

    def _records(self) -> dict[bytes, Vector]:
        if self._known is None:
            try:
                data = self._path.read_bytes()
            except OSError:
                data = b""
            self._known = {}
            for start in range(0, len(data), self._record_bytes):
                record = data[start : start + self._record_bytes]
                key, vector = record[:_KEY_BYTES], record[_HEAD_BYTES:]
                if _packed({key: vector}) == record and len(record) == self._record_bytes:
                    self._known[key] = vector
                elif len(record) == self._record_bytes:
                    self._damaged = True
        return self._known

    def _ends_in_half_a_record(self) -> bool:
        """Whether a write was cut off. One that goes on in another process looks the same for a
        moment, and makes the file longer then."""
        if not self._path.exists():
            return False
        size = self._path.stat().st_size
        if size % self._record_bytes == 0:
            return False
        sleep(_WRITE_SECONDS)
        return self._path.stat().st_size == size

    def _rewrite(self, known: dict[bytes, Vector]) -> None:
        partly = self._path.with_suffix(f".{os.getpid()}.part")
        partly.write_bytes(_packed(known))
        partly.replace(self._path)
        self._damaged = False


class CachedEmbedder:
    """An embedder that asks its vector file first."""

    def __init__(self, inner: Embedder, folder: Path, *, documents: bool) -> None:
        self._inner = inner
        self._file = _VectorFile(folder, inner.model_id, inner.dimension)
        self._keeps_documents = documents

    @property
    def model_id(self) -> str:
        return self._inner.model_id

    @property
    def dimension(self) -> int:
        return self._inner.dimension

    def embed_query(self, text: str) -> Vector:
        """Embed a question, or look it up."""
        # A model may embed questions and texts differently.
        asked = "?" + text
        found = self._file.get(asked)
        if found is None:
            found = self._inner.embed_query(text)
            self._file.put({asked: found})
        return found

    def known_share(self, text: str) -> float:
        """The share of the words of a text that are known."""
        known_share = getattr(self._inner, "known_share", None)
        return known_share(text) if known_share else 1.0

    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Embed texts; only the unknown ones, when documents are kept."""
        if not self._keeps_documents:
            return self._inner.embed_documents(texts)
        known = {text: self._file.get("." + text) for text in texts}
        missing = [text for text, vector in known.items() if vector is None]
        made = dict(zip(missing, self._inner.embed_documents(missing), strict=True))
        if made:
            self._file.put({"." + text: vector for text, vector in made.items()})
        return [known[text] or made[text] for text in texts]


def _packed(vectors: dict[bytes, Vector]) -> bytes:
    return b"".join(
        key + zlib.crc32(key + vector).to_bytes(4, "little") + vector
        for key, vector in vectors.items()
    )


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:_KEY_BYTES]
