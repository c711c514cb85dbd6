"""Detects which skills a project calls for, by its files and patterns in them.

A rule applies when one of its files exists and, if it has patterns, one of them occurs in one of
those files. Patterns are plain text; case is ignored. A skill that only has `globs` is detected
when such a file exists; that is a weaker signal.

Invariant: the same project and skills give the same result, highest priority first.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from wellkept.core.languages import MANIFESTS
from wellkept.core.records import record
from wellkept.core.skills import InjectionPhase, Skill, SkillDetection
from wellkept.skills.globs import PathTable
from wellkept.skills.safe_paths import is_inside

MAX_FILES = 5_000
MAX_DEPTH = 6
MAX_READ_BYTES = 256 << 10
IGNORED = frozenset(
    """.git .hg .svn target node_modules .next dist build out coverage __pycache__ vendor venv
    site-packages bower_components Pods DerivedData""".split()
)
_SCANNED_HIDDEN = frozenset((".github", ".gitlab", ".gitlab-ci", ".circleci", ".storybook"))


class ProjectFiles:
    """Paths relative to the project's folder, with forward slashes, nearest first; and a reader.

    `is_cut` means there were more files than the limit.
    """

    def __init__(
        self, paths: Sequence[str], read: Callable[[str], str], *, is_cut: bool = False
    ) -> None:
        self.paths = tuple(paths)
        self.read = read
        self.is_cut = is_cut

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> ProjectFiles:
        """An in-memory project: file names with their texts."""
        return cls(tuple(texts), lambda path: texts.get(path, ""))

    @cached_property
    def table(self) -> PathTable:
        """The paths, indexed for patterns."""
        return PathTable(self.paths)


def scan_project(root: Path, *, max_files: int = MAX_FILES) -> ProjectFiles:
    """Scan a project's folder; one that cannot be read has no files."""
    paths: list[str] = []
    for path in _walk(root):
        if len(paths) == max_files:
            return ProjectFiles(tuple(paths), _reader(root), is_cut=True)
        paths.append(path)
    return ProjectFiles(tuple(paths), _reader(root))


def _walk(root: Path) -> Iterator[str]:
    """Level by level, sorted by name."""
    level = [""]
    for _ in range(MAX_DEPTH):
        below: list[str] = []
        for folder in level:
            names, folders = _listed(root / folder)
            yield from (f"{folder}{name}" for name in names)
            below += (f"{folder}{name}/" for name in folders)
        level = below


def _listed(folder: Path) -> tuple[list[str], list[str]]:
    """The names of files (and of folders that act as files, like `App.xcodeproj`), and folders."""
    names: list[str] = []
    folders: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    names.append(entry.name)
                elif _is_scanned(entry.name):
                    folders.append(entry.name)
                    names += [entry.name] if "." in entry.name[1:] else []
    except OSError:
        return [], []
    return sorted(names), sorted(folders)


def _is_scanned(name: str) -> bool:
    return name not in IGNORED and (not name.startswith(".") or name in _SCANNED_HIDDEN)


def _reader(root: Path) -> Callable[[str], str]:
    def read(path: str) -> str:
        file = root / path
        if not is_inside(file, root):
            return ""
        try:
            if not file.is_file():  # a pipe or a device would block
                return ""
            with file.open("rb") as opened:
                return opened.read(MAX_READ_BYTES).decode("utf-8", errors="replace")
        except OSError:
            return ""

    return read


# -- Detection ------------------------------------------------------------------------------------


RULE_STRENGTH, GLOB_STRENGTH = 1.0, 0.5
_FILES_FOR_A_RULE = 20


@record
class DetectedSkill:
    """A skill that the project calls for, and why. `strength` is 1 for a rule, less for globs."""

    skill: Skill
    reason: str
    files: tuple[str, ...]
    patterns: tuple[str, ...] = ()
    strength: float = RULE_STRENGTH


def detect_skills(
    skills: Iterable[Skill], project: ProjectFiles, *, phase: InjectionPhase | None = None
) -> tuple[DetectedSkill, ...]:
    """The enabled skills that apply to a project, highest priority first."""
    texts = _Texts(project)
    found = (
        _detected(skill, project, texts)
        for skill in skills
        if skill.enabled and allows_phase(skill, phase)
    )
    return tuple(
        sorted(
            (one for one in found if one is not None),
            key=lambda one: (-one.skill.priority, -one.strength, one.skill.name),
        )
    )


def allows_phase(skill: Skill, phase: InjectionPhase | None) -> bool:
    """Whether a skill may be used in a phase; without phases it may be used in each."""
    allowed = skill.inject_into
    wanted = (phase, InjectionPhase.ALWAYS)
    return (
        phase in (None, InjectionPhase.ALWAYS) or not allowed or any(p in allowed for p in wanted)
    )


def has_rule(skill: Skill) -> bool:
    """Whether a skill has a detection rule."""
    rule = skill.detection
    return rule is not None and bool(rule.files or rule.patterns)


class _Texts:
    """Files read once for all rules, case-folded."""

    def __init__(self, project: ProjectFiles) -> None:
        self._read = project.read
        self._known: dict[str, str] = {}

    def of(self, path: str) -> str:
        if path not in self._known:
            self._known[path] = self._read(path).casefold()
        return self._known[path]


def _detected(skill: Skill, project: ProjectFiles, texts: _Texts) -> DetectedSkill | None:
    if skill.detection is not None and has_rule(skill):
        return _by_rule(skill, skill.detection, project, texts)
    files = tuple(path for glob in skill.globs for path in project.table.matching(glob, limit=1))
    if not files:
        return None
    return DetectedSkill(skill, f"the project has {files[0]}", files, strength=GLOB_STRENGTH)


def _by_rule(
    skill: Skill, rule: SkillDetection, project: ProjectFiles, texts: _Texts
) -> DetectedSkill | None:
    files = _present(rule.files or MANIFESTS, project)
    if not files:
        return None
    if not rule.patterns:
        return DetectedSkill(skill, f"the project has {files[0]}", files[:5])
    for path in files:
        found = tuple(p for p in rule.patterns if p and p.casefold() in texts.of(path))
        if found:
            return DetectedSkill(skill, f"{path} contains {found[0]}", (path,), found)
    return None


def _present(names: Sequence[str], project: ProjectFiles) -> tuple[str, ...]:
    """Those of the named files that exist, nearest to the project's folder first."""
    found = dict.fromkeys(
        path for name in names for path in project.table.matching(name, limit=_FILES_FOR_A_RULE)
    )
    return tuple(sorted(found, key=lambda path: (path.count("/"), path)))[:_FILES_FOR_A_RULE]
