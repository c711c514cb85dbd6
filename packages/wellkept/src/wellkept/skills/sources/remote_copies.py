"""Local copies of remote skills, each pinned to the hash that the user accepted.

Invariant: nothing is fetched here. A copy is used only while its hash is the accepted one; a
changed copy is a finding. Files are replaced atomically.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final, cast

from wellkept.core.errors import UsageError
from wellkept.core.records import record, replace
from wellkept.core.skills import SkillFinding, SkillFormat, SkillKind, SkillSource
from wellkept.skills.documents.atomic_write import write_atomically
from wellkept.skills.documents.finding_codes import finding
from wellkept.skills.documents.front_matter import MAX_DOCUMENT_BYTES
from wellkept.skills.documents.reader import read_skill
from wellkept.skills.sources.scanner import (
    ScannedSkill,
    ScanResult,
    current_fingerprint,
    read_file,
    unchanged,
)

REMOTE_PRIORITY: Final = 120
_PINS: Final = "pins.json"
_HASH_CHARS: Final = 64


@record(kw_only=True)
class Pin:
    """An accepted document: this URL with exactly this content."""

    url: str
    sha256: str
    name: str


class RemoteCopies:
    """The folder of copies of one user."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.source = SkillSource(SkillKind.USER, "remote", REMOTE_PRIORITY, folder)

    @property
    def pins_file(self) -> Path:
        """The file with the pins."""
        return self._folder / _PINS

    def path(self, pin: Pin) -> Path:
        """The path of the copy."""
        return self._folder / f"{pin.sha256}.md"

    def pins(self) -> dict[str, Pin]:
        """Every pin by its URL; UsageError when the file is broken."""
        try:
            data, _ = read_file(str(self.pins_file), limit_bytes=MAX_DOCUMENT_BYTES)
        except FileNotFoundError:
            return {}
        try:
            table: object = json.loads(data.decode("utf-8"))
        except (ValueError, RecursionError):
            table = None
        if not isinstance(table, dict):
            raise UsageError(
                f"The list of remote skills {self.pins_file} is broken.",
                hint="Fix or remove it, and add the skills again.",
            )
        entries = cast("dict[str, object]", table).items()
        return {url: pin for url, value in entries if (pin := _pin(url, value)) is not None}

    def keep(self, pin: Pin, data: bytes) -> None:
        """Store a document and its pin."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        known = self.pins()
        write_atomically(self.path(pin), data)
        self._write_pins({**known, pin.url: pin})

    def drop(self, url: str) -> bool:
        """Remove a pin and its copy; returns whether there was one."""
        known = self.pins()
        pin = known.pop(url, None)
        if pin is None:
            return False
        self._write_pins(known)
        if all(other.sha256 != pin.sha256 for other in known.values()):
            self.path(pin).unlink(missing_ok=True)
        return True

    def _write_pins(self, pins: Mapping[str, Pin]) -> None:
        table = {url: {"sha256": pin.sha256, "name": pin.name} for url, pin in pins.items()}
        text = json.dumps(table, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
        write_atomically(self.pins_file, text.encode())


class RemoteScanner:
    """The accepted copies as a source."""

    def __init__(self, copies: RemoteCopies) -> None:
        self._copies = copies
        self._last: ScanResult | None = None

    def scan(self) -> ScanResult:
        """Every copy that still has the accepted hash."""
        if self._last is None or not unchanged(self._last.fingerprints):
            self._last = self._read_all()
        return self._last

    def forget(self) -> None:
        """Read everything again next time."""
        self._last = None

    def _read_all(self) -> ScanResult:
        pins_file = str(self._copies.pins_file)
        fingerprints = [(pins_file, current_fingerprint(pins_file))]
        skills: list[ScannedSkill] = []
        findings: list[SkillFinding] = []
        try:
            pins = self._copies.pins()
        except (UsageError, OSError) as error:
            broken = replace(finding("source-broken", str(error)), path=self._copies.pins_file)
            return ScanResult(findings=(broken,), fingerprints=tuple(fingerprints))
        for pin in pins.values():
            path = str(self._copies.path(pin))
            fingerprints.append((path, current_fingerprint(path)))
            scanned = self._read(pin)
            if scanned is None:
                message = f"The copy of {pin.url} differs from the accepted one; fetch it again."
                findings.append(replace(finding("remote-changed", message), path=Path(path)))
            else:
                skills.append(scanned)
        sources = (self._copies.source,) if pins else ()
        return ScanResult(tuple(skills), tuple(findings), tuple(fingerprints), sources)

    def _read(self, pin: Pin) -> ScannedSkill | None:
        path = self._copies.path(pin)
        try:
            data, status = read_file(str(path), limit_bytes=MAX_DOCUMENT_BYTES)
        except (OSError, ValueError):
            return None
        if sha256(data).hexdigest() != pin.sha256:
            return None
        skill = read_skill(
            data,
            source=self._copies.source,
            format=SkillFormat.FULL,
            name=pin.name,
            path=path,
            modified_ns=status.st_mtime_ns,
        )
        return ScannedSkill(replace(skill, name=pin.name), (status.st_dev, status.st_ino))


def _pin(url: str, value: object) -> Pin | None:
    if not isinstance(value, dict):
        return None
    table = cast("dict[str, object]", value)
    digest, name = table.get("sha256"), table.get("name")
    if not isinstance(digest, str) or not isinstance(name, str) or len(digest) != _HASH_CHARS:
        return None
    return Pin(url=url, sha256=digest, name=name) if digest.isalnum() else None
