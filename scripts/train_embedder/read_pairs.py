"""Read the gathered pairs, by kind."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

Pairs = dict[str, list[tuple[str, str]]]


def read_pairs(gathered: Path, conversations: Path | None) -> Pairs:
    """The pairs of `pairs.jsonl` and `natural.jsonl`, and what was said in conversations."""
    pairs: Pairs = defaultdict(list)
    for name in ("pairs.jsonl", "natural.jsonl"):
        with (gathered / name).open(encoding="utf-8") as stream:
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
