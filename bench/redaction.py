"""How well secrets are found, how little else is taken, and how fast.

`python -m bench.redaction [--json] [--show]`: one JSON object is printed last. The secrets are made
when it runs (`tests/memory/data/secret_shapes.toml`), so the repository holds none. Speed is given
beside one plain regular expression over the same text in the same run: trust the ratio.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import string
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from wellkept.text.secrets.redaction import Redacted, redact

DATA = Path(__file__).parent.parent / "tests" / "memory" / "data"
# No remainder of a secret this long may be left; shorter ones occur by chance.
LEFTOVER_CHARS = 10

_ALPHABETS = {
    "b62": string.ascii_letters + string.digits,
    "b64": string.ascii_letters + string.digits + "+/",
    "url": string.ascii_letters + string.digits + "-_",
    "hex": "0123456789abcdef",
    "up": string.ascii_uppercase + "234567",
    "num": string.digits,
}
_HOLE = re.compile(r"<(?:(b62|b64|url|hex|up|num):(\d+)|pass)>")
_PLANT = re.compile("«([a-z0-9-]+)»")
_WORDS = ("tiger", "Summer", "blue", "Koala", "river", "Nimbus", "quartz", "maple")


@dataclass(frozen=True, slots=True)
class Planted:
    """A text and the secrets in it."""

    text: str
    secrets: tuple[str, ...]


def shapes() -> dict[str, str]:
    """The shapes of fake secrets by name."""
    loaded = tomllib.loads((DATA / "secret_shapes.toml").read_text(encoding="utf-8"))
    return {str(name): str(shape) for name, shape in loaded["shapes"].items()}


def fill(shape: str, rng: random.Random) -> str:
    """A fake secret of that shape."""
    return _HOLE.sub(lambda hole: _characters(hole, rng), shape)


def _characters(hole: re.Match[str], rng: random.Random) -> str:
    if hole[1] is None:
        sign = rng.choice(["", "!", "#", "-", "_"])
        return f"{rng.choice(_WORDS)}{sign}{rng.randrange(10, 9999)}"
    alphabet, size = _ALPHABETS[hole[1]], int(hole[2])
    while True:
        drawn = "".join(rng.choices(alphabet, k=size))
        # A real key of this length has both; a run of one kind only would be a freak.
        mixed = any(c.isdigit() for c in drawn) and any(c.isalpha() for c in drawn)
        if mixed or size < 16 or hole[1] == "num":
            return drawn


def plant(template: str, rng: random.Random) -> Planted:
    """The template with a fresh secret at each «name»."""
    known = shapes()
    secrets: list[str] = []

    def put(match: re.Match[str]) -> str:
        secrets.append(fill(known[match[1]], rng))
        return secrets[-1]

    return Planted(_PLANT.sub(put, template), tuple(secrets))


def load(seed: int = 7) -> list[Planted]:
    """The corpus with its secrets planted."""
    rng = random.Random(seed)
    with (DATA / "redaction.jsonl").open(encoding="utf-8") as lines:
        return [plant(json.loads(line)["text"], rng) for line in lines]


def leaks(planted: Planted, redacted: Redacted) -> list[str]:
    """The secrets of which something is left."""
    return [s for s in planted.secrets if _is_left(s, redacted.text)]


def _is_left(secret: str, text: str) -> bool:
    if len(secret) <= LEFTOVER_CHARS:
        return secret in text
    size = LEFTOVER_CHARS
    parts = (secret[at : at + size] for at in range(len(secret) - size + 1))
    return any(part in text for part in parts if _telling(part))


def _telling(part: str) -> bool:
    """Whether a part belongs to the secret alone; a key's public prefix may stand elsewhere."""
    return sum(c.isdigit() for c in part) >= 2


def strays(planted: Planted, redacted: Redacted) -> int:
    """How many findings took something that was no secret."""
    if not planted.secrets:
        return len(redacted.findings)
    spans = [(at, at + len(s)) for s in planted.secrets if (at := planted.text.find(s)) >= 0]
    return sum(all(f.end <= a or f.start >= b for a, b in spans) for f in redacted.findings)


def quality(corpus: list[Planted]) -> dict[str, float | int]:
    """Precision and recall over the corpus."""
    wanted = missed = stray = 0
    for planted in corpus:
        redacted = redact(planted.text)
        wanted += len(planted.secrets)
        missed += len(leaks(planted, redacted))
        stray += strays(planted, redacted)
    found = wanted - missed
    return {
        "texts": len(corpus),
        "texts_without_secrets": sum(not p.secrets for p in corpus),
        "secrets": wanted,
        "missed": missed,
        "strays": stray,
        "precision": round(found / (found + stray), 4),
        "recall": round(found / wanted, 4),
    }


def speed() -> dict[str, float]:
    """Megabytes per processor second on ordinary source text, beside one plain pass of a regex."""
    root = Path(__file__).parent.parent / "packages"
    text = "\n".join(p.read_text(encoding="utf-8") for p in sorted(root.glob("*/src/**/*.py")))
    text = (text * (1 + 2_000_000 // len(text)))[:2_000_000]
    words = re.compile(r"\w+")
    plain = _seconds(lambda: sum(1 for _ in words.finditer(text)))
    ours = _seconds(lambda: redact(text).places)
    return {
        "mb_per_s": round(len(text) / 1e6 / ours, 1),
        "plain_regex_mb_per_s": round(len(text) / 1e6 / plain, 1),
        "times_a_plain_regex": round(ours / plain, 2),
    }


def _seconds(run: Callable[[], int]) -> float:
    run()
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="only the JSON object")
    parser.add_argument("--show", action="store_true", help="print what went wrong")
    options = parser.parse_args()
    corpus = load()
    if options.show:
        for planted in corpus:
            redacted = redact(planted.text)
            if leaks(planted, redacted) or strays(planted, redacted):
                print(repr(planted.text), "->", repr(redacted.text))
    figures = {**quality(corpus), **speed()}
    if not options.json:
        for name, value in figures.items():
            print(f"{name:24} {value}")
    print(json.dumps({"bench": "redaction", **figures}))


if __name__ == "__main__":
    main()
