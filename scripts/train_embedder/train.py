"""Train the default embedder's table: `python -m scripts.train_embedder.train GATHERED OUT`.

1. Vocabulary: `vocabulary.py`.
2. Start: the vectors of MiniLM and wordllama for each entry side by side, reduced to 256
   dimensions, scaled by how rare the entry is.
3. Tune: pairs that belong together against the others of a batch (InfoNCE), and MiniLM's
   similarities between texts (KL divergence).
4. Mix with the start, and write int8 rows with a scale each.

One thread, a fixed seed. Needs torch, safetensors, the extra `models` and the wheel of `wordllama`
0.4.0.post1, whose weights are read; about four minutes for the vectors of the teacher and six for
the rest.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from safetensors.numpy import save_file
from torch.nn import functional

from scripts.train_embedder.start import start_vectors
from scripts.train_embedder.teacher import Teacher
from scripts.train_embedder.vocabulary import choose_entries, count_words
from wellkept.providers.embedders.words import WordTokenizer

DIMENSION = 256
_SEED = 12
_WORDS = 14_000
_FOREIGN_WORDS = 7_000
_TAUGHT_TEXTS = 14_000
_TAUGHT_CHARS = 160
_TEMPERATURE = 0.05
_GROUPS = 600
_QUESTION_OPENINGS = (
    "python ",
    "how to ",
    "how do I ",
    "how does it ",
    "where do we ",
    "what is ",
    "in python ",
    "which ",
    "why does ",
)


class Settings(NamedTuple):
    """What one training run may vary."""

    steps: int = 1600
    batch: int = 256
    rate: float = 3e-3
    teacher_share: float = 4.0
    start_share: float = 0.35


class Taught(NamedTuple):
    """Texts and the teacher's vectors of them."""

    texts: Sequence[str]
    vectors: np.ndarray


