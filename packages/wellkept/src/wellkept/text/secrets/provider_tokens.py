"""Tokens of providers, from the facts in `data/provider_tokens.toml`.

A shape is literal text with holes: `<hex:40>` is 40 characters of that alphabet, `<hex:40+>` at
least so many. A prefixed token shows by itself; a named one only beside its provider's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from wellkept.core.records import record
from wellkept.text.rule_data import read_rules

_HOLE = re.compile(r"<(\w+):(\d+)(?:-(\d+)|(\+))?>")
_ALPHABETS = {
    "hex": "[a-fA-F0-9]",
    "num": "[0-9]",
    "up": "[A-Z0-9]",
    "b36": "[A-Za-z0-9]",
    "b62": "[A-Za-z0-9]",
    "b64": "[A-Za-z0-9+/]",
    "url": r"[\w-]",
    "tok": r"[\w=.-]",
}
_UUID = "[a-fA-F0-9]{8}-(?:[a-fA-F0-9]{4}-){3}[a-fA-F0-9]{12}"
# Between the provider's name and the token: the rest of a name, a sign, quotes.
_BETWEEN = (
    r"(?i:[\w.-]{0,24}(?:[ \t][\w-]{1,16}){0,2})"
    r"(?:\\{0,3}[\"']?\s{0,3}(?:=>|:{0,2}=|[:>,|])[\s\"'`=\\]{0,5}|[ \t]{1,3})"
)


_DIGIT = re.compile(r"[0-9]")
# The longest name and what may stand between it and the token take fewer.
_NAME_CHARS = 120


@record
class NamedToken:
    """A provider's name in lower case, and the pattern of what follows it; group 1 is the token."""

    word: str
    pattern: str


def prefixed_tokens() -> Iterator[dict[str, Any]]:
    """Formats of tokens that begin with a provider's own prefix."""
    rules = read_rules("provider_tokens")
    for section, check in (("prefixed", "none"), ("weakly_prefixed", "varied")):
        for name, shapes in rules[section].items():
            for shape in shapes:
                yield {
                    "name": name,
                    "prefixes": [shape.partition("<")[0]],
                    "pattern": _pattern(shape) + r"(?![A-Za-z0-9])" * (check != "none"),
                    "check": check,
                }


def named_tokens() -> Iterator[NamedToken]:
    """Tokens that only the name of their provider gives away."""
    for word, shapes in read_rules("provider_tokens")["named"].items():
        choices = "|".join(map(_pattern, sorted(shapes, key=_least, reverse=True)))
        yield NamedToken(word, rf"{_BETWEEN}({choices})(?![\w-])")


def beside_tokens(text: str, runs: Sequence[tuple[int, int]]) -> str:
    """The parts of a text in which the name of a provider can have a token after it: a token is
    part of a long run with a digit in it. Looking there costs less than searching for each name."""
    digit = _DIGIT.search
    return "\n".join(
        text[max(0, start - _NAME_CHARS) : end] for start, end in runs if digit(text, start, end)
    )


def _pattern(shape: str) -> str:
    parts: list[str] = []
    at = 0
    for hole in _HOLE.finditer(shape):
        parts.append(re.escape(shape[at : hole.start()]))
        least, most, more = hole[2], hole[3], hole[4]
        count = f"{{{least},{most or ''}}}" if most or more else f"{{{least}}}"
        parts.append(_UUID if hole[1] == "uuid" else _ALPHABETS[hole[1]] + count)
        at = hole.end()
    return "".join((*parts, re.escape(shape[at:])))


def _least(shape: str) -> int:
    return sum(int(hole[2]) for hole in _HOLE.finditer(shape))
