"""The process that reads a PDF: path, ranges as JSON, most pages; prints JSON. Imports nothing of
ours, so that it starts fast."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import Any

_MEMORY_BYTES = 2 << 30


def _read(path: str, ranges: list[list[int]], most: int) -> dict[str, Any]:
    from pypdf import PdfReader

    reader = PdfReader(path)
    if reader.is_encrypted and not reader.decrypt(""):
        return {"problem": "the PDF is protected by a password."}
    total = len(reader.pages)
    wanted = [n for first, last in ranges for n in range(first, min(last, total) + 1)]
    wanted = list(dict.fromkeys(wanted))
    pages = [(n, reader.pages[n - 1].extract_text()) for n in wanted[:most]]
    return {"total": total, "pages": pages, "cut": len(wanted) > most}


def _limit_memory() -> None:
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))


def main() -> None:
    """Read what the arguments name."""
    path, ranges, most = sys.argv[1:4]
    _limit_memory()
    try:
        found = _read(path, json.loads(ranges), int(most))
    except ImportError:
        found = {"problem": "reading PDF files needs pypdf; install wellkept[agent]."}
    except Exception as error:  # noqa: BLE001 - a PDF can be broken in any way
        found = {"problem": f"the PDF cannot be read: {type(error).__name__}: {error}"}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
