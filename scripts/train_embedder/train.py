"""Train the default table: `python -m scripts.train_embedder.train GATHERED OUT --lessons FOLDER`.

1. Vocabulary: `vocabulary.py`.
2. Start: the vectors of MiniLM and wordllama for each entry side by side, reduced, and scaled by
   how rare the entry is (`start.py`).
3. Tune, all at once: pairs that belong together against the others of a batch (InfoNCE); the
   teacher's similarities among texts of one subject (KL divergence); and the teacher's vector
   itself from the text's vector, by a linear map that is dropped afterwards.
4. Mix with the start, and write int8 rows with a scale each.

One thread, a fixed seed. Needs torch, safetensors, the extra `models` and the wheel of `wordllama`
0.4.0.post1, whose weights are read.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch.nn import functional

from scripts.train_embedder.lessons import OPENINGS, read_lessons
from scripts.train_embedder.read_pairs import Pairs, read_pairs
from scripts.train_embedder.start import start_vectors
from scripts.train_embedder.subjects import Subjects
from scripts.train_embedder.tables import write_table
from scripts.train_embedder.teacher import Teacher
from scripts.train_embedder.vocabulary import choose_entries, count_words
from scripts.train_embedder.written import written_pairs
from wellkept.models.embedders.words import WordTokenizer

_SEED = 12
_WORDS = 24_000
_FOREIGN_WORDS = 1_500
_ASKED = 0.3
# How much of the training each kind of pair gets, where it is not the size of the kind.
_SHARE_OF_KIND = {
    "code": 0.17,
    "function": 0.17,
    "name": 0.10,
    "doc": 0.08,
    "comment": 0.04,
    "commit": 0.04,
    "conversation": 0.07,
    "translation": 0.02,
    "synonym": 0.03,
    "gloss": 0.04,
    "intent": 0.0,
    "phrase": 0.12,
    "written": 0.04,
}


class Settings(NamedTuple):
    """What one training run may vary."""

    steps: int = 3000
    batch: int = 256
    lesson_batch: int = 512
    rate: float = 3e-3
    pair_share: float = 1.5
    likeness_share: float = 4.0
    vector_share: float = 4.0
    start_share: float = 0.5
    temperature: float = 0.05
    lesson_temperature: float = 0.05
    dimension: int = 256
    seed: int = _SEED


class Taken(NamedTuple):
    """Some texts, packed end to end."""

    ids: torch.Tensor
    offsets: torch.Tensor
    per_sample_weights: torch.Tensor


class Bags:
    """Texts as ids, each once with the root of its count, packed end to end."""

    def __init__(self, tokenizer: WordTokenizer, texts: Sequence[str], limit: int = 96) -> None:
        counts = [Counter(tokenizer.encode(text)[:limit] or [0]) for text in texts]
        self.ids = np.fromiter((i for bag in counts for i in bag), dtype=np.int64)
        times = np.fromiter((n for bag in counts for n in bag.values()), dtype=np.float32)
        self.weights = np.sqrt(times)
        self.ends = np.cumsum([len(bag) for bag in counts])

    def __len__(self) -> int:
        return len(self.ends)

    def take(self, rows: np.ndarray) -> Taken:
        """Ids, offsets and weights of some texts, as an embedding bag takes them."""
        ends = self.ends[rows]
        begins = np.where(rows > 0, self.ends[rows - 1], 0)
        places = np.concatenate([np.arange(b, e) for b, e in zip(begins, ends, strict=True)])
        offsets = np.concatenate([[0], np.cumsum(ends - begins)[:-1]])
        given = (self.ids[places], offsets, self.weights[places])
        return Taken(*map(torch.from_numpy, given))


class Lessons:
    """Texts with the teacher's vectors, drawn a few subjects at a time."""

    def __init__(self, folders: Sequence[Path], tokenizer: WordTokenizer) -> None:
        parts = [read_lessons(folder) for folder in folders]
        self.bags = Bags(tokenizer, [text for texts, _ in parts for text in texts])
        self.vectors = np.concatenate([vectors for _, vectors in parts])
        self._subjects = Subjects(self.vectors, _SEED)

    def draw(self, count: int, choose: np.random.Generator) -> tuple[Taken, torch.Tensor]:
        """Texts of a few subjects: among unrelated texts there is little to learn."""
        rows = self._subjects.draw(count, choose)
        theirs = torch.from_numpy(self.vectors[rows].astype(np.float32))
        return self.bags.take(rows), functional.normalize(theirs, dim=1)


