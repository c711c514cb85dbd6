"""Byte-pair tokenizer of the Llama family, in plain Python.

It reads only the vocabulary, in a seventh of the time that `tokenizers` needs to load the file; a
cold command waits for little else. With a cache of words, bulk speed is the same. Invariant: for
text without the markers <s>, </s> and <unk>, the ids equal those of `tokenizers`
(`tests/providers/test_bpe.py`).
"""

from __future__ import annotations

import heapq
import json
import operator
import re
from typing import TYPE_CHECKING, cast

from wellkept.core.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_SPACE = "\u2581"
# No entry of the vocabulary has a space mark after another character, so a merge never crosses
# from one of these chunks into the next.
_CHUNK = re.compile(f"{_SPACE}+[^{_SPACE}]*|[^{_SPACE}]+")
_CACHED_WORDS = 50_000
_CACHED_WORD_CHARS = 40
# Runs of spaces were added to the vocabulary last: they merge after everything else.
_SPACE_RUN_RANK = 1 << 20


class BytePairTokenizer:
    """Text to vocabulary ids."""

    def __init__(self, vocabulary: dict[str, int]) -> None:
        self._ids = vocabulary
        runs = [entry for entry in (_SPACE * n for n in range(2, 17)) if entry in vocabulary]
        self._ranks = {**vocabulary, **{run: _SPACE_RUN_RANK + vocabulary[run] for run in runs}}
        self._byte_ids = [vocabulary[f"<0x{value:02X}>"] for value in range(256)]
        self._cache: dict[str, tuple[int, ...]] = {}

    @classmethod
    def from_file(cls, path: Path) -> BytePairTokenizer:
        """Read the vocabulary out of a `tokenizer.json`, leaving its long merge list unread."""
        raw = path.read_bytes()
        begin, end = raw.find(b'"vocab"'), raw.find(b'"merges"')
        try:
            table = raw[raw.index(b"{", begin) : raw.rindex(b"}", begin, end) + 1]
            return cls(cast("dict[str, int]", json.loads(table)))
        except (ValueError, KeyError):
            raise ProviderError(
                f"{path.name} is not a byte-pair tokenizer file.",
                hint="Reinstall the package that carries the model.",
            ) from None

    @property
    def size(self) -> int:
        """The number of ids."""
        return len(self._ids)

    def encode(self, text: str) -> list[int]:
        """Return the ids of `text`, without begin or end markers; empty text has none."""
        if not text:
            return []
        ids: list[int] = []
        cache = self._cache
        for chunk in _CHUNK.findall(_SPACE + text.replace(" ", _SPACE)):
            known = cache.get(chunk)
            ids.extend(known if known is not None else self._encode_new(chunk))
        return ids

    def _encode_new(self, chunk: str) -> tuple[int, ...]:
        whole = self._ids.get(chunk)
        ids = (whole,) if whole is not None else self._merged(chunk)
        if len(chunk) <= _CACHED_WORD_CHARS:
            if len(self._cache) >= _CACHED_WORDS:
                self._cache.clear()
            self._cache[chunk] = ids
        return ids

    def _merged(self, chunk: str) -> tuple[int, ...]:
        """Join the neighbours whose joint entry ranks best until no two can be joined."""
        rank_of = self._ranks.get
        pieces = list(chunk)  # a piece that was joined to its left neighbour becomes empty
        following = [*range(1, len(pieces)), -1]
        preceding = list(range(-1, len(pieces) - 1))
        joints = [
            (rank, left, joined)
            for left, joined in enumerate(map(operator.add, pieces, pieces[1:]))
            if (rank := rank_of(joined)) is not None
        ]
        heapq.heapify(joints)
        while joints:
            _, left, joined = heapq.heappop(joints)
            right = following[left]
            # A joint is stale once either side has been joined with something else.
            if right < 0 or not pieces[left] or pieces[left] + pieces[right] != joined:
                continue
            pieces[left], pieces[right] = joined, ""
            following[left] = after = following[right]
            before = preceding[left]
            if after >= 0:
                preceding[after] = left
                if (rank := rank_of(wider := joined + pieces[after])) is not None:
                    heapq.heappush(joints, (rank, left, wider))
            if before >= 0 and (rank := rank_of(wider := pieces[before] + joined)) is not None:
                heapq.heappush(joints, (rank, before, wider))
        return tuple(self._ids_of(filter(None, pieces)))

    def _ids_of(self, pieces: Iterable[str]) -> Iterable[int]:
        for piece in pieces:
            found = self._ids.get(piece)
            if found is not None:
                yield found
            else:  # a character outside the vocabulary is spelled as its bytes
                yield from (self._byte_ids[b] for b in piece.encode("utf-8", "replace"))