class Bags:
    """Texts as lists of ids, packed end to end."""

    def __init__(self, tokenizer: WordTokenizer, texts: Sequence[str], limit: int = 96) -> None:
        lists = [tokenizer.encode(text)[:limit] or [0] for text in texts]
        self.ids = np.fromiter((i for ids in lists for i in ids), dtype=np.int64)
        self.ends = np.cumsum([len(ids) for ids in lists])

    def __len__(self) -> int:
        return len(self.ends)

    def take(self, rows: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """Ids and offsets of some texts."""
        ends = self.ends[rows]
        begins = np.where(rows > 0, self.ends[rows - 1], 0)
        ids = np.concatenate([self.ids[b:e] for b, e in zip(begins, ends, strict=True)])
        offsets = np.concatenate([[0], np.cumsum(ends - begins)[:-1]])
        return torch.from_numpy(ids), torch.from_numpy(offsets)


def main() -> None:
    """Prepare what is not there yet, train, and write the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("gathered", type=Path)
    options.add_argument("out", type=Path)
    options.add_argument("--wordllama", type=Path, required=True, help="the installed package")
    options.add_argument("--conversations", type=Path, help="LongMemEval sessions (MIT)")
    for name, default in Settings._field_defaults.items():
        options.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    arguments = options.parse_args()
    torch.set_num_threads(1)
    work = arguments.out
    work.mkdir(parents=True, exist_ok=True)
    pairs = read_pairs(arguments.gathered / "pairs.jsonl", arguments.conversations)
    teacher = Teacher()
    entries = _kept(work / "vocabulary.txt", lambda: _entries(teacher.word_pieces, pairs))
    tokenizer = WordTokenizer(entries)
    start = _kept_array(
        work / "start.npy",
        lambda: start_vectors(entries, tokenizer, pairs, teacher, arguments.wordllama),
    )
    texts = _taught_texts(pairs)
    taught = _kept_array(work / "taught.npy", lambda: teacher.embed(texts).astype(np.float16))
    settings = Settings(**{name: getattr(arguments, name) for name in Settings._fields})
    table = train(pairs, tokenizer, start, Taught(texts, taught), settings)
    write_table(work / "table.safetensors", table)


def read_pairs(path: Path, conversations: Path | None) -> dict[str, list[tuple[str, str]]]:
    """The pairs by kind."""
    pairs: dict[str, list[tuple[str, str]]] = defaultdict(list)
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            kind, left, right = json.loads(line)
            pairs[kind].append((left, right))
    if conversations:
        pairs["conversation"] = list(dict.fromkeys(_turns(conversations)))
    return dict(pairs)


def _turns(path: Path) -> Iterator[tuple[str, str]]:
    """What was said, and the answer to it."""
    for question in json.loads(path.read_text(encoding="utf-8")):
        for session in question["haystack_sessions"]:
            for before, after in pairwise(session):
                left, right = before["content"][:300], after["content"][:300]
                if len(left) > 20 and len(right) > 20:
                    yield left, right


def _entries(pieces: list[str], pairs: dict[str, list[tuple[str, str]]]) -> list[str]:
    known = (
        text
        for kind, some in pairs.items()
        for pair in some
        for text in pair[: 1 if kind == "translation" else 2]
    )
    foreign = (right for _, right in pairs["translation"])
    return choose_entries(
        pieces, count_words(known), count_words(foreign), words=_WORDS, foreign_words=_FOREIGN_WORDS
    )


def _taught_texts(pairs: dict[str, list[tuple[str, str]]]) -> list[str]:
    """Prose for the teacher, in equal shares of the kinds that hold prose."""
    choose = random.Random(_SEED)
    shares = {
        "code": 0,
        "name": 0,
        "commit": 0,
        "comment": 0,
        "doc": 1,
        "heading": 1,
        "sentence": 0,
        "message": 1,
        "conversation": 1,
        "translation": 0,
    }
    every = _TAUGHT_TEXTS // (len(shares) + 2)
    found: dict[str, None] = {}
    for kind in sorted(shares):
        some = pairs.get(kind, [])
        count = 2 * every if kind in ("conversation", "sentence") else every
        for pair in choose.sample(some, min(len(some), count)):
            found[pair[choose.randint(0, shares[kind])][:_TAUGHT_CHARS]] = None
    return list(found)


def train(
    pairs: dict[str, list[tuple[str, str]]],
    tokenizer: WordTokenizer,
    start: np.ndarray,
    taught: Taught,
    settings: Settings,
) -> np.ndarray:
    """Tune the start vectors; returns float rows."""
    torch.manual_seed(_SEED)
    choose = np.random.default_rng(_SEED)
    opening = random.Random(_SEED)

    def asked(text: str) -> str:
        return opening.choice(_QUESTION_OPENINGS) + text if opening.random() < 0.3 else text

    kinds = sorted(pairs)
    left = {k: Bags(tokenizer, [asked(pair[0]) for pair in pairs[k]], 64) for k in kinds}
    right = {k: Bags(tokenizer, [pair[1] for pair in pairs[k]]) for k in kinds}
    bags = Bags(tokenizer, taught.texts, 80)
    groups = _groups(taught.vectors, choose)
    share = np.array([len(pairs[k]) ** 0.75 for k in kinds])
    share /= share.sum()
    table = torch.nn.EmbeddingBag(*start.shape, mode="mean", sparse=True)
    table.weight.data = torch.from_numpy(start.copy())
    optimizer = torch.optim.SparseAdam(table.parameters(), lr=settings.rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min(1.0, (s + 1) / 100) * max(0.02, 1 - s / settings.steps)
    )
    loss_sum = np.zeros(2)
    for step in range(1, settings.steps + 1):
        kind = kinds[int(choose.choice(len(kinds), p=share))]
        rows = choose.choice(len(left[kind]), min(settings.batch, len(left[kind])), replace=False)
        a = functional.normalize(table(*left[kind].take(rows)), dim=1)
        b = functional.normalize(table(*right[kind].take(rows)), dim=1)
        scores = a @ b.T / _TEMPERATURE
        target = torch.arange(len(rows))
        loss = (
            functional.cross_entropy(scores, target) + functional.cross_entropy(scores.T, target)
        ) / 2
        some = _neighbours(groups, settings.batch, choose)
        own = functional.normalize(table(*bags.take(some)), dim=1)
        theirs = functional.normalize(
            torch.from_numpy(taught.vectors[some].astype(np.float32)), dim=1
        )
        away = torch.eye(len(some)) * -1e4
        lesson = functional.kl_div(
            functional.log_softmax(own @ own.T / _TEMPERATURE + away, dim=1),
            functional.softmax(theirs @ theirs.T / _TEMPERATURE + away, dim=1),
            reduction="batchmean",
        )
        optimizer.zero_grad()
        (loss + settings.teacher_share * lesson).backward()
        optimizer.step()
        schedule.step()
        loss_sum += (loss.item(), lesson.item())
        if step % 250 == 0:
            print(step, (loss_sum / 250).round(3), flush=True)
            loss_sum[:] = 0
    # Part of the start keeps what the pairs say nothing about, such as everyday words.
    tuned = table.weight.detach().numpy()
    return settings.start_share * start + (1 - settings.start_share) * tuned


def _groups(vectors: np.ndarray, choose: np.random.Generator) -> list[np.ndarray]:
    """Texts of like subject by the teacher: a few rounds of k-means."""
    vectors = vectors.astype(np.float32)
    centres = vectors[choose.choice(len(vectors), _GROUPS, replace=False)]
    nearest = np.zeros(len(vectors), dtype=np.int64)
    for _ in range(6):
        nearest = (vectors @ centres.T).argmax(axis=1)
        for group in range(_GROUPS):
            members = vectors[nearest == group]
            if len(members):
                centre = members.mean(axis=0)
                centres[group] = centre / np.linalg.norm(centre)
    found = [np.flatnonzero(nearest == group) for group in range(_GROUPS)]
    return [members for members in found if len(members) >= 8]


def _neighbours(groups: list[np.ndarray], count: int, choose: np.random.Generator) -> np.ndarray:
    """Texts of a few subjects: among unrelated texts there is little to learn."""
    rows: list[np.ndarray] = []
    size = 0
    while size < count:
        members = groups[int(choose.integers(len(groups)))]
        part = choose.choice(members, min(len(members), 32), replace=False)
        rows.append(part)
        size += len(part)
    return np.unique(np.concatenate(rows))[:count]


def write_table(path: Path, rows: np.ndarray) -> None:
    """Round to int8 with one scale a row."""
    scales = np.abs(rows).max(axis=1) / 127
    whole = np.rint(rows / scales[:, None]).astype(np.int8)
    save_file({"rows": whole, "scales": scales.astype(np.float32)}, path)


def _kept(path: Path, make) -> list[str]:
    if not path.exists():
        path.write_text("\n".join(make()), encoding="utf-8")
    return path.read_text(encoding="utf-8").split("\n")


def _kept_array(path: Path, make) -> np.ndarray:
    if not path.exists():
        np.save(path, make())
    return np.load(path)


if __name__ == "__main__":
    main()
