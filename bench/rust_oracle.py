"""What imports of Rust mean, by the declarations of modules from the first file of each crate on.

`cargo metadata` names the crates and their first files; from there `mod` says which file is which
module, as the compiler does it. The graph goes the other way: it guesses from where a file is.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.import_oracles import MissingToolError, Pairs, Truth

_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|r(?P<hashes>\#*)".*?"(?P=hashes)|b?"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])'"""
    r"""|\#\[path\s*=\s*"(?P<path>[^"]+)"\]|\bmod\s+(?P<mod>\w+)\s*(?P<end>[;{])"""
    r"""|\buse\s+(?P<use>[^;"]+);|(?P<brace>[{}])""",
    re.DOTALL,
)
_ROOTS = ("lib", "rlib", "dylib", "cdylib", "staticlib", "proc-macro")


@dataclass
class _Module:
    """A module: its file, what is declared in it, and what it uses."""

    file: Path
    parent: _Module | None = None
    children: dict[str, _Module] = field(default_factory=dict[str, "_Module"])
    declared: list[_Module] = field(default_factory=list["_Module"])
    """Every child, also where one of two is meant by a condition."""
    uses: list[list[str]] = field(default_factory=list[list[str]])


def rust(repo: Path, files: Sequence[str], _: Path | None) -> Truth:
    """Every `mod` and `use` of every file that a crate reaches."""
    crates: dict[str, _Module] = {}
    first: list[_Module] = []
    for package in _packages(repo, files):
        for target in package["targets"]:
            source = Path(target["src_path"])
            if source.is_file():
                root = _Module(source)
                _declare(root, source, source.parent)
                first.append(root)
                if set(target["kind"]) & set(_ROOTS):
                    crates[str(target["name"]).replace("-", "_")] = root
    wanted: Pairs = set()
    about: set[str] = set()
    for root in first:
        for module in _all(root):
            source = _below(repo, module.file)
            about.add(source)
            meant = [*module.declared, *(_found(use, module, root, crates)
                                                  for use in module.uses)]  # fmt: skip
            wanted |= {(source, _below(repo, other.file)) for other in meant if other is not None}
    known = set(files)
    pairs = {(a, b) for a, b in wanted if a != b and a in known}
    return Truth(pairs, set(), frozenset(about & known))


def _packages(repo: Path, files: Sequence[str]) -> Iterator[dict[str, Any]]:
    cargo = shutil.which("cargo")
    if cargo is None:
        raise MissingToolError("cargo is not installed")
    for path in (path for path in files if path.rpartition("/")[2] == "Cargo.toml"):
        command = (cargo, "metadata", "--no-deps", "--offline", "--format-version", "1",
                   "--manifest-path", str(repo / path))  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            yield from json.loads(done.stdout)["packages"]


def _declare(module: _Module, file: Path, folder: Path) -> None:
    """Read a file into a module, whose children stand in a folder."""
    open_: list[_Module | None] = []
    current, inside, said = module, [folder], ""
    for token in _TOKEN.finditer(file.read_text("utf-8", errors="replace")):
        if token["path"]:
            said = token["path"]
        elif token["mod"] and token["end"] == "{":
            child = current.children.setdefault(token["mod"], _Module(file, current))
            current.declared.append(child)
            open_.append(current)
            current = child
            inside.append(inside[-1] / token["mod"])
        elif token["mod"]:
            _take(current, token["mod"], inside[-1], file.parent / said if said else None)
            said = ""
        elif token["use"]:
            current.uses += _paths(" ".join(token["use"].split()), [])
        elif token["brace"] == "{":
            open_.append(None)
        elif token["brace"] == "}" and open_:
            outer = open_.pop()
            if outer is not None:
                current = outer
                inside.pop()


def _take(module: _Module, name: str, folder: Path, said: Path | None) -> None:
    """Add the module of `mod name;`."""
    spots = [said] if said is not None else [folder / f"{name}.rs", folder / name / "mod.rs"]
    for spot in spots:
        if spot.is_file():
            child = module.children[name] = _Module(spot, module)
            module.declared.append(child)
            beside = said is not None or spot.name == "mod.rs"
            _declare(child, spot, spot.parent if beside else folder / name)
            return


def _paths(written: str, before: list[str]) -> Iterator[list[str]]:
    """The paths of a use tree, without what they are called here."""
    head, brace, rest = written.partition("{")
    above = [*before, *(part.strip() for part in head.split("::") if part.strip())]
    if not brace:
        last = above[-1].partition(" as ")[0] if above else ""
        yield [*above[:-1], last] if last != "self" else above[:-1]
        return
    depth, start = 0, 0
    inner = rest.rpartition("}")[0]
    for place, sign in enumerate(f"{inner},"):
        depth += (sign == "{") - (sign == "}")
        if sign == "," and not depth:
            part = inner[start:place].strip()
            start = place + 1
            if part:
                yield from _paths(part, above)


def _found(
    use: list[str], module: _Module, root: _Module, crates: dict[str, _Module]
) -> _Module | None:
    """The module that a path leads to, or that holds what it leads to."""
    at: _Module | None = None
    rest = list(use)
    while rest and rest[0] in ("self", "super", "crate"):
        word = rest.pop(0)
        if word == "crate":
            at = root
        elif word == "self":
            at = at or module
        else:
            at = (at or module).parent
            if at is None:
                return None
    if at is None:
        if not rest:
            return None
        at = module.children.get(rest[0]) or crates.get(rest[0])
        rest = rest[1:]
    while at is not None and rest and rest[0] in at.children:
        at = at.children[rest.pop(0)]
    return at


def _all(module: _Module) -> Iterator[_Module]:
    yield module
    for child in module.declared:
        yield from _all(child)


def _below(repo: Path, file: Path) -> str:
    return os.path.relpath(file.resolve(), repo.resolve())
