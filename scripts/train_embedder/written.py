"""Pairs that were written for this: `written/*.phrases` and `written/*.pairs`.

A line of phrases says one thing in several ways. A line of pairs is a note, a tab, and a question
that asks for it in other words; in `functions.pairs` a function by its first line, and what one
would type to find it. Written without a look at any set that measures; what came near a note or
question of `bench/data`, a question of CoSQA or a turn of LoCoMo was left out.
"""

from __future__ import annotations

import random
from itertools import permutations
from pathlib import Path

from scripts.train_embedder.read_pairs import Pairs

FOLDER = Path(__file__).parent / "written"
_SEED = 5
_OF_ONE_LINE = 12


def written_pairs() -> Pairs:
    """Two phrases of one line each, and questions with their notes."""
    choose = random.Random(_SEED)
    phrases: list[tuple[str, str]] = []
    for line in _lines("*.phrases"):
        both = list(permutations((said.strip() for said in line.split("|")), 2))
        phrases += choose.sample(both, min(_OF_ONE_LINE, len(both)))
    notes = (line.split("\t") for line in _lines("*.pairs"))
    return {"phrase": phrases, "written": [(question, note) for note, question in notes]}


def _lines(names: str) -> list[str]:
    files = sorted(FOLDER.glob(names))
    return [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
