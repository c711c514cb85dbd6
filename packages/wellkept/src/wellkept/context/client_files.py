"""Text that a coding client loads by itself: instruction files, rules files, its own memory file.

What stands there is not told again. A line counts as loaded when the files have it word for word,
or when one passage has nearly all of its words and the files have every name, number, path and
command in it: a line that adds an exact form stays. Files are read at the first comparison, bounded
in size and number, and kept by their time of change in a process that lives on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from wellkept.clients.known import KNOWN
from wellkept.core.records import record
from wellkept.core.text import content_words, fold, identifiers, stem

MAX_FILE_BYTES = 1 << 16
MAX_FILES = 24
MIN_SHARE = 0.8
_MIN_WORDS = 3
_MAX_PASSAGE_CHARS = 800
_IMPORT = re.compile(r"(?m)(?:^|\s)@(?P<path>[~\w./-]+\.\w+)\b")
_NUMBER = re.compile(r"\d[\w.:]*")
_COMMAND = re.compile(r"`([^`\n]{2,300})`")
_MARKS = re.compile(r"[`*_\"“”'‘’]|[.,;:!?]+(?=\s|$)")
INSTRUCTION_FILES = KNOWN["wellkept"].instructions
"""What Wellkept's own agent loads: the first of these in a project."""

_PROJECT = {name: one.instructions for name, one in KNOWN.items() if one.instructions} | {
    "": (
        "CLAUDE.md",
        "CLAUDE.local.md",
        ".claude/CLAUDE.md",
        "AGENTS.md",
        "GEMINI.md",
        ".cursor/rules/*.mdc",
        ".cursorrules",
        ".github/copilot-instructions.md",
    )
}
_USER = {name: one.own_instructions for name, one in KNOWN.items() if one.own_instructions}


class ClientFiles:
    """The files that one client loads in a folder; nothing is read before the first question."""

    def __init__(self, client: str | None, *, root: Path, environment: Mapping[str, str]) -> None:
        self._client = client if client in _PROJECT else ""
        self._root = root
        self._environment = environment
        self._passages: tuple[_Passages, ...] | None = None

    def has(self, text: str) -> bool:
        """Whether the client loads this statement by itself."""
        known = self._known()
        plain = _plain(text)
        if not known or not plain:
            return False
        if any(f" {plain} " in one.text for one in known):
            return True
        exact = _exact_forms(text)
        if any(all(form not in one.text for one in known) for form in exact):
            return False
        stems = frozenset(map(stem, content_words(text)))
        if len(stems) < _MIN_WORDS:
            return False
        need = MIN_SHARE * len(stems)
        return any(len(stems & passage) >= need for one in known for passage in one.stems)

    def has_command(self, command: str) -> bool:
        """Whether the files name a command in exactly this form."""
        plain = _plain(command)
        return bool(plain) and any(f" {plain} " in one.text for one in self._known())

    def _known(self) -> tuple[_Passages, ...]:
        if self._passages is None:
            self._passages = tuple(filter(None, map(_read, self._paths())))
        return self._passages

    def _paths(self) -> list[Path]:
        found: dict[Path, None] = {}
        for path in self._named():
            found[path] = None
            for target in _imports(path):
                found[target] = None
        return list(found)[:MAX_FILES]

    def _named(self) -> Iterator[Path]:
        for name in _PROJECT[self._client or ""]:
            if "*" in name:
                folder, _, pattern = name.rpartition("/")
                yield from sorted((self._root / folder).glob(pattern))[:MAX_FILES]
            else:
                yield self._root / name
        home = self._home()
        if home is None:
            return
        for variable, folder, name in _USER.get(self._client or "", ()):
            config = self._environment.get(variable) if variable else None
            base = Path(config) if config else home / folder
            yield base / name
            if self._client == "claude-code":
                slug = re.sub(r"[^A-Za-z0-9]", "-", str(self._root))
                yield base / "projects" / slug / "memory" / "MEMORY.md"

    def _home(self) -> Path | None:
        home = self._environment.get("HOME") or self._environment.get("USERPROFILE")
        return Path(home) if home else None


@record
class _Passages:
    """The text of a file, and the word stems of each line and paragraph."""

    text: str
    stems: tuple[frozenset[str], ...]


def _read(path: Path) -> _Passages | None:
    try:
        facts = path.stat()
        if not path.is_file():
            return None
        return _passages(str(path), facts.st_mtime_ns, facts.st_size)
    except OSError:
        return None


@lru_cache(maxsize=64)
def _passages(path: str, _changed_ns: int, _size: int) -> _Passages | None:
    text = _text(Path(path))
    parts: list[str] = [line for line in text.splitlines() if line.strip()]
    parts += [one for one in re.split(r"\n\s*\n", text) if len(one) <= _MAX_PASSAGE_CHARS]
    return _Passages(
        f" {_plain(text)} ", tuple(frozenset(map(stem, content_words(one))) for one in parts)
    )


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MAX_FILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _imports(path: Path) -> Iterator[Path]:
    """Files that an instruction file imports, one level deep."""
    try:
        if not path.is_file():
            return
    except OSError:
        return
    for found in _IMPORT.finditer(_text(path)):
        yield path.parent / Path(found["path"]).expanduser()


def _plain(text: str) -> str:
    """Text without markup, case and line ends, for comparing."""
    return " ".join(_MARKS.sub("", fold(text)).split())


def _exact_forms(text: str) -> Sequence[str]:
    """Commands, names from code, numbers and addresses: what only counts in its exact form."""
    found = [*_COMMAND.findall(text), *identifiers(text), *_NUMBER.findall(text)]
    return [plain for one in found if (plain := _plain(one))]
