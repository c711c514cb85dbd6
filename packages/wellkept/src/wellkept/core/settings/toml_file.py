"""Reads and edits one TOML settings file.

Reading uses `tomllib` and gives values by dotted key with their line. Editing uses `tomlkit`, which
keeps comments and order, and parses the result again before it is written. The meaning of the keys
is in `model`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import TypeAlias, cast

from wellkept.core.errors import UsageError
from wellkept.core.records import record
from wellkept.core.settings.paths import make_private_folder

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
    text = _text(path)
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


def write_entry(path: Path, key: str, value: Scalar | None) -> None:
    """Set one key, or remove it when the value is None; nothing else in the file changes."""
    expected = {entry.key: entry.value for entry in read_entries(path)}
    if value is None:
        expected.pop(key, None)
    else:
        expected[key] = value
    edited = _edited(_text(path), key, value)
    if edited is None or _values(edited) != expected:
        raise UsageError(
            f"{key} in {path} is written in a way that cannot be edited here.",
            hint="Edit the file by hand.",
        )
    _replace_file(path, edited)


def _edited(text: str, key: str, value: Scalar | None) -> str | None:
    """The text with one key changed; None when it cannot be."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    *tables, name = key.split(".")
    try:
        document = tomlkit.parse(text)
        table = cast("MutableMapping[str, object]", document)
        for part in tables:
            if part not in table and value is None:
                return text
            inner = table.setdefault(part, tomlkit.table())
            if not isinstance(inner, MutableMapping):
                return None
            table = cast("MutableMapping[str, object]", inner)
        if value is None:
            table.pop(name, None)
        else:
            table[name] = value
        return tomlkit.dumps(document)
    except (TOMLKitError, RecursionError):
        return None


def _values(text: str) -> dict[str, object] | None:
    import tomllib

    try:
        return dict(_flat(tomllib.loads(text)))
    except tomllib.TOMLDecodeError:
        return None


def _text(path: Path) -> str:
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


def _replace_file(path: Path, text: str) -> None:
    """Replace the file atomically. It may hold a key, so only its owner may read it."""
    target = path.resolve()
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        make_private_folder(target.parent)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.write(text)
        temporary.replace(target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise UsageError(f"The settings file {path} cannot be written: {error.strerror}.") from None
