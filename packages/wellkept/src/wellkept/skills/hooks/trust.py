"""What is kept about the hooks of skills: a person's trust, and which once-only hooks ran.

Trust holds for one skill in one project folder, with its current files. It is stored with the
user's own data and never in a store, which a team may share. Invariant: anything changed,
unreadable or too large is not trusted.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import quote

from wellkept.core.clock import to_ms
from wellkept.core.codec import Json
from wellkept.core.errors import StoreBusyError, StoreFullError, StoreReadOnlyError, UsageError
from wellkept.core.skills import Skill, SkillFormat
from wellkept.core.text import clean
from wellkept.skills.documents.atomic_write import write_atomically

if TYPE_CHECKING:
    from wellkept.core.clock import Clock
    from wellkept.core.ports.store import KeyValueStore

MAX_FILES: Final = 2_000
MAX_BYTES: Final = 64 << 20
_MAX_TRUST_BYTES: Final = 4 << 20


def fingerprint(skill: Skill) -> str | None:
    """Changes when the document or any file of the skill's folder does; None when there is too much
    to read, or something cannot be read."""
    digest = sha256(skill.sha256.encode())
    if skill.format is SkillFormat.FULL and skill.path is not None:
        try:
            for part in _parts(skill.path.parent):
                digest.update(part)
        except OSError:
            return None
    return digest.hexdigest()


def _parts(folder: Path) -> Iterator[bytes]:
    """Every file by name, kind and content, in a fixed order; links by their targets."""
    room, count = MAX_BYTES, 0
    for parent, folders, names in os.walk(folder, onerror=_raise):
        folders.sort()
        linked = [name for name in folders if Path(parent, name).is_symlink()]
        for name in sorted((*names, *linked)):
            path, count = Path(parent, name), count + 1
            data = _content(path, limit_bytes=room)
            room -= len(data)
            if count > MAX_FILES or room < 0:
                raise OSError("too much to read")
            yield f"\0{path.relative_to(folder).as_posix()}\0".encode("utf-8", "surrogateescape")
            yield sha256(data).digest()


def _content(path: Path, *, limit_bytes: int) -> bytes:
    if path.is_symlink():
        leads_to = str(path.readlink()).encode("utf-8", "surrogateescape")
        if not path.is_file():
            return leads_to
        return leads_to + b"\0" + _read(path, limit_bytes)
    return _read(path, limit_bytes)


def _read(path: Path, limit_bytes: int) -> bytes:
    if not stat.S_ISREG(path.stat().st_mode):
        return b""  # a pipe or a device has no content
    with path.open("rb") as file:
        return file.read(limit_bytes + 1)


def _raise(error: OSError) -> None:
    raise error


class TrustFile:
    """The `HookTrust` port over a JSON file that only its owner can write."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def trusted(self, root: Path) -> Mapping[str, str]:
        """Skill key -> fingerprint, for a project's folder; a broken file trusts nothing."""
        return self._read().get(str(root.resolve()), {})

    def trust(self, root: Path, key: str, fingerprint: str | None) -> None:
        """Store trust; None removes it."""
        known = self._read()
        here = known.setdefault(str(root.resolve()), {})
        here.pop(key, None)
        if fingerprint is not None:
            here[key] = fingerprint
        table = {parent: keys for parent, keys in known.items() if keys}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            data = json.dumps(table, indent=1, sort_keys=True).encode()
            write_atomically(self._path, data, mode=0o600)
        except OSError as error:
            raise UsageError(
                f"{self._path} cannot be written: {error.strerror}.", hint="Fix its permissions."
            ) from None

    def _read(self) -> dict[str, dict[str, str]]:
        try:
            with self._path.open("rb") as file:
                data = json.loads(file.read(_MAX_TRUST_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        if not isinstance(data, dict):
            return {}
        folders = cast("dict[str, object]", data)
        return {root: _texts(keys) for root, keys in folders.items()}


def _texts(data: object) -> dict[str, str]:
    pairs = cast("dict[str, object]", data) if isinstance(data, dict) else {}
    return {key: text for key, text in pairs.items() if isinstance(text, str)}


# -- Once-only hooks ------------------------------------------------------------------------------


_RETENTION: Final = timedelta(days=30)
_WRITE_ERRORS: Final = (StoreReadOnlyError, StoreBusyError, StoreFullError)


class StoredHookRunLog:
    """The `HookRunLog` port over the key-value store: a session continued elsewhere keeps it.

    Sessions idle for a month are removed. Without a session, or where the store cannot be written,
    only this process remembers.
    """

    def __init__(self, store: KeyValueStore, project: str, *, clock: Clock) -> None:
        self._store = store
        self._space = f"skills.hooks.once/{quote(clean(project), safe='')}"
        self._clock = clock
        self._seen: set[tuple[str, str]] = set()
        self._lock = Lock()

    def claim(self, session: str, hook: str) -> bool:
        """Record that a hook runs now; False when it ran before."""
        with self._lock:
            if (session, hook) in self._seen:
                return False
            self._seen.add((session, hook))
            return not session or self._claim_in_store(clean(session), hook)

    def _claim_in_store(self, session: str, hook: str) -> bool:
        known = _hooks(self._store.get_value(self._space, session))
        if hook in known:
            return False
        with suppress(*_WRITE_ERRORS):
            if not known:
                self._forget_old()
            now: dict[str, Json] = {"at_ms": to_ms(self._clock()), "hooks": [*known, hook]}
            self._store.put_value(self._space, session, now)
        return True

    def _forget_old(self) -> None:
        before = to_ms(self._clock() - _RETENTION)
        for session, value in self._store.values(self._space).items():
            at_ms = value.get("at_ms") if isinstance(value, dict) else None
            if not isinstance(at_ms, int) or at_ms < before:
                self._store.put_value(self._space, session, None)


def _hooks(value: Json) -> list[str]:
    hooks = value.get("hooks") if isinstance(value, dict) else None
    return [str(one) for one in cast("list[Json]", hooks)] if isinstance(hooks, list) else []
