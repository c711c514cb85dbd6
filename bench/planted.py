"""Planted secrets: 1,000 and more, in over 150 kinds, made anew from a seed when the bench runs.

The forms are in `data/secrets_*.toml`: `heldout` was written before the rules and read only to
measure, `later` by somebody who did not know the rules yet. Forms under `[beyond]` are those that
no rule finds: only a person can tell such a value from a word. The repository holds no secret.
"""

from __future__ import annotations

import base64
import json
import random
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.redaction import fill

PARTS = ("development", "heldout", "later")
_DATA = Path(__file__).parent / "data"
_MARKED = re.compile("⟦(.*?)⟧", re.DOTALL)
_HOLE = re.compile(r"<(?:(b36|HEX):(\d+)|(word|lower|sym|uuid|phrase|leet|strong|words|year|pin))>")
_B36 = "abcdefghijklmnopqrstuvwxyz0123456789"
_PLAIN = (
    "dragon", "sunshine", "monkey", "orange", "winter", "bicycle", "harvest", "elephant", "cobalt",
    "lantern", "pineapple", "thunder", "marble", "falcon", "whisper", "granite", "velvet", "hunter",
    "shadow", "buster", "mustang", "coffee", "pumpkin", "zanzibar", "kestrel", "tulip", "mercury",
    "biscuit", "summer", "saturn", "rocket", "banjo", "copper", "juniper", "quokka", "badger",
)  # fmt: skip
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"
_PART_CHARS = 12
_TRIES = 50


@dataclass(frozen=True, slots=True)
class Plant:
    """A text, and what of it must not reach the disk. `known`: its secrets are in a .env file."""

    kind: str
    part: str
    text: str
    needles: tuple[str, ...]
    known: bool = False

    def left_in(self, folded: str) -> bool:
        """Whether anything of its secrets is in a text in lower case."""
        return any(part in folded for needle in self.needles for part in _parts(needle.lower()))


def plants(part: str, *, each: int = 6, seed: int = 13) -> list[Plant]:
    """The planted secrets of one part: so many of each kind, taking turns with its forms."""
    kinds = _read(part)["kinds"]
    rng = random.Random(f"{part}-{seed}")
    taken: set[str] = set()
    found: list[Plant] = []
    for kind, forms in kinds.items():
        for number in range(max(each, len(forms))):
            plant = _plant(kind, part, forms[number % len(forms)], rng)
            for _ in range(_TRIES if not taken.isdisjoint(plant.needles) else 0):
                if taken.isdisjoint(plant.needles):
                    break
                plant = _plant(kind, part, forms[number % len(forms)], rng)
            taken.update(plant.needles)
            found.append(plant)
    return found


def beyond(part: str, *, seed: int = 13) -> list[Plant]:
    """One of each form that no rule finds."""
    rng = random.Random(f"{part}-{seed}")
    kinds = _read(part).get("beyond", {})
    return [_plant(kind, part, form, rng) for kind, forms in kinds.items() for form in forms]


def ordinary(*, part: str = "ordinary", seed: int = 3) -> list[str]:
    """Lines without a secret that look as if they held one, with fresh values in their holes."""
    rng = random.Random(seed)
    forms = (_DATA / f"secrets_{part}.txt").read_text(encoding="utf-8").splitlines()
    return [filled(form.replace("\\n", "\n").replace("\\t", "\t"), rng) for form in forms]


def _read(part: str) -> dict[str, dict[str, list[str]]]:
    return tomllib.loads((_DATA / f"secrets_{part}.toml").read_text(encoding="utf-8"))


def leaked(planted: Iterable[Plant], files: Iterable[Path]) -> list[Plant]:
    """Those of which something is in the raw bytes of a file."""
    text = "\n".join(_folded(path.read_bytes()) for path in files)
    return [plant for plant in planted if plant.left_in(text)]


def _folded(raw: bytes) -> str:
    """Bytes as text in lower case, also as what JSON escapes in it stand for."""
    text = raw.decode("utf-8", "replace").lower()
    return text + "\n" + text.replace("\\/", "/").replace('\\"', '"') if "\\" in text else text


def filled(form: str, rng: random.Random) -> str:
    """A form with something fresh in each of its holes."""
    return fill(_HOLE.sub(lambda hole: _more(hole, rng), form), rng)


def _plant(kind: str, part: str, form: str, rng: random.Random) -> Plant:
    verb, _, rest = form.partition(" ") if form.startswith("@") else ("", "", form)
    whole = filled(rest, rng)
    needles = tuple(_MARKED.findall(whole))
    text = _MARKED.sub(r"\1", whole)
    if verb == "@base64":
        text = base64.b64encode(text.encode()).decode()
        needles = (*needles, text)
    elif verb == "@json":
        text = json.dumps({"output": text})
    return Plant(kind, part, text, needles, verb == "@known")


