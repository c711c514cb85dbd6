"""A folder that only its owner may enter, with the files a headless client reads.

A client starts in a new, empty folder below it, so that it finds no instructions, settings or
sources of a project. Logins of the user are linked, never copied: a copy would go stale when the
client renews its tokens.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from wellkept.core.errors import ProviderError

_WORK = "work"


class PrivateFolder:
    """Files below one folder; nothing is made before `prepare`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def prepare(self) -> None:
        """Make the folder; ProviderError when others could read or replace what is in it."""
        try:
            (self.root / _WORK).mkdir(mode=0o700, parents=True, exist_ok=True)
            self.root.chmod(0o700)
            found = self.root.lstat()
        except OSError as error:
            raise self._refused(error.strerror or "it cannot be made") from None
        if stat.S_ISLNK(found.st_mode):
            raise self._refused("it is a symbolic link")
        if sys.platform != "win32" and (found.st_uid != os.getuid() or found.st_mode & 0o077):
            raise self._refused("others may enter it")

    @contextmanager
    def empty_folder(self) -> Generator[Path]:
        """A new empty folder to start a program in; removed afterwards."""
        folder = Path(tempfile.mkdtemp(dir=self.root / _WORK))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def write(self, name: str, text: str) -> Path:
        """Write a file that only the owner may read."""
        path = self.root / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial = path.with_name(f"{path.name}.{os.getpid()}")
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as f:
            f.write(text.encode("utf-8"))
        partial.replace(path)
        return path

    def link(self, name: str, target: Path) -> None:
        """Point a name at a file of the user; without the file, remove the name."""
        path = self.root / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            path.unlink()
        if not target.is_file():
            return
        try:
            path.symlink_to(target)
        except OSError:
            # Windows needs a privilege for symbolic links, but not for hard links.
            try:
                os.link(target, path)
            except OSError as error:
                raise ProviderError(
                    f"{path} cannot be linked to {target}: {error.strerror}."
                ) from None

    def remove(self, name: str) -> None:
        """Remove a file or folder of the client, for instance its history."""
        path = self.root / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink()

    def _refused(self, reason: str) -> ProviderError:
        return ProviderError(
            f"The private folder {self.root} cannot be used: {reason}.",
            hint="Remove it and try again.",
        )
