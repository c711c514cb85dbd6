"""Install targets: how one part of Wellkept is added to and removed from one file.

Text in, text out; nothing here writes. A target edits a part of the person's settings file, or is a
file that Wellkept writes as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from wellkept.clients.hook_spec import InstallPart, Programs
from wellkept.clients.install.files import FileSnapshot, InstallRecord
from wellkept.clients.install.jsonc import ParseError, WrongShapeError
from wellkept.core.errors import ConflictError, UsageError
from wellkept.core.records import record


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
