"""Questions that a newcomer asks, on public repositories after one `wellkept init`.

    python -m bench.newcomer --clones DIR [--split SPLIT] [--misses] [--json]

DIR has a clone of each repository of `bench/data/newcomer/*.json`, with its history, in a folder of
that name (`DIR/datasette`), checked out at the commit that the file names:

    git clone https://github.com/OWNER/NAME DIR/NAME && git -C DIR/NAME checkout COMMIT

Keys are regular expressions written by reading the repository, for the held-out ones before the
product ran on them. An answer is useful when one of the first three memories matches one of them.
The context at a first session start is right when it matches all that it must say and nothing that
it must never say, and repeats no line of an instruction file that the client loads itself.

Baselines: BM25 over the read-me and the documents in pieces of about 1,500 characters, and over all
text files of the repository; first three pieces, judged by the same keys.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any, cast

from bench.plain_bm25 import PlainBm25
from bench.report import Target, finish, machine, parser, say, table
from wellkept.api import Wellkept
from wellkept.api import open as open_wellkept
from wellkept.context.packing import render_context
from wellkept.core.codec import Json
from wellkept.core.records import record
from wellkept.core.text import content_words, stem
from wellkept.project.repository.documents import is_document

FOLDER = Path(__file__).parent / "data" / "newcomer"
TOP = 3
PIECE_CHARS = 1_500
MAX_FILE_BYTES = 300_000
INSTRUCTIONS = ("CLAUDE.md", "AGENTS.md", "GEMINI.md", ".github/copilot-instructions.md")
_TEXT = re.compile(
    r"\.(?:md|rst|adoc|txt|toml|cfg|ini|ya?ml|json|py|[cm]?[jt]sx?|go|rs|java|kts?|gradle|rb|php|xml"
    r"|sh)$|(?:^|/)(?:Makefile|[Jj]ustfile|Rakefile|Gemfile|Dockerfile|CODEOWNERS|MAINTAINERS)$"
)

Search = Callable[[str], list[str]]


@record(kw_only=True)
class Question:
    """A question and the patterns of which one must stand in a useful answer."""

    kind: str
    ask: str
    patterns: tuple[re.Pattern[str], ...]

    def is_useful(self, answers: Sequence[str]) -> bool:
        """Whether one of the answers matches."""
        return any(pattern.search(text) for text in answers for pattern in self.patterns)


@record(kw_only=True)
class Repository:
    """The key of one repository."""

    name: str
    repo: str
    commit: str
    language: str
    split: str
    must: tuple[str, ...]
    never: tuple[str, ...]
    questions: tuple[Question, ...]


def load(split: str) -> list[Repository]:
    """The keys of a split, by name."""
    found: list[Repository] = []
    for path in sorted(FOLDER.glob("*.json")):
        data: dict[str, Any] = json.loads(path.read_text("utf-8"))
        if split not in ("all", data["split"]):
            continue
        questions = tuple(
            Question(
                kind=one["kind"], ask=one["ask"], patterns=tuple(re.compile(p) for p in one["any"])
            )
            for one in data["questions"]
        )
        found.append(
            Repository(
                name=path.stem,
                repo=data["repo"],
                commit=data["commit"],
                language=data["language"],
                split=data["split"],
                must=tuple(data["start"]["must"]),
                never=tuple(data["start"]["never"]),
                questions=questions,
            )
        )
    return found


# -- Baselines ------------------------------------------------------------------------------------


def bm25(root: Path, is_wanted: Callable[[str], bool]) -> Search:
    """BM25 over pieces of files; an answer is the path and the text of a piece."""
    index, pieces = PlainBm25(), dict[str, str]()
    for name in _tracked(root):
        path = root / name
        if not is_wanted(name) or path.is_symlink() or not path.is_file():
            continue
        if path.stat().st_size > MAX_FILE_BYTES:
            continue
        text = path.read_text("utf-8", errors="replace")
        for number, piece in enumerate(_pieces(text)):
            key = f"{name}#{number}"
            pieces[key] = f"{name}\n{piece}"
            index.put(key, _stems(pieces[key]))
    return lambda question: [pieces[key] for key in index.search(_stems(question), limit=TOP)]


def _stems(text: str) -> list[str]:
    return [stem(word) for word in content_words(text)]


def _pieces(text: str) -> list[str]:
    """Paragraphs packed into pieces."""
    found, size = [""], 0
    for paragraph in text.split("\n\n"):
        if size and size + len(paragraph) > PIECE_CHARS:
            found.append("")
            size = 0
        found[-1] += f"{paragraph}\n\n"
        size += len(paragraph)
    return [piece for piece in found if piece.strip()]


def _tracked(root: Path) -> list[str]:
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z"], stdout=subprocess.PIPE, check=True
    )
    return [name for name in listed.stdout.decode("utf-8", "replace").split("\0") if name]


# -- The product ----------------------------------------------------------------------------------


@record(kw_only=True)
class Result:
    """What was found in one repository."""

    repository: Repository
    useful: dict[str, list[bool]]
    start_is_right: bool
    start: str
    statements: int
    init_s: float
    init_cpu_s: float
    misses: tuple[tuple[str, list[str]], ...] = ()

    def share(self, way: str) -> float:
        """Share of useful answers of one way."""
        return sum(self.useful[way]) / len(self.useful[way])


def measure(key: Repository, root: Path) -> Result:
    """Run `init` in a clone, ask everything, and look at a first session start."""
    head = subprocess.run(
        ["git", "-C", str(root), "rev-parse", "HEAD"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()
    if head != key.commit:
        say(f"{key.name} is at {head[:9]}, its key was written for {key.commit[:9]}")
    with TemporaryDirectory() as home:
        environment = {"HOME": home, "WELLKEPT_HOME": home, "PATH": _path()}
        with open_wellkept(Path(home) / "memory.db", cwd=root, environment=environment) as wk:
            started, cpu = perf_counter(), process_time()
            report = wk.import_repository()
            init_s, init_cpu_s = perf_counter() - started, process_time() - cpu
            searches = {
                "wellkept": _recall(wk),
                "wellkept, answered": _answered(wk),
                "BM25 documents": bm25(root, is_document),
                "BM25 all text": bm25(root, lambda name: bool(_TEXT.search(name))),
            }
            answers = {
                way: [search(one.ask) for one in key.questions] for way, search in searches.items()
            }
            start = render_context(wk.context())
    useful = {
        way: [q.is_useful(a) for q, a in zip(key.questions, found, strict=True)]
        for way, found in answers.items()
    }
    misses = [
        (q.ask, found)
        for q, found in zip(key.questions, answers["wellkept"], strict=True)
        if not q.is_useful(found)
    ]
    return Result(
        repository=key,
        useful=useful,
        start_is_right=_is_right(key, root, start),
        start=start,
        statements=report.new,
        init_s=init_s,
        init_cpu_s=init_cpu_s,
        misses=tuple(misses),
    )


def _path() -> str:
    import os

    return os.environ.get("PATH", os.defpath)


def _recall(wk: Wellkept) -> Search:
    return lambda question: [hit.memory.content for hit in wk.recall(question, limit=TOP)]


def _answered(wk: Wellkept) -> Search:
    """The first lines of an answer, without its heading."""
    return lambda question: [
        line for line in wk.ask(question).answer.split("\n") if not line.endswith(":")
    ][:TOP]


def _is_right(key: Repository, root: Path, start: str) -> bool:
    """Says what it must, nothing that it must not, and no line of the client's own files."""
    if not all(re.search(one, start) for one in key.must):
        return False
    if any(re.search(one, start) for one in key.never):
        return False
    loaded = {
        line.strip(" -*#")
        for name in INSTRUCTIONS
        if (root / name).is_file()
        for line in (root / name).read_text("utf-8", errors="replace").splitlines()
    }
    said = {line.strip(" -*#").partition(" [m:")[0] for line in start.splitlines()}
    return not {line for line in said & loaded if len(line) > 20}


