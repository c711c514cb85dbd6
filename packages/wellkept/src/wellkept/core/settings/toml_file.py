"""Reads one TOML settings file: values by dotted key with their line.

The meaning of the keys is in `model`; `api.wiring.settings_file` edits a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias, cast

from wellkept.core.errors import UsageError
from wellkept.core.records import record

Scalar: TypeAlias = str | int | float | bool
MAX_BYTES = 1 << 20

# Not compiled: most users have no settings file, and `re` caches what it compiled.
_TABLE = r"\s*\[\s*([A-Za-z0-9_.\-\s]+?)\s*\]\s*(?:#.*)?$"
_ENTRY = r"\s*([A-Za-z0-9_.\-]+)\s*="


@record
class TomlEntry:
    """One value in a file. `line` is 0 when it is not known."""

    key: str
    value: object
    line: int


def read_entries(path: Path) -> list[TomlEntry]:
    """Every value of the file by dotted key; a missing file has none."""
    text = read_text(path)
    if not text:
        return []
    import tomllib

    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not valid TOML: {error}.", hint="Fix that line.") from None
    except RecursionError:
        raise UsageError(f"{path} is nested too deeply.", hint="Write it anew.") from None
    lines = {key: number for number, key in _keys(text)}
    return [TomlEntry(key, value, lines.get(key, 0)) for key, value in _flat(tables)]


def values_of(text: str) -> dict[str, object] | None:
    """The values by dotted key; None when the text is not TOML."""
    import tomllib

    try:
        return dict(_flat(tomllib.loads(text)))
    except tomllib.TOMLDecodeError:
        return None


def read_text(path: Path) -> str:
    """The text of a settings file; empty when there is none."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UsageError(f"The settings file {path} is larger than {MAX_BYTES:,} bytes.")
        return path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"The settings file {path} cannot be read: {reason}.") from None


def _flat(table: dict[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(cast("dict[str, object]", value), f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _keys(text: str) -> Iterator[tuple[int, str]]:
    """The dotted key on each line that has one, numbered from 1."""
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if header := re.match(_TABLE, line):
            table = header[1].replace(" ", "") + "."
        elif entry := re.match(_ENTRY, line):
            yield number, table + entry[1]
