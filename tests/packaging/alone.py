"""Run by `test_alone` in a process of its own: `wellkept` where nothing else of it is installed.

Prints one JSON object: which modules import, what commands, library calls and routes say.
"""

from __future__ import annotations

import io
import json
import pkgutil
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

HIDDEN = {"wellkept_agent", "wellkept_team", "wellkept_adapters"}


class Without:
    """A finder that does not find what is hidden."""

    def __init__(self, finder: Any) -> None:
        self._finder = finder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._finder, name)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Nothing for a hidden package; else what the finder says."""
        hidden = name.partition(".")[0] in HIDDEN
        return None if hidden else self._finder.find_spec(name, path, target)


def modules() -> dict[str, str]:
    """Every module of `wellkept` -> why it does not import, if it does not."""
    import wellkept

    problems: dict[str, str] = {}
    found = [one.name for one in pkgutil.walk_packages(wellkept.__path__, "wellkept.")]
    for name in found:
        try:
            import_module(name)
        except ImportError as error:
            problems[name] = str(error)
    assert len(found) > 500
    return problems


def command(*arguments: str) -> tuple[int, str]:
    """The exit code of a command, and what it says about a failure."""
    from wellkept.api.cli.root import run

    err = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(err):
        code = run(arguments)
    return code, err.getvalue()


def said(call: Callable[[], object]) -> str:
    """The error that a call ends with."""
    from wellkept import WellkeptError

    try:
        call()
    except (WellkeptError, ImportError) as error:
        return f"{type(error).__name__}: {error} {getattr(error, 'hint', '')}"
    return "no error"


def library(folder: Path) -> dict[str, str]:
    """What calls of the library say."""
    import wellkept

    with wellkept.open(folder / "m.db", cwd=folder, embedder="none") as wk:
        wk.remember("Deploys go through staging")
        found = {
            "agent()": said(wk.agent),
            "agent_sessions()": said(wk.agent_sessions),
            "sharing": said(lambda: wk.sharing),
            "team_memory": said(lambda: wk.team_memory),
            "remote": said(lambda: wk.remote),
            "wellkept.agent": said(lambda: import_module("wellkept.agent").Agent),
            "wellkept.integrations": said(lambda: import_module("wellkept.integrations.mem0")),
        }
    with wellkept.open("postgresql://127.0.0.1:1/x", cwd=folder, embedder="none") as wk:
        found["postgresql://"] = said(wk.stats)
    return found


def route(path: str) -> str:
    """What the server says about a route."""
    from starlette.testclient import TestClient

    from wellkept.api.http.app import make_http_app
    from wellkept.api.server.open_projects import OpenProjects

    def never(_folder: Path, _project: str | None) -> Any:
        raise AssertionError

    client = TestClient(make_http_app(OpenProjects(never, folder=Path())))
    return client.get(path).text


def main(folder: Path, commands: list[list[str]]) -> None:
    """Try everything, and print what was said."""
    sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
    print(
        json.dumps(
            {
                "commands": [command(*one) for one in commands],
                "library": library(folder),
                "routes": [route("/api/team/people"), route("/api/sync/records")],
                "modules": modules(),
                "loaded": sorted(HIDDEN & set(sys.modules)),
            }
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
