"""Read, atomically write and restore client settings files.

Symbolic links are followed, so a link stays a link. The original content is saved with a record of
the change in Wellkept's data folder, and restored byte for byte. Knows nothing of file contents.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol, cast

from wellkept.clients.hook_spec import InstallPart, Programs
from wellkept.clients.install.jsonc import ParseError, WrongShapeError
from wellkept.core.errors import ConflictError, StoreError, UsageError
from wellkept.core.records import record
from wellkept.store.spool import make_private_folder

_BOM: Final = b"\xef\xbb\xbf"
_OWNER_MAY_WRITE: Final = 0o200


@record
class FileSnapshot:
    """A file's content when it was read; `raw` is None when there is no file."""

    path: Path
    raw: bytes | None

    @property
    def text(self) -> str:
        """The text without byte order mark; empty when there is no file."""
        try:
            return (self.raw or b"").removeprefix(_BOM).decode("utf-8")
        except UnicodeDecodeError:
            raise UsageError(
                f"{self.path} is not UTF-8 text.", hint="Save it as UTF-8, then install again."
            ) from None

    def encoded(self, text: str) -> bytes:
        """Encode another text, with a byte order mark if this file has one."""
        marked = (self.raw or b"").startswith(_BOM)
        return (_BOM if marked else b"") + text.encode("utf-8")


def read_snapshot(path: Path) -> FileSnapshot:
    """Read a file. UsageError when the path is not a readable file."""
    try:
        return FileSnapshot(path, path.read_bytes())
    except FileNotFoundError:
        return FileSnapshot(path, None)
    except (OSError, RuntimeError) as error:  # RuntimeError: a link to itself
        reason = error.strerror if isinstance(error, OSError) else "its link points to itself"
        raise UsageError(f"{path} cannot be read: {reason}.") from None


def write_file(snapshot: FileSnapshot, raw: bytes) -> None:
    """Replace a file's content; missing folders are created.

    ConflictError, and no change, when the file differs from the snapshot.
    """
    target = _real(snapshot.path)
    _check_writable(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = _draft(target, raw)
        try:
            _refuse_changed(snapshot)
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"Cannot write {snapshot.path}: {error.strerror}.") from None


def remove_file(snapshot: FileSnapshot, *, folders: Sequence[Path] = ()) -> None:
    """Delete a file, and those of the given folders that are empty then."""
    _check_writable(_real(snapshot.path))
    try:
        _refuse_changed(snapshot)
        _real(snapshot.path).unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"Cannot remove {snapshot.path}: {error.strerror}.") from None
    for folder in sorted(folders, reverse=True):
        try:
            folder.rmdir()
        except OSError:
            return


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _check_writable(target: Path) -> None:
    """Refuse a file that its owner made read-only, though it could be replaced."""
    try:
        mode = target.stat().st_mode
    except OSError:
        return
    if not mode & _OWNER_MAY_WRITE or not os.access(target, os.W_OK):
        raise StoreError(f"{target} is read-only.", hint="Make it writable, then try again.")


def missing_folders(path: Path) -> tuple[Path, ...]:
    """The folders that writing a file would create."""
    return tuple(folder for folder in _real(path).parents if not folder.exists())


def _draft(target: Path, raw: bytes) -> Path:
    """A temporary file beside the target, synced, with the target's permissions."""
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    with os.fdopen(descriptor, "wb") as file:
        file.write(raw)
        file.flush()
        os.fsync(file.fileno())
    draft = Path(name)
    draft.chmod(target.stat().st_mode & 0o7777 if target.exists() else 0o600)
    return draft


def _refuse_changed(snapshot: FileSnapshot) -> None:
    if read_snapshot(snapshot.path).raw != snapshot.raw:
        raise ConflictError(f"{snapshot.path} was changed by another program.", hint="Try again.")


# -- Records of changes ---------------------------------------------------------------------------


@record
class InstallRecord:
    """What Wellkept wrote, and the content before it (None: there was no file)."""

    installed_sha256: str
    original: bytes | None
    folders: tuple[Path, ...] = ()

    def describes(self, snapshot: FileSnapshot) -> bool:
        """Whether the file is unchanged since Wellkept wrote it."""
        return snapshot.raw is not None and digest(snapshot.raw) == self.installed_sha256


