"""How long the MCP server takes to its first answer, beside importing the SDK alone.

    python -m bench.mcp_start [--rounds 9] [--json]

Both are processes of their own, timed alike from their start to their first line of output; how
a process ends is in neither. They run in turn and which goes first alternates, so that a busy
machine hurts both. The server's line is its answer to `initialize`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from tempfile import TemporaryDirectory
from time import perf_counter

from bench.report import Target, Timing, finish, machine, parser, say, table
from wellkept.core.codec import Json

ALLOWED_MS = 300.0
_SDK = ("-c", "import mcp.server.lowlevel, mcp.server.stdio; print(1, flush=True)")
_SERVER = ("-m", "wellkept.cli", "mcp")
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}


def first_line(arguments: tuple[str, ...], *, home: str) -> float:
    """Seconds from starting Python with these arguments to its first line of output."""
    environment = {**os.environ, "WELLKEPT_HOME": home}
    started = perf_counter()
    with subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    ) as process:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("The process has no pipes.")
        process.stdin.write(json.dumps(_HELLO) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        seconds = perf_counter() - started
        # Nobody may read the greeting of the process that only imports.
        with suppress(BrokenPipeError):
            process.stdin.close()
    if not line:
        raise RuntimeError(f"{arguments} ended without a line.")
    return seconds


def main() -> int:
    """Run it all."""
    options = parser(__doc__)
    options.add_argument("--rounds", type=int, default=9)
    given = options.parse_args()
    seconds: dict[tuple[str, ...], list[float]] = {_SDK: [], _SERVER: []}
    with TemporaryDirectory() as home:
        for arguments in seconds:
            first_line(arguments, home=home)
        for number in range(given.rounds):
            say(f"round {number + 1} of {given.rounds}")
            order = list(seconds) if number % 2 else list(reversed(seconds))
            for arguments in order:
                seconds[arguments].append(first_line(arguments, home=home))
    sdk, server = Timing.of(seconds[_SDK]), Timing.of(seconds[_SERVER])
    target = Target("first answer beyond the SDK, ms", ALLOWED_MS, server.p50_ms - sdk.p50_ms)
    figures: dict[str, Json] = {
        "sdk_import": sdk.as_json(),
        "first_answer": server.as_json(),
        "fastest_ms": {
            "sdk_import": round(min(seconds[_SDK]) * 1000, 1),
            "first_answer": round(min(seconds[_SERVER]) * 1000, 1),
        },
        "targets": [target.as_json()],
        "machine": machine(),
    }
    rows = [(n, f"{t.p50_ms:,.0f}") for n, t in (("SDK import", sdk), ("first answer", server))]
    finish("mcp_start", figures, as_json=given.json, lines=table(("median", "ms"), rows))
    return 0 if target.met else 1


if __name__ == "__main__":
    raise SystemExit(main())
