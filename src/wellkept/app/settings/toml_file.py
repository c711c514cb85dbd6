"""One settings file: its values by dotted key, with the line each stands on, and editing one.

An edit changes the one line that it concerns; comments, order and everything else stay as they
are. Knows TOML tables and scalars, not what the keys mean.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias, cast

from wellkept.app.settings.paths import make_private_folder
from wellkept.core.errors import UsageError
from wellkept.core.records import record

Scalar: TypeAlias = str | int | float | bool

# Texts and not compiled: most people have no settings file, and `re` keeps what it compiled.
_TABLE = r"\s*\[\s*([A-Za-z0-9_.\-\s]+?)\s*\]\s*(?:#.*)?$"
_ENTRY = r"\s*([A-Za-z0-9_.\-]+)\s*="
_COMMENT = r"""(?:[^"'#]|"(?:[^"\\]|\\.)*"|'[^']*')*?(\s*#.*)"""


@record
class TomlEntry:
    """One value in a file. `line` is 0 when it could not be told."""

    key: str
    value: object
    line: int


def read_entries(path: Path) -> list[TomlEntry]:
    """Every value of the file by dotted key; an absent file has none."""
    text = _text(path)
    if not text:
        return []
    import tomllib

    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not valid TOML: {error}.", hint="Mend that line.") from None
    except RecursionError:
        raise UsageError(f"{path} is nested too deeply.", hint="Write it anew.") from None
    lines = {key: number for number, key in _keys(text)}
    return [TomlEntry(key, value, lines.get(key, 0)) for key, value in _flat(tables)]


def write_entry(path: Path, key: str, value: Scalar | None) -> None:
    """Set one key, or take it out when the value is None; a parse of the result is checked."""
    text = _text(path)
    read_entries(path)
    edited = _edited(text, key, None if value is None else _literal(value))
    import tomllib

    # An inline table or another way of writing the key that a line edit cannot reach.
    try:
        now = dict(_flat(tomllib.loads(edited)))
    except tomllib.TOMLDecodeError:
        now = {}
    if now.get(key) != value:
        raise UsageError(
            f"{key} in {path} is written in a way that cannot be edited here.",
            hint="Edit the file by hand.",
        )
    _replace_file(path, edited)


def _text(path: Path) -> str:
    try:
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


def _edited(text: str, key: str, literal: str | None) -> str:
    lines = text.splitlines()
    at = next((number - 1 for number, found in _keys(text) if found == key), None)
    if at is not None:
        lines[at : at + 1] = [] if literal is None else [_rewritten(lines[at], literal)]
    elif literal is not None:
        _add(lines, key, literal)
    return "\n".join(lines) + "\n" if lines else ""


def _rewritten(line: str, literal: str) -> str:
    before = line[: line.index("=") + 1]
    comment = re.fullmatch(_COMMENT, line[len(before) :])
    return f"{before} {literal}{comment[1] if comment else ''}"


def _add(lines: list[str], key: str, literal: str) -> None:
    """Put the key at the end of its table, or start the table at the end of the file."""
    table, _, name = key.rpartition(".")
    headers = [
        (i, m[1].replace(" ", "")) for i, line in enumerate(lines) if (m := re.match(_TABLE, line))
    ]
    begin = next((i + 1 for i, found in headers if found == table), 0 if not table else None)
    if begin is None:
        lines += ([""] if lines else []) + [f"[{table}]", f"{name} = {literal}"]
        return
    end = next((i for i, _ in headers if i >= begin), len(lines))
    while end > begin and not lines[end - 1].strip():
        end -= 1
    lines.insert(end, f"{name} = {literal}")


def _literal(value: Scalar) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return repr(value)
    # A JSON string is a TOML basic string, once DEL is escaped too.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _replace_file(path: Path, text: str) -> None:
    """Swap the file in one step; it may hold a key, so only its owner may read it."""
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
