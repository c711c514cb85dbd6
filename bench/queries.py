"""Texts with the files they are about, as people keep them.

A file of queries is JSON lines, a JSON list, or a JSON object that holds one list or maps names to
entries. An entry is an object with

- a text: `query`, `text`, `body`, `problem_statement`, `issue`, `question`, `message` or
  `description`, with a `title` put before it when there is one (a title alone will do); or one of
  these as an object that holds a text and a title in its turn;
- the right files: `files`, `paths`, `changed_files`, `modified_files`, `gold_files`,
  `relevant_files`, `expected` or `file`, as one path, a list of paths or a list of objects with
  `path` or `filename`; or a `patch` (unified diff), whose files count; or `commit` (or
  `fix_commit`), the commit that did it;
- `functions`, if the answer is one of some functions: a list of ids such as `path::Class.name`;
- where to ask: `base_commit` (or `base`), else before `commit`, else the newest state;
- `repo` ("owner/name"), if the file is about several: entries of others are passed over.

Everything else is ignored, so that entries made for SWE-bench can be read as they are. An entry
that has no such names is a mistake in the file and told as one; one that leaves them empty, as
issues without a body do, is read, and whoever asks the queries passes over it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

TEXT = (
    "query", "text", "body", "problem_statement", "issue", "question", "message", "description",
)  # fmt: skip
FILES = (
    "files", "paths", "changed_files", "modified_files", "gold_files", "relevant_files",
    "expected", "file",
)  # fmt: skip
BASE = ("base_commit", "base")
DONE = ("commit", "fix_commit")
_DIFF_NAME = re.compile(r"^(?:---|\+\+\+) (?:[ab]/)?([^\t\n]+)", re.M)

Entry = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Query:
    """A text to be asked: the files it is about, and the state to ask in."""

    text: str
    files: frozenset[str]
    base: str | None = None
    commit: str | None = None
    """The commit that did it: the state before it is asked, and its files count when none are
    named."""
    patch: str = ""
    """The change itself, if it is given: it tells which functions are right."""
    functions: frozenset[str] = frozenset()
    """The right functions, if they are named."""


def read_queries(path: Path, *, repo: Path) -> list[Query]:
    """The queries of a file that are about a repository; ends the program with what is wrong."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SystemExit(f"{path} cannot be read: {error}. Give a JSON file in UTF-8.") from None
    entries = list(_entries(text, path))
    if not entries:
        raise SystemExit(f"{path} holds no queries.")
    ours = [(place, entry) for place, entry in entries if _is_about(entry, repo)]
    return [_query(entry, place) for place, entry in ours or entries]


def _entries(text: str, path: Path) -> Iterator[tuple[str, Entry]]:
    """Every entry with the place it stands at."""
    try:
        whole = json.loads(text)
    except ValueError:
        yield from _lines(text, path)
        return
    for number, entry in enumerate(_listed(whole), 1):
        yield _checked(entry, f"{path}, entry {number}")


def _lines(text: str, path: Path) -> Iterator[tuple[str, Entry]]:
    for number, line in enumerate(text.splitlines(), 1):
        place = f"{path}, line {number}"
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except ValueError as error:
            raise SystemExit(f"{place} is not JSON: {error}") from None
        yield _checked(entry, place)


def _listed(whole: object) -> list[object]:
    """The entries of a whole JSON document."""
    if isinstance(whole, list):
        return cast("list[object]", whole)
    if not isinstance(whole, dict):
        return [whole]
    values = list(cast("dict[str, object]", whole).values())
    if any(name in whole for name in (*TEXT, "title")):
        return [cast("object", whole)]
    lists = [cast("list[object]", value) for value in values if isinstance(value, list)]
    return lists[0] if len(lists) == 1 else values


def _checked(entry: object, place: str) -> tuple[str, Entry]:
    if not isinstance(entry, dict):
        example = '{"query": "…", "files": ["…"]}'
        raise SystemExit(f"{place}: an object such as {example} belongs here.")
    return place, cast("Entry", entry)


def _is_about(entry: Entry, repo: Path) -> bool:
    """Whether an entry names this repository, by the name of its folder."""
    named = entry.get("repo")
    name = named.rpartition("/")[2].lower() if isinstance(named, str) else ""
    folders = {part.lower().removesuffix(".git") for part in repo.resolve().parts[-2:]}
    return bool(name) and any(folder == name or folder.endswith(f"+{name}") for folder in folders)


def _query(entry: Entry, place: str) -> Query:
    if not entry.keys() & {*TEXT, "title"}:
        raise SystemExit(f"{place}: no text to ask. Put it under one of: {', '.join(TEXT)}, title.")
    if not entry.keys() & {*FILES, *DONE, "patch"}:
        raise SystemExit(
            f"{place}: no right files. Put them under one of: {', '.join(FILES)}, patch, commit."
        )
    return Query(
        _asked(entry),
        _files(entry),
        _text(entry, BASE) or None,
        _text(entry, DONE) or None,
        _patch(entry),
        _functions(entry),
    )


def _asked(entry: Entry) -> str:
    """The text of an entry below its title; empty where there is neither."""
    nested = (entry[name] for name in TEXT if isinstance(entry.get(name), dict))
    text = _text(entry, TEXT) or next((_asked(cast("Entry", held)) for held in nested), "")
    return "\n".join(filter(None, (_text(entry, ("title",)), text)))


def _text(entry: Entry, names: tuple[str, ...]) -> str:
    found = (entry.get(name) for name in names)
    return next((value.strip() for value in found if isinstance(value, str) and value.strip()), "")


def _files(entry: Entry) -> frozenset[str]:
    """The files that an entry names, else those of its patch."""
    for name in FILES:
        value = entry.get(name)
        listed = cast("list[object]", value) if isinstance(value, list) else [value]
        if paths := frozenset(path for one in listed if (path := _path(one))):
            return paths
    names = _DIFF_NAME.findall(_patch(entry))
    return frozenset(_cleaned(name) for name in names if name != "/dev/null")


def _patch(entry: Entry) -> str:
    """The change as it is given: spaces at the ends belong to its lines."""
    patch = entry.get("patch")
    return patch if isinstance(patch, str) else ""


def _functions(entry: Entry) -> frozenset[str]:
    value = entry.get("functions")
    listed = cast("list[object]", value) if isinstance(value, list) else []
    return frozenset(name for name in listed if isinstance(name, str))


def _path(value: object) -> str:
    if isinstance(value, dict):
        held = cast("Entry", value)
        value = held.get("path") or held.get("filename")
    return _cleaned(value) if isinstance(value, str) else ""


def _cleaned(path: str) -> str:
    return path.strip().strip('"').replace("\\", "/").removeprefix("./").lstrip("/")
