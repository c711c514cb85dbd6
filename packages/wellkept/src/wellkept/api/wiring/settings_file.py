"""Changes one value in a TOML settings file.

`tomlkit` keeps comments and order. The result is parsed again before it is written.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from pathlib import Path
from threading import Lock
from typing import cast

from wellkept.core.errors import UsageError
from wellkept.core.settings.paths import make_private_folder
from wellkept.core.settings.toml_file import Scalar, read_entries, read_text, values_of

# A server's page may save two settings at once; each must start from what the other left.
_WRITING = Lock()


def write_entry(path: Path, key: str, value: Scalar | None) -> None:
    """Set one key, or remove it when the value is None; nothing else in the file changes."""
    with _WRITING:
        _write_entry(path, key, value)


def _write_entry(path: Path, key: str, value: Scalar | None) -> None:
    expected = {entry.key: entry.value for entry in read_entries(path)}
    if value is None:
        expected.pop(key, None)
    else:
        expected[key] = value
    edited = _edited(read_text(path), key, value)
    if edited is None or values_of(edited) != expected:
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