def digest(raw: bytes) -> str:
    """The SHA-256 of some bytes."""
    return hashlib.sha256(raw).hexdigest()


class InstallRecords:
    """A folder of records: one JSON file per settings file, with its original beside it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, client: str, path: Path) -> InstallRecord | None:
        """The record of a file; None when there is none or it is damaged."""
        try:
            fields = cast("dict[str, object]", json.loads(self._record(client, path).read_bytes()))
            existed = fields["existed"] is True
            original = self._original(client, path).read_bytes() if existed else None
            folders = tuple(Path(str(f)) for f in cast("list[object]", fields["folders"]))
            return InstallRecord(str(fields["installed_sha256"]), original, folders)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, client: str, path: Path, record: InstallRecord) -> None:
        """Save a record; the original first, so that no record lacks it."""
        try:
            # It may be the first folder in the data folder, which is private.
            make_private_folder(str(self._folder))
        except OSError as error:
            raise StoreError(f"Cannot make {self._folder}: {error.strerror}.") from None
        if record.original is not None:
            self._put(self._original(client, path), record.original)
        fields = {
            "client": client,
            "path": str(path),
            "existed": record.original is not None,
            "folders": [str(folder) for folder in record.folders],
            "installed_sha256": record.installed_sha256,
        }
        self._put(self._record(client, path), json.dumps(fields, indent=2).encode())

    def forget(self, client: str, path: Path) -> None:
        """Delete a record."""
        self._record(client, path).unlink(missing_ok=True)
        self._original(client, path).unlink(missing_ok=True)

    def _put(self, path: Path, raw: bytes) -> None:
        write_file(read_snapshot(path), raw)

    def _record(self, client: str, path: Path) -> Path:
        return self._folder / f"{client}-{digest(os.fsencode(path))[:16]}.json"

    def _original(self, client: str, path: Path) -> Path:
        return self._record(client, path).with_suffix(".original")


class InstallTarget(Protocol):
    """One part of Wellkept in one file. Several targets may share a file."""

    @property
    def part(self) -> InstallPart:
        """Which part."""
        ...

    @property
    def path(self) -> Path:
        """The file to change."""
        ...

    def with_wellkept(self, snapshot: FileSnapshot, programs: Programs) -> str | None:
        """The file's text with our part up to date; None for no file."""
        ...

    def without_wellkept(self, snapshot: FileSnapshot, record: InstallRecord | None) -> str | None:
        """The text without our part; None for no file."""
        ...

    def has_wellkept(self, snapshot: FileSnapshot) -> bool:
        """Whether our part is in the file."""
        ...


@record
class WholeFile:
    """A file that Wellkept writes as a whole, recognised by a text in it.

    `make` returns its content, None to leave the file out. When another file has that name, it is
    kept (`keep_existing`) or installing is refused.
    """

    part: InstallPart
    path: Path
    mark: str
    make: Callable[[Programs], str | None]
    keep_existing: bool = False

    def with_wellkept(self, snapshot: FileSnapshot, programs: Programs) -> str | None:
        """Our content, or the other file's."""
        if snapshot.raw is None or self.has_wellkept(snapshot):
            return self.make(programs)
        if self.keep_existing:
            return snapshot.text
        raise ConflictError(
            f"{snapshot.path} exists and is not Wellkept's.", hint="Move it away first."
        )

    def without_wellkept(self, snapshot: FileSnapshot, record: InstallRecord | None) -> str | None:
        """No file; a file that was edited since is left alone."""
        if record is None:
            return None
        if self.keep_existing:
            return snapshot.text
        raise ConflictError(
            f"{snapshot.path} was edited since it was installed.",
            hint="Save what you need, then delete it.",
        )

    def has_wellkept(self, snapshot: FileSnapshot) -> bool:
        """Whether the file is ours."""
        return self.mark in snapshot.text


@contextmanager
def naming_file(snapshot: FileSnapshot, language: str = "JSON") -> Generator[None]:
    """Turn parse errors into a UsageError that names the file."""
    try:
        yield
    except (ParseError, WrongShapeError) as error:
        is_valid = isinstance(error, WrongShapeError)
        fault = "has an unexpected structure" if is_valid else f"is not valid {language}"
        raise UsageError(
            f"{snapshot.path} {fault}: {error}.", hint="Fix it and try again. Nothing was changed."
        ) from None
