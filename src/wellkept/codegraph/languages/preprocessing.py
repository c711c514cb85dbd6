"""Source as a grammar that knows no preprocessor can read it, with every byte in its old place.

A parser sees both branches of `#if`, and macros where keywords are expected, and then finds no
function where one is. Blanks are written over what stands in the way; includes stay. It guesses by
spelling, so it is only worth trying on a file that cannot be understood as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_DIRECTIVE = re.compile(rb"[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif|include)\b(.*)", re.DOTALL)
_NEVER = re.compile(rb"\s*0\s|\s*(?:defined\s*\(?\s*)?__cplusplus\b")
_CALL = rb"(?:\((?:[^()\n]|\([^()\n]*\))*\))?"
_MACRO = rb"[A-Z][A-Z0-9]*_[A-Z0-9_]*" + _CALL
_MACROS = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        # class API Name; a line of its own; API void name(); name() NOEXCEPT {; Name BASE(int) {
        rb"\b(?:class|struct|union|enum)\s+([A-Z][A-Z0-9_]*" + _CALL + rb")(?=\s+[A-Za-z_])",
        rb"^[ \t]*([A-Z][A-Z0-9_]{2,}" + _CALL + rb")(?=[ \t]*\r?$)",
        rb"(?:^|[;{}>)]|\b(?:static|inline|extern|virtual|constexpr|friend))[ \t]*"
        rb"(" + _MACRO + rb"(?:[ \t]+" + _MACRO + rb")*)(?=[ \t]+[A-Za-z_:~])",
        rb"\)(?:\s*(?:const|noexcept|override))*\s*"
        rb"(" + _MACRO + rb"(?:\s+" + _MACRO + rb")*)(?=\s*[;{])",
        rb"\w[ \t]+(" + _MACRO + rb")(?=[ \t]*\{)",
    )
)
_TEXT = re.compile(rb"[^\n]")


def without_macros(source: bytes) -> bytes:
    """One branch of each condition, and no macros where a declaration begins or ends."""
    text = without_conditions(source)
    for pattern in _MACROS:
        text = pattern.sub(_blanked, text)
    return text


def without_conditions(source: bytes) -> bytes:
    """One branch of each condition: the first that is not ruled out by its own words."""
    return b"".join(_one_branch(source.splitlines(keepends=True)))


def _one_branch(lines: list[bytes]) -> Iterator[bytes]:
    taken: list[bool] = []
    """For each open condition, whether its branch is being read."""
    goes_on = False
    for line in lines:
        if goes_on:
            goes_on = line.rstrip().endswith(b"\\")
            yield _blank(line)
            continue
        found = _DIRECTIVE.match(line)
        word = found[1] if found is not None else b""
        if found is None:
            yield line if all(taken) else _blank(line)
            continue
        if word == b"include":
            yield line
            continue
        if word in (b"if", b"ifdef", b"ifndef"):
            taken.append(word == b"ifndef" or _NEVER.match(found[2]) is None)
        elif word == b"endif" and taken:
            taken.pop()
        elif taken:  # of several other branches the last is read as well: they are rarely there
            taken[-1] = word == b"else" and not taken[-1]
        goes_on = line.rstrip().endswith(b"\\")
        yield _blank(line)


def _blanked(found: re.Match[bytes]) -> bytes:
    start, end = (place - found.start() for place in found.span(1))
    return found[0][:start] + _blank(found[0][start:end]) + found[0][end:]


def _blank(text: bytes) -> bytes:
    return _TEXT.sub(b" ", text)
