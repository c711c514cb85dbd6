"""Processor time of the MCP server up to its list of tools, beside two other processes.

    python -m bench.mcp_start [--rounds 9] [--json]

Each round starts, in turn and in alternating order: an empty Python process; a server of one tool
made with the official SDK; `wellkept mcp`. Both servers are sent `initialize`, `initialized` and
`tools/list` at once; when both answers are there the pipe is closed. Counted is the processor time
(user and system) of the whole process until it has ended, which machine load changes little, and
the time until the second answer, which it does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import cast

from bench.report import Target, finish, machine, parser, say, table
from wellkept.core.codec import Json

ALLOWED_MS = 400.0
_ONE_TOOL = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("one")
@server.tool()
def remember(fact: str) -> str:
    "Store one fact."
    return fact
server.run("stdio")
"""
_PROCESSES = {
    "empty Python": ("-c", "pass"),
    "SDK, one tool": ("-c", _ONE_TOOL),
    "wellkept mcp": ("-m", "wellkept.cli", "mcp"),
}
_ABOUT = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
_MESSAGES: tuple[dict[str, Json], ...] = (
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": cast("Json", _ABOUT)},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}},
)


@dataclass(slots=True)
class Start:
    """What one process took."""

    processor_ms: float
    answered_ms: float


def measured(arguments: tuple[str, ...], *, home: str, answers: int) -> Start:
    """Start Python with these arguments, read so many answers, and wait for its end."""
    lines = "".join(json.dumps(message) + "\n" for message in _MESSAGES) if answers else ""
    started = perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "WELLKEPT_HOME": home},
        text=True,
    )
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("The process has no pipes.")
    with process.stdin, process.stdout:
        if answers:
            process.stdin.write(lines)
            process.stdin.flush()
            if not all(process.stdout.readline() for _ in range(answers)):
                raise RuntimeError(f"{arguments[:3]} ended without its answers.")
        answered = perf_counter() - started
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    return Start((used.ru_utime + used.ru_stime) * 1000, answered * 1000)


def main() -> int:
    """Run it all."""
    options = parser(__doc__)
    options.add_argument("--rounds", type=int, default=9)
    given = options.parse_args()
    found: dict[str, list[Start]] = {name: [] for name in _PROCESSES}
    with TemporaryDirectory() as home:
        for number in range(given.rounds + 1):
            say(f"round {number} of {given.rounds}" if number else "once to warm up")
            order = list(_PROCESSES) if number % 2 else list(reversed(_PROCESSES))
            for name in order:
                answers = 0 if name == "empty Python" else 2
                one = measured(_PROCESSES[name], home=home, answers=answers)
                if number:
                    found[name].append(one)
    used = {name: median(one.processor_ms for one in all_) for name, all_ in found.items()}
    waited = {name: median(one.answered_ms for one in all_) for name, all_ in found.items()}
    target = Target("processor time to the list of tools, ms", ALLOWED_MS, used["wellkept mcp"])
    figures: dict[str, Json] = {
        "rounds": given.rounds,
        "processor_ms": {name: round(value, 1) for name, value in used.items()},
        "answered_ms": {name: round(value, 1) for name, value in waited.items()},
        "targets": [target.as_json()],
        "machine": machine(),
    }
    rows = [(name, f"{used[name]:,.0f}", f"{waited[name]:,.0f}") for name in _PROCESSES]
    head = ("median", "processor ms", "ms to the second answer")
    finish("mcp_start", figures, as_json=given.json, lines=table(head, rows))
    return 0 if target.met else 1


if __name__ == "__main__":
    raise SystemExit(main())
