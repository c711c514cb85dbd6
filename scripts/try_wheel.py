"""Install a wheel into an empty environment and use it as a newcomer would.

    python scripts/try_wheel.py dist/wellkept-0.1.0-py3-none-any.whl --python python3.13

Standard library only: it runs under whatever Python is at hand. In the new environment it runs the
tour over a small repository, catches an event with the hook command, and asks the MCP server for
its tools. Everything lies in a folder that is removed afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

_CONSTRAINTS = Path(__file__).resolve().parent.parent / "constraints.txt"
_TIMEOUT_S = 240
_README = (
    "# Orchard\n\nPicks fruit.\n\n## Tests\n\nRun `make test`; one file: `make test FILE=x`.\n"
)
_LATEST = "2025-06-18"


def install(wheel: Path, folder: Path, *, python: str = sys.executable) -> Path:
    """An environment with nothing but the wheel and what it needs; returns its `bin`."""
    _run([python, "-m", "venv", str(folder)])
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    pip = [str(programs / "python"), "-m", "pip", "--disable-pip-version-check"]
    _run([*pip, "install", "-q", "-c", str(_CONSTRAINTS), str(wheel)])
    return programs


def try_out(programs: Path, folder: Path) -> dict[str, str]:
    """Use the installed commands; returns what each printed. CalledProcessError when one fails."""
    project = folder / "orchard"
    project.mkdir()
    (project / "README.md").write_text(_README, "utf-8")
    _run(["git", "init", "-q", "-b", "main"], cwd=project)
    home = folder / "home"
    environment = {name: value for name, value in os.environ.items() if _is_plain(name)}
    environment["WELLKEPT_HOME"] = str(home)

    def wellkept(*words: str, stdin: str = "", program: str = "wellkept") -> str:
        line = [str(programs / program), *words]
        return _run(line, cwd=project, environment=environment, stdin=stdin)

    event = {"session_id": "s1", "hook_event_name": "SessionStart", "cwd": str(project)}
    return {
        "version": wellkept("--version"),
        "tour": wellkept("tour", "--ask", "How do I run the tests?"),
        "remember": wellkept("remember", "Fruit is weighed in grams", "--type", "convention"),
        "recall": wellkept("recall", "how is fruit weighed?", "--limit", "1"),
        "hook": wellkept(
            "claude-code", "SessionStart", "both", stdin=json.dumps(event), program="wellkept-hook"
        ),
        "spool": wellkept("spool", "status"),
        "mcp": wellkept("mcp", stdin=_mcp_requests()),
        "doctor": wellkept("doctor"),
    }


def _mcp_requests() -> str:
    hello = {
        "protocolVersion": _LATEST,
        "capabilities": {},
        "clientInfo": {"name": "try", "version": "1"},
    }
    asked = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    return "".join(json.dumps(one) + "\n" for one in asked)


def _is_plain(name: str) -> bool:
    return not name.startswith(("WELLKEPT_", "PYTHON"))


def _run(
    line: list[str],
    *,
    cwd: Path | None = None,
    environment: dict[str, str] | None = None,
    stdin: str = "",
) -> str:
    done = subprocess.run(
        line,
        cwd=cwd,
        env=environment,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        print(done.stdout, done.stderr, file=sys.stderr)
        done.check_returncode()
    return done.stdout


def main() -> int:
    """Try a wheel with one Python, or with several one after the other."""
    parser = argparse.ArgumentParser()
    parser.add_argument("wheel", type=Path, help="a wheel, or a folder with one")
    parser.add_argument("--python", action="append", help="repeatable; the running one by default")
    chosen = parser.parse_args()
    wheel: Path = chosen.wheel
    if wheel.is_dir():
        (wheel,) = wheel.glob("*.whl")
    for python in chosen.python or [sys.executable]:
        with tempfile.TemporaryDirectory(prefix="wellkept-try-") as folder:
            programs = install(wheel.resolve(), Path(folder) / "venv", python=python)
            printed = try_out(programs, Path(folder))
        print(f"{python}: {printed['version'].strip()}, tour, hook and MCP server work")
    return 0


if __name__ == "__main__":
    sys.exit(main())
