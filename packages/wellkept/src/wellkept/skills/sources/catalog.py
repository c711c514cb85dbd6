"""Merges the skills of all sources into one index: one skill for each name.

Invariant: the index is never stale: each call of `index` asks every source whether it changed. When
none did, the same `SkillIndex` object is returned. A file that is reached twice counts once. Knows
nothing of which project is open.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Final, Protocol

from wellkept.core.ports.skills import (
    PromptDefinition,
    PromptSource,
    SkillDocuments,
    SkillSwitches,
    StoredSkill,
)
from wellkept.core.records import replace
from wellkept.core.skills import (
    Skill,
    SkillClash,
    SkillFinding,
    SkillFormat,
    SkillIndex,
    SkillInvocation,
    SkillKind,
    SkillLimits,
    SkillSource,
)
from wellkept.core.text import clean
from wellkept.skills.documents.fields import usable_name
from wellkept.skills.documents.finding_codes import finding
from wellkept.skills.documents.reader import read_skill
from wellkept.skills.sources.locations import GENERATED_PRIORITY, MCP_PRIORITY, TEAM_PRIORITY
from wellkept.skills.sources.scanner import ScannedSkill, ScanResult


class Scanner(Protocol):
    """A source of skills. An unchanged result is the same object."""

    def scan(self) -> ScanResult: ...

    def forget(self) -> None: ...


class SkillCatalog:
    """The skills of some sources, with the switches applied."""

    def __init__(
        self, scanners: Sequence[Scanner], *, switches: SkillSwitches | None = None
    ) -> None:
        self._scanners = scanners
        self._switches = switches
        self._lock = threading.Lock()
        self._results: list[ScanResult] = []
        self._merged = SkillIndex()
        self._switched: Mapping[str, bool] = {}
        self._index: SkillIndex | None = None

    def index(self) -> SkillIndex:
        """All skills as they are now. Thread-safe."""
        with self._lock:
            return self._scan()

    def _scan(self) -> SkillIndex:
        results = [scanner.scan() for scanner in self._scanners]
        switched: Mapping[str, bool] = self._switches.switched() if self._switches else {}
        is_same = [*map(id, results)] == [*map(id, self._results)]
        if self._index is not None and is_same and switched == self._switched:
            return self._index
        if self._index is None or not is_same:
            self._merged = merge(results)
        self._results, self._switched = results, dict(switched)
        self._index = _with_switches(self._merged, switched)
        return self._index

    def add(self, scanner: Scanner) -> None:
        """Add a source."""
        with self._lock:
            self._scanners = [*self._scanners, scanner]

    def forget(self) -> None:
        """Read everything again next time."""
        with self._lock:
            for scanner in self._scanners:
                scanner.forget()
            self._index = None


def merge(results: Iterable[ScanResult]) -> SkillIndex:
    """One index of several scans: highest priority first, one skill for each name."""
    results = list(results)
    by_name: dict[str, list[Skill]] = {}
    for skill in _distinct(results):
        by_name.setdefault(skill.name, []).append(skill)
    clashes = [
        SkillClash(name, skills[0], tuple(skills[1:]))
        for name, skills in by_name.items()
        if len(skills) > 1
    ]
    winners = _with_alias_findings([skills[0] for skills in by_name.values()], by_name)
    findings = [found for result in results for found in result.findings]
    findings += [_clash_finding(clash) for clash in clashes]
    sources = dict.fromkeys(source for result in results for source in result.sources)
    return SkillIndex(
        tuple(winners),
        tuple(clashes),
        tuple(findings),
        tuple(sources),
        _limits([result.limits for result in results]),
    )


def _limits(said: Sequence[SkillLimits]) -> SkillLimits:
    """The first that says something about each limit."""
    return SkillLimits(
        skills=next((one.skills for one in said if one.skills is not None), None),
        lines=next((one.lines for one in said if one.lines is not None), None),
    )


def _distinct(results: list[ScanResult]) -> list[Skill]:
    """Every skill once, highest priority first; a file that was read twice counts once."""
    scanned = [one for result in results for one in result.skills]
    scanned.sort(key=_rank)
    seen: set[tuple[int, int]] = set()
    distinct: list[Skill] = []
    for one in scanned:
        if one.file_id is None or one.file_id not in seen:
            distinct.append(one.skill)
        if one.file_id is not None:
            seen.add(one.file_id)
    return distinct


def _rank(one: ScannedSkill) -> tuple[int, str, str]:
    skill = one.skill
    return -skill.priority, skill.name, str(skill.path or "")


def _clash_finding(clash: SkillClash) -> SkillFinding:
    covered = ", ".join(f"{one.source.kind.value}:{one.source.name}" for one in clash.covered)
    winner = clash.winner.source
    message = (
        f"{clash.name!r} comes from {winner.kind.value}:{winner.name} "
        f"and covers the one of {covered}."
    )
    return replace(finding("clash", message), path=clash.covered[0].path)


def _with_alias_findings(winners: list[Skill], names: Mapping[str, object]) -> list[Skill]:
    """Report aliases that belong to another skill: names win, then the higher priority."""
    taken: dict[str, str] = {}
    noted: list[Skill] = []
    for skill in winners:
        lost: list[str] = []
        for alias in skill.invocation.aliases:
            if alias != skill.name and (alias in names or alias in taken):
                lost.append(alias)
            else:
                taken[alias] = skill.name
        notes = [_alias_finding(alias, taken.get(alias, alias), skill) for alias in lost]
        noted.append(replace(skill, findings=(*skill.findings, *notes)) if notes else skill)
    return noted


def _alias_finding(alias: str, owner: str, skill: Skill) -> SkillFinding:
    message = f"The alias {alias!r} belongs to the skill {owner!r}."
    return replace(finding("alias-taken", message), path=skill.path)


def _with_switches(index: SkillIndex, switched: Mapping[str, bool]) -> SkillIndex:
    if not switched:
        return index
    skills = tuple(_switched(skill, switched.get(skill.key)) for skill in index.skills)
    return replace(index, skills=skills, _by_name={})


def _switched(skill: Skill, on: bool | None) -> Skill:
    if on is None or on == skill.enabled or skill.source.kind is SkillKind.MANAGED:
        return skill
    return replace(skill, enabled=on)


# -- Sources that are no files --------------------------------------------------------------------


GENERATED_SOURCE: Final = SkillSource(SkillKind.GENERATED, "store", GENERATED_PRIORITY)
TEAM_SOURCE: Final = SkillSource(SkillKind.MANAGED, "team", TEAM_PRIORITY)


class StoredSkillScanner:
    """Skills in a store as a source."""

    def __init__(self, stored: SkillDocuments, source: SkillSource = GENERATED_SOURCE) -> None:
        self._stored = stored
        self._source = source
        self._documents: Sequence[StoredSkill] = ()
        self._last = ScanResult()

    def scan(self) -> ScanResult:
        """Every stored document; the same object as before when nothing changed."""
        documents = tuple(self._stored.documents())
        if documents != self._documents:
            self._documents = documents
            skills = tuple(ScannedSkill(self._skill(document)) for document in documents)
            self._last = ScanResult(skills, sources=(self._source,))
        return self._last

    def forget(self) -> None:
        """Read everything again next time."""
        self._documents, self._last = (), ScanResult()

    def _skill(self, document: StoredSkill) -> Skill:
        skill = read_skill(
            document.text.encode("utf-8", errors="replace"),
            source=self._source,
            format=SkillFormat.FULL,
            name=document.name,
            modified_ns=document.modified_ns,
        )
        return replace(skill, name=document.name, enabled=document.enabled, note=document.note)


class PromptScanner:
    """Prompts of MCP servers as a source; their texts are requested when they are run."""

    def __init__(self, prompts: PromptSource) -> None:
        self._source = prompts
        self._prompts: Sequence[PromptDefinition] = ()
        self._last = ScanResult()

    def scan(self) -> ScanResult:
        """Every prompt; the same object as before when nothing changed."""
        prompts = tuple(self._source.prompts())
        if prompts != self._prompts:
            self._prompts = prompts
            skills = tuple(ScannedSkill(_prompt_skill(prompt)) for prompt in prompts)
            sources = dict.fromkeys(scanned.skill.source for scanned in skills)
            self._last = ScanResult(skills, sources=tuple(sources))
        return self._last

    def forget(self) -> None:
        """Read everything again next time."""
        self._prompts, self._last = (), ScanResult()


def _prompt_skill(prompt: PromptDefinition) -> Skill:
    """A prompt named `server:prompt`, with its arguments as the hint."""
    hint = " ".join(f"<{a.name}>" if a.required else f"[{a.name}]" for a in prompt.arguments)
    parts = [prompt.server, prompt.name, prompt.description]
    parts += [f"{a.name}={a.description}={a.required}" for a in prompt.arguments]
    digest = sha256(json.dumps(parts).encode()).hexdigest()
    source = SkillSource(SkillKind.MCP, clean(prompt.server), MCP_PRIORITY)
    return Skill(
        name=usable_name(f"{prompt.server}:{prompt.name}") or "unnamed",
        description=clean(prompt.description.strip()),
        body="",
        source=source,
        priority=source.priority,
        format=SkillFormat.PROMPT,
        sha256=digest,
        invocation=SkillInvocation(argument_hint=clean(hint) or None),
    )
