"""The test run survives a failure whose report cannot be made."""

from __future__ import annotations

import ast
import subprocess
import sys
import threading
from pathlib import Path

import pytest

pytestmark = pytest.mark.repository

ROOT = Path(__file__).parents[2]


def run_pytest(folder: Path, *options: str) -> str:
    (folder / "conftest.py").write_text(
        "from tests.report_guard import guard_ast_parse, pytest_runtest_makereport\n"
        "guard_ast_parse()\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_a_failure_that_cannot_be_shown_fails_alone(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest\n\n"
        "def crash(*args, **kwargs):\n"
        "    raise SystemError('AST constructor recursion depth mismatch')\n\n"
        "def test_bad(request):\n"
        "    request.node.repr_failure = crash\n"
        "    raise ValueError('wrong')\n\n"
        "def test_good():\n    pass\n"
    )
    for options in ((), ("-n", "1")):
        output = run_pytest(tmp_path, *options)
        assert "1 failed, 1 passed" in output
        assert "INTERNALERROR" not in output
        assert "ValueError" in output


def test_source_is_parsed_safely_while_other_threads_do_the_same() -> None:
    source = Path(ast.__file__).read_text("utf-8")
    problems: list[BaseException] = []

    class Finalised:
        def __init__(self) -> None:
            self.cycle = self

        def __del__(self) -> None:
            threading.Event().wait(0)

    def work() -> None:
        for _ in range(8):
            for _ in range(20):
                Finalised()
            try:
                ast.parse(source)
            except SystemError as error:
                problems.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