def _more(hole: re.Match[str], rng: random.Random) -> str:
    match hole[1] or hole[3]:
        case "b36":
            return _mixed(_B36, int(hole[2]), rng)
        case "HEX":
            return _mixed("0123456789ABCDEF", int(hole[2]), rng)
        case "word":
            return _syllables(rng, 5).capitalize()
        case "lower":
            return _syllables(rng, 5)
        case "phrase":
            return _syllables(rng, 9)
        case "leet":
            plain = rng.choice(_PLAIN).translate(str.maketrans("aeios", "43105"))
            tail = rng.choice(["", "!", "#1", "_x", "&3", "@home", "$$", str(rng.randrange(999))])
            return rng.choice((plain.capitalize(), plain)) + tail
        case "strong":
            drawn = rng.choices(_B36 + _B36.upper() + "!@#$%^&*-_=+?.", k=rng.randrange(9, 20))
            return f"{rng.choice('KXQ')}{''.join(drawn)}{rng.randrange(10)}{rng.choice('kzw')}"
        case "words":
            return "-".join(rng.sample(_PLAIN, 3)) + rng.choice(["", f"-{rng.randrange(10, 99)}"])
        case "year":
            word = rng.choice(_PLAIN)
            made = f"{word}{rng.randrange(1990, 2027)}{rng.choice(('', '!'))}"
            return rng.choice((made, made.capitalize()))
        case "pin":
            return str(rng.randrange(100_000, 99_999_999))
        case "sym":
            start = f"{_syllables(rng, 2).capitalize()}{rng.choice('@!%*+')}"
            return f"{start}{rng.randrange(10, 999)}{rng.choice('#!?_')}"
        case _:
            made = _mixed("0123456789abcdef", 30, rng)
            return f"{made[:8]}-{made[8:12]}-4{made[12:15]}-a{made[15:18]}-{made[18:]}"


def human(rng: random.Random) -> str:
    """A password as people make them: words, names, digits, signs, in many orders."""
    word, other = rng.choice(_PLAIN), rng.choice((rng.choice(_PLAIN), _syllables(rng, 2)))
    short = _syllables(rng, rng.randrange(2, 4))
    word = rng.choice((word, word, short, word[: rng.randrange(2, 5)]))
    word = rng.choice((word, word.capitalize(), word.capitalize(), word.upper()))
    sign, digits = rng.choice("!@#$%&*?_-.+="), str(rng.randrange(10 ** rng.randrange(1, 5)))
    leet = word.translate(str.maketrans("aeosi", rng.choice(("@3051", "4305!", "@30$1"))))
    made = rng.choice((
        f"{word}{digits}{sign}", f"{word}{sign}{digits}", f"{sign}{digits}{word}",
        f"{digits}{word}{sign}", f"{leet}{digits}", f"{leet}{sign}{digits}",
        f"{word}{other.capitalize()}{sign}{digits}", f"{word}{sign}{other}{digits}",
        f"{word}-{other}-{digits}", f"{word}.{other}{digits}", f"{word}{digits}{other}",
        f"{word}_{other.capitalize()}{digits}", f"{word}{rng.randrange(1960, 2030)}",
        f"{other}{sign}{word}", f"{word}{other}{digits}{sign}", f"{digits}{word}{digits}",
        f"{word}{sign * 2}{digits}", filled("<b36:9>", rng), filled("<b62:10>", rng),
    ))  # fmt: skip
    return made if len(made) > 6 and any(map(str.isdigit, made)) else human(rng)


def _mixed(alphabet: str, size: int, rng: random.Random) -> str:
    while True:
        made = "".join(rng.choices(alphabet, k=size))
        if any(c.isdigit() for c in made) and any(c.isalpha() for c in made):
            return made


def _syllables(rng: random.Random, count: int) -> str:
    return "".join(rng.choice(_CONSONANTS) + rng.choice(_VOWELS) for _ in range(count))


def _parts(needle: str) -> tuple[str, ...]:
    """The whole, or of a long one its beginning, middle and end."""
    if len(needle) < 2 * _PART_CHARS:
        return (needle,)
    middle = len(needle) // 2 - _PART_CHARS // 2
    return (
        needle[:_PART_CHARS],
        needle[middle : middle + _PART_CHARS],
        needle[-_PART_CHARS:],
    )
