"""The code graph on a real tree: `python -m bench.graph --repo PATH [--json]`.

Builds the graph of a copy of the tree's source from nothing (throughput is source bytes for each
second of processor time, parent and workers together), changes single files, and asks for impacts.
In a tree with Python, `bench.hubs` judges whether the files with the largest impact are hubs.
"""

from __future__ import annotations

import random
import resource
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time

from bench.hubs import verdict
from bench.report import Target, Timing, finish, machine, parser, room_bytes, say, timed_each
from wellkept.core.clock import system_clock
from wellkept.core.codec import Json
from wellkept.core.graph import BuildReport, FileState, NodeKind
from wellkept.core.ports.graph import GraphStore
from wellkept.graph.index.builder import Builder, Tree
from wellkept.graph.index.source_files import list_files
from wellkept.graph.index.update_plan import is_indexed
from wellkept.graph.languages import language_of
from wellkept.graph.parse.grammars import grammar
from wellkept.graph.query.queries import GraphQueries
from wellkept.store import open_graph

_TREE = "bench"
_C_LIKE = "\nvoid wellkept_bench(void) {}\n"
_SCRIPT = "\nfunction wellkeptBench() {}\n"
_CLASS = "\nclass WellkeptBench {}\n"
_MORE_NAMES = {
    ".py": "\n\ndef _wellkept_bench():\n    pass\n", ".rb": "\ndef wellkept_bench\nend\n",
    ".go": "\nfunc wellkeptBench() {}\n", ".rs": "\nfn wellkept_bench() {}\n",
    ".ts": _SCRIPT, ".tsx": _SCRIPT, ".js": _SCRIPT, ".jsx": _SCRIPT, ".php": _SCRIPT,
    ".c": _C_LIKE, ".h": _C_LIKE, ".cc": _C_LIKE, ".cpp": _C_LIKE, ".java": _CLASS, ".cs": _CLASS,
}  # fmt: skip
"""What adds a name to a file, by its suffix."""


@dataclass(frozen=True, slots=True)
class Built:
    """A build from nothing and what it cost."""

    report: BuildReport
    wall_s: float
    cpu_s: float
    peak_mb: float

    @property
    def mb_per_cpu_s(self) -> float:
        """Source megabytes for each second of one core."""
        return self.report.size_bytes / 1e6 / self.cpu_s


def cpu_seconds() -> float:
    """Processor time of this process and its ended children."""
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    used = [resource.getrusage(who) for who in whose]
    return sum(u.ru_utime + u.ru_stime for u in used)


