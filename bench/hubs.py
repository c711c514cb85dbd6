"""Whether the files with the largest impact are the ones that most of the tree depends on.

The judge is Python's own import machinery (`bench.imports`), which knows nothing of the graph: a
file's true reach is how many files import it, directly or through at most two others. The hubs that
the impact names are compared with those of the judge, beside three ways that need no graph: the
longest files, those that most files import directly, and those whose name most files mention.
Trees without Python have no judge and no verdict.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from posixpath import basename, splitext

from bench.import_oracles import Pairs
from bench.imports import python
from wellkept.core.codec import Json
from wellkept.core.graph import MAX_DEPTH, FileState, SourceFile
from wellkept.core.ports.graph import GraphStore
from wellkept.graph.query.queries import GraphQueries

HUBS = 20
MOST_FILES = 4_000
_WORD = re.compile(r"\w+")
_READ = (FileState.ANALYSED, FileState.PARTLY)


def verdict(store: GraphStore, tree: str, root: Path) -> dict[str, Json] | None:
    """The share of right hubs in percent, of ours and of the plain ways; None without a judge."""
    files = [f for f in store.files(tree) if f.state in _READ and f.path.endswith(".py")]
    if not HUBS <= len(files) <= MOST_FILES:
        return None
    paths = [f.path for f in files]
    pairs = python(root, paths, None).wanted
    true = reach(pairs)
    queries = GraphQueries(store, tree)
    impact = {path: queries.impact(path, limit=1).score for path in paths}
    direct: dict[str, int] = defaultdict(int)
    for _, target in pairs:
        direct[target] += 1
    ways: dict[str, Mapping[str, float]] = {
        "impact": impact,
        "lines": {f.path: f.line_count for f in files},
        "direct_imports": direct,
        "mentions": mentions(files, root),
    }
    first: list[Json] = [*sorted(paths, key=lambda path: (-impact[path], path))[:5]]
    shares: dict[str, Json] = {
        name: right_share(scores, true, paths) for name, scores in ways.items()
    }
    return {"hubs": HUBS, "files": len(files), **shares, "first": first}


def reach(pairs: Pairs, *, depth: int = MAX_DEPTH) -> dict[str, int]:
    """How many files import a file, directly or through others."""
    importers: dict[str, set[str]] = defaultdict(set)
    for source, target in pairs:
        importers[target].add(source)
    found: dict[str, int] = {}
    for path in list(importers):
        seen, frontier = {path}, {path}
        for _ in range(depth):
            frontier = {s for one in frontier for s in importers.get(one, ())} - seen
            seen |= frontier
        found[path] = len(seen) - 1
    return found


def mentions(files: Sequence[SourceFile], root: Path) -> dict[str, float]:
    """In how many files the bare name of a file stands."""
    holding: dict[str, int] = defaultdict(int)
    for file in files:
        text = (root / file.path).read_text("utf-8", errors="replace")
        for word in set(_WORD.findall(text)):
            holding[word] += 1
    return {file.path: holding[splitext(basename(file.path))[0]] for file in files}


def right_share(
    scores: Mapping[str, float], true: Mapping[str, int], paths: Sequence[str]
) -> float:
    """Percent of the first by a score that reach as far as the true hubs do."""
    least = sorted((true.get(path, 0) for path in paths), reverse=True)[:HUBS][-1]
    first = sorted(paths, key=lambda path: (-scores.get(path, 0), path))[:HUBS]
    return round(100 * sum(true.get(path, 0) >= max(least, 1) for path in first) / len(first), 1)
