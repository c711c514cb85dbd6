"""Resolved imports against independent oracles: `python -m bench.imports --repo PATH [--json]`.

Python: `ast` finds the imports, and importlib's own file finder says which file each means,
without running anything. The other languages are judged by the tools of `bench.import_oracles`, as
far as they are installed. Every oracle is compared file by file with the graph's import edges.
"""

from __future__ import annotations

import ast
import sys
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.machinery import FileFinder, ModuleSpec, SourceFileLoader
from pathlib import Path
from posixpath import dirname
from typing import NamedTuple

from bench.import_oracles import TOOLS, MissingToolError, Pairs, Truth
from bench.report import Target, finish, machine, parser, say
from bench.rust_oracle import rust
from wellkept.core.clock import system_clock
from wellkept.core.codec import Json
from wellkept.core.graph import EdgeKind, FileState
from wellkept.graph.index.builder import Builder, Tree
from wellkept.store import open_graph

_TREE = "bench"
_UNSEEN = (".vue", ".svelte")
"""Files that no oracle knows."""
_SPOKEN = {"typescript": {"typescript", "tsx", "javascript"}, "c": {"c", "cpp"}}
"""The languages that an oracle answers for, where it is not the one it is called after."""


class Drawing(NamedTuple):
    """Import edges between files as the graph has them, all files, and those that were parsed."""

    pairs: Pairs
    known: frozenset[str]
    parsed: list[str]
    languages: frozenset[str]

    def has(self, name: str) -> bool:
        """Whether there is anything for an oracle."""
        return bool(self.languages & _SPOKEN.get(name, {name}))


def drawn(repo: Path, folder: Path) -> Drawing:
    """Build the graph and take out what is to be compared."""
    store = open_graph(folder / "graph.db")
    Builder(store, Tree(root=repo, name=_TREE), clock=system_clock).build()
    read = (FileState.ANALYSED, FileState.PARTLY)
    files = store.files(_TREE)
    known = frozenset(f.path for f in files)
    pairs = {
        (e.source, e.target)
        for e in store.edges(_TREE)
        if e.kind is EdgeKind.IMPORTS and e.source in known and e.target in known
    }
    parsed = [f for f in files if f.state in read]
    spoken = frozenset(f.language for f in parsed)
    return Drawing(pairs, known, [f.path for f in parsed], spoken)


# -- Python ---------------------------------------------------------------------------------------


class PythonOracle:
    """What the import machinery would find, or the stub where only that is there: from the folder
    that a file's outermost package is in, as Python does for a script and pytest for a test, and
    from the folders of projects."""

    def __init__(self, repo: Path) -> None:
        self._repo = repo.resolve()
        projects = {p.parent for name in ("pyproject.toml", "setup.py", "setup.cfg")
                    for p in self._repo.rglob(name)} | {self._repo}  # fmt: skip
        if (self._repo / "__init__.py").is_file():
            projects.add(self._repo.parent)
        ordered = sorted(projects, key=lambda p: (len(p.parts), p))
        self._roots = [str(p) for top in ordered for p in (top / "src", top) if p.is_dir()]
        self._sources = [top / "src" for top in ordered if (top / "src").is_dir()]

    def home(self, path: str) -> str:
        """The folder that the outermost package of a file is in: `src` of its project, where a
        package need not have an `__init__`, else the first folder that is none."""
        folder = (self._repo / path).parent
        while (folder / "__init__.py").is_file():
            folder = folder.parent
        return str(next((s for s in reversed(self._sources) if s in folder.parents), folder))

    @cache  # noqa: B019 - one oracle for each run
    def spec(self, name: str, home: str) -> ModuleSpec | None:
        """The spec of a module, found without importing its parents."""
        parent, _, last = name.rpartition(".")
        above = self._folders(parent, home) if parent else [home, *self._roots]
        empty: ModuleSpec | None = None
        for folder in above:
            found = FileFinder(folder, (SourceFileLoader, [".py", ".pyi"])).find_spec(last)
            if found is not None and found.loader is not None:
                return found
            empty = empty or found
        return empty

    def _folders(self, name: str, home: str) -> list[str]:
        """Where the modules below a package are."""
        spec = self.spec(name, home)
        return list(spec.submodule_search_locations or ()) if spec is not None else []

    def file(self, name: str, home: str) -> str | None:
        """The file of a module below the tree."""
        spec = self.spec(name, home)
        if spec is None or spec.origin is None or not spec.origin.endswith((".py", ".pyi")):
            return None
        origin = Path(spec.origin).resolve()
        return origin.relative_to(self._repo).as_posix() if self._repo in origin.parents else None

    def module_of(self, path: str) -> str | None:
        """The dotted name under which a file would be imported."""
        home = self.home(path)
        for root in (*self._roots, home):
            try:
                parts = list((self._repo / path).relative_to(root).with_suffix("").parts)
            except ValueError:
                continue
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            if name and self.file(name, home) == path:
                return name
        return None

    def pairs(self, path: str) -> tuple[Pairs, Pairs]:
        """What a file imports, and what may be either a name of a package or its submodule."""
        module, home = self.module_of(path), self.home(path)
        wanted: Pairs = set()
        either: Pairs = set()
        if module is None:
            return wanted, either
        package = module if path.endswith("__init__.py") else module.rpartition(".")[0]
        try:
            tree = ast.parse((self._repo / path).read_bytes())
        except (SyntaxError, ValueError):
            return wanted, either
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                wanted |= {(path, f) for a in node.names if (f := self.file(a.name, home))}
            elif isinstance(node, ast.ImportFrom):
                self._from(node, path, package, wanted, either)
        itself = (path, path)
        return wanted - {itself}, either - {itself}

    def _from(
        self, node: ast.ImportFrom, path: str, package: str, wanted: Pairs, either: Pairs
    ) -> None:
        base, home = node.module or "", self.home(path)
        if node.level:
            parts = package.split(".")
            kept = parts[: len(parts) - node.level + 1]
            base = ".".join(filter(None, (*kept, base)))
        file = self.file(base, home) if base else None
        if file:
            wanted.add((path, file))
        for alias in node.names:
            below = self.file(f"{base}.{alias.name}", home) if base else None
            if below and file and file != path and alias.name in self._bound(file):
                either.add((path, below))
            elif below:
                wanted.add((path, below))

    @cache  # noqa: B019 - one oracle for each run
    def _bound(self, file: str) -> frozenset[str]:
        """Names that a file gives at its top level."""
        try:
            tree = ast.parse((self._repo / file).read_bytes())
        except (SyntaxError, ValueError):
            return frozenset()
        return frozenset(_top_names(tree.body))