def copied(repo: Path, target: Path) -> int:
    """Copy what belongs in the graph, so that editing harms nobody; returns how many files."""
    found = [f for f in list_files(repo) if is_indexed(f.path) and "site-packages" not in f.path]
    for file in found:
        (target / file.path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(repo / file.path, target / file.path)
    return len(found)


def build(store: GraphStore, root: Path, *, workers: int | None) -> Built:
    """Build from nothing."""
    cpu, began = cpu_seconds(), perf_counter()
    tree = Tree(root=root, name=_TREE)
    report = Builder(store, tree, clock=system_clock, workers=workers).build()
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    peak = sum(resource.getrusage(who).ru_maxrss for who in whose) / 1000
    return Built(report, perf_counter() - began, cpu_seconds() - cpu, peak)


def parsers_alone(store: GraphStore, root: Path) -> float:
    """Megabytes that the bare parsers read in a second of one core, here and now: a busy machine
    slows both down, so the throughput of a build is best read against this."""
    read = [f.path for f in store.files(_TREE) if f.state is FileState.ANALYSED][::4]
    known = [(root / path, language) for path in read if (language := language_of(path))]
    parts = [(grammar(language).parser, path.read_bytes()) for path, language in known]
    began = process_time()
    for parser_, source in parts:
        parser_.parse(source)
    return sum(len(source) for _, source in parts) / 1e6 / (process_time() - began)


def update_times(store: GraphStore, root: Path, *, count: int) -> tuple[Timing, Timing]:
    """Milliseconds that an update of one file takes after parsing: of a body, and of a name."""
    files = [f.path for f in store.files(_TREE) if Path(f.path).suffix in _MORE_NAMES]
    chosen = random.Random(1).sample(files, min(count, len(files)))
    series: list[Timing] = []
    for adds_name in (False, True):
        seconds: list[float] = []
        for path in chosen:
            with (root / path).open("a", encoding="utf-8") as file:
                file.write(_MORE_NAMES[Path(path).suffix] if adds_name else "\n")
            tree = Tree(root=root, name=_TREE)
            report = Builder(store, tree, clock=system_clock, workers=1).update([path])
            seconds.append(report.seconds - report.parse_seconds)
        series.append(Timing.of(seconds))
    return series[0], series[1]


def impact_times(store: GraphStore, *, count: int) -> tuple[Timing, Timing]:
    """Depth-3 impacts of random nodes, and of the nodes with the most dependents."""
    questions = GraphQueries(store, _TREE)
    nodes = [n.id for n in store.all_nodes(_TREE) if n.kind is not NodeKind.DIRECTORY]
    table = store.edge_table(_TREE)
    counts: dict[int, int] = {}
    for target in table.targets:
        counts[target] = counts.get(target, 0) + 1
    top = sorted(counts, key=lambda n: -counts[n])[:count]
    hubs = [node.id for node in store.nodes_by_number(_TREE, top).values()]
    chosen = random.Random(2).sample(nodes, min(count, len(nodes)))
    questions.impact(chosen[0])
    return (
        timed_each(lambda name: questions.impact(name, limit=40), chosen),
        timed_each(lambda name: questions.impact(name, limit=40), hubs),
    )


def measure(repo: Path, folder: Path, *, workers: int | None, count: int) -> dict[str, Json]:
    """Every figure of one tree."""
    say(f"copying {repo}")
    files = copied(repo, folder / "tree") if repo.is_dir() else 0
    if not files:
        raise SystemExit(f"{repo} holds no source file that the graph reads: give another folder.")
    store = open_graph(folder / "graph.db")
    say(f"building the graph of {files} files")
    made = build(store, folder / "tree", workers=workers)
    alone = parsers_alone(store, folder / "tree")
    status = store.status(_TREE)
    say("judging hubs")
    named = verdict(store, _TREE, folder / "tree")
    say("changing files")
    body, name = update_times(store, folder / "tree", count=count)
    say("asking for impacts")
    impact, hubs = impact_times(store, count=200)
    targets = [
        Target("source MB for each core second", 1.5, made.mb_per_cpu_s, at_least=True),
        Target("one-file update after parsing, p50 ms", 100, body.p50_ms),
        Target("impact depth 3, p95 ms", 10, impact.p95_ms),
        Target("impact of hubs depth 3, p50 ms", 25, hubs.p50_ms),
        Target("impact of hubs depth 3, p95 ms", 50, hubs.p95_ms),
        Target("peak memory MB", 1500, made.peak_mb),
    ]
    if named is not None:
        right = named["impact"]
        assert isinstance(right, float)
        targets.append(Target("named hubs that are hubs, %", 80, right, at_least=True))
    return {
        "repo": repo.name,
        "files": files,
        "lines": status.lines,
        "source_mb": round(made.report.size_bytes / 1e6, 2),
        "nodes": sum(status.nodes.values()),
        "edges": sum(status.edges.values()),
        "edges_by_kind": dict(status.edges),
        "skipped": len(status.skipped),
        "not_whole": len(status.failed),
        "build_wall_s": round(made.wall_s, 2),
        "build_cpu_s": round(made.cpu_s, 2),
        "mb_per_core_second": round(made.mb_per_cpu_s, 2),
        "parsers_alone_mb_per_core_second": round(alone, 2),
        "peak_memory_mb": round(made.peak_mb),
        "disk_mb": round(room_bytes(folder / "graph.db") / 1e6, 1),
        "update_body": body.as_json(),
        "update_names": name.as_json(),
        "impact_random": impact.as_json(),
        "impact_hubs": hubs.as_json(),
        "hubs_right_percent": named,
        "targets": [target.as_json() for target in targets],
    }


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    made = parser(__doc__)
    made.add_argument("--repo", type=Path, required=True, help="folder with source")
    made.add_argument("--workers", type=int, default=None)
    made.add_argument("--updates", type=int, default=20, help="how many files to change")
    chosen = made.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="wellkept-graph-") as folder:
        figures = measure(chosen.repo, Path(folder), workers=chosen.workers, count=chosen.updates)
    lines = [f"{name}: {value}" for name, value in figures.items()]
    finish("graph", {"machine": machine(), **figures}, as_json=chosen.json, lines=lines)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
