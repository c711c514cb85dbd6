"""Finds secrets of many lines: private keys and the data of Kubernetes secrets.

A key counts whole or cut at either end, indented, quoted, numbered, or with the marks of a diff or
of `grep -n` before each line. The work is linear: no part of the text is read more than twice.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from wellkept.core.records import record
from wellkept.text.secrets.spans import SecretSpan, WorkCount
from wellkept.text.secrets.values import MARK

_BLOCK_CHARS = 32_000
# What stands before each line of a listing: a number, a file's name and number, marks of a diff.
_MARGIN = (
    r"(?:[ \t]{0,40}+(?:[\w./-]{1,80}[:-])?\d{1,6}[:|→│\t -]{1,3}|[ \t]{0,40}+[+\->#|*/]{1,3})"
)
_LONG_TAIL = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{40,}+={0,2}\s*+\Z")
_BODY = re.compile(
    rf"(?:(?:(?<=\s)|(?<=\\n)){_MARGIN}|\s|\\{{1,4}}[nrt]"
    r"|[A-Z][A-Za-z-]{2,24}: (?:[^\n\\]{1,80}(?=\n|\\n)|[\w,-]{1,40}(?=\s))"
    r"|[A-Za-z0-9+/]{16,}={0,2}|[A-Za-z0-9+/]{1,15}={1,2}|[\"',()+]){0,8000}+"
)
_KEY_TEXT = re.compile(r"[A-Za-z0-9+/]{16,}={0,2}|[A-Za-z0-9+/]{1,15}={1,2}")
_BREAK = re.compile(r"\r?\n|\\{1,4}n")
_LEFT_EDGE = re.compile(rf"{_MARGIN}?[\s\"'`,()+]*")
_RIGHT_EDGE = " \t\r\f\v\u00a0\"'`,()+\\"
_BODY_LINE = re.compile(r"[A-Za-z0-9+/]{16,}={0,2}|[A-Za-z0-9+/]{1,15}={1,2}")
_HEADER_LINE = re.compile(r"[A-Z][A-Za-z-]{2,24}: .{1,80}")

_KIND_SECRET = re.compile(r"kind\\{0,3}[\"']?:\s{0,3}\\{0,3}[\"']?Secret\b")
_DATA = re.compile(r"\b(?:data|stringData)\\{0,3}[\"']?:")
_DATA_CHARS = 8_000
_DATA_VALUE = re.compile(
    r"[\w.-]{1,80}\\{0,3}[\"']?:[ \t]{1,3}\\{0,3}[\"']?([^\s\"'\\,{}\[\]|>]{4,4000})"
)
_DATA_END = re.compile(r"\n---|\n\S+:|kind\\{0,3}[\"']?:")


@record
class KeyBlock:
    """How one kind of private key begins and ends, and a literal that both hold."""

    name: str
    begin: re.Pattern[str]
    end: re.Pattern[str]
    hint: str


def find_key_blocks(block: KeyBlock, text: str, work: WorkCount) -> Iterator[SecretSpan]:
    """Private keys, whole or cut."""
    if block.hint not in text:
        return
    begins = list(block.begin.finditer(text))
    ends = [m.span() for m in block.end.finditer(text)]
    work.places += len(begins) + len(ends)
    closed_by: set[int] = set()
    for index, begin in enumerate(begins):
        limit = begins[index + 1].start() if index + 1 < len(begins) else len(text)
        position = bisect_left(ends, (begin.end(),))
        if position < len(ends) and ends[position][0] < min(limit, begin.end() + _BLOCK_CHARS):
            closed_by.add(position)
            yield SecretSpan(block.name, begin.start(), ends[position][1])
        else:
            yield SecretSpan(block.name, begin.start(), _body_end(text, begin.end(), limit))
    floor = 0
    for position, (start, end) in enumerate(ends):
        if position not in closed_by:
            first = _body_start(text, start, max(floor, start - _BLOCK_CHARS))
            yield SecretSpan(block.name, first, end)
        floor = end


def _body_end(text: str, start: int, limit: int) -> int:
    """Where what looks like the body of a key ends."""
    body = _BODY.match(text, start, min(limit, start + _BLOCK_CHARS))
    end = start
    if body:
        for piece in _KEY_TEXT.finditer(text, start, body.end()):
            end = piece.end()
    return end


def _body_start(text: str, end: int, floor: int) -> int:
    """Where the body of a key begins whose first lines are missing."""
    part = text[floor:end]
    breaks = [m.span() for m in _BREAK.finditer(part)]
    first = end
    for index in range(len(breaks) - 1, -1, -1):
        start = breaks[index - 1][1] if index else 0
        line = _LEFT_EDGE.sub("", part[start : breaks[index][0]], count=1).rstrip(_RIGHT_EDGE)
        if _BODY_LINE.fullmatch(line):
            first = floor + start
        elif tail := _LONG_TAIL.search(part, start, breaks[index][0]):
            first = floor + tail.start()
            break
        elif line and not _HEADER_LINE.fullmatch(line):
            break
    return first


def find_kubernetes_values(text: str, work: WorkCount) -> Iterator[SecretSpan]:
    """The values below `data:` of an object of kind Secret."""
    if "Secret" not in text or "kind" not in text:
        return
    kinds = list(_KIND_SECRET.finditer(text))
    for index, kind in enumerate(kinds):
        following = kinds[index + 1].start() if index + 1 < len(kinds) else len(text)
        stop = min(following, kind.end() + _DATA_CHARS)
        data = _DATA.search(text, kind.end(), stop)
        if not data:
            continue
        end = _DATA_END.search(text, data.end(), stop)
        for value in _DATA_VALUE.finditer(text, data.end(), end.start() if end else stop):
            work.places += 1
            if MARK not in value[1] and value[1][:1] not in "$<{*&":
                yield SecretSpan("secret", *value.span(1))
