"""Text of PDF pages. Runs in a process of its own: a broken file must not hold the session."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

from wellkept.core.errors import UsageError
from wellkept_agent.tools.base import ToolOutput, failure
from wellkept_agent.tools.scripts import run_script

_TIMEOUT_S: Final = 60.0
_SCRIPT: Final = Path(__file__).with_name("pdf_script.py")
_RANGE: Final = re.compile(r"(\d+)(?:-(\d+)?)?")


async def read_pdf(path: Path, shown: str, pages: str | None, most: int) -> ToolOutput:
    """Pages of a PDF as text; without `pages` the first ones."""
    wanted = _ranges(pages) if pages else [(1, most)]
    try:
        found = await run_script(
            _SCRIPT,
            str(path),
            json.dumps(wanted),
            str(most),
            timeout_s=_TIMEOUT_S,
            packages=True,
        )
    except UsageError as error:
        return failure(f"{shown}: the PDF cannot be read. {error}")
    if "problem" in found:
        return failure(f"{shown}: {found['problem']}")
    return _output(path, shown, found, asked=pages is not None)


def _output(path: Path, shown: str, found: dict[str, Any], *, asked: bool) -> ToolOutput:
    total: int = found["total"]
    pages: list[tuple[int, str]] = [(number, text) for number, text in found["pages"]]
    if not pages:
        return failure(f"{shown} has {total} pages; none of those was asked for.")
    parts = [f"[Page {number} of {total}]\n{text.strip() or '(no text)'}" for number, text in pages]
    last = pages[-1][0]
    if found["cut"] or (not asked and last < total):
        parts.append(f"[There are {total} pages. Go on with pages='{last + 1}-{total}'.]")
    if not any(text.strip() for _, text in pages):
        parts.append("[These pages hold no text: they may be scanned images.]")
    return ToolOutput(content="\n\n".join(parts), files=(str(path),))


def _ranges(pages: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for part in pages.replace(" ", "").split(","):
        match = _RANGE.fullmatch(part)
        if match is None or int(match[1]) < 1:
            raise UsageError(f"pages={pages!r} is not understood.", hint="Write 3, 1-5 or 2,7-9.")
        first = int(match[1])
        last = int(match[2]) if match[2] else (10**6 if "-" in part else first)
        if last < first:
            raise UsageError(f"pages={pages!r}: {last} comes before {first}.")
        found.append((first, last))
    return found
