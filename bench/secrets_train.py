"""Learns the weights of the judge of secrets: `python -m bench.secrets_train [--mb 12] [--check]`.

Examples are the planted forms of `bench/data/secrets_*.toml` (not `unseen`, which only measures),
the corpus of `bench.redaction`, and real code and logs, where nearly nothing is a secret. Writes
`text/data/secret_weights.json`: the words of the dictionary, how common pairs of letters are in
them, and one weight for each feature. The same data gives the same file.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from bench import planted, redaction
from bench.redaction_limits import real_code
from wellkept.text.secrets import shape
from wellkept.text.secrets.candidates import Candidate, candidates
from wellkept.text.secrets.detect import features
from wellkept.text.secrets.windows import windows

WEIGHTS = Path(shape.__file__).parent.parent / "data" / "secret_weights.json"
PARTS = (*planted.PARTS, "training")
ORDINARY = Path(__file__).parent / "data" / "secrets_ordinary.txt"
SOURCES = Path(__file__).parent.parent / "packages"
_DICTIONARY_WORDS = 6_000
_WORD = re.compile(r"[a-z]{3,16}")
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
Example = tuple[str, str, str, tuple[str, ...]]


def found(text: str) -> Iterator[Candidate]:
    """The candidates of a text, at their place in it."""
    for window in windows(text):
        for one in candidates(window.text):
            yield Candidate(
                one.start + window.start,
                one.end + window.start,
                one.shape,
                one.place,
                one.cue,
                one.flags,
            )


def dictionary(texts: Iterable[str]) -> list[str]:
    """The words that most files share."""
    shared: Counter[str] = Counter()
    for text in texts:
        shared.update(set(_WORD.findall(text.lower())))
    return sorted(word for word, _ in shared.most_common(_DICTIONARY_WORDS))


def letters(words: Iterable[str]) -> str:
    """For each pair of letters, in order, a digit: more for a pair that is common."""
    pairs: Counter[str] = Counter(a + b for word in words for a, b in pairwise(word))
    most = np.log1p(max(pairs.values()))
    return "".join(
        str(int(9 * np.log1p(pairs[a + b]) / most)) for a in _ALPHABET for b in _ALPHABET
    )


def _around(text: str, number: int) -> str:
    """A text as it stands in a prompt, a log, a diff or an escaped output."""
    first, _, rest = text.partition("\n")
    frames = (
        f"I ran this:\n{text}\nand so on",
        f"2026-03-01 12:30:01 INFO {text}",
        "\n".join(f"+{line}" for line in text.split("\n")),
        f"- {text}" if not rest else f"> {first}\n> {rest}",
        json.dumps({"output": text, "code": 0}, ensure_ascii=False),
        f"see `{text}` in the notes" if not rest and "`" not in text else f"# {text}",
        f"ok so {text} and then it broke",
    )
    return frames[number % len(frames)]


def planted_texts() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Texts with the secrets in them."""
    for part in PARTS:
        for seed in (13, 14, 15):
            for number, plant in enumerate(planted.plants(part, seed=seed)):
                if not plant.known:
                    yield plant.text, plant.needles
                    yield _around(plant.text, number + seed), plant.needles
    for seed in (7, 8, 9):
        for text in redaction.load(seed):
            yield text.text, text.secrets


def examples(megabytes: float) -> tuple[Counter[Example], Counter[Example]]:
    """What is a secret and what is none, and how often each was seen."""
    secret: Counter[Example] = Counter()
    other: Counter[Example] = Counter()
    for text, needles in planted_texts():
        spans = [m.span() for needle in needles for m in re.finditer(re.escape(needle), text)]
        for one in found(text):
            example = (one.shape, one.place, one.cue, one.flags)
            if any(one.start < end and start < one.end for start, end in spans):
                secret[example] += 1
            else:
                other[example] += 1 if spans else 12
    for text in ORDINARY.read_text(encoding="utf-8").splitlines():
        for shown in (text, *(_around(text, number) for number in range(7))):
            for one in found(shown):
                other[(one.shape, one.place, one.cue, one.flags)] += 12
    for text in (path.read_text(encoding="utf-8") for path in sorted(SOURCES.rglob("*.py"))):
        for one in found(text):
            other[(one.shape, one.place, one.cue, one.flags)] += 12
    for text in real_code(megabytes):
        for one in found(text):
            other[(one.shape, one.place, one.cue, one.flags)] += 3
    return secret, other


def fit(
    secret: Counter[Example], other: Counter[Example], *, decay: float = 0.004
) -> tuple[float, dict[str, float]]:
    """The bias and the weight of each feature: logistic regression, shrunk towards nothing."""
    names: dict[str, int] = {}
    rows: list[int] = []
    columns: list[int] = []
    seen = list(secret | other)
    for row, example in enumerate(seen):
        for name in features(*example):
            rows.append(row)
            columns.append(names.setdefault(name, len(names)))
    counts = np.array([(secret[one], other[one]) for one in seen], dtype=float)
    counts = np.minimum(counts * (1.6, 1.0), 300) ** 0.75
    row, column = np.array(rows), np.array(columns)
    total = counts.sum(axis=1)
    weights, bias, step = np.zeros(len(names)), 0.0, np.zeros(len(names))
    for _ in range(1500):
        scores = bias + np.bincount(row, weights[column], len(seen))
        wrong = total / (1 + np.exp(-np.clip(scores, -30, 30))) - counts[:, 0]
        slope = (
            np.bincount(column, wrong[row], len(names)) + decay * total.sum() / len(names) * weights
        )
        step += slope**2
        weights -= 0.5 * slope / np.sqrt(step + 1e-8)
        bias -= 0.02 * wrong.sum() / total.sum()
    kept = {name: round(float(weights[at]), 2) for name, at in names.items()}
    return round(bias, 2), {
        name: weight for name, weight in sorted(kept.items()) if abs(weight) >= 0.05
    }


def main() -> None:
    """Learn and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=float, default=12, help="how much real code, in megabytes")
    parser.add_argument("--words", action="store_true", help="make the dictionary anew as well")
    options = parser.parse_args()
    known = WEIGHTS.read_text(encoding="utf-8") if WEIGHTS.exists() else "{}"
    model: dict[str, Any] = json.loads(known)
    if options.words or not model:
        words = dictionary(real_code(40, seed=11))
        model = {"words": " ".join(words), "letters": letters(words)}
        _write(model | {"bias": 0.0, "weights": {}})
    secret, other = examples(options.mb)
    bias, weights = fit(secret, other)
    _write(model | {"bias": bias, "weights": weights})
    print(
        json.dumps(
            {"examples": len(secret | other), "secrets": secret.total(), "weights": len(weights)}
        )
    )


def _write(model: dict[str, Any]) -> None:
    WEIGHTS.write_text(json.dumps(model, indent=0, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
