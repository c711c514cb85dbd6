"""Set tables side by side: `python -m scripts.train_embedder.compare FOLDER... --code COSQA`.

By cosine, on the development parts only (`--held-out` measures the others, once, at the end):
notes in other words and in other languages, CoSQA, LoCoMo (`--conversations`), and how well
duplicates are told from other facts. `shipped` stands for the table in the package.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.locomo_data import load as load_conversations
from bench.notes_data import DEVELOPMENT, HELD_OUT, NoteSet, load_notes, load_pairs_of_questions
from scripts.train_embedder.tables import read_table
from wellkept.models.embedders.bundled_models import STATIC
from wellkept.models.embedders.calibration import labelled_pairs
from wellkept.models.embedders.words import WordTokenizer


class Table:
    """Entries and rows; embeds as the shipped embedder does."""

    def __init__(self, entries: Sequence[str], rows: np.ndarray) -> None:
        self._tokenizer = WordTokenizer(entries)
        self._rows = rows

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors of length one."""
        found = np.zeros((len(texts), self._rows.shape[1]), dtype=np.float32)
        for number, text in enumerate(texts):
            if ids := self._tokenizer.encode(text):
                once, counts = np.unique(ids, return_counts=True)
                found[number] = np.sqrt(counts) @ self._rows[once]
        return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)


def main() -> None:
    """Measure each and print one line each."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folders", nargs="+", type=Path)
    options.add_argument("--code", type=Path, help="folder with the retrieval files of CoSQA")
    options.add_argument("--conversations", type=Path, help="LoCoMo")
    options.add_argument("--held-out", action="store_true")
    asked = options.parse_args()
    for folder in asked.folders:
        where = STATIC.weights.locate().parent if folder.name == "shipped" else folder
        found = measured(Table(*read_table(where)), asked.code, asked.conversations, asked.held_out)
        print(folder.name, json.dumps(found), flush=True)


def measured(
    table: Table, code: Path | None, conversations: Path | None, held_out: bool = False
) -> dict[str, object]:
    """Every figure of one table, in percent."""
    notes = load_notes(HELD_OUT if held_out else DEVELOPMENT)
    second = load_pairs_of_questions("held_out" if held_out else "development")
    found: dict[str, object] = {
        "notes": _found(table, notes, "paraphrase"),
        "second": _found(table, second, "paraphrase"),
        "direct": _found(table, notes, "direct"),
        "languages": _found(table, notes, "other language"),
    }
    if code:
        found["code"] = _code(table, code, "test" if held_out else "dev")
    if conversations:
        found["turns"] = _turns(table, conversations)
    return found | _duplicates(table)


def _found(table: Table, notes: NoteSet, kind: str) -> list[float]:
    texts = [text for _, text in notes.notes]
    asked = notes.of_kind(kind)
    right = [texts.index(each.note or "") for each in asked]
    ranks = _ranks(table, [each.text for each in asked], texts, right)
    return [_share(ranks, 1), _share(ranks, 3), _mrr(ranks)]


def _code(table: Table, folder: Path, split: str) -> list[float]:
    places = json.loads((folder / "code_idx_map.txt").read_text("utf-8"))
    functions = sorted(places, key=places.__getitem__)
    rows = json.loads((folder / f"cosqa-retrieval-{split}-500.json").read_text("utf-8"))
    right = [int(row["retrieval_idx"]) for row in rows]
    ranks = _ranks(table, [row["doc"] for row in rows], functions, right)
    return [_share(ranks, 5), _mrr(ranks)]


def _turns(table: Table, path: Path) -> float:
    shares: list[float] = []
    for conversation in load_conversations(path):
        turns = table.embed([turn.text for turn in conversation.turns])
        asked = table.embed([question.text for question in conversation.questions])
        order = (-(asked @ turns.T)).argsort(axis=1)[:, :10]
        for question, places in zip(conversation.questions, order.tolist(), strict=True):
            there = {conversation.turns[int(place)].id for place in places}
            shares.append(len(there & question.evidence) / len(question.evidence))
    return round(100 * sum(shares) / len(shares), 1)


def _duplicates(table: Table) -> dict[str, float]:
    pairs = labelled_pairs()
    left, right = table.embed([p.a for p in pairs]), table.embed([p.b for p in pairs])
    scores = (left * right).sum(axis=1)
    of = {k: scores[[p.label == k for p in pairs]] for k in {p.label for p in pairs}}
    others = np.concatenate([of["related"], of["unrelated"]])
    known = [of["related"].mean(), of["related"].std()]
    return {
        "duplicates": _auc(of["duplicate"], others),
        "with contradictions": _auc(of["duplicate"], np.concatenate([others, of["near_miss"]])),
        "merged": round(float((of["duplicate"] > known[0] + 2.576 * known[1]).mean()), 3),
    }


def _ranks(
    table: Table, asked: Sequence[str], texts: Sequence[str], right: Sequence[int]
) -> list[int]:
    scores = table.embed(asked) @ table.embed(texts).T
    own = scores[range(len(asked)), list(right)]
    return [int(place) for place in (scores > own[:, None]).sum(axis=1) + 1]


def _share(ranks: Sequence[int], most: int) -> float:
    return round(100 * sum(rank <= most for rank in ranks) / len(ranks), 1)


def _mrr(ranks: Sequence[int]) -> float:
    return round(100 * sum(1 / rank for rank in ranks) / len(ranks), 1)


def _auc(positive: np.ndarray, negative: np.ndarray) -> float:
    wins = (positive[:, None] > negative).mean() + 0.5 * (positive[:, None] == negative).mean()
    return round(float(wins), 4)


if __name__ == "__main__":
    main()
