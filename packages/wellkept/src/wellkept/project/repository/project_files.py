"""The files of a project and their text, bounded: what leads out of the project is not read.

Every text is read at most once. A file that is missing, huge, binary or not UTF-8 reads as "".
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

from wellkept.core.memory import Evidence, MemoryDraft
from wellkept.core.records import record
from wellkept.core.text import clean
from wellkept.core.types import EvidenceKind, MemoryType, Scope, Source
from wellkept.project.commands.command import PREFIX

if TYPE_CHECKING:
    from wellkept.memory.exchange.passages import Passage

MAX_BYTES = 524_288
_MAX_KEPT_BYTES = 64 << 20
_FOREIGN = re.compile(
    r"(?:^|/)(?:node_modules|vendor|vendored|third[_-]party|bower_components|site-packages|venv|dist"
    r"|target|__pycache__|testdata|fixtures?|\.git)/",
    re.IGNORECASE,
)


class ProjectFiles:
    """Names and texts of one project's files; names are relative to the root, sorted."""

    def __init__(self, root: Path, names: Iterable[str]) -> None:
        self.root = root
        self._resolved = root.resolve()
        self.names = tuple(sorted(name for name in names if name.isprintable()))
        self._known = frozenset(self.names)
        self._texts: dict[str, str] = {}
        self._kept_bytes = 0

    def has(self, name: str) -> bool:
        """Whether there is a file of that name."""
        return name in self._known

    def first(self, *names: str) -> str | None:
        """The first of these names that exists."""
        return next((name for name in names if name in self._known), None)

    def matching(self, pattern: str, *, limit: int = 200) -> list[str]:
        """Names that match a pattern as a whole, foreign folders left out; few folders first."""
        shape = re.compile(pattern, re.IGNORECASE)
        found = [n for n in self.names if shape.fullmatch(n) and not _FOREIGN.search(n)]
        return sorted(found, key=lambda name: (name.count("/"), name))[:limit]

    def text(self, name: str) -> str:
        """The text of a file; "" when it cannot be read."""
        if name not in self._texts:
            text = self._read(name) if name in self._known else ""
            self._kept_bytes += len(text)
            if self._kept_bytes > _MAX_KEPT_BYTES:
                return text
            self._texts[name] = text
        return self._texts[name]

    def toml(self, name: str) -> Mapping[str, object]:
        """A TOML file; empty when it is malformed."""
        try:
            return tomllib.loads(self.text(name))
        except (tomllib.TOMLDecodeError, RecursionError):
            return {}

    def json(self, name: str) -> Mapping[str, object]:
        """A JSON object, comments on lines of their own allowed; empty when it is malformed."""
        text = re.sub(r"(?m)^\s*//.*$", "", self.text(name))
        try:
            value: object = json.loads(text)
        except (ValueError, RecursionError):
            return {}
        return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}

    def yaml(self, name: str) -> object:
        """A YAML file; None when it is malformed."""
        import yaml

        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            return cast("object", yaml.load(self.text(name), Loader=loader))
        except (yaml.YAMLError, RecursionError, ValueError):
            return None

    def _read(self, name: str) -> str:
        path = self.root / name
        try:
            if not path.resolve().is_relative_to(self._resolved) or not path.is_file():
                return ""
            with path.open("rb") as file:
                raw = file.read(MAX_BYTES + 1)
        except (OSError, RuntimeError, ValueError):
            return ""
        if len(raw) > MAX_BYTES or b"\0" in raw:
            return ""
        try:
            return clean(raw.decode("utf-8-sig")).replace("\r\n", "\n")
        except UnicodeDecodeError:
            return ""


def at(document: object, *path: str) -> object:
    """The value at a path of nested objects, or None."""
    for part in path:
        if not isinstance(document, Mapping):
            return None
        document = cast("Mapping[str, object]", document).get(part)
    return document


def table(document: object, *path: str) -> Mapping[str, object]:
    """The object at a path; empty when there is none."""
    value = at(document, *path)
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def listed(document: object, *path: str) -> Sequence[object]:
    """The list at a path; empty when there is none."""
    value = at(document, *path)
    return cast("Sequence[object]", value) if isinstance(value, list) else ()


def string(document: object, *path: str) -> str:
    """The text at a path on one line; "" when there is none."""
    value = at(document, *path)
    return " ".join(clean(value).split()) if isinstance(value, str) else ""


def texts(value: object) -> list[str]:
    """A text, or the texts of a list, as a list."""
    if isinstance(value, str):
        return [value]
    found = cast("Sequence[object]", value) if isinstance(value, list) else ()
    return [one for one in found if isinstance(one, str)]


MAX_FILES = 12
_HALF_LIFE_DAYS = 3_650.0
"""Its source keeps a statement alive: a later import closes it when that is gone."""


@record(kw_only=True)
class Statement:
    """A true sentence or two, and where they were read: a path, a path and heading, or a commit."""

    key: str
    text: str
    read_from: str
    type: MemoryType = MemoryType.FACT
    importance: float = 0.5
    confidence: float = 0.8
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    module: str | None = None
    commit: str | None = None
    author: str | None = None
    at: datetime | None = None

    def passage(self) -> Passage:
        """The statement as a draft under its key."""
        # Not to be loaded by who only reads what a repository says.
        from wellkept.memory.exchange.passages import Passage, fingerprint

        kind = EvidenceKind.COMMIT if self.commit else EvidenceKind.DOCUMENT
        evidence = Evidence(kind, self.read_from, fingerprint(self.text), at=self.at)
        draft = MemoryDraft(
            content=self.text,
            type=self.type,
            key=PREFIX + self.key,
            tags=("repository", *self.tags),
            files=self.files[:MAX_FILES],
            modules=(self.module,) if self.module else (),
            importance=self.importance,
            confidence=self.confidence,
            half_life_days=_HALF_LIFE_DAYS,
            scope=Scope.MODULE if self.module else Scope.GLOBAL,
            source=Source.COMMIT_AUTO if self.commit else Source.IMPORTED,
            author=self.author,
            commit_sha=self.commit,
            evidence=(evidence,),
            valid_from=self.at,
        )
        return Passage(self.read_from, draft)
