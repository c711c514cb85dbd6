"""Where a folder is, and which project was decided for it, read without running git.

A remote's address is only a claim, so `placement.py` compares histories, which takes git. Its
answer is kept in the store as a `Place`. A place counts for the folder that it was decided for: the
marks of the folder and of its git folder, and the remotes as written, must be unchanged. The hook
process reads places and decides nothing.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, cast

from wellkept.core.git.repository import BrokenRepository, Repository
from wellkept.core.ids import sha256_hex
from wellkept.core.records import record
from wellkept.core.text import clean
from wellkept.project.resolver import (
    folder_of,
    path_identity,
    repository_of,
    title,
)

if TYPE_CHECKING:
    from wellkept.core.codec import Json
    from wellkept.core.ports.store import KeyValueStore

PLACES = "places"
ABSENT = "absent"
"""The mark of a folder that is not there (any more)."""
# FS_IOC_GETVERSION: the inode's generation on ext4, xfs, btrfs and f2fs.
_GET_GENERATION = 0x80087601
_STATX_BTIME = 0x800
_AT_FDCWD = -100


@record
class Location:
    """A folder as its files show it.

    `root` is where paths start, `home` what all worktrees share. `remotes` is a digest of the
    remotes as written; empty without any.
    """

    folder: Path
    root: Path
    home: Path
    mark: str
    git_mark: str = ""
    remotes: str = ""
    note: str | None = None

    @property
    def key(self) -> str:
        """The name of its place."""
        return clean(path_identity(self.home))

    @property
    def name(self) -> str:
        """Its display name when nothing better is known."""
        return title(self.home)


@record
class Place:
    """The decision for a location.

    `apart_from` is the project that its remote or path names without sharing its history; `joined`
    says that the user put it there. `refs` is the state of its branches at that time.
    """

    project: str
    name: str
    mark: str
    git_mark: str = ""
    remotes: str = ""
    apart_from: str | None = None
    joined: bool = False
    refs: str = ""

    def fits(self, location: Location) -> bool:
        """Whether it was decided for just this folder with these remotes."""
        if location.mark == ABSENT:
            return True
        return (
            self.git_mark == location.git_mark
            and self.remotes == location.remotes
            and (bool(self.git_mark) or same_mark(self.mark, location.mark))
        )

    def is_same_folder(self, location: Location) -> bool:
        """Whether the folder is the one decided for: it got another remote, or became a
        repository."""
        if self.git_mark:
            return self.git_mark == location.git_mark
        return same_mark(self.mark, location.mark)


def same_mark(recorded: str, seen: str) -> bool:
    """Whether two marks may be of one folder; an unknown mark rules nothing out."""
    return not recorded or not seen or recorded == seen


def locate(start: Path) -> Location:
    """Read where a folder (or a file) is. Reads files only."""
    folder = folder_of(start)
    found = repository_of(folder)
    if found is None:
        mark = folder_mark(folder) if folder.is_dir() else ABSENT
        return Location(folder, folder, folder, mark)
    if isinstance(found, BrokenRepository):
        return Location(folder, found.root, found.root, folder_mark(found.root), note=found.reason)
    return Location(
        folder,
        found.root,
        found.home,
        folder_mark(found.home),
        folder_mark(found.common_dir) or "unknown",
        _remotes(found),
    )


def _remotes(repository: Repository) -> str:
    """A digest of the remotes as written in the repository's own configuration."""
    from wellkept.core.git.config import read_config

    config = read_config(repository.common_dir / "config")
    urls = config.remote_urls()
    if not urls and not config.has_includes:
        return ""
    text = repr((sorted(urls.items()), config.has_includes))
    return sha256_hex(text.encode("utf-8", "replace"))[:16]


