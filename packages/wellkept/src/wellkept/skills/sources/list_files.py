"""Reads files that list skills: `external-skills.json`, and `skills.json` of a user or a project.

The first maps names to skills inside named sources; the second is a list of skills with a path or a
URL. Each skill has detection rules, injection phases and a priority. A file of a project can only
name paths inside that project.

`priority_ranges` move the ranges of the kinds for the skills of that file, never up to those that
an organisation manages. `settings` say how many skills and lines an agent is given, and whether the
file may be cached.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, TypeGuard, cast

from wellkept.core.errors import UsageError
from wellkept.core.records import record, replace
from wellkept.core.skills import (
    PRIORITY_RANGES,
    InjectionPhase,
    SkillDetection,
    SkillFinding,
    SkillKind,
    SkillLimits,
    SkillSource,
)
from wellkept.core.text import clean
from wellkept.skills.documents.fields import usable_name
from wellkept.skills.documents.finding_codes import finding
from wellkept.skills.safe_paths import is_inside
from wellkept.skills.sources.locations import (
    EXTERNAL_PRIORITY,
    LISTED_USER_PRIORITY,
    FolderShape,
    SkillLocation,
)
from wellkept.skills.sources.remote_copies import RemoteCopies, RemoteScanner
from wellkept.skills.sources.scanner import (
    Fingerprint,
    FolderScanner,
    ScannedSkill,
    ScanResult,
    current_fingerprint,
    read_file,
)

MAX_LIST_BYTES: Final = 1 << 20
MAX_SKILLS: Final = 20
MAX_LINES: Final = 2_000
_TOP: Final = PRIORITY_RANGES[SkillKind.MANAGED][0] - 1
_RANGE_KINDS: Final = {
    "builtin": SkillKind.BUILTIN,
    "submodule": SkillKind.EXTERNAL,
    "external": SkillKind.EXTERNAL,
    "user": SkillKind.USER,
}
_KINDS: Final = {"builtin": SkillKind.BUILTIN, "user": SkillKind.USER, "local": SkillKind.USER}
_USUAL: Final = {SkillKind.EXTERNAL: EXTERNAL_PRIORITY, SkillKind.USER: LISTED_USER_PRIORITY}


@record(kw_only=True)
class _ListedSkill:
    """One skill of a list: in a folder, or at a URL. Without a name: all that are in the folder."""

    name: str
    source: SkillSource
    priority: int
    folder: Path | None = None
    url: str | None = None
    detection: SkillDetection | None = None
    inject_into: tuple[InjectionPhase, ...] = ()


@record
class SkillList:
    """The contents of a list file, and what is wrong with it."""

    skills: tuple[_ListedSkill, ...] = ()
    findings: tuple[SkillFinding, ...] = ()
    limits: SkillLimits = SkillLimits()
    is_cached: bool = True


def read_list(data: bytes, *, path: Path, boundary: Path | None) -> SkillList:
    """The skills of a list. Paths are relative to its folder; with a boundary they must stay inside
    it, links resolved."""
    reader = _ListReader(path, boundary)
    skills = tuple(reader.read(data))
    findings = tuple(replace(found, path=path) for found in reader.findings)
    return SkillList(skills, findings, reader.limits, reader.is_cached)


class _ListReader:
    def __init__(self, path: Path, boundary: Path | None) -> None:
        self.findings: list[SkillFinding] = []
        self.limits = SkillLimits()
        self.is_cached = True
        self._folder = path.parent
        self._boundary = boundary
        self._sources: Mapping[str, object] = {}
        self._ranges = dict(PRIORITY_RANGES)

    def read(self, data: bytes) -> Iterator[_ListedSkill]:
        try:
            whole: object = json.loads(data.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            self._report("source-broken", f"This is not JSON: {str(error)[:120]}.")
            return
        table = _table(whole)
        skills = table.get("skills") if table is not None else None
        if isinstance(skills, list):
            yield from self._by_list(cast("list[object]", skills))
        elif table is not None and isinstance(skills, dict):
            self._sources = _table(table.get("sources")) or {}
            self._read_ranges(_table(table.get("priority_ranges")) or {})
            self._read_settings(_table(table.get("settings")) or {})
            yield from self._by_name(cast("dict[str, object]", skills))
        else:
            self._report("source-broken", 'There is no "skills".')

    def _read_ranges(self, ranges: Mapping[str, object]) -> None:
        for label, value in ranges.items():
            kind, given = _RANGE_KINDS.get(label), _table(value)
            low, high = (given.get("min"), given.get("max")) if given else (None, None)
            if kind is None or not _is_number(low) or not _is_number(high) or not 1 <= low <= high:
                message = f"priority_ranges has no use for {label[:40]!r}: name min and max."
                self._report("field-value", message)
                continue
            if high > _TOP:
                self._report("priority-range", f"A list may give priorities up to {_TOP}.")
            self._ranges[kind] = (min(low, _TOP), min(high, _TOP))

    def _read_settings(self, settings: Mapping[str, object]) -> None:
        self.limits = SkillLimits(
            skills=self._limit(settings, "max_skills_per_story", high=MAX_SKILLS),
            lines=self._limit(settings, "max_content_lines", high=MAX_LINES),
        )
        cached = settings.get("cache_enabled", True)
        if not isinstance(cached, bool):
            self._report("field-value", "cache_enabled is neither true nor false.")
        self.is_cached = cached is not False

    def _limit(self, settings: Mapping[str, object], name: str, *, high: int) -> int | None:
        value = settings.get(name)
        if value is None:
            return None
        if not _is_number(value) or not 1 <= value <= high:
            self._report("field-value", f"{name} must be 1 to {high:,}.")
            return None
        return value

    def _by_list(self, skills: list[object]) -> Iterator[_ListedSkill]:
        """`skills.json`: each item has a name and a path or a URL."""
        source = SkillSource(SkillKind.USER, "skills.json", LISTED_USER_PRIORITY, self._folder)
        for item in skills:
            entry = _table(item)
            name = _text(entry, "name") if entry else None
            path = _text(entry, "path") if entry else None
            if entry is None or not (name or path):
                self._report("source-broken", "A skill in the list has no name.")
                continue
            yield from self._skill(name or "", entry, source, path, _text(entry, "url"))

    def _by_name(self, skills: dict[str, object]) -> Iterator[_ListedSkill]:
        """`external-skills.json`: a name, a source, and a path inside that source. Of a local
        source that no skill names, all are meant."""
        named = {_text(entry, "source") for value in skills.values() if (entry := _table(value))}
        for label, value in self._sources.items():
            source = _table(value) or {}
            if _text(source, "type") == "local" and label not in named:
                path = _text(source, "path") or "."
                yield from self._skill("", {}, self._source(label, source), path, None)
        for name, value in skills.items():
            entry = _table(value)
            label = (_text(entry, "source") if entry else None) or ""
            source = _table(self._sources.get(label))
            if entry is None or source is None:
                self._report("source-broken", f"The skill {name[:60]!r} names no known source.")
                continue
            inner = _text(entry, "skill_path") or "."
            base, url = _text(source, "path"), _text(source, "url")
            path = f"{base}/{inner}" if base else None
            yield from self._skill(name, entry, self._source(label, source), path, url)

    def _skill(
        self,
        name: str,
        entry: Mapping[str, object],
        source: SkillSource,
        path: str | None,
        url: str | None,
    ) -> Iterator[_ListedSkill]:
        usable = usable_name(name)
        folder = self._inside(path) if path else None
        if (name and not usable) or (folder is None and not (url and usable)):
            if not path:
                self._report("source-broken", f"The skill {name[:60]!r} has no path and no url.")
            return
        detect = _table(entry.get("detect"))
        yield _ListedSkill(
            name=usable,
            source=source,
            priority=self._priority(entry, source),
            folder=folder,
            url=None if folder else url,
            detection=SkillDetection(_texts(detect, "files"), _texts(detect, "patterns"))
            if detect
            else None,
            inject_into=self._phases(entry),
        )

    def _inside(self, text: str) -> Path | None:
        """The folder of a skill; None when it is outside the boundary."""
        path = Path(text)
        if self._boundary is None:
            return self._folder / _expanded(path)
        below = self._folder / path
        if "\0" not in text and not path.is_absolute() and is_inside(below, self._boundary):
            return below
        self._report(
            "path-unsafe",
            f"The path {text[:60]!r} leads outside the project; name it in a list of your own.",
        )
        return None

    def _priority(self, entry: Mapping[str, object], source: SkillSource) -> int:
        priority = entry.get("priority")
        if not _is_number(priority):
            return source.priority
        low, high = self._ranges[source.kind]
        if not low <= priority <= high:
            message = f"The priority of {source.kind.value} skills is {low} to {high}."
            self._report("priority-range", message)
        return min(max(priority, low), high)

    def _source(self, label: str, source: Mapping[str, object]) -> SkillSource:
        kind = _KINDS.get(_text(source, "type") or "", SkillKind.EXTERNAL)
        low, high = self._ranges[kind]
        usual = _USUAL.get(kind, PRIORITY_RANGES[kind][1])
        return SkillSource(kind, label, min(max(usual, low), high), self._folder)

    def _phases(self, entry: Mapping[str, object]) -> tuple[InjectionPhase, ...]:
        known = {phase.value: phase for phase in InjectionPhase}
        texts = _texts(entry, "inject_into")
        for text in texts:
            if text not in known:
                self._report("field-value", f"inject_into has no phase {text[:40]!r}.")
        return tuple(known[text] for text in texts if text in known)

    def _report(self, code: str, message: str) -> None:
        self.findings.append(finding(code, message))


def _is_number(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _expanded(path: Path) -> Path:
    """The path with `~` expanded, where a home folder is known."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def _table(value: object) -> dict[str, object] | None:
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def _text(table: Mapping[str, object], name: str) -> str | None:
    value = table.get(name)
    return clean(value.strip()) or None if isinstance(value, str) else None


