"""A file of a client with Wellkept in it, and without: what every kind of target promises.

Texts in, texts out; nothing here writes. Two kinds of files: settings that are the person's, in
which a part is ours, and files that are wholly ours.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from wellkept.clients.hook_spec import InstallPart, Programs
from wellkept.clients.install.files import FileSnapshot, InstallRecord
from wellkept.clients.install.jsonc import BrokenJsonError, WrongShapeError
from wellkept.core.errors import ConflictError, UsageError
from wellkept.core.records import record


class InstallTarget(Protocol):
    """One part of Wellkept in one file. Several targets may share a file."""

    @property
    def part(self) -> InstallPart:
        """What it puts there."""
        ...

    @property
    def path(self) -> Path:
        """The file that is changed."""
        ...

    def with_ours(self, seen: FileSnapshot, programs: Programs) -> str | None:
        """The file's text with exactly what is wanted of ours in it; None for no file."""
        ...

    def without_ours(self, seen: FileSnapshot, record: InstallRecord | None) -> str | None:
        """The text without Wellkept, when it was changed since; None for no file."""
        ...

    def has_ours(self, seen: FileSnapshot) -> bool:
        """Whether anything of ours is in the file."""
        ...


@record
class OwnFile:
    """A file that is wholly ours, known by a line in it.

    `make` gives its text, None when it is left out. Where a file of somebody else has its name,
    ours `yields` to it, or installing is refused.
    """

    part: InstallPart
    path: Path
    mark: str
    make: Callable[[Programs], str | None]
    yields: bool = False

    def with_ours(self, seen: FileSnapshot, programs: Programs) -> str | None:
        """Our text; what somebody else has there stays."""
        if seen.raw is None or self.has_ours(seen):
            return self.make(programs)
        if self.yields:
            return seen.text
        raise ConflictError(
            f"{seen.path} is there and is not Wellkept's.", hint="Move it away first."
        )

    def without_ours(self, seen: FileSnapshot, record: InstallRecord | None) -> str | None:
        """No file; but one that somebody went on writing is left to them."""
        if record is None:
            return None
        if self.yields:
            return seen.text
        raise ConflictError(
            f"{seen.path} was changed since it was installed.",
            hint="Keep what you need of it, then delete it yourself.",
        )

    def has_ours(self, seen: FileSnapshot) -> bool:
        """Whether the file is ours."""
        return self.mark in seen.text


@contextmanager
def reading(seen: FileSnapshot, language: str = "JSON") -> Generator[None]:
    """Says which file it is that cannot be understood."""
    try:
        yield
    except (BrokenJsonError, WrongShapeError) as error:
        shapeless = isinstance(error, WrongShapeError)
        fault = "is not as expected" if shapeless else f"is not valid {language}"
        raise UsageError(
            f"{seen.path} {fault}: {error}.", hint="Mend it and try again. Nothing was changed."
        ) from None