class PairBags:
    """Pairs of every kind, drawn by the share of the kind."""

    def __init__(self, pairs: Pairs, tokenizer: WordTokenizer) -> None:
        opening = random.Random(_SEED)

        def asked(text: str) -> str:
            return opening.choice(OPENINGS) + text if opening.random() < _ASKED else text

        self._kinds = [kind for kind in sorted(pairs) if _SHARE_OF_KIND.get(kind, 1) > 0]
        self._sides = {
            kind: (
                Bags(tokenizer, [asked(pair[0]) for pair in pairs[kind]], 64),
                Bags(tokenizer, [pair[1] for pair in pairs[kind]]),
            )
            for kind in self._kinds
        }
        given = np.array([_SHARE_OF_KIND.get(kind, 0.0) for kind in self._kinds])
        sizes = np.array([len(pairs[kind]) ** 0.75 for kind in self._kinds]) * (given == 0)
        self._shares = given + sizes / sizes.sum() * (1 - given.sum())

    def draw(self, count: int, choose: np.random.Generator) -> list[Taken]:
        """Both sides of pairs of one kind."""
        sides = self._sides[self._kinds[int(choose.choice(len(self._kinds), p=self._shares))]]
        rows = choose.choice(len(sides[0]), min(count, len(sides[0])), replace=False)
        return [side.take(rows) for side in sides]


