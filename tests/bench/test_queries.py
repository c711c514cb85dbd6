"""Queries are read in the forms people keep them in, and asked in the state they belong to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.localise import Tally, answered
from bench.queries import Query, read_queries
from bench.states import State
from bench.swe_bench import main as list_reports
from bench.swe_bench import reports
from tests.app.test_code_search import git
from tests.codegraph.trees import write
from wellkept import open as open_memory

pytestmark = pytest.mark.feature("E5")

QUESTIONS = Path(__file__).parents[2] / "bench/data/code_questions.jsonl"
PATCH = """diff --git a/src/url.py b/src/url.py
--- a/src/url.py
+++ b/src/url.py
@@ -1 +1 @@
-x
+y
diff --git a/src/new.py b/src/new.py
--- /dev/null
+++ b/src/new.py
"""


def read(tmp_path: Path, text: str, *, repo: str = "repo") -> list[Query]:
    (tmp_path / "queries").write_text(text, "utf-8")
    return read_queries(tmp_path / "queries", repo=tmp_path / repo)


@pytest.mark.parametrize(
    "entry",
    [
        {"query": "broken url", "files": ["src/url.py"]},
        {"text": "broken url", "paths": "src/url.py"},
        {"title": "broken url", "body": "", "changed_files": [{"filename": "src/url.py"}]},
        {"issue": "broken url", "file": ".\\src\\url.py"},
        {"issue": {"title": "broken url", "body": None}, "relevant_files": ["/src/url.py"]},
    ],
)
def test_an_entry_may_use_any_of_the_usual_names(tmp_path: Path, entry: dict[str, object]) -> None:
    assert read(tmp_path, json.dumps(entry)) == [Query("broken url", frozenset({"src/url.py"}))]


def test_a_patch_names_the_files_and_is_kept_as_it_is(tmp_path: Path) -> None:
    patch = PATCH.partition("diff --git a/src/new")[0]
    entry = {"problem_statement": "broken url", "patch": patch}
    wanted = Query("broken url", frozenset({"src/url.py"}), patch=patch)
    assert read(tmp_path, json.dumps(entry)) == [wanted]


def test_lines_a_list_a_named_list_and_a_mapping_read_alike(tmp_path: Path) -> None:
    entries = [{"query": f"q{i}", "files": [f"{i}.py"]} for i in range(3)]
    wanted = [Query(f"q{i}", frozenset({f"{i}.py"})) for i in range(3)]
    forms: list[str] = [
        "\n\n".join(json.dumps(entry) for entry in entries),
        json.dumps(entries, indent=1),
        json.dumps({"version": 1, "queries": entries}),
        json.dumps({f"id-{i}": entry for i, entry in enumerate(entries)}),
        "\ufeff" + json.dumps(entries),
    ]
    assert [read(tmp_path, form) for form in forms] == [wanted] * len(forms)


def test_a_swe_bench_entry_is_read_as_it_is(tmp_path: Path) -> None:
    entry = {
        "repo": "psf/requests", "instance_id": "psf__requests-1", "base_commit": "abc",
        "problem_statement": "It breaks.", "patch": PATCH, "test_patch": "--- a/tests/t.py",
    }  # fmt: skip
    other = {**entry, "repo": "pallets/flask", "problem_statement": "Else."}
    read_back = read(tmp_path, json.dumps([entry, other]), repo="requests")
    files = frozenset({"src/url.py", "src/new.py"})
    assert read_back == [Query("It breaks.", files, "abc", patch=PATCH)]
    assert len(read(tmp_path, json.dumps([entry, other]), repo="elsewhere")) == 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "holds no queries"),
        ("[]", "holds no queries"),
        ('{"query": "a", "files": ["b"]}\n{"query": ', "line 2 is not JSON"),
        ('[{"files": ["b"]}]', "entry 1: no text to ask"),
        ('[{"query": "a", "base_commit": "b"}]', "entry 1: no right files"),
        ('["a"]', "entry 1: an object such as"),
        ("7", "entry 1: an object such as"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(SystemExit, match=says):
        read(tmp_path, text)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="cannot be read"):
        read_queries(tmp_path / "none", repo=tmp_path)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository whose file about cookies was renamed after it was mended."""
    root = tmp_path / "repo"
    noise = {f"n/{i}.py": f"number = {i}\n" for i in range(8)}
    write(root, {"jar.py": "cookies = {}\n", "pool.py": "connections = []\n", **noise})
    git(root, "init")
    git(root, "add", ".")
    git(root, "commit", "-m", "Begin")
    write(root, {"jar.py": "cookies = None\n"})
    git(root, "commit", "-am", "Keep cookies between requests")
    git(root, "mv", "jar.py", "biscuits.py")
    git(root, "commit", "-m", "Rename the jar")
    return root


def test_a_query_is_asked_in_the_state_of_its_commit(repo: Path) -> None:
    asked = "cookies are lost"
    queries = [
        Query(asked, frozenset({"biscuits.py"})),
        Query(asked, frozenset({"jar.py"}), "HEAD~1"),
        Query(asked, frozenset(), None, "HEAD~1"),
        Query(asked, frozenset({"jar.py"})),
        Query(asked, frozenset({"jar.py"}), "no-such-commit"),
        Query(asked, frozenset({"jar.py"}), "--all"),
    ]
    figures = answered(repo, queries)
    assert figures["questions"] == 3
    assert figures["acc_at_5"] == 100
    assert figures["skipped_no_such_file"] == 1
    assert figures["skipped_unknown_commit"] == 2


