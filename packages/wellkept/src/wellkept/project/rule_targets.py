"""Finds the files, symbols and commands that a rule names, in a project's working tree.

Only what is there now counts: a rule is tied to it and becomes stale when it goes. An ambiguous
name ties nothing. The tree is only read.

`not_there` is asked while a client waits: what cannot be found out in time counts as there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import cast

from wellkept.core.git.run import ask_git
from wellkept.memory.file_presence import project_path
from wellkept.text.memory_commands.rules import NamedThings

MAX_FILES, MAX_NAMES = 4, 8
_MAX_TEXT_CHARS = 1_000
_MAX_DEFINITIONS_BYTES = 1 << 20
_PATH = re.compile(r"(?<![\w/.:@-])@?(?:\.{1,2}/)?[\w.@()\[\]-]+(?:/[\w.@()\[\]-]+)*/?(?<![.,])")
_HAS_ENDING = re.compile(r"\.[A-Za-z][\w]{0,9}\Z")
_IDENTIFIER = re.compile(
    r"`([A-Za-z_]\w{3,})(?:\(\))?`|\b([A-Za-z_]\w{3,})\(\)|\b([A-Z][a-z]+[A-Z]\w+|[a-z]+[A-Z]\w+|[a-z]{2,}_[a-z_]+\w)\b"
)
_RUN = re.compile(
    r"\b(?:(?P<script>npm run|pnpm run|pnpm|yarn run|yarn|bun run|npm)"
    r"|(?P<make>make)|(?P<just>just))"
    r"\s+(?P<name>[A-Za-z][\w:.-]*)"
)
_TARGET = r"(?m)^{name}\s*(?:[\w\s\"'=-]*)?:(?!=)"
_JUST_FILES, _MAKE_FILES = (
    ("justfile", "Justfile", ".justfile"),
    ("Makefile", "makefile", "GNUmakefile"),
)


def named_things(root: Path, text: str) -> NamedThings:
    """What a text names in the tree below a root."""
    text = text[:_MAX_TEXT_CHARS]
    if not root.is_dir():
        return NamedThings()
    files = _files(root, text)
    return NamedThings(files, _symbol(root, text, files), _commands(root, text))


def has_command(root: Path, command: str) -> bool:
    """Whether a project still defines a command, such as "npm run lint" or "make ship"."""
    found = _RUN.fullmatch(command)
    return found is None or _is_defined(root, found)


# -- Files ----------------------------------------------------------------------------------------


def _files(root: Path, text: str) -> tuple[str, ...]:
    found: list[str] = []
    tracked: list[str] | None = None
    for match in list(_PATH.finditer(text))[: MAX_NAMES * 8]:
        name = match.group().lstrip("@").rstrip("/.")
        if not ("/" in match.group() or _HAS_ENDING.search(name) or _is_mixed(name)):
            continue
        path = project_path(name)
        if path is None:
            continue
        if "/" in match.group() or _HAS_ENDING.search(name):
            if _exists(root, path):
                found.append(path)
                continue
            if "/" in name:
                continue
        tracked = _tracked(root) if tracked is None else tracked
        found += _only([one for one in tracked if _is_called(one, name)])
    return tuple(dict.fromkeys(found))[:MAX_FILES]


def _is_mixed(name: str) -> bool:
    """Whether a word looks like the name of a file's subject: `FullSchema`, `user_store`."""
    return len(name) >= 6 and (
        re.fullmatch(r"(?:[A-Z][a-z0-9]+){2,}|[a-z0-9]+(?:_[a-z0-9]+)+", name) is not None
    )


def _is_called(path: str, name: str) -> bool:
    file = PurePosixPath(path)
    return name in (file.name, file.stem) or file.stem.endswith((f"-{name}", f".{name}"))


def _exists(root: Path, path: str) -> bool:
    try:
        return (root / path).exists()
    except (OSError, ValueError):
        return False


