"""The teacher's vectors of short texts: `python -m scripts.train_embedder.lessons GATHERED OUT`.

Chooses texts out of the pairs of GATHERED (`pairs.jsonl`, `natural.jsonl`), more than half of them
plain language, and writes `texts.json` and the teacher's vectors in parts, so that an interrupted
run goes on where it was. Some 150 texts a second, one thread; `--most` stops early. With
`--functions` the texts are whole functions with their docstrings, some 15 a second.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

import numpy as np

from scripts.train_embedder.read_pairs import Pairs, read_pairs
from scripts.train_embedder.teacher import Teacher

_SEED = 12
_CHARS = 110
_PART = 6_000
_ASKED = 0.07
_FUNCTIONS = 36_000
_FUNCTION_CHARS = 450
_FUNCTION_TOKENS = 96
OPENINGS = (
    "how to ",
    "how do I ",
    "how do we ",
    "where do we ",
    "where is ",
    "what is ",
    "which ",
    "why does ",
    "when do we ",
    "who ",
    "python ",
    "how does it ",
    "what do I do to ",
)
# Of each kind so many left and right sides; a right side gives a sentence at its beginning.
_SHARES = {
    "next": (32_000, 24_000),
    "page": (12_000, 40_000),
    "title": (9_000, 9_000),
    "intent": (40_000, 0),
    "turn": (4_000, 3_000),
    "gloss": (22_000, 26_000),
    "command": (10_000, 0),
    "summary": (1_900, 0),
    "code": (34_000, 0),
    "comment": (8_000, 0),
    "doc": (0, 10_000),
    "heading": (4_000, 10_000),
    "sentence": (9_000, 5_000),
    "message": (3_500, 3_500),
    "commit": (9_000, 0),
    "conversation": (9_000, 9_000),
}


def main() -> None:
    """Choose the texts, then ask the teacher part by part."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("gathered", type=Path)
    options.add_argument("out", type=Path)
    options.add_argument("--conversations", type=Path, help="LongMemEval sessions (MIT)")
    options.add_argument("--functions", action="store_true")
    options.add_argument("--most", type=int, default=1_000_000, help="stop after so many texts")
    arguments = options.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    pairs = read_pairs(arguments.gathered, arguments.conversations)
    texts = taught_functions(pairs) if arguments.functions else taught_texts(pairs)
    (arguments.out / "texts.json").write_text(json.dumps(texts, ensure_ascii=False), "utf-8")
    print(len(texts), "texts", flush=True)
    teacher = Teacher(_FUNCTION_TOKENS) if arguments.functions else Teacher()
    for begin in range(0, min(len(texts), arguments.most), _PART):
        part = arguments.out / f"vectors-{begin // _PART:03}.npy"
        if not part.exists():
            vectors = teacher.embed(texts[begin : begin + _PART]).astype(np.float16)
            partly = part.with_suffix(".part.npy")
            np.save(partly, vectors)
            partly.rename(part)
            print(begin + len(vectors), flush=True)


def read_lessons(folder: Path) -> tuple[list[str], np.ndarray]:
    """The texts that have a vector, and the vectors."""
    parts = sorted(folder.glob("vectors-[0-9][0-9][0-9].npy"))
    vectors = np.concatenate([np.load(part) for part in parts])
    texts: list[str] = json.loads((folder / "texts.json").read_text("utf-8"))
    return texts[: len(vectors)], vectors


def taught_texts(pairs: Pairs) -> list[str]:
    """Short texts in an order of chance, each once."""
    choose = random.Random(_SEED)
    found: dict[str, None] = {}
    for kind, shares in _SHARES.items():
        some = pairs.get(kind, [])
        for side, count in enumerate(shares):
            for pair in choose.sample(some, min(len(some), count)):
                text = shortened(pair[side])
                if len(text) < 8:
                    continue
                asked = choose.random() < _ASKED and not text.endswith("?")
                if asked:
                    text = choose.choice(OPENINGS) + text[0].lower() + text[1:]
                found[text] = None
    texts = list(found)
    choose.shuffle(texts)
    return texts


def taught_functions(pairs: Pairs) -> list[str]:
    """Functions with the first line of their docstring, which the pairs have apart."""
    some = list(pairs["function"])
    random.Random(_SEED).shuffle(some)
    texts: list[str] = []
    for line, function in some[:_FUNCTIONS]:
        signature, _, rest = function.partition("\n\n")
        texts.append(f"{signature}\n{line}\n{rest.strip()}"[:_FUNCTION_CHARS])
    return texts


def shortened(text: str) -> str:
    """The first sentence, or as many of its words as are allowed."""
    text = " ".join(text.split()).lstrip(">!-*# ")
    if len(text) <= _CHARS:
        return text
    end = text.find(". ", 30, _CHARS)
    return text[: end + 1] if end > 0 else text[:_CHARS].rpartition(" ")[0]


if __name__ == "__main__":
    main()
