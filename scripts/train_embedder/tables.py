"""Read and write a table: `vocabulary.txt`, and int8 rows with a scale each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

_VOCABULARY, _TABLE = "vocabulary.txt", "table.safetensors"


def read_table(folder: Path) -> tuple[list[str], np.ndarray]:
    """Entries and rows; the last rows are those given by hash."""
    tensors = load_file(folder / _TABLE)
    entries = (folder / _VOCABULARY).read_text("utf-8").split("\n")
    return entries, tensors["rows"].astype(np.float32) * tensors["scales"][:, None]


def write_table(folder: Path, entries: Sequence[str], rows: np.ndarray) -> None:
    """Round to int8 with one scale a row."""
    folder.mkdir(parents=True, exist_ok=True)
    scales = np.maximum(np.abs(rows).max(axis=1), 1e-9) / 127
    whole = np.rint(rows / scales[:, None]).astype(np.int8)
    save_file({"rows": whole, "scales": scales.astype(np.float32)}, folder / _TABLE)
    (folder / _VOCABULARY).write_text("\n".join(entries), "utf-8")
