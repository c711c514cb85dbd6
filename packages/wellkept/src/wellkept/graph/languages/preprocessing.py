"""Blanks out preprocessor code, so that grammars can parse the rest. Keeps every byte position.

A grammar sees both branches of `#if`, and macros where it expects keywords, so it misses functions.
The rules guess by spelling, so they are tried only on files with syntax errors. Includes stay.
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
    """One branch of each conditional, and no macros at the start or end of declarations."""
    text = without_conditionals(source)
    for pattern in _MACROS:
        text = pattern.sub(_blanked, text)
    return text


def without_conditionals(source: bytes) -> bytes:
    """One branch of each conditional: the first that is not obviously false."""
    return b"".join(_one_branch(source.splitlines(keepends=True)))


def _one_branch(lines: list[bytes]) -> Iterator[bytes]:
    branch_kept: list[bool] = []
    """For each open conditional, whether the current branch is kept."""
    goes_on = False
    for line in lines:
        if goes_on:
            goes_on = line.rstrip().endswith(b"\\")
            yield _blank(line)
            continue
        found = _DIRECTIVE.match(line)
        word = found[1] if found is not None else b""
        if found is None:
            yield line if all(branch_kept) else _blank(line)
            continue
        if word == b"include":
            yield line
            continue
        if word in (b"if", b"ifdef", b"ifndef"):
            branch_kept.append(word == b"ifndef" or _NEVER.match(found[2]) is None)
        elif word == b"endif" and branch_kept:
            branch_kept.pop()
        elif branch_kept:  # if the first branch is false, the `else` branch is kept
            branch_kept[-1] = word == b"else" and not branch_kept[-1]
        goes_on = line.rstrip().endswith(b"\\")
        yield _blank(line)


def _blanked(found: re.Match[bytes]) -> bytes:
    start, end = (position - found.start() for position in found.span(1))
    return found[0][:start] + _blank(found[0][start:end]) + found[0][end:]


def _blank(text: bytes) -> bytes:
    return _TEXT.sub(b" ", text)
