"""The shape of a value: what kind of token it is, whatever stands around it.

A class and a length: `mixed:8` is a short mixture of letters and digits, `rand:32` a long random
string. `PLAIN` is what no place makes a secret: words of the dictionary, placeholders, references,
paths, numbers with a unit. The dictionary and the character model come from `secret_weights.json`.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from unicodedata import normalize

from wellkept.core.records import record
from wellkept.text.rule_data import read_rules

MARK = "[redacted:"
PLAIN = ""
# The beginning of a value is enough, and bounds the work for long ones.
_JUDGED_CHARS = 80
_SIZES = (6, 8, 10, 12, 16, 20, 24, 32, 40, 64)
_MAY_HIDE = frozenset({"_file", "_path", "_chain", "_version"})
_DIGESTS = frozenset({32, 40, 56, 64, 96, 128})
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_BREAKS = re.compile(r"[-_./:+=~@]+")
_WORD_PART = re.compile(r"[A-Z]?[a-z]{2,}\d{0,3}|[A-Z]{2,}\d{0,3}|\d{1,4}")
_CHURNED = re.compile(r"[A-Za-z]\d[A-Za-z]\d|\d[A-Za-z]\d[A-Za-z]")
_LEET = re.compile(r"[A-Za-z]\d[A-Za-z]")
_CRY = re.compile(r"[A-Za-z]+[!?]+")
_TAGGED = re.compile(r"[A-Za-z]{2,12}[_-](?=[A-Za-z0-9])[\w-]+")
_ID = re.compile(r"[0-9a-f-]{8,}")
_SYMBOL = re.compile(r"[!@#%^&*+?~$]")
# What has a meaning of its own; the name of the group is the class, an underscore makes it plain.
_KNOWN = re.compile(
    r"(?P<uuid>[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12})"
    r"|(?P<hex>(?:0x)?(?:[0-9a-f]{12,}|[0-9A-F]{12,}))"
    r"|(?P<num>\d{6,9})|(?P<commit>(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,11})|(?P<_number>[\d.,:/xX%+-]*)"
    r"|(?P<_ticket>[A-Z][A-Z0-9]{1,4}-\d{1,6}|[A-Z]{2,4}\d{3,6})"
    r"|(?P<_range>[0-9a-f]{7,40}\.{2,3}[0-9a-f]{7,40})"
    r"|(?P<_unit>[-+~]?\d[\d.]*(?:[a-zA-Z%]{1,3}|bytes|days?|hours?|min|sec)(?:/s)?)"
    r"|(?P<_date>\d{4}-\d\d-\d\d[T_\d:.+Z-]*)|(?P<_colour>#[0-9a-fA-F]{3,8})"
    r"|(?P<_mail>[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,8}|[a-z]+@[a-z][a-z0-9-]*)"
    r"|(?P<login>[\w.+-]+@[a-z][a-z0-9-]*)|(?P<_package>[\w./-]{2,60}@\^?v?\d+(?:\.\d+)+[\w.+-]*)"
    r"|(?P<_release>v?\d+\.\d+\.\d+[-+][\w.+-]*)|(?P<tailed>[a-z]{2,9}\d)"
    r"|(?P<_source>[\w@/.+-]*\.(?:[cm]?[jt]sx?|css|map|json|html?|py|go|rs|md|svg|png|ya?ml|toml))"
    r"|(?P<_file>[\w@+-]*(?:[./][\w@+-]+)*\.[A-Za-z]{1,5}\d?)"
    r"|(?P<_glob>(?:[\w@-]{1,12}/){1,6}\*{1,2}(?:/\*)?\.[a-z]{1,5}\d?)"
    r"|(?P<_path>~?\.{0,2}/(?:[\w.@+-]+/)*[\w.@+-]*)"
    r"|(?P<_chain>[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)+)"
    r"|(?P<_sum>[A-Za-z_][\w.]*[+*/%]\d{1,2})|(?P<_flag>--?[A-Za-z][a-z0-9-]*)"
    r"|(?P<_version>[a-zA-Z]{0,12}[-_]?\d+(?:\.\d+)+[\w.+-]{0,20})"
)


@record
class SecretSpan:
    """Position of a secret in a text, and the rule that found it."""

    rule: str
    start: int
    end: int


@record(frozen=False)
class WorkCount:
    """Number of positions examined: a measure of work that does not depend on the machine."""

    places: int = 0
    judged: int = 0


@record
class Facts:
    """What a value is held against: lists from the words, dictionary and letters from the weights.

    `letters` gives each pair of letters a digit, more for a pair that is common in words."""

    words: frozenset[str]
    placeholder: re.Pattern[str]
    reference: re.Pattern[str]
    typelike: re.Pattern[str]
    dictionary: frozenset[str]
    letters: dict[str, int]


@lru_cache(maxsize=1)
def learned() -> dict[str, Any]:
    """What `python -m bench.secrets_train` wrote."""
    path = Path(__file__).parent.parent / "data" / "secret_weights.json"
    model = json.loads(path.read_text(encoding="utf-8"))
    by_weight = {float(weight): names for weight, names in model.pop("features", {}).items()}
    return {**model, "weights": {name: w for w, names in by_weight.items() for name in names}}


@lru_cache(maxsize=1)
def _facts() -> Facts:
    values, model = read_rules("secret_words")["values"], learned()
    pairs = (a + b for a in _ALPHABET for b in _ALPHABET)
    return Facts(
        words=frozenset(values["words"]),
        placeholder=re.compile(values["placeholder"]),
        reference=re.compile(values["reference"]),
        typelike=re.compile(values["typelike"]),
        dictionary=frozenset(model["words"].split()),
        letters=dict(zip(pairs, map(int, model["letters"]), strict=True)),
    )


_ALPHABET = "abcdefghijklmnopqrstuvwxyz"


@lru_cache(maxsize=65_536)
def shape_of(value: str) -> str:
    """The class of a value and its size; PLAIN when it is no secret anywhere."""
    size = len(value)
    value = value[:_JUDGED_CHARS]
    facts, low = _facts(), value.lower()
    if not value.isascii():
        # Letters with accents count as those without.
        value = normalize("NFKD", value).encode("ascii", "ignore").decode()
        low = value.lower()
    if len(value) < 4 or len(set(low)) < 3 or low in facts.words:
        return PLAIN
    if max(map(low.count, set(low))) * 5 > len(low) * 3:
        return PLAIN
    if MARK in value or facts.placeholder.search(low) or facts.typelike.match(low):
        return PLAIN
    if facts.reference.match(low):
        return PLAIN
    kind = _kind(value.lstrip("^*#@~+-") or value, size, facts)
    return f"{kind}:{max((s for s in _SIZES if s <= size), default=4)}" if kind else PLAIN


def _kind(value: str, size: int, facts: Facts) -> str:
    letters = [part for part in _PART.findall(value) if not part[0].isdigit()]
    total = sum(map(len, letters))
    strange = total - sum(len(p) for p in letters if len(p) > 2 and p.lower() in facts.dictionary)
    digits = sum(c.isdigit() for c in value)
    random = strange * 2 > total and is_random(value)
    known = _KNOWN.fullmatch(value)
    if known and (kind := known.lastgroup):
        if kind == "_chain" and digits < 3:
            odd = digits and strange * 2 > total
            return "chain" if odd else "wordchain" if value[-2:].isdigit() else PLAIN
        if kind == "hex":
            return "digest" if size in _DIGESTS and not value.startswith("0x") else "hex"
        if not kind.startswith("_"):
            return kind
        if kind == "_file" and _LEET.search(value.rpartition(".")[0]):
            return "filelike"
        churned = kind in ("_chain", "_version", "_mail", "_file") and _CHURNED.search(value)
        return (
            _random(value, facts) if random and kind in _MAY_HIDE else "mixed" if churned else PLAIN
        )
    if not total:
        return PLAIN
    if random:
        return _random(value, facts)
    if _CRY.fullmatch(value):
        return "cry"
    if _SYMBOL.search(value):
        return "sym" if digits or strange or value[-1] in "!?" else "symword"
    if digits == 0:
        return _lettered(value, letters, strange, facts)
    if is_name(value):
        return "wordname" if digits > 2 else "name" if strange * 2 > total or digits > 1 else PLAIN
    if strange * 3 <= total:
        return "wordnum" if digits > 1 else "word1"
    return "mixed"


def _random(value: str, facts: Facts) -> str:
    """A random value: of its own, behind a word that names its kind, or as a part of a path."""
    if "/" in value and any(
        p in facts.dictionary or _ID.fullmatch(p) for p in value.lower().split("/")
    ):
        return "pathrand"
    if (tagged := _TAGGED.fullmatch(value)) and tagged.group().partition("_")[0].isalpha():
        return "tagrand"
    return "rand"


def _lettered(value: str, letters: list[str], strange: int, facts: Facts) -> str:
    """Letters alone, perhaps with signs between."""
    if strange == 0 or len(value) < 5:
        return PLAIN if len(letters) < 3 or not value.islower() else "phrase"
    if not value.isalpha():
        return "oddname" if strange * 2 > len(value) and not value.isupper() else PLAIN
    case = (
        "" if value.islower() else "C" if value[1:].islower() else "U" if value.isupper() else "M"
    )
    pairs = [facts.letters.get(a + b, 0) for a, b in pairwise(value.lower())]
    return f"odd{case}{min(3, int(sum(pairs) / len(pairs) / 2))}"


def is_name(value: str) -> bool:
    """Whether most of it is words and short numbers between separators, as in names and paths."""
    parts = [p for p in _BREAKS.split(value) if p]
    if len(parts) < 2:
        return False
    wordy = sum(len(p) for p in parts if _WORD_PART.fullmatch(p))
    return wordy * 2 > sum(map(len, parts))


def is_random(value: str) -> bool:
    """Whether a long value looks random rather than written by a person."""
    value = value[:_JUDGED_CHARS]
    if len(value) < 16 or not any(c.isdigit() for c in value) or value.isdigit():
        return False
    least = 2.8 if value.isalnum() and (value.islower() or value.isupper()) else 3.2
    return entropy_bits(value) >= least and _changes(value) >= 0.3 and not is_name(value)


def entropy_bits(value: str) -> float:
    """Shannon entropy for one character."""
    size = len(value)
    return -sum(n / size * math.log2(n / size) for n in Counter(value).values())


def _changes(value: str) -> float:
    """The share of neighbours that are of different kinds (lower, upper, digit, other)."""
    kinds = [0 if c.islower() else 1 if c.isupper() else 2 if c.isdigit() else 3 for c in value]
    return sum(a != b for a, b in pairwise(kinds)) / (len(kinds) - 1)
