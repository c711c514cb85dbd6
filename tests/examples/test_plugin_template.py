"""The plugin template: installed as a user would install it, it passes its own tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.feature("D9", "I4")

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "examples" / "plugin-template"


def test_the_template_installs_and_passes_its_own_tests(tmp_path: Path) -> None:
    copy = tmp_path / "wellkept-workshop"
    subprocess.run(["cp", "-r", str(TEMPLATE), str(copy)], check=True)
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    options = ["-q", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(site)]
    subprocess.run([*pip, "install", *options, str(copy)], check=True, capture_output=True)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(copy)],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def test_the_template_is_listed_and_named_in_the_docs() -> None:
    assert "`plugin-template/`" in (ROOT / "examples" / "README.md").read_text("utf-8")
    page = (ROOT / "docs" / "contributing" / "plugins.md").read_text("utf-8")
    assert "examples/plugin-template" in page