def _texts(table: Mapping[str, object], name: str) -> tuple[str, ...]:
    value = table.get(name)
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    return tuple(clean(item) for item in items if isinstance(item, str) and item.strip())


# -- Scanning what a list names -------------------------------------------------------------------


class ListScanner:
    """One list file, which may be missing. With a boundary all its paths are inside."""

    def __init__(self, path: Path, *, boundary: Path | None, copies: RemoteCopies | None) -> None:
        self._path = path
        self._boundary = boundary
        self._copies = copies
        self._remote = RemoteScanner(copies) if copies else None
        self._fingerprint: Fingerprint | None = None
        self._list = SkillList()
        self._scanners: dict[_ListedSkill, FolderScanner] = {}
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

    def _scanner(self, listed: _ListedSkill) -> FolderScanner:
        folder, source = listed.folder or self._path.parent, listed.source
        if not listed.name:
            source = replace(source, priority=listed.priority)
        shape = FolderShape.ONE if listed.name else FolderShape.MIXED
        return FolderScanner(SkillLocation(source, folder, shape, self._boundary))

    def _merged(self) -> ScanResult:
        skills: list[ScannedSkill] = []
        findings: list[SkillFinding] = [*self._list.findings]
        for listed, scanner in self._scanners.items():
            result = scanner.scan()
            findings += result.findings
            if not result.skills and not result.findings:
                findings.append(self._missing(listed))
            found = result.skills[:1] if listed.name else result.skills
            skills += [_as_listed(scanned, listed) for scanned in found]
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

    def _copy(self, listed: _ListedSkill) -> ScannedSkill | None:
        """The accepted copy of a URL."""
        if self._copies is None or self._remote is None or listed.url is None:
            return None
        try:
            pin = self._copies.pins().get(listed.url)
        except (UsageError, OSError):
            return None
        path = self._copies.path(pin) if pin else None
        return next((s for s in self._remote.scan().skills if path and s.skill.path == path), None)

    def _missing(self, listed: _ListedSkill) -> SkillFinding:
        what = f"The listed skill {listed.name!r} is not" if listed.name else "There is no skill"
        message = f"{what} in {listed.folder}."
        return replace(finding("source-missing", message), path=self._path)

    def _waiting(self, listed: _ListedSkill) -> SkillFinding:
        message = (
            f"The listed skill {listed.name!r} was not fetched yet; "
            f"run `wellkept skill new --url {listed.url}`."
        )
        return replace(finding("remote-waiting", message), path=self._path)


def _as_listed(scanned: ScannedSkill, listed: _ListedSkill) -> ScannedSkill:
    """The skill with the name, priority and rules of its list."""
    skill = scanned.skill
    own = () if listed.name in ("", skill.name) else (skill.name,)
    named = replace(
        skill,
        name=listed.name or skill.name,
        source=listed.source,
        priority=listed.priority if listed.name else skill.priority,
        detection=listed.detection or skill.detection,
        inject_into=listed.inject_into or skill.inject_into,
        invocation=replace(skill.invocation, aliases=(*own, *skill.invocation.aliases)),
    )
    return ScannedSkill(named, scanned.file_id)
