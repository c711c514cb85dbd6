"""Scans the skills of one list file: folders are read, URLs only as accepted copies."""

from __future__ import annotations

from pathlib import Path

from wellkept.core.errors import UsageError
from wellkept.core.records import replace
from wellkept.core.skills import SkillFinding
from wellkept.skills.documents.finding_codes import finding
from wellkept.skills.sources.fingerprints import Fingerprint, current_fingerprint
from wellkept.skills.sources.list_files import MAX_LIST_BYTES, ListedSkill, SkillList, read_list
from wellkept.skills.sources.locations import FolderShape, SkillLocation
from wellkept.skills.sources.remote_copies import RemoteCopies, RemoteScanner
from wellkept.skills.sources.scanner import FolderScanner, ScannedSkill, ScanResult, read_file


class ListScanner:
    """One list file, which may be missing. With a boundary all its paths are inside."""

    def __init__(self, path: Path, *, boundary: Path | None, copies: RemoteCopies | None) -> None:
        self._path = path
        self._boundary = boundary
        self._copies = copies
        self._remote = RemoteScanner(copies) if copies else None
        self._fingerprint: Fingerprint | None = None
        self._list = SkillList()
        self._scanners: dict[ListedSkill, FolderScanner] = {}
        self._results: list[ScanResult] = []
        self._last = ScanResult()

    def scan(self) -> ScanResult:
        """The skills of the listed folders, and the accepted copies of listed URLs."""
        fingerprint = current_fingerprint(str(self._path))
        is_new = fingerprint != self._fingerprint or not self._list.is_cached
        if is_new:
            self._fingerprint = fingerprint
            self._list = self._read()
            self._scanners = {one: self._scanner(one) for one in self._list.skills if one.folder}
        results = [scanner.scan() for scanner in self._scanners.values()]
        if self._remote and any(one.url for one in self._list.skills):
            results.append(self._remote.scan())
        if is_new or [*map(id, results)] != [*map(id, self._results)]:
            self._results = results
            self._last = self._merged()
        return self._last

    def forget(self) -> None:
        """Read everything again next time."""
        self._fingerprint = None

    def _read(self) -> SkillList:
        try:
            data, _ = read_file(str(self._path), limit_bytes=MAX_LIST_BYTES)
        except FileNotFoundError:
            return SkillList()
        except (OSError, ValueError) as error:
            note = finding("source-broken", f"It cannot be read: {error}.")
            return SkillList(findings=(replace(note, path=self._path),))
        if len(data) > MAX_LIST_BYTES:
            note = finding("source-broken", f"It is larger than {MAX_LIST_BYTES:,} bytes.")
            return SkillList(findings=(replace(note, path=self._path),))
        return read_list(data, path=self._path, boundary=self._boundary)

    def _scanner(self, listed: ListedSkill) -> FolderScanner:
        folder = listed.folder or self._path.parent
        return FolderScanner(SkillLocation(listed.source, folder, FolderShape.ONE, self._boundary))

    def _merged(self) -> ScanResult:
        skills: list[ScannedSkill] = []
        findings: list[SkillFinding] = [*self._list.findings]
        for listed, scanner in self._scanners.items():
            result = scanner.scan()
            findings += result.findings
            if not result.skills and not result.findings:
                findings.append(self._missing(listed))
            skills += [_as_listed(scanned, listed) for scanned in result.skills[:1]]
        for listed in self._list.skills:
            if listed.url:
                copy = self._copy(listed)
                if copy is None:
                    findings.append(self._waiting(listed))
                else:
                    skills.append(_as_listed(copy, listed))
        sources = dict.fromkeys(scanned.skill.source for scanned in skills)
        return ScanResult(
            tuple(skills), tuple(findings), sources=tuple(sources), limits=self._list.limits
        )

    def _copy(self, listed: ListedSkill) -> ScannedSkill | None:
        """The accepted copy of a URL."""
        if self._copies is None or self._remote is None or listed.url is None:
            return None
        try:
            pin = self._copies.pins().get(listed.url)
        except (UsageError, OSError):
            return None
        path = self._copies.path(pin) if pin else None
        return next((s for s in self._remote.scan().skills if path and s.skill.path == path), None)

    def _missing(self, listed: ListedSkill) -> SkillFinding:
        message = f"The listed skill {listed.name!r} is not in {listed.folder}."
        return replace(finding("source-missing", message), path=self._path)

    def _waiting(self, listed: ListedSkill) -> SkillFinding:
        message = (
            f"The listed skill {listed.name!r} was not fetched yet; "
            f"run `wellkept skill new --url {listed.url}`."
        )
        return replace(finding("remote-waiting", message), path=self._path)


def _as_listed(scanned: ScannedSkill, listed: ListedSkill) -> ScannedSkill:
    """The skill with the name, priority and rules of its list."""
    skill = scanned.skill
    own = () if skill.name == listed.name else (skill.name,)
    named = replace(
        skill,
        name=listed.name,
        source=listed.source,
        priority=listed.priority,
        detection=listed.detection or skill.detection,
        inject_into=listed.inject_into or skill.inject_into,
        invocation=replace(skill.invocation, aliases=(*own, *skill.invocation.aliases)),
    )
    return ScannedSkill(named, scanned.file_id)
