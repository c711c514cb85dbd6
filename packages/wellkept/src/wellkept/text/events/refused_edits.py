"""Edits that a client refused because the text to replace was not in the file.

Only hashes are kept of such a text: of its first lines, as written and without indentation. An edit
that goes through later shows whether indentation was all that differed.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Literal

_MARKED_LINES = 6
_MIN_LINE_CHARS = 6
_REFUSED = ("not found in file", "to replace not found", "old_string", "no match", "not match")


def refused_mark(error: str, before: str) -> str:
    """The mark of a refused edit; "" when it failed for another reason."""
    head = error[:400].lower()
    if not any(phrase in head for phrase in _REFUSED) or "matches of the string" in head:
        return ""
    lines = [line for line in before.splitlines() if len(line.strip()) >= _MIN_LINE_CHARS]
    return ",".join(f"{_hash(line.strip())}.{_hash(line)}" for line in lines[:_MARKED_LINES])


def other_indentation(mark: str, before: str) -> Literal["tabs", "spaces"] | None:
    """How the file is indented, when a later edit replaced a line of the refused one that differs
    in its indentation only."""
    written = {_hash(line.strip()): line for line in before.splitlines() if line.strip()}
    for pair in mark.split(","):
        plain, _, exact = pair.partition(".")
        line = written.get(plain)
        if line is not None and _hash(line) != exact and line[:1].isspace():
            return "tabs" if line.startswith("\t") else "spaces"
    return None


def _hash(line: str) -> str:
    return blake2b(line.encode("utf-8", errors="replace"), digest_size=4).hexdigest()