def _tracked(root: Path) -> list[str]:
    listed = ask_git(root, ("ls-files", "-z")) or b""
    return [name for name in listed.decode("utf-8", errors="replace").split("\0") if name]


def _only(found: list[str]) -> list[str]:
    return found if len(found) == 1 else []


# -- Symbols --------------------------------------------------------------------------------------


def _symbol(root: Path, text: str, files: tuple[str, ...]) -> str | None:
    """The one symbol that a text names, by the one file that defines it at its top level."""
    stems = {part for path in files for part in re.split(r"[-.]", PurePosixPath(path).stem)}
    names = [next(filter(None, m.groups())) for m in _IDENTIFIER.finditer(text)]
    for name in list(dict.fromkeys(names))[:MAX_NAMES]:
        if name in stems:
            continue
        pattern = (
            r"^(export +|default +|pub(\([a-z]+\))? +|async +|abstract +|public +|final +)*"
            r"(def|class|function|const|let|var|interface|type|struct|enum|fn|func|trait)"
            rf" +{re.escape(name)}([^A-Za-z0-9_]|$)"
        )
        answer = ask_git(root, ("grep", "-l", "-z", "-I", "-E", "-e", pattern)) or b""
        hits = [
            one
            for one in answer[:_MAX_DEFINITIONS_BYTES].decode(errors="replace").split("\0")
            if one
        ]
        if len(hits) == 1:
            return f"{hits[0]}::{name}"
    return None


# -- Commands -------------------------------------------------------------------------------------


def _commands(root: Path, text: str) -> tuple[str, ...]:
    found = [" ".join(m.group().split()) for m in _RUN.finditer(text) if _is_defined(root, m)]
    return tuple(dict.fromkeys(found))[:MAX_FILES]


def _is_defined(root: Path, run: re.Match[str]) -> bool:
    name = run["name"].rstrip(".")
    if run["script"]:
        return name in _scripts(root)
    files = _MAKE_FILES if run["make"] else _JUST_FILES
    pattern = re.compile(_TARGET.format(name=re.escape(name)))
    return any(pattern.search(_read(root / file)) for file in files)


def _scripts(root: Path) -> frozenset[str]:
    import json

    try:
        scripts = json.loads(_read(root / "package.json") or "{}").get("scripts", {})
    except (ValueError, AttributeError):
        return frozenset()
    return (
        frozenset(map(str, cast("dict[object, object]", scripts)))
        if isinstance(scripts, dict)
        else frozenset()
    )


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")[:_MAX_DEFINITIONS_BYTES]
    except (OSError, ValueError):
        return ""


TIMEOUT_S = 0.25


def not_there(root: Path, shas: Sequence[str], paths: Sequence[str]) -> frozenset[str]:
    """The hashes that name no commit, and the paths that are the end of no file's path."""
    missing = [one for one in dict.fromkeys(paths) if not (root / one).exists()]
    return frozenset((*_unknown_commits(root, shas), *_untracked(root, missing)))


def _unknown_commits(root: Path, shas: Sequence[str]) -> list[str]:
    asked = list(dict.fromkeys(shas))
    if not asked:
        return []
    given = "".join(f"{one}\n" for one in asked).encode()
    found = ask_git(root, ["cat-file", "--batch-check"], stdin=given, timeout_s=TIMEOUT_S)
    answers = [] if found is None else found.decode("utf-8", "replace").splitlines()
    if len(answers) != len(asked):
        return []
    return [sha for sha, line in zip(asked, answers, strict=True) if " commit " not in line]


def _untracked(root: Path, paths: Sequence[str]) -> list[str]:
    if not paths:
        return []
    found = ask_git(root, ["ls-files", "-z"], timeout_s=TIMEOUT_S)
    if found is None:
        return [] if (root / ".git").exists() else list(paths)
    names = f"\0{found.decode('utf-8', 'replace')}"
    return [one for one in paths if f"/{one}\0" not in names and f"\0{one}\0" not in names]
