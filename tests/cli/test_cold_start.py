"""A recall by words in a new process loads what it needs and nothing heavy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import wellkept

pytestmark = pytest.mark.feature("B1")

HEAVY = {"dataclasses", "numpy", "rich", "pydantic", "mcp", "tokenizers", "tomllib", "tempfile"}
_LOADED = "print(sorted(n for n in sys.modules if n in sys.argv[1].split(',')), file=sys.stderr)"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with wellkept.open(tmp_path / "memory.db", project="shop", embedder="none") as wk:
        wk.remember("Deploys go through the staging cluster first")
    return tmp_path


def loaded(script: str, home: Path, *unwanted: str) -> str:
    """Which of the unwanted modules a script has loaded at its end."""
    environment = {"WELLKEPT_HOME": str(home), "WELLKEPT_PROJECT": "shop"}
    command = [sys.executable, "-c", f"import sys\n{script}\n{_LOADED}", ",".join(unwanted)]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, cwd=home, check=True
    )
    assert "staging" in done.stdout
    return done.stderr.strip()


def test_the_library_loads_nothing_heavy_for_a_recall_by_words(home: Path) -> None:
    script = (
        "import wellkept\n"
        "with wellkept.open() as wk:\n"
        "    print(wk.recall('deploy', mode='words').hits[0].memory.content)"
    )
    unwanted = {
        *HEAVY,
        "inspect",
        "click",
        "wellkept.core.ports.store",
    }
    assert loaded(script, home, *unwanted) == "[]"


@pytest.mark.parametrize("form", ["'--json', ", ""], ids=["json", "for people"])
def test_the_command_loads_nothing_heavy_for_a_recall_by_words(home: Path, form: str) -> None:
    script = (
        "from wellkept.api.cli.root import run\n"
        f"assert run(['recall', '--mode', 'words', {form}'deploy']) == 0"
    )
    assert loaded(script, home, *HEAVY, "wellkept.core.ports.store").splitlines()[-1] == "[]"


def test_the_command_writes_all_it_has_to_say_before_it_leaves(home: Path) -> None:
    environment = {"WELLKEPT_HOME": str(home), "WELLKEPT_PROJECT": "shop"}
    command = [sys.executable, "-m", "wellkept.cli", "recall", "--mode", "words"]
    for question, code in (("deploy", 0), ("zebra", 1)):
        done = subprocess.run(
            [*command, question], capture_output=True, text=True, env=environment, check=False
        )
        assert done.returncode == code
        assert (
            done.stdout.endswith("first\n")
            if code == 0
            else "Nothing known about that." in done.stderr
        )
