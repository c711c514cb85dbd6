"""Resolved imports against an independent oracle: `python -m bench.imports --repo PATH [--json]`.

Python: `ast` finds the imports, and importlib's own file finder says which file each means,
without running anything. TypeScript (with `--typescript FOLDER`, an installed npm package): the
compiler's module resolution. Both are compared file by file with the graph's import edges.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.machinery import FileFinder, ModuleSpec, SourceFileLoader
from pathlib import Path

from bench.report import Target, finish, machine, parser, say
from holdfast.codegraph.build import Builder, Tree
from holdfast.core.clock import system_clock
from holdfast.core.codec import Json
from holdfast.core.graph import EdgeKind, FileState
from holdfast.store import open_sqlite_graph

Pairs = set[tuple[str, str]]
_TREE = "bench"
_SCRIPT = """
const ts = require(process.argv[1]); const path = require('path');
const root = process.argv[2]; const files = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const known = new Map();
function options(folder) {
  if (known.has(folder)) return known.get(folder);
  const file = ts.findConfigFile(folder, ts.sys.fileExists);
  let found = {allowJs: true, moduleResolution: ts.ModuleResolutionKind.Bundler, module: 99};
  if (file && !path.relative(root, file).startsWith('..')) {
    const read = ts.readConfigFile(file, ts.sys.readFile);
    const parsed = ts.parseJsonConfigFileContent(read.config || {}, ts.sys, path.dirname(file));
    found = {...found, ...parsed.options,
             allowJs: true};
  }
  known.set(folder, found);
  return found;
}
const pairs = [];
for (const name of files) {
  const file = path.join(root, name);
  const info = ts.preProcessFile(ts.sys.readFile(file) || '', true, true);
  for (const item of info.importedFiles) {
    const found = ts.resolveModuleName(item.fileName, file, options(path.dirname(file)), ts.sys);
    const target = found.resolvedModule && found.resolvedModule.resolvedFileName;
    if (target && !target.includes('node_modules')) {
      const below = path.relative(root, target);
      if (!below.startsWith('..') && below !== name) pairs.push([name, below]);
    }
  }
}
console.log(JSON.stringify(pairs));
"""


def drawn(repo: Path, folder: Path) -> tuple[Pairs, list[str]]:
    """Import edges between files as the graph has them, and the files that were parsed."""
    store = open_sqlite_graph(folder / "graph.db")
    Builder(store, Tree(root=repo, name=_TREE), clock=system_clock).build()
    read = (FileState.ANALYSED, FileState.PARTLY)
    files = [f.path for f in store.files(_TREE) if f.state in read]
    known = {f.path for f in store.files(_TREE)}
    pairs = {
        (e.source, e.target)
        for e in store.edges(_TREE)
        if e.kind is EdgeKind.IMPORTS and e.source in known and e.target in known
    }
    return pairs, files


# -- Python ---------------------------------------------------------------------------------------


class PythonOracle:
    """What the import machinery would find from the roots of a tree."""

    def __init__(self, repo: Path) -> None:
        self._repo = repo.resolve()
        self._roots = [str(p) for p in (self._repo / "src", self._repo) if p.is_dir()]

    @cache  # noqa: B019 - one oracle for each run
    def spec(self, name: str) -> ModuleSpec | None:
        """The spec of a module, found without importing its parents."""
        parent, _, last = name.rpartition(".")
        above = self._roots if not parent else self._folders(parent)
        empty: ModuleSpec | None = None
        for folder in above:
            found = FileFinder(folder, (SourceFileLoader, [".py"])).find_spec(last)
            if found is not None and found.loader is not None:
                return found
            empty = empty or found
        return empty

    def _folders(self, name: str) -> list[str]:
        """Where the modules below a package are."""
        spec = self.spec(name)
        return list(spec.submodule_search_locations or ()) if spec is not None else []

    def file(self, name: str) -> str | None:
        """The file of a module below the tree."""
        spec = self.spec(name)
        if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
            return None
        return Path(spec.origin).resolve().relative_to(self._repo).as_posix()

    def module_of(self, path: str) -> str | None:
        """The dotted name under which a file would be imported."""
        for root in self._roots:
            try:
                parts = list((self._repo / path).relative_to(root).with_suffix("").parts)
            except ValueError:
                continue
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            if name and self.file(name) == path:
                return name
        return None

    def pairs(self, path: str) -> tuple[Pairs, Pairs]:
        """What a file imports, and what may be either a name of a package or its submodule."""
        module = self.module_of(path)
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
                wanted |= {(path, f) for a in node.names if (f := self.file(a.name))}
            elif isinstance(node, ast.ImportFrom):
                self._from(node, path, package, wanted, either)
        itself = (path, path)
        return wanted - {itself}, either - {itself}

    def _from(
        self, node: ast.ImportFrom, path: str, package: str, wanted: Pairs, either: Pairs
    ) -> None:
        base = node.module or ""
        if node.level:
            parts = package.split(".")
            kept = parts[: len(parts) - node.level + 1]
            base = ".".join(filter(None, (*kept, base)))
        file = self.file(base) if base else None
        if file:
            wanted.add((path, file))
        for alias in node.names:
            below = self.file(f"{base}.{alias.name}") if base else None
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


def python_truth(repo: Path, files: Sequence[str]) -> tuple[Pairs, Pairs, set[str]]:
    """Pairs, pairs that are neither right nor wrong, and the files they are about."""
    oracle = PythonOracle(repo)
    wanted: Pairs = set()
    either: Pairs = set()
    about = {path for path in files if path.endswith(".py") and oracle.module_of(path)}
    for path in about:
        own, unsure = oracle.pairs(path)
        wanted |= own
        either |= unsure - own
    return wanted, either, about


# -- TypeScript -----------------------------------------------------------------------------------


def typescript_truth(repo: Path, files: Sequence[str], compiler: Path) -> tuple[Pairs, set[str]]:
    """Pairs by the compiler, and the files they are about."""
    endings = (".ts", ".tsx", ".js", ".jsx", ".mts", ".cts", ".mjs", ".cjs")
    about = [path for path in files if path.endswith(endings)]
    command = ("node", "-e", _SCRIPT, str(compiler.resolve()), str(repo.resolve()))
    done = subprocess.run(command, input=json.dumps(about), capture_output=True, text=True,
                          check=True)  # fmt: skip
    return {(source, target) for source, target in json.loads(done.stdout)}, set(about)


def score(found: Pairs, wanted: Pairs, either: Pairs) -> dict[str, Json]:
    """Precision and recall in percent, with some of what is wrong."""
    judged = found - either
    right = judged & wanted
    return {
        "found": len(judged),
        "wanted": len(wanted),
        "precision": round(100 * len(right) / len(judged), 2) if judged else None,
        "recall": round(100 * len(right) / len(wanted), 2) if wanted else None,
        "wrong": [f"{s} -> {t}" for s, t in sorted(judged - wanted)[:10]],
        "missed": [f"{s} -> {t}" for s, t in sorted(wanted - judged)[:10]],
    }


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    made = parser(__doc__)
    made.add_argument("--repo", type=Path, required=True, help="folder that holds the packages")
    made.add_argument("--typescript", type=Path, help="folder of the installed npm package")
    chosen = made.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="holdfast-imports-") as folder:
        say(f"building the graph of {chosen.repo}")
        pairs, files = drawn(chosen.repo, Path(folder))
    figures: dict[str, Json] = {"machine": machine(), "repo": chosen.repo.name}
    if not files:
        raise SystemExit(f"{chosen.repo} holds no source file: give the folder of packages.")
    wanted, either, about = python_truth(chosen.repo, files)
    if wanted:
        own = {pair for pair in pairs if pair[0] in about and pair[1].endswith(".py")}
        figures["python"] = score(own, wanted, either)
    if chosen.typescript is not None:
        wanted, about = typescript_truth(chosen.repo, files, chosen.typescript)
        known = set(files)
        own = {pair for pair in pairs if pair[0] in about}
        figures["typescript"] = score(own, {p for p in wanted if p[1] in known}, set())
    languages = [figures[name] for name in ("python", "typescript") if name in figures]
    figures["targets"] = [
        Target(name, 95, _least(languages, name), at_least=True).as_json()
        for name in ("precision", "recall")
    ]
    lines = [f"{name}: {value}" for name, value in figures.items()]
    finish("imports", figures, as_json=chosen.json, lines=lines)
    return 0


def _least(languages: Sequence[Json], name: str) -> float | None:
    values = [found.get(name) for found in languages if isinstance(found, dict)]
    return min((v for v in values if isinstance(v, int | float)), default=None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