def refs_stamp(start: Path) -> str:
    """Changes when the repository gets commits, from here or elsewhere; read from file times."""
    found = repository_of(folder_of(start))
    if not isinstance(found, Repository):
        return ""
    times: list[int] = []
    for name in ("HEAD", "logs/HEAD", "packed-refs", "FETCH_HEAD", "refs/heads", "shallow"):
        try:
            times.append((found.common_dir / name).stat().st_mtime_ns)
        except OSError:
            times.append(0)
    return sha256_hex(repr(times).encode())[:16]


# -- The store ------------------------------------------------------------------------------------


def recorded_place(store: KeyValueStore, location: Location) -> Place | None:
    """What was last decided for this path, whatever is there now."""
    return _from_json(store.get_value(PLACES, location.key))


def known_place(store: KeyValueStore, location: Location) -> Place | None:
    """The decision for this folder; None when there is none or the folder has changed."""
    place = recorded_place(store, location)
    return place if place is not None and place.fits(location) else None


def all_places(store: KeyValueStore) -> dict[str, Place]:
    """Every decision, by the path identity of its folder."""
    found = {key: _from_json(value) for key, value in store.values(PLACES).items()}
    return {key: place for key, place in found.items() if place is not None}


def put_place(store: KeyValueStore, location: Location, place: Place) -> None:
    """Record a decision."""
    store.put_value(
        PLACES,
        location.key,
        {
            "project": place.project,
            "name": clean(place.name),
            "mark": place.mark,
            "git": place.git_mark,
            "remotes": place.remotes,
            "apart": place.apart_from,
            "joined": place.joined,
            "refs": place.refs,
        },
    )


def _from_json(value: Json) -> Place | None:
    if not isinstance(value, dict):
        return None
    known = cast("dict[str, object]", value)
    project, apart = known.get("project"), known.get("apart")
    if not isinstance(project, str) or not project:
        return None
    return Place(
        project,
        str(known.get("name") or project),
        str(known.get("mark") or ""),
        str(known.get("git") or ""),
        str(known.get("remotes") or ""),
        apart if isinstance(apart, str) else None,
        known.get("joined") is True,
        str(known.get("refs") or ""),
    )


# -- The mark of a folder -------------------------------------------------------------------------
# Tells a folder from another one made later at the same path. The inode number alone does not: file
# systems give the number of a deleted folder to the next one. Its generation does, or the time of
# its birth. Moving a folder on its file system keeps the mark; copying it makes a new one.


def folder_mark(folder: Path) -> str:
    """The mark of a folder; empty when it is missing or the system cannot tell."""
    try:
        found = folder.stat()
    except (OSError, ValueError):
        return ""
    born = getattr(found, "st_birthtime_ns", None) or getattr(found, "st_birthtime", None)
    if born is None and os.name == "nt":
        born = found.st_ctime_ns
    if born is None:
        generation = _generation(folder)
        return f"{found.st_ino}.{generation}" if generation else _birth(folder)
    return f"born {born}"


def _generation(folder: Path) -> int:
    try:
        # Loaded already by the spool.
        import fcntl

        descriptor = os.open(folder, os.O_RDONLY)
    except (OSError, ImportError):
        return 0
    answer = bytearray(8)
    try:
        fcntl.ioctl(descriptor, _GET_GENERATION, answer)
    except OSError:
        return 0
    finally:
        os.close(descriptor)
    return int.from_bytes(answer[:4], "little")


def _birth(folder: Path) -> str:
    """The time of birth from Linux itself: Python does not ask for it. Used where there is no
    generation (tmpfs, overlay)."""
    try:
        import ctypes

        statx = ctypes.CDLL(None).statx
    except (ImportError, OSError, AttributeError):
        return ""
    answer = ctypes.create_string_buffer(256)
    asked = (_AT_FDCWD, os.fsencode(folder), 0, _STATX_BTIME, answer)
    if statx(*asked) or not int.from_bytes(answer.raw[0:4], "little") & _STATX_BTIME:
        return ""
    seconds = int.from_bytes(answer.raw[80:88], "little", signed=True)
    nanoseconds = int.from_bytes(answer.raw[88:92], "little")
    return f"born {seconds}.{nanoseconds:09}"
