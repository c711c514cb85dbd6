"""Finds secrets of many lines: private keys.

A key counts whole or cut at either end, indented, quoted, numbered, or with the marks of a diff or
of `grep -n` before each line. The work is linear: no part of the text is read more than twice.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from wellkept.text.secrets.shape import SecretSpan, WorkCount

_NAME = "private-key"
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
_HEADER_LINE = re.compile(r"[A-Z][A-Za-z-]{2,24}: .{1,80}")


# How a private key begins and ends, and a literal that both hold.
_KEYS = (
    (
        "PRIVATE KEY",
        re.compile(r"-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----"),
        re.compile(r"-----END[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----"),
    ),
    (
        "PuTTY-User-Key-File",
        re.compile(r"PuTTY-User-Key-File-\d:(?:\s{1,3}[\w-]{3,30})?"),
        re.compile(r"Private-MAC: [0-9a-f]+"),
    ),
)


_PUBLIC = re.compile(
    r"-----BEGIN (?![A-Z0-9 ]{0,40}PRIVATE)[A-Z0-9 ]{3,40}-----[^-]{0,20000}"
    r"|data:[\w/+.-]{1,60};base64,[\w+/=]+|ssh-\w+ [\w+/=]+"
)


def public_spans(text: str) -> list[tuple[int, int]]:
    """Certificates, public keys and data that a text holds openly: nothing in them is judged."""
    if "-----BEGIN" in text or "base64," in text or "ssh-" in text:
        return [found.span() for found in _PUBLIC.finditer(text)]
    return []


def find_key_blocks(text: str, work: WorkCount) -> Iterator[SecretSpan]:
    """Private keys, whole or cut."""
    for hint, begin, end in _KEYS:
        if hint in text:
            yield from _blocks(begin, end, text, work)


def _blocks(
    begin_line: re.Pattern[str], end_line: re.Pattern[str], text: str, work: WorkCount
) -> Iterator[SecretSpan]:
    begins = list(begin_line.finditer(text))
    ends = [m.span() for m in end_line.finditer(text)]
    work.places += len(begins) + len(ends)
    closed_by: set[int] = set()
    for index, begin in enumerate(begins):
        limit = begins[index + 1].start() if index + 1 < len(begins) else len(text)
        position = bisect_left(ends, (begin.end(),))
        if position < len(ends) and ends[position][0] < min(limit, begin.end() + _BLOCK_CHARS):
            closed_by.add(position)
            yield SecretSpan(_NAME, begin.start(), ends[position][1])
        else:
            yield SecretSpan(_NAME, begin.start(), _body_end(text, begin.end(), limit))
    floor = 0
    for position, (start, end) in enumerate(ends):
        if position not in closed_by:
            first = _body_start(text, start, max(floor, start - _BLOCK_CHARS))
            yield SecretSpan(_NAME, first, end)
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
        if _KEY_TEXT.fullmatch(line):
            first = floor + start
        elif tail := _LONG_TAIL.search(part, start, breaks[index][0]):
            first = floor + tail.start()
            break
        elif line and not _HEADER_LINE.fullmatch(line):
            break
    return first
