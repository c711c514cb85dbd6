"""Install the wheels into an empty environment and use them as a newcomer would.

    python scripts/try_wheel.py dist --python python3.13

Standard library only: it runs under whatever Python is at hand. First `wellkept` alone: the tour
over a small repository, an event caught by the hook command, the tools of the MCP server, and what
a command of another distribution says. Then the others join it. Everything lies in a folder that
is removed afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

_CONSTRAINTS = Path(__file__).resolve().parent.parent / "constraints.txt"
_TIMEOUT_S = 240
_README = (
    "# Orchard\n\nPicks fruit.\n\n## Tests\n\nRun `make test`; one file: `make test FILE=x`.\n"
)
_LATEST = "2025-06-18"
# One command of each distribution that adds commands.
_JOINING = ("agent", "team")


def environment(folder: Path, *, python: str = sys.executable) -> Path:
    """An empty environment; returns its `bin`."""
    _run([python, "-m", "venv", str(folder)])
    return folder / ("Scripts" if os.name == "nt" else "bin")


def install(wheels: Iterable[Path], programs: Path) -> None:
    """Install wheels with what they need."""
    pip = [str(programs / "python"), "-m", "pip", "--disable-pip-version-check"]
    _run([*pip, "install", "-q", "-c", str(_CONSTRAINTS), *map(str, wheels)])


def try_out(programs: Path, folder: Path) -> dict[str, str]:
    """Use the installed commands; returns what each printed. CalledProcessError when one fails."""
    project = folder / "orchard"
    project.mkdir()
    (project / "README.md").write_text(_README, "utf-8")
    _run(["git", "init", "-q", "-b", "main"], cwd=project)
    home = folder / "home"
    surroundings = {name: value for name, value in os.environ.items() if _is_plain(name)}
    surroundings["WELLKEPT_HOME"] = str(home)

    def wellkept(*words: str, stdin: str = "", program: str = "wellkept") -> str:
        line = [str(programs / program), *words]
        return _run(line, cwd=project, environment=surroundings, stdin=stdin)

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


def try_missing(programs: Path) -> list[str]:
    """What commands of distributions that are not there say; each must fail in one line."""
    said: list[str] = []
    for command in _JOINING:
        done = subprocess.run(
            [str(programs / "wellkept"), command], capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            raise SystemExit(f"wellkept {command} works without its distribution.")
        said.append(done.stderr)
    return said


def try_joined(programs: Path) -> None:
    """The commands of the other distributions are there, and the adapters import."""
    for command in _JOINING:
        _run([str(programs / "wellkept"), command, "--help"])
    _run([str(programs / "python"), "-c", "import wellkept_adapters.mem0"])


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
    parser.add_argument("folder", type=Path, help="where the wheels are")
    parser.add_argument("--python", action="append", help="repeatable; the running one by default")
    chosen = parser.parse_args()
    (alone,) = chosen.folder.glob("wellkept-*.whl")
    others = sorted({*chosen.folder.glob("*.whl")} - {alone})
    for python in chosen.python or [sys.executable]:
        with tempfile.TemporaryDirectory(prefix="wellkept-try-") as name:
            folder = Path(name)
            programs = environment(folder / "venv", python=python)
            install([alone], programs)
            printed = try_out(programs, folder)
            try_missing(programs)
            install([alone, *others], programs)
            try_joined(programs)
        print(f"{python}: {printed['version'].strip()} works alone; {len(others)} more join it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
