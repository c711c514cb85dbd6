"""What a server has loaded before the first request."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.feature("C5")

_HEAVY = {"fastapi", "pydantic", "mcp", "mcp_types", "httpx2", "numpy", "tokenizers", "rich"}
_START = f"""
import sys
from pathlib import Path
import wellkept.api.cli.http_server, wellkept.api.server.run
from wellkept.api.http.app import guarded_app, make_http_app
from wellkept.api.server.open_projects import OpenProjects
app = make_http_app(OpenProjects(None, folder=Path()), mcp=lambda: None)
guarded_app(app, token="t", hosts=frozenset())
verbs = [one for one in sys.modules if one.startswith("wellkept.") and one.endswith(".verbs")]
print(sorted({_HEAVY!r} & set(sys.modules)), set(verbs) - {{"wellkept.core.verbs", "wellkept.api.verbs"}})
"""


def test_a_server_starts_without_models_sdk_engine_or_verbs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _START], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[] set()"
