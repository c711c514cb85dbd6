"""A failing test never stops the run, whatever happens while its report is made.

Python 3.11 before 3.11.8 keeps the recursion depth of `ast.parse` in one place for all threads. When
another thread (a server under test that formats a traceback) or a finalizer parses at the same
moment, `ast.parse` raises SystemError. Pytest parses source to show where a test failed, so the
error ended the whole run. Two guards: `ast.parse` runs alone, and a report that cannot be made
falls back to one line.
"""

from __future__ import annotations

import ast
import gc
import sys
import threading
from collections.abc import Generator
from functools import wraps
from typing import Any, Literal

import pytest

_LOCK = threading.RLock()
_IS_AFFECTED = (3, 11) <= sys.version_info < (3, 11, 8)


def guard_ast_parse() -> None:
    """Let one `ast.parse` run at a time, without garbage collection in between."""
    if not _IS_AFFECTED or hasattr(ast.parse, "__wrapped__"):
        return
    original = ast.parse

    @wraps(original)
    def parse(*args: Any, **kwargs: Any) -> Any:
        with _LOCK:
            was_enabled = gc.isenabled()
            gc.disable()
            try:
                return original(*args, **kwargs)
            finally:
                if was_enabled:
                    gc.enable()

    ast.parse = parse


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Report a failure in one line when the full report cannot be made."""
    try:
        return (yield)
    except Exception as problem:  # noqa: BLE001 - whatever it is, the run goes on
        return pytest.TestReport(
            nodeid=item.nodeid,
            location=item.location,
            keywords=dict.fromkeys(item.keywords, 1),
            outcome="failed",
            longrepr=f"{call.excinfo and call.excinfo.typename}"
            f" (the full report failed: {type(problem).__name__})",
            when=_phase(call),
            sections=(),
            duration=call.duration,
            start=call.start,
            stop=call.stop,
        )


def _phase(call: pytest.CallInfo[None]) -> Literal["setup", "call", "teardown"]:
    return "call" if call.when == "collect" else call.when
