"""How well plain speech is read: what people lay down without a memory word, and what only sounds
like it.

    python -m bench.speech [--messages FILE …] [--learn [--sessions FOLDER]] [--show]

Messages are labelled by hand (`data/speech/*.jsonl`): what the agent said before, the prompt, what
it lays down and which words of it. Counted by kind: messages of which something is kept, and kept
though they lay nothing down. Beside it stand a reader that takes every "always", "never",
"let's" or "don't" for a rule, and one that keeps everything.

`--learn` fits the weights of `wellkept.text.speech` on the messages whose file name begins with
`learn` and on those of `bench.commands`, cross-validated by message, and writes them. `--sessions`
adds prompts of published sessions (a JSON list of {"agent", "prompt"}); their labels are in
`data/speech/real.tsv` by digest, their text is not in the repository. Held-out files are never read
by it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench import commands
from wellkept.text import speech
from wellkept.text.memory_commands.detect import Ask, clauses, detect_commands
from wellkept.text.own_words import Sentence

FOLDER = Path(__file__).parent / "data" / "speech"
WEIGHTS = Path(speech.__file__).parent / "data" / "speech.json"
_KIND = {"answer": "decision", "retraction": "correction"}
_FOLDS, _STEPS, _RIDGE, _MIN_COUNT = 5, 250, 1.0, 2
_REAL_WEIGHT = 0.5
_MOST, _MOST_TYPES = 8_000, 1_000
"""Features that are kept: reading them takes time."""
_WORDS = re.compile(r"\b(?:always|never|let's|lets|don't)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Message:
    """One labelled message."""

    prompt: str
    agent: str
    kind: str
    keep: str
    lang: str = "en"


@dataclass(frozen=True, slots=True)
class Example:
    """One sentence with its features and kind."""

    features: frozenset[str]
    kind: int
    weight: float = 1.0


def load(paths: Sequence[Path]) -> list[Message]:
    """The messages of files."""
    rows = [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]
    fields = ("prompt", "agent", "kind", "keep", "lang")
    return [Message(*(str(row[name]) for name in fields)) for row in rows]


def statements() -> list[Message]:
    """The labelled messages of `bench.commands`: those that lay nothing down, and rules that are
    one sentence."""
    rules = [
        Message(one.text, "", "rule", one.text, one.lang)
        for one in commands.load(commands.STATEMENTS)
        if {expected.kind for expected in one.expect} == {"remember"} and len(clauses(one.text)) < 2
    ]
    others = (*commands.load(commands.STATEMENTS), *commands.load(commands.CORPUS))
    return rules + [Message(one.text, "", "none", "", one.lang) for one in others if not one.expect]


def keeps(message: Message) -> bool:
    """Whether the product keeps something of a message."""
    found = detect_commands(message.prompt, answers_to=message.agent or None)
    return any(not isinstance(one, Ask) for one in found)


def measure(messages: Sequence[Message], read: Callable[[Message], bool]) -> dict[str, str]:
    """Messages of which something is kept, by kind."""
    kept = Counter(one.kind for one in messages if read(one))
    kinds = Counter(one.kind for one in messages)
    return {kind: f"{kept[kind]} of {count}" for kind, count in kinds.items()}


def examples(message: Message) -> Iterator[Example]:
    """The sentences of a message; those that its `keep` covers have its kind."""
    said = clauses(message.prompt)
    start = message.prompt.find(message.keep) if message.keep else -1
    kind = speech.KINDS.index(_KIND.get(message.kind, message.kind))
    for place, one in enumerate(said):
        shared = min(start + len(message.keep), one.end) - max(start, one.start)
        is_kept = start >= 0 and 2 * shared >= min(one.end - one.start, len(message.keep))
        found = speech.features(said, place, answers_to=message.agent or None)
        yield Example(found, kind if is_kept else 0)


def real_examples(path: Path) -> Iterator[Example]:
    """Sentences of published sessions, by their labels; one that has none lays nothing down."""
    lines = (FOLDER / "real.tsv").read_text("utf-8").splitlines()
    labels = dict(line.split("\t") for line in lines)
    for row in json.loads(path.read_text("utf-8")):
        said = clauses(row["prompt"])
        for place, one in enumerate(said):
            label = labels.get(digest(one), "none")
            if label != "maybe":
                kind = speech.KINDS.index(_KIND.get(label, label))
                found = speech.features(said, place, answers_to=row["agent"] or None)
                yield Example(found, kind, 1.0 if kind else _REAL_WEIGHT)


def digest(sentence: Sentence) -> str:
    """The name of a sentence in the list of labels."""
    return hashlib.sha256(sentence.masked.encode()).hexdigest()[:16]


class Model:
    """Softmax regression on features that are there or not."""

    def __init__(self, learn: Sequence[Example], kinds: Sequence[int], *, most: int = 0) -> None:
        """`kinds` are the classes of the examples, from 0 on; `most` features are kept."""
        count = Counter(name for one in learn for name in one.features)
        names = sorted(name for name, often in count.items() if often >= _MIN_COUNT)
        self.names = {name: place for place, name in enumerate(names)}
        rows, columns = self._cells(learn)
        sure = np.array([one.weight for one in learn])
        wanted = np.eye(max(kinds) + 1)[np.array(kinds)]
        self.bias = np.zeros(wanted.shape[1])
        self.weights = np.zeros((len(names), wanted.shape[1]))
        memory, sizes = np.zeros_like(self.weights), np.zeros_like(self.weights)
        for step in range(1, _STEPS + 1):
            sums = np.zeros_like(wanted) + self.bias
            np.add.at(sums, rows, self.weights[columns])
            off = (_softmax(sums) - wanted) * sure[:, None]
            slope = _RIDGE * self.weights
            np.add.at(slope, columns, off[rows])
            memory = 0.9 * memory + 0.1 * slope
            sizes = 0.99 * sizes + 0.01 * slope**2
            rate = 0.05 * (1 - step / (_STEPS + 1)) / (1 - 0.9**step)
            self.weights -= rate * memory / (np.sqrt(sizes / (1 - 0.99**step)) + 1e-8)
            self.bias -= 0.5 * off.sum(axis=0) / sure.sum()
        if most:
            size = np.abs(self.weights - self.weights.mean(axis=1, keepdims=True)).max(axis=1)
            self.weights[np.argsort(size)[:-most]] = 0.0

    def odds(self, one: Example) -> NDArray[np.float64]:
        """The probability of each class."""
        places = [self.names[name] for name in one.features if name in self.names]
        return _softmax((self.bias + self.weights[places].sum(axis=0))[None, :])[0]

    def as_json(self) -> list[object]:
        """The bias and the weights that count, as hundredths against the first class."""
        against = np.rint(100 * (self.weights - self.weights[:, :1])[:, 1:]).astype(int)
        kept = {name: against[n].tolist() for name, n in self.names.items() if against[n].any()}
        bias = np.rint(100 * (self.bias - self.bias[0])[1:]).astype(int).tolist()
        return [bias, kept]

    def _cells(self, learn: Sequence[Example]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        cells = [
            (row, self.names[name])
            for row, one in enumerate(learn)
            for name in sorted(one.features)
            if name in self.names
        ]
        rows, columns = zip(*cells, strict=True)
        return np.array(rows), np.array(columns)


def _softmax(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    raised = np.exp(sums - sums.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def whether(learn: Sequence[Example]) -> Model:
    """Whether a sentence lays something down."""
    return Model(learn, [int(one.kind > 0) for one in learn], most=_MOST)


def learn(messages: Sequence[Message], real: Sequence[Example]) -> dict[str, str]:
    """Fit and write the weights; cross-validated: messages kept, right and wrong."""
    by_message = [list(examples(one)) for one in messages]
    every = [one for each in by_message for one in each] + list(real)
    order, real_order = list(range(len(messages))), list(range(len(real)))
    random.Random(7).shuffle(order)
    random.Random(8).shuffle(real_order)
    sure: dict[int, float] = {}
    sure_real: dict[int, float] = {}
    for fold in range(_FOLDS):
        out, real_out = set(order[fold::_FOLDS]), set(real_order[fold::_FOLDS])
        inside = [one for place in order if place not in out for one in by_message[place]]
        model = whether([*inside, *(real[n] for n in real_order if n not in real_out)])
        sure |= {n: max((model.odds(e)[1] for e in by_message[n]), default=0.0) for n in out}
        sure_real |= {n: model.odds(real[n])[1] for n in real_out}
    some = [one for one in every if one.kind]
    types = Model(some, [one.kind - 1 for one in some], most=_MOST_TYPES)
    text = json.dumps(
        {"whether": whether(every).as_json(), "types": types.as_json()},
        ensure_ascii=False,
        separators=(",", ":"),
    )
    WEIGHTS.write_text(text.replace("],", "],\n") + "\n", encoding="utf-8")
    figures: dict[str, str] = {}
    kinds = Counter(one.kind for one in messages)
    for least in (0.4, 0.5, 0.6, 0.7):
        kept = Counter(messages[place].kind for place, one in sure.items() if one >= least)
        told = [real[n].kind > 0 for n, one in sure_real.items() if one >= least]
        figures[str(least)] = (
            f"{sum(kept.values()) - kept['none']} of {len(messages) - kinds['none']} kept,"
            f" {kept['none']} of {kinds['none']} false; of real sentences {sum(told)} of"
            f" {sum(one.kind > 0 for one in real)} kept, {len(told) - sum(told)} of"
            f" {sum(one.kind == 0 for one in real)} false"
        )
    return figures


def main() -> None:
    """Measure, or learn."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--messages", type=Path, nargs="*", default=sorted(FOLDER.glob("*.jsonl")))
    parser.add_argument("--learn", action="store_true")
    parser.add_argument("--sessions", type=Path)
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    if given.learn:
        real = list(real_examples(given.sessions)) if given.sessions else []
        print(
            json.dumps(
                learn([*load(sorted(FOLDER.glob("learn*.jsonl"))), *statements()], real), indent=1
            )
        )
        return
    found: dict[str, dict[str, dict[str, str]]] = {}
    for path in given.messages:
        messages = load([path])
        found[path.stem] = {
            "kept": measure(messages, keeps),
            "by four words": measure(messages, lambda one: bool(_WORDS.search(one.prompt))),
        }
        for one in messages if given.show else ():
            if keeps(one) == (one.kind == "none"):
                print(f"{one.kind} | {one.prompt[:200]!r}")
    print(json.dumps(found, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