def test_a_query_that_leaves_text_or_files_empty_is_counted_apart(
    repo: Path, tmp_path: Path
) -> None:
    entries: list[dict[str, object]] = [
        {"title": "Cookies are lost", "body": "", "files": ["biscuits.py"]},
        {"title": "", "body": None, "files": ["biscuits.py"]},
        {"title": "Cookies are lost", "files": []},
    ]
    figures = answered(repo, read(tmp_path, json.dumps(entries)))
    assert figures["questions"] == 1
    assert figures["skipped_no_text"] == 1
    assert figures["skipped_no_such_file"] == 1


REPORT = """### Describe the bug
Cookies \ud83d are lost \U0001f36a\x00 — 饼干丢失了.

```python
Traceback (most recent call last):
  File "/usr/lib/site-packages/biscuits.py", line 3, in keep
KeyError: 'a" OR b*'
```
| version | 1.2 |
"""


def test_a_report_as_people_write_them_finds_its_file(repo: Path, tmp_path: Path) -> None:
    entry = {"query": REPORT + 200 * "log line (of many)\n", "files": ["biscuits.py"]}
    figures = answered(repo, read(tmp_path, json.dumps(entry)))
    assert figures["acc_at_5"] == 100


def test_states_on_different_branches_know_nothing_of_each_other(repo: Path) -> None:
    git(repo, "checkout", "-b", "side", "HEAD~2")
    write(repo, {"side.py": "cookies on the side\n"})
    git(repo, "add", ".")
    git(repo, "commit", "-m", "Side cookies")
    queries = [
        Query("cookies on the side", frozenset({"side.py"}), "side"),
        Query("cookies on the side", frozenset({"side.py"}), "main"),
        Query("cookies", frozenset({"biscuits.py"}), "main"),
    ]
    figures = answered(repo, queries)
    assert figures["questions"] == 2
    assert figures["skipped_no_such_file"] == 1


def test_a_state_holds_what_a_search_in_the_folder_would(repo: Path, tmp_path: Path) -> None:
    """The bench passes over the same files as a user's search, and finds by the same words."""
    write(repo, {"vendor/jar.py": "cookies\n", "gen.py": "# @generated\ncookies\n"})
    git(repo, "add", ".")
    git(repo, "commit", "-m", "More\n\nSigned-off-by: Cookies <c@example.org>")
    state = State(repo)
    state.go_to("HEAD")
    with open_memory(tmp_path / "memory.db", cwd=repo) as wk:
        asked = "cookies are lost between requests"
        assert state.finder.find(asked) == wk.code.find(asked)
        assert "vendor/jar.py" not in [found.path for found in wk.code.find(asked)]
    state.close()


def test_the_figures_of_several_repositories_are_added_up(repo: Path) -> None:
    total = Tally()
    queries = [Query("cookies are lost", frozenset({"biscuits.py"}))]
    answered(repo, queries, total)
    answered(repo, [*queries, Query("cookies", frozenset({"pool.py"}))], total)
    figures = total.figures(commits=0)
    assert (figures["questions"], figures["ours_all_at_1"]) == (3, 66.7)


def test_tasks_of_swe_bench_are_split_by_repository(tmp_path: Path) -> None:
    for name, repo, lite in (
        ("a", "psf/requests", True), ("b", "django/django", True), ("c", "psf/requests", False),
    ):  # fmt: skip
        kinds = "- SWE-bench/SWE-bench\n" + lite * "- SWE-bench/SWE-bench_Lite\n"
        write(
            tmp_path / name,
            {
                "task.yaml": f"base_commit: abc\ndatasets:\n{kinds}instance_id: {name}\nrepo: {repo}\n",
                "problem_statement.md": "It breaks.",
                "gold.patch": PATCH,
            },
        )
    split = {
        (split, lite): [t["instance_id"] for t in reports(tmp_path, split=split, lite_only=lite)]
        for split in ("development", "held_out", None)
        for lite in (True, False)
    }
    assert split == {
        ("development", True): ["a"], ("development", False): ["a", "c"],
        ("held_out", True): ["b"], ("held_out", False): ["b"],
        (None, True): ["a", "b"], (None, False): ["a", "b", "c"],
    }  # fmt: skip
    lines = "\n".join(map(json.dumps, reports(tmp_path, split="held_out", lite_only=True)))
    files = frozenset({"src/url.py", "src/new.py"})
    assert read(tmp_path, lines, repo="django") == [Query("It breaks.", files, "abc", patch=PATCH)]
    with pytest.raises(SystemExit, match="holds no tasks"):
        list_reports(["--tasks", str(tmp_path / "none")])


def test_named_functions_are_looked_for(repo: Path, tmp_path: Path) -> None:
    write(repo, {"biscuits.py": "def keep_cookies():\n    return {}\n"})
    git(repo, "commit", "-am", "Keep them")
    entry = {
        "query": "where do we keep cookies",
        "files": ["biscuits.py"],
        "functions": ["biscuits.py::keep_cookies"],
    }
    figures = answered(repo, read(tmp_path, json.dumps(entry)))
    assert (figures["function_questions"], figures["ours_function_at_1"]) == (1, 100)


def test_the_questions_of_the_bench_can_be_read(tmp_path: Path) -> None:
    text = QUESTIONS.read_text("utf-8")
    counts = {name: len(read(tmp_path, text, repo=name)) for name in ("flask", "gin", "requests")}
    assert counts == {"flask": 10, "gin": 10, "requests": 12}
