"""Glob, Grep, LS, Cwd, Analyze and CodebaseSearch (G2)."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.agent.tools.conftest import MakeBench, ToolBench
from wellkept.core.records import record
from wellkept_agent.settings import ToolSettings
from wellkept_agent.tools.default import default_tools
from wellkept_agent.tools.search.analyze import CodebaseSearch
from wellkept_agent.tools.search.glob import path_filter
from wellkept_agent.tools.search.grep import Grep

pytestmark = pytest.mark.feature("G2")

_RIPGREP = shutil.which("rg")
needs_ripgrep = pytest.mark.skipif(_RIPGREP is None, reason="needs ripgrep")


@pytest.fixture(params=["python", "ripgrep"])
def searching(request: pytest.FixtureRequest, make_bench: MakeBench) -> ToolBench:
    """A bench whose Grep uses one of the two engines."""
    if request.param == "ripgrep" and _RIPGREP is None:
        pytest.skip("needs ripgrep")
    grep = Grep(ripgrep=_RIPGREP if request.param == "ripgrep" else None)
    tools = [one for one in default_tools() if one.name != "Grep"]
    return make_bench(tools=[*tools, grep])


def _age(path: Path, seconds: int) -> None:
    os.utime(path, (1_000_000 + seconds, 1_000_000 + seconds))


# -- Glob -----------------------------------------------------------------------------------------


def test_files_come_latest_first(bench: ToolBench) -> None:
    for age, name in enumerate(["src/a.py", "b.py", "src/deep/c.py", "d.txt"]):
        _age(bench.write(name), age)
    output = bench.use("Glob", pattern="**/*.py")
    assert output.content.splitlines() == ["src/deep/c.py", "b.py", "src/a.py"]
    assert output.query == "**/*.py"
    assert bench.use("Glob", pattern="*.py", path="src").content.splitlines() == [
        "src/deep/c.py", "src/a.py",
    ]  # fmt: skip
    absolute = bench.use("Glob", pattern=f"{bench.root}/src/*.py")
    assert absolute.content == "src/a.py"


def test_ignored_files_are_left_out_unless_their_folder_is_named(bench: ToolBench) -> None:
    bench.write(".gitignore", "dist/\n")
    bench.write("dist/out.js")
    bench.write("node_modules/x/index.js")
    bench.write("src/in.js")
    assert bench.use("Glob", pattern="**/*.js").content == "src/in.js"
    assert bench.use("Glob", pattern="*.js", path="dist").content == "dist/out.js"
    nothing = bench.use("Glob", pattern="*.rs")
    assert "No file fits '*.rs'" in nothing.content
    assert not nothing.is_error


def test_many_files_are_cut_and_bad_places_refused(make_bench: MakeBench) -> None:
    bench = make_bench(tools=default_tools(settings=ToolSettings(glob_results=3)))
    for number in range(5):
        bench.write(f"{number}.txt")
    assert "[3 of 5 files." in bench.use("Glob", pattern="*.txt").content
    assert bench.use("Glob", pattern="*", path="nowhere").is_error
    assert bench.use("Glob", pattern="*", path="1.txt").is_error
    assert bench.use("Glob", pattern="*", path="..").is_error
    assert bench.use("Glob", pattern="/etc/*").content.startswith(("No file", "/etc/*", "/etc"))
    assert bench.use("Glob", pattern="").is_error


def test_a_link_out_of_the_project_is_not_followed(bench: ToolBench, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.txt").write_text("x")
    (bench.root / "link").symlink_to(tmp_path / "outside")
    bench.write("a.txt", "x")
    assert bench.use("Glob", pattern="**/*.txt").content == "a.txt"
    assert bench.use("Grep", pattern="x").content == "a.txt"
    assert bench.use("Glob", pattern="*.txt", path="link").is_error


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.py", "a/b.py", True),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/a/b.py", False),
        ("src/**/*.{ts,tsx}", "src/a/b.tsx", True),
        ("src/**/*.{ts,tsx}", "src/b.ts", True),
        ("src/**", "src/a/b.c", True),
        ("./src/*.py", "src/a.py", True),
        ("Makefile", "sub/Makefile", True),
        ("!x", "!x", True),
        ("#x", "#x", True),
        ("[ab].py", "b.py", True),
        ("{a,b}{1,2}", "b2", True),
        ("[", "[", True),
    ],
)
def test_patterns(pattern: str, path: str, fits: bool) -> None:
    assert path_filter(pattern)(path) is fits


def test_a_hostile_pattern_does_not_hold_the_session(bench: ToolBench) -> None:
    bench.write("a" * 200)
    bench.write("/".join(["b"] * 60))
    for pattern in ("*a" * 80 + "*b", "**/b/" * 30 + "c", "{a,b}" * 30, "*" * 190):
        assert not bench.use("Glob", pattern=pattern).is_error
    assert bench.use("Glob", pattern="*" * 5_000).is_error


# -- Grep -----------------------------------------------------------------------------------------


def test_lines_files_and_counts(searching: ToolBench) -> None:
    _age(searching.write("a.py", "import os\nx = os.getcwd()\nprint(x)\n"), 1)
    _age(searching.write("sub/b.py", "os = 1\n"), 2)
    searching.write("c.txt", "nothing\n")
    assert searching.use("Grep", pattern=r"\bos\b").content.splitlines() == ["sub/b.py", "a.py"]
    lines = searching.use("Grep", pattern=r"\bos\b", output_mode="content")
    assert lines.content.splitlines() == [
        "a.py:1:import os", "a.py:2:x = os.getcwd()", "sub/b.py:1:os = 1",
    ]  # fmt: skip
    assert lines.query == r"\bos\b"
    count = searching.use("Grep", pattern=r"\bos\b", output_mode="count").content
    assert count.splitlines() == ["a.py:2", "sub/b.py:1", "[3 lines in 2 files.]"]
    only = {"pattern": "os", "output_mode": "content", "-n": False}
    assert searching.use("Grep", **only, glob="sub/**").content == "sub/b.py:os = 1"
    assert searching.use("Grep", pattern="OS", **{"-i": True}, type="py").content.count("\n") == 1
    assert searching.use("Grep", pattern="nothing", path="c.txt").content == "c.txt"


def test_lines_around_a_match(searching: ToolBench) -> None:
    searching.write("a.txt", "".join(f"{n}\n" for n in range(1, 21)))
    output = searching.use("Grep", pattern="^(5|6|15)$", output_mode="content", **{"-C": 1})
    assert output.content.splitlines() == [
        "a.txt-4-4", "a.txt:5:5", "a.txt:6:6", "a.txt-7-7", "--",
        "a.txt-14-14", "a.txt:15:15", "a.txt-16-16",
    ]  # fmt: skip


def test_matches_over_lines(searching: ToolBench) -> None:
    searching.write("a.txt", "begin\nmiddle\nend\nbegin end\n")
    single = searching.use("Grep", pattern="begin.*?end", output_mode="content")
    assert single.content == "a.txt:4:begin end"
    several = searching.use("Grep", pattern="begin.*?end", output_mode="content", multiline=True)
    assert several.content.splitlines() == [
        "a.txt:1:begin", "a.txt:2:middle", "a.txt:3:end", "a.txt:4:begin end",
    ]  # fmt: skip


def test_results_come_in_pages(searching: ToolBench) -> None:
    searching.write("a.txt", "x\n" * 10)
    first = searching.use("Grep", pattern="x", output_mode="content", head_limit=3).content
    assert first.splitlines()[-1] == "[More lines follow: offset=3, or narrow the search.]"
    rest = searching.use("Grep", pattern="x", output_mode="content", head_limit=8, offset=4).content
    assert rest.splitlines() == [f"a.txt:{n}:x" for n in range(5, 11)]


def test_binary_ignored_and_odd_files(searching: ToolBench) -> None:
    searching.write("a.bin", b"needle\0\1")
    searching.write("late.txt", b"needle\n" + b"x" * 70_000 + b"\0")
    searching.write(".gitignore", "*.log\n")
    searching.write("x.log", "needle")
    searching.write("windows.txt", "a\r\nneedle\r\n")
    searching.write("utf16.txt", "needle ü\n".encode("utf-16"))
    searching.write("latin.txt", b"needle \xe9\n")
    searching.write(".hidden", "needle\n")
    searching.write("-dash.txt", "needle\n")
    searching.write("ünï cödé.txt", "needle\n")
    output = searching.use("Grep", pattern="needle( ü)?\\b", output_mode="content")
    assert sorted(output.content.splitlines()) == sorted([
        "-dash.txt:1:needle", ".hidden:1:needle", "late.txt:1:needle", "latin.txt:1:needle \ufffd",
        "utf16.txt:1:needle ü", "windows.txt:2:needle", "ünï cödé.txt:1:needle",
    ])  # fmt: skip


def test_bad_patterns_and_places_say_what_to_do(searching: ToolBench) -> None:
    searching.write("a.py", "f(x)\n")
    assert "Put a backslash" in searching.use("Grep", pattern="f(").content
    assert searching.use("Grep", pattern="f(").is_error
    assert searching.use("Grep", pattern=r"f\(").content == "a.py"
    assert searching.use("Grep", pattern="(?<=f).x", output_mode="content").content == "a.py:1:f(x)"
    unknown = searching.use("Grep", pattern="f", type="cobol").content
    assert "There are: " in unknown
    assert ", cpp, cs, " in unknown
    assert "does not exist" in searching.use("Grep", pattern="f", path="nowhere").content
    assert searching.use("Grep", pattern="").is_error
    assert searching.use("Grep", pattern="a\0b").is_error
    nothing = searching.use("Grep", pattern="zzz", glob="*.py")
    assert nothing.content == "No match for 'zzz' in 1 files (only *.py)."
    assert not nothing.is_error
    assert searching.use("Grep", pattern="-f").content.startswith("No match")


def test_an_expression_that_never_ends_is_ended(make_bench: MakeBench) -> None:
    limits = ToolSettings(search_timeout_s=1.5)
    bench = make_bench(tools=[Grep(limits, ripgrep=None)])
    bench.write("a.txt", "a" * 60 + "b\n")
    output = bench.use("Grep", pattern="(a+)+$")
    assert output.is_error
    assert "longer than 1.5 s" in output.content


def test_long_lines_are_cut(searching: ToolBench) -> None:
    searching.write("min.js", "needle" + "x" * 5_000)
    output = searching.use("Grep", pattern="needle", output_mode="content")
    assert "[… 4,506 more]" in output.content


_LINES = st.lists(st.text(alphabet="ab é.\t", max_size=6), max_size=8)
_PATTERNS = st.sampled_from(
    ["a", "b+", "^a", "a$", "é", "a.b", "(a|b) ", r"\s$", "[^a]b", "^$", r"\bab"]
)


@needs_ripgrep
@given(
    texts=st.lists(_LINES, min_size=1, max_size=3),
    pattern=_PATTERNS,
    newline=st.sampled_from(["\n", "\r\n"]),
    ends=st.booleans(),
    around=st.integers(0, 2),
    multiline=st.booleans(),
    mode=st.sampled_from(["content", "files_with_matches", "count"]),
)
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_both_engines_give_the_same_answers(  # noqa: PLR0917
    make_bench: MakeBench,
    texts: list[list[str]],
    pattern: str,
    newline: str,
    ends: bool,
    around: int,
    multiline: bool,
    mode: str,
) -> None:
    benches = [make_bench(tools=[Grep(ripgrep=one)]) for one in (None, _RIPGREP)]
    for old in benches[0].root.iterdir():
        old.unlink()
    for number, lines in enumerate(texts):
        text = newline.join(lines) + (newline if ends and lines else "")
        _age(benches[0].write(f"{number}.txt", text), number)
    arguments = {"pattern": pattern, "output_mode": mode, "multiline": multiline, "-C": around}
    ours, theirs = (one.use("Grep", **arguments).content for one in benches)
    assert ours == theirs


# -- LS and Cwd -----------------------------------------------------------------------------------


def test_a_folder_is_listed(bench: ToolBench, tmp_path: Path) -> None:
    bench.write("b.txt", "x" * 1_500)
    bench.write("a/inner/c.py", "x")
    bench.write(".env", "x")
    (bench.root / "link").symlink_to("b.txt")
    output = bench.use("LS").content.splitlines()
    assert output[1:] == ["  a/", "  .env (1 B)", "  b.txt (2 KB)", "  link -> b.txt"]
    deep = bench.use("LS", depth=3, ignore=["*.txt", ".env"]).content.splitlines()
    assert deep[1:] == ["  a/", "    inner/", "      c.py (1 B)", "  link -> b.txt"]
    (bench.root / "empty").mkdir()
    assert bench.use("LS", path="empty").content == "empty/ is empty."
    assert bench.use("LS", path="nowhere").is_error
    assert bench.use("LS", path=str(tmp_path)).is_error


def test_the_working_folder_moves_inside_the_project(bench: ToolBench) -> None:
    (bench.root / "sub").mkdir()
    bench.write("sub/x.txt", "here\n")
    assert bench.use("Cwd").content.splitlines()[0] == str(bench.root)
    assert bench.use("Cwd", path="sub").content.splitlines()[0] == str(bench.root / "sub")
    assert "here" in bench.use("Read", file_path="x.txt").content
    assert bench.use("Cwd", path="../..").is_error


# -- Code graph and search ------------------------------------------------------------------------


@record
class _Symbol:
    name: str
    line: int


@record
class _Hit:
    path: str
    reasons: tuple[str, ...]
    symbols: tuple[_Symbol, ...] = ()


class _Finder:
    def find(self, request: str, *, limit: int = 10) -> Sequence[_Hit]:
        hit = _Hit("src/pay.py", ("its name", "3 commits"), (_Symbol("Payer.pay", 5),))
        return [hit][:limit] if "pay" in request else []


def test_files_are_found_by_what_they_are_about(make_bench: MakeBench) -> None:
    bench = make_bench(tools=[CodebaseSearch(_Finder())])
    output = bench.use("CodebaseSearch", query="who pays")
    assert output.content == "1. src/pay.py (its name; 3 commits)\n   Payer.pay at line 5"
    assert output.query == "who pays"
    assert "Try Grep" in bench.use("CodebaseSearch", query="zzz").content


def test_a_real_project_is_analysed_and_searched(tmp_path: Path) -> None:
    from tests.agent.tools.conftest import ToolBench as Bench
    from wellkept.api import wellkept

    root = tmp_path / "project"
    files = {
        "src/shop/pay.py": "from shop.cart import total\n\n\nclass Payer:\n    def pay(self):\n        return total()\n",
        "src/shop/cart.py": "def total():\n    return 1\n",
        "src/shop/__init__.py": "",
        "tests/test_cart.py": "from shop.cart import total\n\n\ndef test_total():\n    assert total() == 1\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    with wellkept.open(tmp_path / "memory.db", cwd=root) as wk:
        wk.graph.build()
        tools = default_tools(graph=wk.code_graph, code_search=wk.code)
        bench = Bench(root, tmp_path / "session", tools=tools)
        file = bench.use("Analyze", path="src/shop/cart.py")
        assert "src/shop/cart.py: python, 2 lines" in file.content
        assert "1: function" in file.content
        assert "Used by: src/shop/pay.py" in file.content
        assert "Tested by: tests/test_cart.py" in file.content
        assert file.files == (str(root / "src/shop/cart.py"),)
        assert "Uses: src/shop/cart.py" in bench.use("Analyze", path="src/shop/pay.py").content
        folder = bench.use("Analyze", path=".").content
        assert "4 files (1 of tests)" in folder
        assert "src/ (3)" in folder
        assert "Used by: tests/test_cart.py" in bench.use("Analyze", path="src/shop").content
        assert bench.use("Analyze", path="nowhere.py").is_error
        (root / "notes.bin").write_bytes(b"\0")
        assert "Read it instead" in bench.use("Analyze", path="notes.bin").content
        found = bench.use("CodebaseSearch", query="payer pays the total").content
        assert "src/shop/pay.py" in found