def _top_names(body: Iterable[ast.stmt]) -> Iterable[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.Assign):
            yield from (t.id for t in node.targets if isinstance(t, ast.Name))
        elif isinstance(node, ast.If | ast.Try):
            yield from _top_names(node.body)


def python(repo: Path, files: Sequence[str], _: Path | None) -> Truth:
    """`ast` and importlib's own file finder."""
    oracle = PythonOracle(repo)
    wanted: Pairs = set()
    either: Pairs = set()
    about = frozenset(path for path in files if path.endswith(".py") and oracle.module_of(path))
    for path in about:
        own, unsure = oracle.pairs(path)
        wanted |= own
        either |= unsure - own
    return Truth(wanted, either, about)


ORACLES = {"python": python, **TOOLS, "rust": rust}


# -- Comparing ------------------------------------------------------------------------------------


def score(found: Pairs, truth: Truth, known: Iterable[str]) -> dict[str, Json]:
    """Precision and recall in percent, with some of what is wrong."""
    if truth.by_folder:
        found = {(a, dirname(b)) for a, b in found}
        known = set(map(dirname, known))
    wanted = {pair for pair in truth.wanted if pair[1] in set(known)}
    judged = {pair for pair in found if pair in wanted or pair not in truth.either}
    right = judged & wanted
    return {
        "found": len(judged),
        "wanted": len(wanted),
        "not_judged": len(found - judged),
        "precision": round(100 * len(right) / len(judged), 2) if judged else None,
        "recall": round(100 * len(right) / len(wanted), 2) if wanted else None,
        "wrong": [f"{s} -> {t}" for s, t in sorted(judged - wanted)[:10]],
        "missed": [f"{s} -> {t}" for s, t in sorted(wanted - judged)[:10]],
    }


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    made = parser(__doc__)
    made.add_argument("--repo", type=Path, required=True, help="folder that holds the packages")
    made.add_argument("--language", choices=sorted(ORACLES), action="append", help="default: all")
    made.add_argument("--typescript", type=Path, help="folder of the installed npm package")
    chosen = made.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="wellkept-imports-") as folder:
        say(f"building the graph of {chosen.repo}")
        drawing = drawn(chosen.repo, Path(folder))
    if not drawing.parsed:
        raise SystemExit(f"{chosen.repo} holds no source file: give the folder of packages.")
    figures: dict[str, Json] = {"machine": machine(), "repo": chosen.repo.resolve().name}
    measured: list[dict[str, Json]] = []
    for name in chosen.language or ORACLES:
        if not drawing.has(name):
            continue
        say(f"asking the oracle for {name}")
        try:
            truth = ORACLES[name](chosen.repo, drawing.parsed, chosen.typescript)
        except MissingToolError as error:
            figures[name] = {"skipped": str(error)}
            continue
        own = {pair for pair in drawing.pairs if pair[0] in truth.about
               and not pair[1].endswith(_UNSEEN)}  # fmt: skip
        measured.append(score(own, truth, drawing.known))
        figures[name] = measured[-1]
    figures["targets"] = [
        Target(name, 95, _least(measured, name), at_least=True).as_json()
        for name in ("precision", "recall")
    ]
    lines = [f"{name}: {value}" for name, value in figures.items()]
    finish("imports", figures, as_json=chosen.json, lines=lines)
    return 0


def _least(measured: Sequence[dict[str, Json]], name: str) -> float | None:
    values = [found.get(name) for found in measured]
    return min((v for v in values if isinstance(v, int | float)), default=None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
