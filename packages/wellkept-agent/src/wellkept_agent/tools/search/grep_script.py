"""The process that searches files where there is no ripgrep: a job as JSON in, lines as JSON out.

A regular expression can take forever and cannot be interrupted inside of one process. Imports
nothing of ours, so that it starts fast.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def main() -> None:
    """Print one line of JSON for each line found: number of the file, line, text, is it a match."""
    job: dict[str, Any] = json.load(sys.stdin)
    flags = (re.IGNORECASE if job["ignore_case"] else 0) | re.MULTILINE
    if job["multiline"]:
        flags |= re.DOTALL
    try:
        wanted = re.compile(job["pattern"], flags)
    except (re.error, RecursionError, OverflowError) as error:
        print(json.dumps({"problem": str(error)}))
        return
    folder = Path(job["folder"])
    for number, name in enumerate(job["files"]):
        text = _text(folder / name)
        for line, content, is_match in _found(text, wanted, job) if text else ():
            print(json.dumps([number, line, content, is_match]))
        sys.stdout.flush()


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError:
        return ""
    for bom, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if data.startswith(bom):
            return data[2:].decode(encoding, "replace")
    return (
        ""
        if b"\0" in data[:8_192]
        else data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    )


def _found(
    text: str, wanted: re.Pattern[str], job: dict[str, Any]
) -> Iterator[tuple[int, str, bool]]:
    text = text.replace("\r\n", "\n")
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if job["multiline"]:
        hits = _lines_of_matches(text, wanted, len(lines))
    else:
        hits = [n for n, line in enumerate(lines) if wanted.search(line)]
    if job["most"]:
        hits = hits[: job["most"]]
    matching = set(hits)
    shown: dict[int, None] = {}
    for hit in hits:
        first, last = max(0, hit - job["before"]), min(len(lines), hit + job["after"] + 1)
        shown |= dict.fromkeys(range(first, last))
    for n in shown:
        yield n + 1, lines[n], n in matching


def _lines_of_matches(text: str, wanted: re.Pattern[str], count: int) -> list[int]:
    """The lines that any match touches."""
    found: dict[int, None] = {}
    line, at = 0, 0
    for match in wanted.finditer(text):
        start, end = match.span()
        line += text.count("\n", at, start)
        at = start
        last = line + text.count("\n", start, max(start, end - 1))
        found |= dict.fromkeys(n for n in range(line, last + 1) if n < count)
    return list(found)


if __name__ == "__main__":
    main()
