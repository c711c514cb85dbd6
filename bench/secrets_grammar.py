"""Texts with and without a secret, put together from names, places, sentences and values.

The parts are in `data/secrets_grammar.toml`. The judge learns from them; they never measure it.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.planted import filled, human

_PARTS = tomllib.loads(
    (Path(__file__).parent / "data" / "secrets_grammar.toml").read_text(encoding="utf-8")
)
_HOLE = re.compile(r"\{([a-z]+)\}")
_NOUNS = ("password", "password", "secret", "key", "token")
_PLACES = ("assigned", "said", "languages", "signed", "tools", "tokens") * 3 + ("numbers",)
_HUMAN_SHARE, _HUMAN_KEYS_SHARE = 0.75, 0.25


def secrets(count: int, seed: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    """So many texts with a secret, each with what is secret in it."""
    rng = random.Random(f"secrets-{seed}")
    for _ in range(count):
        place, noun, word = rng.choice(_PLACES), rng.choice(_NOUNS), ""
        if place == "languages":
            words, *frames = rng.choice(list(_PARTS["languages"].values()))
            word = rng.choice(words)
        else:
            frames = _PARTS["frames"][place]
        if place in ("signed", "tools", "languages"):
            noun = "password"
        share = _HUMAN_SHARE if noun == "password" else _HUMAN_KEYS_SHARE
        share = 0 if place in ("tokens", "numbers") else share
        kind = "number" if place == "numbers" else "machine"
        made = tuple(human(rng) if rng.random() < share else _fill(kind, rng) for _ in range(2))
        text = _text(rng.choice(frames), rng, noun, made, word)
        yield text, tuple(value for value in made if value in text)


def harmless(count: int, seed: int) -> Iterator[str]:
    """So many texts that speak of secrets, or hold what looks like one, and hold none."""
    rng = random.Random(f"harmless-{seed}")
    for _ in range(count):
        kind = rng.randrange(5)
        noun = rng.choice(_NOUNS) if kind < 3 else "harmless"
        place = rng.choice(("assigned", "said"))
        frames = _PARTS["harmless"]["said"] if kind < 2 else _PARTS["frames"][place]
        value = rng.choice(_PARTS["harmless"]["values"]) if kind < 3 else _fill("x", rng)
        yield _text(rng.choice(frames), rng, noun, (value,), "")


def _fill(kind: str, rng: random.Random) -> str:
    return filled(rng.choice(_PARTS["fills"][kind]), rng)


def _text(frame: str, rng: random.Random, noun: str, values: Sequence[str], word: str) -> str:
    names: dict[str, Any] = _PARTS["names"]
    name = f"{rng.choice(names['before'])} {rng.choice(names[noun])}".split()
    styles = (
        "_".join(name), "_".join(name).upper(), "-".join(name), ".".join(name),
        name[0] + "".join(map(str.capitalize, name[1:])), "".join(map(str.capitalize, name)),
    )  # fmt: skip
    given = {"id": rng.choice(styles), "opt": "-".join(name), "name": " ".join(name), "w": word}
    left = list(values)

    def put(hole: re.Match[str]) -> str:
        if hole[1] == "v":
            return left.pop(0) if len(left) > 1 else left[0]
        if hole[1] in given:
            return given[hole[1]]
        return _fill(hole[1], rng) if hole[1] in _PARTS["fills"] else hole[0]

    return _HOLE.sub(put, frame)
