"""What a request quotes of the code speaks for a file: tracebacks, names and messages."""

from __future__ import annotations

import pytest

from wellkept.graph.search.request_signals import QuotedCode

pytestmark = pytest.mark.feature("E5")

BODIES = {
    "src/app/pool.py": 'def take():\n    raise PoolError("no free slot was left in the pool")\n',
    "src/app/web.py": "def handle(request):\n    return take()\n",
    "src/app/__init__.py": "from app.pool import take\n",
}
DEFINED = {"src/app/pool.py": {"take", "give_back"}, "src/app/web.py": {"handle"}}


def best(request: str, *, title: str = "It breaks") -> str:
    scores = QuotedCode(request, title=title).scores(BODIES, DEFINED)
    return max(scores, key=lambda path: scores[path])


def test_the_last_file_of_the_project_in_a_traceback_counts_most() -> None:
    trace = (
        "Traceback (most recent call last):\n"
        '  File "/usr/lib/site-packages/app/web.py", line 2, in handle\n'
        '  File "/usr/lib/site-packages/app/pool.py", line 7, in take\n'
        '  File "/usr/lib/python3/queue.py", line 1, in get\n'
    )
    assert best(trace) == "src/app/pool.py"
    swapped = (
        trace.replace("web.py", "x.py").replace("pool.py", "web.py").replace("x.py", "pool.py")
    )
    assert best(swapped) == "src/app/web.py"


@pytest.mark.parametrize(
    "frame",
    [
        "    at handle (src/app/web.py:12:3)",
        "src/app/web.py:12: AssertionError",
        r'  File "C:\work\app\web.py", line 3, in handle',
    ],
)
def test_frames_of_other_tools_and_systems_are_read(frame: str) -> None:
    assert best(frame) == "src/app/web.py"


def test_the_file_that_words_a_message_is_found() -> None:
    assert best("PoolError: No free slot was left") == "src/app/pool.py"


def test_a_name_that_is_written_as_code_leads_to_its_definition() -> None:
    assert best("calling `give_back` twice hangs") == "src/app/pool.py"
    assert best("nothing here", title="handle loses the body") == "src/app/web.py"


def test_what_many_files_share_counts_little_and_a_package_file_less() -> None:
    shared = {path: {"run"} for path in BODIES}
    scores = QuotedCode("run() fails", title="x").scores(BODIES, shared)
    assert scores["src/app/pool.py"] == scores["src/app/web.py"] > scores["src/app/__init__.py"]
    alone = QuotedCode("run() fails", title="x").scores(BODIES, {"src/app/pool.py": {"run"}})
    assert alone["src/app/pool.py"] > scores["src/app/pool.py"]


@pytest.mark.parametrize("text", ["", "\n" * 20_000, " " * 20_000, "at (" * 5_000, "_" * 20_000])
def test_texts_without_anything_to_quote_favour_no_file(text: str) -> None:
    scores = QuotedCode(text, title=text).scores(BODIES, DEFINED)
    assert scores["src/app/pool.py"] == scores["src/app/web.py"] == 0
