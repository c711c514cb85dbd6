"""Parses a git configuration file without git.

Covers quoted and dotted subsections, quotes, escapes, comments and continued lines. Includes are
not followed: when `GitConfig.has_includes`, ask git itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from wellkept.core.records import record

MAX_CONFIG_BYTES = 1_048_576

_SECTION = re.compile(
    r'\s*\[\s*(?P<name>[A-Za-z0-9.-]+)\s*+(?:"(?P<sub>(?:[^"\\]|\\.)*)")?\s*\](?P<rest>.*)',
    re.DOTALL,
)
_ENTRY = re.compile(r"\s*(?P<name>[A-Za-z][A-Za-z0-9-]*)\s*(?:=(?P<value>.*))?", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}


@record
class GitConfig:
    """Entries in file order as (section, subsection, name, value)."""

    entries: tuple[tuple[str, str, str, str], ...] = ()

    @property
    def has_includes(self) -> bool:
        """Whether other files are included."""
        return any(section in {"include", "includeif"} for section, *_ in self.entries)

    def core(self, name: str) -> str:
        """The last `core` value of a name; empty without one."""
        values = [value for section, sub, entry, value in self.entries
                  if section == "core" and not sub and entry == name]  # fmt: skip
        return values[-1] if values else ""

    def remote_urls(self) -> dict[str, str]:
        """The fetch address of each remote: the first of its urls."""
        found: dict[str, str] = {}
        for section, subsection, name, value in self.entries:
            if section == "remote" and subsection and name == "url" and value:
                found.setdefault(subsection, value)
        return found


def read_config(path: Path) -> GitConfig:
    """The entries of a file; an unreadable or missing one has none."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_CONFIG_BYTES)
    except OSError:
        return GitConfig()
    return parse_config(raw.decode("utf-8", errors="replace"))


def parse_config(text: str) -> GitConfig:
    """The entries of a text; invalid lines are skipped."""
    entries: list[tuple[str, str, str, str]] = []
    section, subsection = "", ""
    for line in _logical_lines(text.removeprefix("\ufeff")):
        rest = line
        if match := _SECTION.match(line):
            section, subsection = _section(match)
            rest = match["rest"]
        entry = _ENTRY.match(rest)
        if section and entry:
            value = "true" if entry["value"] is None else _value(entry["value"])
            entries.append((section, subsection, entry["name"].lower(), value))
    return GitConfig(tuple(entries))


def _section(match: re.Match[str]) -> tuple[str, str]:
    name: str = match["name"]
    if match["sub"] is not None:
        return name.lower(), re.sub(r"\\(.)", r"\1", match["sub"])
    # The old form [remote.origin] folds the case of the subsection.
    head, _, tail = name.lower().partition(".")
    return head, tail


def _logical_lines(text: str) -> Iterator[str]:
    """Lines with those that end in a backslash joined to the next."""
    pending = ""
    for line in text.replace("\r\n", "\n").split("\n"):
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            pending += line[:-1]
            continue
        yield pending + line
        pending = ""
    if pending:
        yield pending


def _value(raw: str) -> str:
    """A value without quotes, escapes and comment; space at its ends goes, quoted space stays."""
    kept: list[str] = []
    solid = 0  # up to here the text must not be trimmed
    quoted = False
    characters = iter(raw.lstrip())
    for character in characters:
        if character == "\\":
            following = next(characters, "")
            kept.append(_ESCAPES.get(following, following))
            solid = len(kept)
        elif character == '"':
            quoted = not quoted
            solid = len(kept)
        elif character in "#;" and not quoted:
            break
        else:
            kept.append(character)
            solid = len(kept) if quoted or not character.isspace() else solid
    return "".join(kept[:solid])
