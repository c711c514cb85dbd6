"""Runs the official conformance suites and the Inspector against Wellkept's MCP server.

Called by `scripts/mcp-conformance`, which fetches the tools first. Prints a row for each scenario
that fails, with the first reason that the suite gives, and the counts for docs/reference/mcp.md.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

SUITES = (
    ("conformance", ()),
    ("conformance-0.2", ("--suite", "all")),
    ("conformance-0.2", ("--requirements", "2026-07-28")),
)
INSPECTED = (
    ("tools/list",),
    ("tools/call", "--tool-name", "memory_store", "--tool-arg", "content=Releases are on Mondays"),
    ("tools/call", "--tool-name", "memory_search", "--tool-arg", "query=releases"),
    ("tools/call", "--tool-name", "memory_get"),
    ("resources/list",),
    ("resources/templates/list",),
    ("resources/read", "--uri", "wellkept://stats"),
    ("prompts/list",),
    ("prompts/get", "--prompt-name", "memory-recall", "--prompt-args", "question=releases"),
)
_TIME_LIMIT_S = 600


def main(tools: Path) -> int:
    """Run everything; 1 when a scenario of the stable suite fails."""
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with _serving(folder) as address:
            for number, (suite, options) in enumerate(SUITES):
                out = folder / f"out{number}"
                bad = _run_suite(tools / suite, [*options], address, out)
                failed = failed or (bad if number == 0 else 0)
            _inspect(tools, [address], folder)
        stdio = [sys.executable, "-P", "-m", "wellkept.cli", "mcp"]
        _inspect(tools, stdio, folder)
    return 1 if failed else 0


@contextmanager
def _serving(folder: Path) -> Generator[str]:
    """The server with the suite's fixtures; its address."""
    words = [sys.executable, "-m", "tests.conformance.serve", str(folder)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def _run_suite(tool: Path, options: Sequence[str], address: str, out: Path) -> int:
    """Run one suite; how many of its scenarios failed."""
    program = tool / "node_modules" / ".bin" / "conformance"
    words = [str(program), "server", "--url", address, "-o", str(out), *options]
    subprocess.run(words, capture_output=True, check=False, timeout=_TIME_LIMIT_S)
    results = {path.parent.name: _failures(path) for path in sorted(out.rglob("checks.json"))}
    bad = {name: reasons for name, reasons in results.items() if reasons}
    print(f"\n{tool.name} {' '.join(options)}: {len(results) - len(bad)} of {len(results)} pass")
    for name, reasons in bad.items():
        print(f"  {_scenario(name)}: {reasons[0][:160]}")
    return len(bad)


def _failures(checks: Path) -> list[str]:
    found = cast("list[dict[str, Any]]", json.loads(checks.read_text("utf-8")))
    return [
        str(check.get("errorMessage") or check.get("description"))
        for check in found
        if check.get("status") == "FAILURE"
    ]


def _scenario(folder: str) -> str:
    """The scenario that a folder of results is named after, without the time of day."""
    return folder.removeprefix("server-").rpartition("-20")[0]


def _inspect(tools: Path, target: Sequence[str], folder: Path) -> None:
    """What the Inspector's command line says to each method."""
    program = tools / "conformance" / "node_modules" / ".bin" / "mcp-inspector"
    home = {"WELLKEPT_HOME": str(folder / "inspected"), "WELLKEPT_EMBEDDING_PROVIDER": "none"}
    print(f"\nInspector over {'http' if len(target) == 1 else 'stdio'}")
    for method, *options in INSPECTED:
        # The Inspector hands the server little of its own environment.
        given = [word for name, value in home.items() for word in ("-e", f"{name}={value}")]
        passed = given if len(target) > 1 else []
        words = [str(program), "--cli", *passed, *target, "--method", method, *options]
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIME_LIMIT_S,
            env=os.environ | home,
        )
        said = " ".join((done.stdout or done.stderr).split())[:90]
        print(f"  {method} {' '.join(options)[:50]}: {done.returncode} {said}")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
