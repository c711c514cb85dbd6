"""Scans one location for skills.

Invariant: whatever a folder contains (loops, links that lead outside, files that vanish, pipes,
unreadable folders), the damage is limited to that one skill, and is a finding. A scan records
fingerprints, so a second one costs one `stat` for each path and reads only what changed.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

from wellkept.core.records import record, replace
from wellkept.core.skills import Skill, SkillFinding, SkillFormat, SkillLimits, SkillSource
from wellkept.core.text import clean
from wellkept.skills.documents import skill_toml
from wellkept.skills.documents.finding_codes import finding
from wellkept.skills.documents.front_matter import MAX_DOCUMENT_BYTES
from wellkept.skills.documents.reader import read_skill
from wellkept.skills.safe_paths import is_inside
from wellkept.skills.sources.locations import FolderShape, SkillLocation

Fingerprint: TypeAlias = tuple[int, int, int, int, int]
UNSTABLE: Final[Fingerprint] = (-1, -1, -1, -1, -1)
MISSING: Final[Fingerprint] = (0, 0, 0, 0, 0)
CLOCK_STEP_NS: Final = 2_000_000_000
"""FAT stores times in steps of two seconds; nothing in use is coarser."""


def fingerprint_of(status: os.stat_result) -> Fingerprint:
    """The fingerprint of a stat result."""
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def stable_fingerprint(fingerprint: Fingerprint, *, seen_ns: int) -> Fingerprint:
    """The fingerprint, or `UNSTABLE` when it was taken too soon after the last write."""
    return UNSTABLE if fingerprint[3] > seen_ns - CLOCK_STEP_NS else fingerprint


def current_fingerprint(path: str) -> Fingerprint:
    """The fingerprint of a path as it is now, links followed."""
    try:
        return fingerprint_of(os.stat(path))  # noqa: PTH116 - a thousand of these in a few milliseconds
    except (OSError, ValueError):
        return MISSING


def unchanged(fingerprints: Iterable[tuple[str, Fingerprint]]) -> bool:
    """Whether all paths have the same fingerprints as before."""
    return all(current_fingerprint(path) == fingerprint for path, fingerprint in fingerprints)


# -- Scanning -------------------------------------------------------------------------------------


SKILL_FILES: Final = ("SKILL.md", "skill.md")
CONVENTION_FILES: Final = frozenset(
    ("CLAUDE.md", "AGENTS.md", "AGENT.md", "SKILLS.md", "COPILOT.md", "GEMINI.md", "SOUL.md")
)
IGNORED_FOLDERS: Final = frozenset(
    """target node_modules dist build coverage __pycache__ venv vendor site-packages
    bower_components Pods DerivedData""".split()
)
MAX_DEPTH: Final = 6
MAX_CONVENTION_DEPTH: Final = 3
MAX_FOLDERS: Final = 20_000
MAX_CONVENTION_FOLDERS: Final = 1_000
MAX_DOCUMENTS: Final = 20_000
MAX_LOCATION_CHARS: Final = 128 << 20
"""Limit for all documents of a location: they must fit into memory."""
_ON_WINDOWS: Final = os.name == "nt"
Fingerprints: TypeAlias = tuple[tuple[str, Fingerprint], ...]
"""Paths that were read, with their fingerprints."""


@record
class ScannedSkill:
    """A skill and the file it was read from, by device and inode."""

    skill: Skill
    file_id: tuple[int, int] | None = None


@record
class ScanResult:
    """The skills of one location; `fingerprints` are the paths that were read, `limits` what a list
    says of how much is given."""

    skills: tuple[ScannedSkill, ...] = ()
    findings: tuple[SkillFinding, ...] = ()
    fingerprints: Fingerprints = ()
    sources: tuple[SkillSource, ...] = ()
    limits: SkillLimits = SkillLimits()


@record
class _CachedRead:
    """One document as it was read, with the fingerprints of its files."""

    scanned: ScannedSkill
    fingerprints: Fingerprints
    with_interface: bool


class FolderScanner:
    """Scans one location; unchanged files are not read again."""

    def __init__(self, location: SkillLocation, *, max_chars: int = MAX_LOCATION_CHARS) -> None:
        self.location = location
        self._max_chars = max_chars
        self._last: ScanResult | None = None
        self._read: dict[str, _CachedRead] = {}

    def scan(self) -> ScanResult:
        """The skills of the location; the same object as before when nothing changed."""
        if self._last is None or not unchanged(self._last.fingerprints):
            self._last = _Scan(self.location, self._read, max_chars=self._max_chars).run()
        return self._last

    def forget(self) -> None:
        """Read everything again next time."""
        self._last = None
        self._read.clear()


class _Scan:
    """One walk through one location."""

    def __init__(
        self, location: SkillLocation, known: dict[str, _CachedRead], *, max_chars: int
    ) -> None:
        self._location = location
        self._known = known
        self._seen_ns = time.time_ns()
        self._skills: list[ScannedSkill] = []
        self._findings: list[SkillFinding] = []
        self._fingerprints: list[tuple[str, Fingerprint]] = []
        self._folders: set[tuple[int, int]] = set()
        self._boundary = location.boundary
        self._room_chars = max_chars

    def run(self) -> ScanResult:
        folder = str(self._location.folder)
        if current_fingerprint(folder) == MISSING:
            return ScanResult(fingerprints=((folder, MISSING),))
        if self._may_enter(folder):
            self._walk(folder, depth=0)
        return ScanResult(
            tuple(self._skills),
            tuple(self._findings),
            tuple(self._fingerprints),
            (self._location.source,),
        )

    # -- Folders --------------------------------------------------------------------------------

    def _walk(self, folder: str, *, depth: int) -> None:
        entries = self._list(folder)
        if entries is None:
            return
        names = {entry.name: entry for entry in entries}
        if self._location.shape is FolderShape.CONVENTIONS:
            for name in sorted(CONVENTION_FILES & names.keys()):
                self._add(names[name], SkillFormat.CONVENTION, self._convention_name(folder, name))
        else:
            own = next((names[name] for name in SKILL_FILES if name in names), None)
            if own is not None:
                name = os.path.basename(folder)  # noqa: PTH119 - once a skill: a Path costs 5 us
                self._add(own, SkillFormat.FULL, name, names=names.keys())
                if depth or self._location.shape is FolderShape.ONE:
                    return  # folders below belong to this skill
            elif self._location.shape is FolderShape.MIXED:
                self._add_light_skills(entries)
        if self._location.shape is not FolderShape.ONE:
            self._descend(entries, depth=depth)

    def _list(self, folder: str) -> list[os.DirEntry[str]] | None:
        """The entries of a folder by name; None when it cannot be read or was read already."""
        try:
            status = os.stat(folder)  # noqa: PTH116
            identity = (status.st_dev, status.st_ino)
            if identity in self._folders:
                self._note("loop", folder, "This folder was scanned already.")
                return None
            self._folders.add(identity)
            self._fingerprints.append(
                (folder, stable_fingerprint(fingerprint_of(status), seen_ns=self._seen_ns))
            )
            with os.scandir(folder) as listing:
                return sorted(listing, key=lambda entry: entry.name)
        except (OSError, ValueError) as error:
            self._report_unreadable(folder, error)
            return None

    def _descend(self, entries: list[os.DirEntry[str]], *, depth: int) -> None:
        conventions = self._location.shape is FolderShape.CONVENTIONS
        if depth >= (MAX_CONVENTION_DEPTH if conventions else MAX_DEPTH):
            return
        for entry in entries:
            if entry.name.startswith(".") or entry.name in IGNORED_FOLDERS:
                continue
            if conventions and entry.is_symlink():
                continue  # a link inside a project leads to a folder that is scanned anyway
            if not _is_folder(entry):
                continue
            if len(self._folders) >= (MAX_CONVENTION_FOLDERS if conventions else MAX_FOLDERS):
                self._report_limit(f"{len(self._folders):,} folders")
                return
            if self._is_plain(entry) or self._may_enter(entry.path):
                self._walk(entry.path, depth=depth + 1)

    def _is_plain(self, entry: os.DirEntry[str]) -> bool:
        """Whether an entry is not a link; Windows has links of other kinds too."""
        return not entry.is_symlink() and not _ON_WINDOWS

    def _may_enter(self, path: str) -> bool:
        if self._boundary is None or is_inside(Path(path), self._boundary):
            return True
        self._note("outside", path, f"This leads outside {self._boundary}; it is not followed.")
        return False

    def _report_limit(self, what: str) -> None:
        if not any(found.code == "too-many" for found in self._findings):
            message = f"Only the first {what} were scanned."
            self._note("too-many", str(self._location.folder), message)

    # -- Files ----------------------------------------------------------------------------------

    def _convention_name(self, folder: str, name: str) -> str:
        """CLAUDE, or packages/api/CLAUDE below the root: no folder covers another."""
        below = Path(folder).relative_to(self._location.folder).as_posix()
        stem = name.removesuffix(".md")
        return stem if below == "." else clean(f"{below}/{stem}")

    def _add_light_skills(self, entries: list[os.DirEntry[str]]) -> None:
        for entry in entries:
            name = entry.name
            if not name.endswith(".md") or name.startswith(".") or name.lower() == "readme.md":
                continue
            is_convention = name in CONVENTION_FILES
            kind = SkillFormat.CONVENTION if is_convention else SkillFormat.LIGHT
            if not _is_folder(entry):
                self._add(entry, kind, name.removesuffix(".md"))

    def _add(
        self,
        entry: os.DirEntry[str],
        kind: SkillFormat,
        name: str,
        *,
        names: Collection[str] = (),
    ) -> None:
        """Read one document, or use the cached one when its files did not change."""
        if len(self._skills) >= MAX_DOCUMENTS or self._room_chars <= 0:
            self._report_limit(f"{len(self._skills):,} documents")
            return
        reading = self._known.get(entry.path)
        with_interface = skill_toml.FILE_NAME in names
        if (
            reading is None
            or reading.with_interface != with_interface
            or not unchanged(reading.fingerprints)
        ):
            reading = self._read(entry, kind, name, with_interface=with_interface)
            if reading is None:
                return
            self._known[entry.path] = reading
        self._skills.append(reading.scanned)
        self._room_chars -= len(reading.scanned.skill.body)
        self._fingerprints += reading.fingerprints

    def _read(
        self, entry: os.DirEntry[str], kind: SkillFormat, name: str, *, with_interface: bool
    ) -> _CachedRead | None:
        path = entry.path
        if not self._is_plain(entry) and not self._may_enter(path):
            self._fingerprints.append((path, current_fingerprint(path)))
            return None
        try:
            data, status = read_file(path, limit_bytes=MAX_DOCUMENT_BYTES)
        except (OSError, ValueError) as error:
            self._report_unreadable(path, error)
            return None
        mark = (path, stable_fingerprint(fingerprint_of(status), seen_ns=self._seen_ns))
        if len(data) > MAX_DOCUMENT_BYTES:
            self._fingerprints.append(mark)
            self._note("too-large", path, f"It has {status.st_size:,} bytes; 1 MiB is the limit.")
            return None
        file = Path(path)
        skill = read_skill(
            data,
            source=self._location.source,
            format=kind,
            name=name,
            path=file,
            base_dir=file.parent,
            modified_ns=status.st_mtime_ns,
        )
        fingerprints: Fingerprints = ()
        if with_interface:
            skill, fingerprints = self._with_interface(skill, file.parent)
        scanned = ScannedSkill(skill, (status.st_dev, status.st_ino))
        return _CachedRead(scanned, (mark, *fingerprints), with_interface)

    def _with_interface(self, skill: Skill, folder: Path) -> tuple[Skill, Fingerprints]:
        """The skill with the contents of SKILL.toml beside it."""
        path = folder / skill_toml.FILE_NAME
        try:
            if not is_inside(path, folder):
                raise OSError("it is a link that leads outside the skill")
            data, status = read_file(str(path), limit_bytes=skill_toml.MAX_TOML_BYTES)
        except (OSError, ValueError) as error:
            note = finding("toml-broken", f"{skill_toml.FILE_NAME} cannot be read: {error}.")
            return replace(skill, findings=(*skill.findings, replace(note, path=path))), ()
        shown, findings = skill_toml.read_interface(data, folder=folder)
        fingerprints = [
            (str(path), stable_fingerprint(fingerprint_of(status), seen_ns=self._seen_ns))
        ]
        fingerprints += [
            (str(folder / skill_toml.ASSETS), current_fingerprint(str(folder / skill_toml.ASSETS)))
        ]
        changed = replace(skill, interface=shown, findings=(*skill.findings, *findings))
        return changed, tuple(fingerprints)

    # -- Findings -------------------------------------------------------------------------------

    def _report_unreadable(self, path: str, error: OSError | ValueError) -> None:
        """Report a path that could not be read; it is tried again next time."""
        if isinstance(error, FileNotFoundError) and not os.path.lexists(path):
            self._note("vanished", path, "It was removed during the scan.")
            self._fingerprints.append((path, MISSING))
            return
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        self._note("unreadable", path, f"It cannot be read: {reason}.")
        self._fingerprints.append((path, current_fingerprint(path)))

    def _note(self, code: str, path: str, message: str) -> None:
        self._findings.append(replace(finding(code, message), path=Path(path)))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def read_file(path: str, *, limit_bytes: int) -> tuple[bytes, os.stat_result]:
    """The beginning of a file, at most one byte past the limit; OSError when it is not a regular
    file.

    Opened without blocking, since a pipe would block its reader forever.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("it is not a regular file")
        parts = list(_chunks(handle, limit_bytes + 1))
        return (parts[0] if len(parts) == 1 else b"".join(parts)), status
    finally:
        os.close(handle)


def _chunks(handle: int, limit_bytes: int) -> Iterator[bytes]:
    left = limit_bytes
    while left > 0 and (data := os.read(handle, min(left, 1 << 18))):
        left -= len(data)
        yield data
