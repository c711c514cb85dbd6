"""Runs one of our small scripts as a process, for work that cannot be interrupted otherwise.

A regular expression, a PDF or a page of markup can keep an interpreter busy for hours; a process
can be ended.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from wellkept.core.errors import UsageError


async def run_script(
    script: Path, *arguments: str, stdin: bytes = b"", timeout_s: float, packages: bool = False
) -> dict[str, Any]:
    """The JSON object that a script prints. `packages` when it needs installed ones."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        *([] if packages else ["-S"]),
        str(script),
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        answer, _ = await asyncio.wait_for(process.communicate(stdin), timeout_s)
        return json.loads(answer)
    except TimeoutError:
        raise UsageError(f"It took longer than {timeout_s:g} s to read.") from None
    except ValueError:
        raise UsageError("It is broken, or reading it took too much memory.") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
