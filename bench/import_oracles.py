"""What imports mean by tools that know nothing of the graph: the TypeScript compiler, `go list`,
`gcc`, and for Java the rule that a class stands in a file called like it below its package.

Each oracle takes the files that were parsed and gives a `Truth`, or raises an error that says what
to install. Nothing of the repository is run.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from posixpath import dirname
from typing import Any, NamedTuple

Pairs = set[tuple[str, str]]
_TS = (".ts", ".tsx", ".js", ".jsx", ".mts", ".cts", ".mjs", ".cjs")
_C = (".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*("[^"\n]+"|<[^>\n]+>)', re.MULTILINE)
_JAVA_IMPORT = re.compile(r"^import\s+(?:static\s+)?([\w.]+)(\.\*)?\s*;", re.MULTILINE)
_GO_IMPORT = re.compile(r'^import\s+(\([^)]*\)|(?:[\w.]+\s+)?"[^"]+")', re.MULTILINE)
_SCRIPT = Path(__file__).with_name("import_oracle.js")


class MissingToolError(Exception):
    """A tool is not there; the text says which."""


class Truth(NamedTuple):
    """Pairs of files, pairs that are neither right nor wrong, and the files they are about."""

    wanted: Pairs
    either: Pairs
    about: frozenset[str]
    by_folder: bool = False
    """Whether the second of a pair is the folder of a package."""


# -- TypeScript -----------------------------------------------------------------------------------


def typescript(repo: Path, files: Sequence[str], given: Path | None) -> Truth:
    """The compiler's module resolution. A package of the tree that it cannot find, since nothing
    is installed and built, is not judged."""
    about = [path for path in files if path.endswith(_TS)]
    command = (_tool("node"), str(_SCRIPT), str(_compiler(repo, given)), str(repo.resolve()))
    done = subprocess.run(command, input=json.dumps(about), capture_output=True, text=True,
                          check=False)  # fmt: skip
    if done.returncode:
        raise MissingToolError(
            done.stderr.strip().splitlines()[-1] if done.stderr else "node failed"
        )
    found: dict[str, list[list[str]]] = json.loads(done.stdout)
    folders = _packages(repo, files)
    open_ = {(source, folders[name]) for source, said in found["unresolved"]
             if (name := _package(said)) in folders}  # fmt: skip
    either = {(source, target) for source, folder in open_ for target in files
              if target.startswith(folder)}  # fmt: skip
    return Truth({(source, target) for source, target in found["pairs"]}, either, frozenset(about))


def _compiler(repo: Path, given: Path | None) -> Path:
    spots = [given] if given is not None else [repo / "node_modules/typescript"]
    if given is None and (npm := shutil.which("npm")) is not None:
        root = subprocess.run((npm, "root", "-g"), capture_output=True, text=True, check=False)
        spots.append(Path(root.stdout.strip()) / "typescript")
    for spot in spots:
        if (spot / "package.json").is_file():
            return spot.resolve()
    raise MissingToolError("typescript is not installed; name its folder with --typescript")


def _packages(repo: Path, files: Sequence[str]) -> dict[str, str]:
    """Folders of packages by name."""
    found: dict[str, str] = {}
    for path in files:
        if path.rpartition("/")[2] == "package.json":
            try:
                document: dict[str, Any] = json.loads((repo / path).read_bytes())
            except ValueError:
                continue
            found[str(document.get("name"))] = path.removesuffix("package.json")
    return found


def _package(specifier: str) -> str:
    parts = specifier.split("/")
    return "/".join(parts[:2]) if specifier.startswith("@") else parts[0]


# -- Go -------------------------------------------------------------------------------------------


def go(repo: Path, files: Sequence[str], _: Path | None) -> Truth:
    """Packages and their files by `go list`, and the import paths written in those files."""
    folders: dict[str, str] = {}
    about: set[str] = set()
    aside = {p.parent.relative_to(repo).as_posix() for p in repo.rglob("testdata/**/*.go")}
    for manifest in (path for path in files if path.rpartition("/")[2] == "go.mod"):
        for package in _go_list(repo / dirname(manifest)):
            below = os.path.relpath(package["Dir"], repo.resolve())
            folder = folders[package["ImportPath"]] = "" if below == "." else below
            kinds = ("GoFiles", "CgoFiles", "TestGoFiles", "XTestGoFiles")
            names = (name for kind in kinds for name in package.get(kind) or ())
            about |= {f"{folder}/{name}".lstrip("/") for name in names}
            module: dict[str, Any] = package.get("Module") or {}
            # `./...` leaves out folders called testdata, which tests may import all the same.
            folders |= {f"{module.get('Path')}/{f}": f for f in aside if module.get("Main")}
    if not about:
        raise MissingToolError("go list names no package: are the modules it needs in its cache?")
    wanted = {
        (path, folders[name])
        for path in about
        for block in _GO_IMPORT.findall((repo / path).read_text("utf-8", errors="replace"))
        for name in re.findall(r'"([^"]+)"', block)
        if name in folders
    }
    return Truth(wanted, set(), frozenset(about), by_folder=True)


def _go_list(folder: Path) -> Iterator[dict[str, Any]]:
    command = (_tool("go"), "list", "-find", "-e", "-json", "./...")
    alone = {"GOPROXY": "off", "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly", "GOWORK": "off"}
    done = subprocess.run(command, cwd=folder, env=os.environ | alone, capture_output=True,
                          text=True, check=False)  # fmt: skip
    text, decoder, place = done.stdout, json.JSONDecoder(), 0
    while (start := text.find("{", place)) >= 0:
        package, place = decoder.raw_decode(text, start)
        if "Dir" in package and not package.get("Standard"):
            yield package


# -- C and C++ ------------------------------------------------------------------------------------


def c(repo: Path, files: Sequence[str], _: Path | None) -> Truth:
    """The file that gcc opens for each include, with the root and every folder called `include`
    or `src` to look in. What it does not find there is not judged."""
    gcc = _tool("gcc")
    about = [path for path in files if path.endswith(_C)]
    known = {dirname(path) for path in files}
    above = {"/".join(folder.split("/")[: i + 1]) for folder in known
             for i, part in enumerate(folder.split("/")) if part in ("include", "src")}  # fmt: skip
    search = [f"-I{repo / folder}" for folder in ("", *sorted(above))]

    @cache
    def opened(folder: str, written: str) -> str | None:
        command = (
            gcc,
            "-E",
            "-H",
            "-nostdinc",
            "-x",
            "c++",
            "-iquote",
            str(repo / folder),
            *search,
            "-",
        )
        done = subprocess.run(command, input=f"#include {written}\n", capture_output=True,
                              text=True, errors="replace", check=False)  # fmt: skip
        first = next((line[2:] for line in done.stderr.splitlines() if line.startswith(". ")), "")
        below = os.path.relpath(first, repo) if first else ".."
        return None if below.startswith("..") else below

    wanted: Pairs = set()
    either: Pairs = set()
    there = [p.relative_to(repo).as_posix() for p in repo.rglob("*.h*")]  # vendored ones as well
    for path in about:
        for written in _INCLUDE.findall((repo / path).read_text("utf-8", errors="replace")):
            target = opened(dirname(path), written)
            if target is not None:
                wanted.add((path, target))
            else:  # perhaps found with the options of the real build
                either |= {(path, f) for f in there if f.endswith(f"/{written[1:-1]}")}
    return Truth({(a, b) for a, b in wanted if a != b}, either, frozenset(about))


# -- Java -----------------------------------------------------------------------------------------


def java(repo: Path, files: Sequence[str], _: Path | None) -> Truth:
    """`a.b.C` stands in `…/a/b/C.java`, and `a.b.*` is every file of `…/a/b`."""
    about = [path for path in files if path.endswith(".java")]
    wanted: Pairs = set()
    for path in about:
        text = (repo / path).read_text("utf-8", errors="replace")
        for name, star in _JAVA_IMPORT.findall(text):
            parts = name.split(".")
            ends = [f"/{'/'.join(parts[:end])}.java" for end in range(len(parts), 0, -1)]
            met = next((t for end in ends for t in about if f"/{t}".endswith(end)), None)
            if met is not None:
                wanted.add((path, met))
            elif star:
                wanted |= {
                    (path, t) for t in about if f"/{dirname(t)}".endswith(f"/{'/'.join(parts)}")
                }
    return Truth({(a, b) for a, b in wanted if a != b}, set(), frozenset(about))


def _tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise MissingToolError(f"{name} is not installed")
    return found


TOOLS = {"typescript": typescript, "go": go, "c": c, "java": java}
