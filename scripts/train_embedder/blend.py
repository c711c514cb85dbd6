"""One table out of several: `python -m scripts.train_embedder.blend LESSONS OUT FOLDER=WEIGHT ...`.

Tables that were trained differently err differently. Their rows stand side by side, each table
scaled to equal length of text, and are then reduced to 256 dimensions along the main axes of the
texts of LESSONS. The entries are those of the first table; what another table has no entry for is
spelled with its pieces.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from scripts.train_embedder.tables import read_table, write_table
from wellkept.models.embedders.words import CONTINUED, WordTokenizer

_DIMENSION = 256
_TEXTS = 3_000


def main() -> None:
    """Blend and write."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("lessons", type=Path)
    options.add_argument("out", type=Path)
    options.add_argument("tables", nargs="+", help="FOLDER=WEIGHT")
    arguments = options.parse_args()
    texts = json.loads((arguments.lessons / "texts.json").read_text("utf-8"))[:_TEXTS]
    parts = [given.rpartition("=") for given in arguments.tables]
    tables = [read_table(Path(folder)) for folder, _, _ in parts]
    weights = [float(weight) for _, _, weight in parts]
    write_table(arguments.out, tables[0][0], blended(tables, weights, texts))


def blended(
    tables: Sequence[tuple[list[str], np.ndarray]], weights: Sequence[float], texts: Sequence[str]
) -> np.ndarray:
    """Rows for the entries of the first table, then those given by hash."""
    entries = tables[0][0]
    tokenizer = WordTokenizer(entries)
    bags = [ids for text in texts if (ids := tokenizer.encode(text))]
    side_by_side = np.hstack(
        [
            weight * _scaled(_rows_for(entries, *table), bags)
            for table, weight in zip(tables, weights, strict=True)
        ]
    )
    vectors = _means(side_by_side, bags)
    _, _, axes = np.linalg.svd(vectors.T @ vectors)
    return side_by_side @ axes[:_DIMENSION].T


def _rows_for(entries: Sequence[str], own: Sequence[str], rows: np.ndarray) -> np.ndarray:
    """The rows of one table for the entries of another."""
    place = {entry: number for number, entry in enumerate(own)}
    tokenizer = WordTokenizer(own)
    found = np.zeros((len(entries), rows.shape[1]), dtype=np.float32)
    for number, entry in enumerate(entries):
        known = place.get(entry)
        ids = tokenizer.encode(entry.removeprefix(CONTINUED)) if known is None else [known]
        found[number] = rows[ids].sum(axis=0)
    return np.vstack([found, rows[len(own) :]])


def _scaled(rows: np.ndarray, bags: Sequence[list[int]]) -> np.ndarray:
    return rows / np.linalg.norm(_means(rows, bags), axis=1).mean()


def _means(rows: np.ndarray, bags: Sequence[list[int]]) -> np.ndarray:
    return np.stack([rows[ids].mean(axis=0) for ids in bags])


if __name__ == "__main__":
    main()