def main() -> None:
    """Prepare what is not there yet, train, and write the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("gathered", type=Path)
    options.add_argument("out", type=Path)
    options.add_argument("--lessons", type=Path, nargs="+", required=True)
    options.add_argument("--wordllama", type=Path, required=True, help="the unpacked package")
    options.add_argument("--conversations", type=Path, help="LongMemEval sessions (MIT)")
    for name, default in Settings._field_defaults.items():
        options.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    arguments = options.parse_args()
    torch.set_num_threads(1)
    settings = Settings(**{name: getattr(arguments, name) for name in Settings._fields})
    work = arguments.out
    work.mkdir(parents=True, exist_ok=True)
    pairs = read_pairs(arguments.gathered, arguments.conversations) | written_pairs()
    entries = _kept(work / "vocabulary.txt", lambda: _entries(Teacher().word_pieces, pairs))
    tokenizer = WordTokenizer(entries)
    start = _kept_array(
        work / f"start-{settings.dimension}.npy",
        lambda: start_vectors(
            entries,
            tokenizer,
            pairs,
            Teacher(),
            wordllama=arguments.wordllama,
            dimension=settings.dimension,
        ),
    )
    lessons = Lessons(arguments.lessons, tokenizer)
    tuned = train(PairBags(pairs, tokenizer), lessons, start, settings)
    np.save(work / "tuned.npy", tuned)
    write_table(work, entries, mixed(start, tuned, settings.start_share))


def _entries(pieces: list[str], pairs: Pairs) -> list[str]:
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


def train(
    pairs: PairBags,
    lessons: Lessons,
    start: np.ndarray,
    settings: Settings,
    watch: Callable[[int, np.ndarray], None] | None = None,
) -> np.ndarray:
    """Tune the start vectors; returns float rows."""
    torch.manual_seed(settings.seed)
    choose = np.random.default_rng(settings.seed)
    table = torch.nn.EmbeddingBag(*start.shape, mode="sum", sparse=True)
    table.weight.data = torch.from_numpy(start.copy())
    to_teacher = torch.nn.Linear(start.shape[1], lessons.vectors.shape[1], bias=False)
    to_teacher.weight.data = _first_map(table, lessons, choose)
    optimizers = [
        torch.optim.SparseAdam(table.parameters(), lr=settings.rate),
        torch.optim.Adam(to_teacher.parameters(), lr=settings.rate / 3),
    ]

    def pace(step: int) -> float:
        return min(1.0, (step + 1) / 100) * max(0.02, 1 - step / settings.steps)

    schedules = [torch.optim.lr_scheduler.LambdaLR(one, pace) for one in optimizers]
    told = np.zeros(3)
    for step in range(1, settings.steps + 1):
        losses = (
            _pair_loss(table, pairs, settings, choose),
            *_lesson_losses(table, to_teacher, lessons, settings, choose),
        )
        for optimizer in optimizers:
            optimizer.zero_grad()
        shares = (settings.pair_share, settings.likeness_share, settings.vector_share)
        sum(
            (share * loss for share, loss in zip(shares, losses, strict=True)), torch.tensor(0.0)
        ).backward()
        for optimizer, schedule in zip(optimizers, schedules, strict=True):
            optimizer.step()
            schedule.step()
        told += [loss.item() for loss in losses]
        if step % 250 == 0:
            print(step, (told / 250).round(3), flush=True)
            told[:] = 0
            if watch:
                watch(step, table.weight.detach().numpy())
    return table.weight.detach().numpy()


def _vectors(table: torch.nn.Module, texts: Taken) -> torch.Tensor:
    return functional.normalize(table(texts.ids, texts.offsets, texts.per_sample_weights), dim=1)


def _pair_loss(
    table: torch.nn.Module, pairs: PairBags, settings: Settings, choose: np.random.Generator
) -> torch.Tensor:
    left, right = (_vectors(table, side) for side in pairs.draw(settings.batch, choose))
    scores = left @ right.T / settings.temperature
    target = torch.arange(len(left))
    return (
        functional.cross_entropy(scores, target) + functional.cross_entropy(scores.T, target)
    ) / 2


def _lesson_losses(
    table: torch.nn.Module,
    to_teacher: torch.nn.Module,
    lessons: Lessons,
    settings: Settings,
    choose: np.random.Generator,
) -> tuple[torch.Tensor, torch.Tensor]:
    bags, theirs = lessons.draw(settings.lesson_batch, choose)
    own = _vectors(table, bags)
    away = torch.eye(len(own)) * -1e4
    likeness = functional.kl_div(
        functional.log_softmax(own @ own.T / settings.lesson_temperature + away, dim=1),
        functional.softmax(theirs @ theirs.T / settings.lesson_temperature + away, dim=1),
        reduction="batchmean",
    )
    vector = 1 - functional.cosine_similarity(to_teacher(own), theirs, dim=1).mean()
    return likeness, vector


def _first_map(
    table: torch.nn.Module, lessons: Lessons, choose: np.random.Generator
) -> torch.Tensor:
    """The best linear map from the start's vectors to the teacher's, by least squares."""
    with torch.no_grad():
        bags, theirs = lessons.draw(8_000, choose)
        own = _vectors(table, bags)
        return torch.linalg.lstsq(own, theirs).solution.T.contiguous()


def mixed(start: np.ndarray, tuned: np.ndarray, share: float) -> np.ndarray:
    """Part of the start keeps what the texts say nothing about."""
    return share * start + (1 - share) * tuned


def _kept(path: Path, make: Callable[[], list[str]]) -> list[str]:
    if not path.exists():
        path.write_text("\n".join(make()), encoding="utf-8")
    return path.read_text(encoding="utf-8").split("\n")


def _kept_array(path: Path, make: Callable[[], np.ndarray]) -> np.ndarray:
    if not path.exists():
        np.save(path, make())
    return np.load(path)


if __name__ == "__main__":
    main()