# -- Report ---------------------------------------------------------------------------------------


def main(arguments: Sequence[str]) -> int:
    """Ask every repository of a split for which there is a clone."""
    options = parser(__doc__)
    options.add_argument("--clones", type=Path, required=True, help="folder of the clones")
    options.add_argument(
        "--split", default="all", choices=("development", "heldout", "fresh", "all")
    )
    options.add_argument("--misses", action="store_true", help="show what missed questions got")
    options.add_argument("--starts", action="store_true", help="show the session starts")
    chosen = options.parse_args(arguments)
    clones: Path = chosen.clones
    results: list[Result] = []
    for key in load(chosen.split):
        if not (clones / key.name).is_dir():
            say(f"skipped {key.name}: no folder {clones / key.name}")
            continue
        result = measure(key, clones / key.name)
        results.append(result)
        useful = f"{sum(result.useful['wellkept'])} of {len(key.questions)}"
        say(f"{key.name}: {useful}, start {result.start_is_right}")
        if chosen.misses:
            _show(result)
        if chosen.starts:
            say(result.start)
    if not results:
        say("No clone was found. See the docstring for how to get them.")
        return 1
    ways = list(results[0].useful)
    rows = [
        [
            one.repository.name,
            one.repository.language,
            *(f"{sum(one.useful[way])}/{len(one.useful[way])}" for way in ways),
            "right" if one.start_is_right else "wrong",
            str(one.statements),
            f"{one.init_cpu_s:.1f}",
        ]
        for one in results
    ]
    header = ["repository", "language", *ways, "first start", "statements", "init, cpu s"]
    figures = _figures(results, ways)
    useful = cast("dict[str, float]", figures["useful"])["wellkept"]
    starts = cast("float", figures["starts_right"])
    targets = [
        Target("useful in the first three, %", 75.0, 100 * useful, at_least=True),
        Target("first session start right, %", 90.0, 100 * starts, at_least=True),
    ]
    figures["targets"] = [one.as_json() for one in targets]
    shares = ", ".join(
        f"{way} {share:.0%}" for way, share in cast("dict[str, float]", figures["useful"]).items()
    )
    lines = [*table(header, rows), "", f"useful in the first {TOP}: {shares}"]
    lines.append(f"first session start right: {starts:.0%}")
    finish(
        f"newcomer_{chosen.split}",
        {"machine": machine(), **figures},
        as_json=chosen.json,
        lines=lines,
    )
    return 0


def _figures(results: Sequence[Result], ways: Sequence[str]) -> dict[str, Json]:
    asked = sum(len(one.repository.questions) for one in results)
    return {
        "repositories": len(results),
        "questions": asked,
        "useful": {way: sum(sum(one.useful[way]) for one in results) / asked for way in ways},
        "starts_right": sum(one.start_is_right for one in results) / len(results),
        "each": {
            one.repository.name: {
                **{way: sum(one.useful[way]) for way in ways},
                "start": one.start_is_right,
                "statements": one.statements,
                "init_s": round(one.init_s, 1),
                "init_cpu_s": round(one.init_cpu_s, 1),
            }
            for one in results
        },
    }


def _show(result: Result) -> None:
    for ask, found in result.misses:
        say(f"  ? {ask}")
        for text in found:
            say(f"      {' '.join(text.split())[:260]}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
