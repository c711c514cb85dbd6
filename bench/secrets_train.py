"""Learns the weights of the judge of secrets: `python -m bench.secrets_train`.

Examples are the planted forms of `bench/data/secrets_*.toml` (not `unseen` and `fresh`, which only
measure), texts put together by `bench.secrets_grammar`, the corpus of `bench.redaction`, ordinary
lines, this repository and the code of installed packages: there nearly nothing is a secret.
Writes `text/data/secret_weights.json`: the words of the dictionary, how common pairs of letters are
in them, and one weight for each feature. The same data gives the same file.
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

from bench import planted, redaction, secrets_grammar
from bench.redaction_limits import real_code
from wellkept.text.secrets import shape
from wellkept.text.secrets.candidates import Candidate, candidates
from wellkept.text.secrets.detect import features, word_features
from wellkept.text.secrets.windows import windows

WEIGHTS = Path(shape.__file__).parent.parent / "data" / "secret_weights.json"
PARTS = (*planted.PARTS, "training")
ROOT = Path(__file__).parent.parent
# What the repository holds of code and prose, without tests: they hold made-up secrets.
SOURCES = ("packages", "bench", "docs", "web/src", "plugins", "packaging", ".github", "scripts")
_SUFFIXES = frozenset(".py .md .ts .tsx .css .json .jsonl .toml .txt .yml .yaml .sh .c".split())
_DICTIONARY_WORDS = 6_000
_WORD = re.compile(r"[a-z]{3,16}")
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
# How often an ordinary line and a line of code count against a planted secret.
_ORDINARY_WEIGHT, _CODE_WEIGHT = 7, 3
_OWN_WEIGHT = 12
# How many texts the grammar makes of each kind, and how much one without a secret counts.
_MADE, _MADE_WEIGHT = 20_000, 4
_LEAST_WORD = 5
_LEAST_WEIGHT = 0.12
Example = tuple[str, str, str, tuple[str, ...], tuple[str, ...]]


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
                one.words,
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
    for number, (text, needles) in enumerate(secrets_grammar.secrets(_MADE, seed=1)):
        yield text, needles
        if number % 2:
            yield _around(text, number // 2), needles


def _example(one: Candidate) -> Example:
    return one.shape, one.place, one.cue, one.flags, one.words


def ordinary_texts(megabytes: float) -> Iterator[tuple[str, int]]:
    """Texts without secrets, and how much each counts."""
    for text in (line for seed in range(4) for line in planted.ordinary(seed=seed)):
        for shown in (text, *(_around(text, number) for number in range(7))):
            yield shown, _ORDINARY_WEIGHT
    for number, text in enumerate(secrets_grammar.harmless(_MADE, seed=1)):
        yield text, _MADE_WEIGHT
        if number % 2:
            yield _around(text, number // 2), _MADE_WEIGHT
    for path in sorted(path for folder in SOURCES for path in (ROOT / folder).rglob("*")):
        if path.suffix in _SUFFIXES and not path.name.startswith("secret"):
            yield path.read_text(encoding="utf-8"), _OWN_WEIGHT
    for text in real_code(megabytes):
        yield text, _CODE_WEIGHT


def examples(megabytes: float) -> tuple[Counter[Example], Counter[Example]]:
    """What is a secret and what is none, and how often each was seen."""
    secret: Counter[Example] = Counter()
    other: Counter[Example] = Counter()
    for text, needles in planted_texts():
        spans = [m.span() for needle in needles for m in re.finditer(re.escape(needle), text)]
        for one in found(text):
            if any(one.start < end and start < one.end for start, end in spans):
                secret[_example(one)] += 1
            else:
                other[_example(one)] += 1 if spans else _OWN_WEIGHT
    for text, weight in ordinary_texts(megabytes):
        for one in found(text):
            other[_example(one)] += weight
    return secret, other


def fit(
    secret: Counter[Example], other: Counter[Example], public: set[str], *, decay: float = 0.3
) -> tuple[float, dict[str, float]]:
    """The bias and the weight of each feature: logistic regression, shrunk towards nothing."""
    names: dict[str, int] = {}
    rows: list[int] = []
    columns: list[int] = []
    seen = list(secret | other)
    # Words of ordinary texts alone are left out: names of people, folders and projects.
    said = {word for one in secret for word in one[4]} | public
    words = Counter(
        word
        for one in seen
        for word in word_features(
            one[0], one[2], tuple(w for w in one[4] if w in said or w[0] in "lr")
        )
    )
    for row, example in enumerate(seen):
        near = (
            w for w in word_features(example[0], example[2], example[4]) if words[w] >= _LEAST_WORD
        )
        for name in (*features(*example[:4]), *near):
            rows.append(row)
            columns.append(names.setdefault(name, len(names)))
    counts = np.array([(secret[one], other[one]) for one in seen], dtype=float)
    counts = np.minimum(counts * (2.5, 1.0), 300) ** 0.75
    row, column = np.array(rows), np.array(columns)
    total = counts.sum(axis=1)
    weights, bias, step = np.zeros(len(names)), 0.0, np.zeros(len(names))
    for _ in range(1200):
        scores = bias + np.bincount(row, weights[column], len(seen))
        wrong = total / (1 + np.exp(-np.clip(scores, -30, 30))) - counts[:, 0]
        slope = (
            np.bincount(column, wrong[row], len(names)) + decay * total.sum() / len(names) * weights
        )
        step += slope**2
        weights -= 0.5 * slope / np.sqrt(step + 1e-8)
        bias -= 0.02 * wrong.sum() / total.sum()
    kept = {name: round(float(weights[at]), 1) for name, at in names.items()}
    return round(bias, 2), {
        name: weight for name, weight in sorted(kept.items()) if abs(weight) >= _LEAST_WEIGHT
    }


def main() -> None:
    """Learn and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=float, default=12, help="how much real code, in megabytes")
    parser.add_argument("--words", action="store_true", help="make the dictionary anew as well")
    options = parser.parse_args()
    model = {name: shape.learned()[name] for name in ("words", "letters")}
    if options.words:
        words = dictionary(real_code(40, seed=11))
        model = {"words": " ".join(words), "letters": letters(words)}
        _write(model | {"bias": 0.0, "weights": {}})
    secret, other = examples(options.mb)
    public = {f"{place}={word}" for word in model["words"].split() for place in "wpvcn"}
    public |= {word for text, _ in ordinary_texts(1) for one in found(text) for word in one.words}
    bias, weights = fit(secret, other, public)
    _write(model | {"bias": bias, "weights": weights})
    print(
        json.dumps(
            {"examples": len(secret | other), "secrets": secret.total(), "weights": len(weights)}
        )
    )


def _write(model: dict[str, Any]) -> None:
    """The features of one weight in one line, and the rest a line each."""
    by_weight: dict[str, list[str]] = {}
    for name, weight in model.pop("weights").items():
        by_weight.setdefault(str(weight), []).append(name)
    rows = [json.dumps(w) + ":" + json.dumps(by_weight[w]) for w in sorted(by_weight, key=float)]
    parts = [f'"{name}":{json.dumps(value)}' for name, value in sorted(model.items())]
    text = "{" + ",\n".join([*parts, '"features":{\n' + ",\n".join(rows)]) + "}}"
    WEIGHTS.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
