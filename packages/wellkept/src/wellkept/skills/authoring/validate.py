"""Validates one document for `skill validate`: the file, its folder and its SKILL.toml."""

from __future__ import annotations

from pathlib import Path

from wellkept.core.errors import NotFoundError
from wellkept.core.records import record, replace
from wellkept.core.skills import Skill, SkillFinding, SkillFormat, SkillKind, SkillSource
from wellkept.skills.documents import skill_toml
from wellkept.skills.documents.finding_codes import finding
from wellkept.skills.documents.front_matter import MAX_DOCUMENT_BYTES
from wellkept.skills.documents.reader import read_skill
from wellkept.skills.sources.scanner import CONVENTION_FILES, SKILL_FILES, read_file

_VALIDATED_SOURCE = SkillSource(SkillKind.PROJECT, "validate", 250)


@record
class ValidationReport:
    """The findings about one document; no skill when it could not be read at all."""

    path: Path | None
    skill: Skill | None
    findings: tuple[SkillFinding, ...]

    @property
    def is_valid(self) -> bool:
        """Whether there are no errors."""
        return not any(found.is_error for found in self.findings)


def validate_path(path: Path, *, strict: bool = False) -> ValidationReport:
    """Every finding about a skill's folder or file; NotFoundError when it does not exist."""
    file = _document(path)
    try:
        data, _ = read_file(str(file), limit_bytes=MAX_DOCUMENT_BYTES)
    except (OSError, ValueError) as error:
        note = finding("unreadable", f"It cannot be read: {error}.")
        return ValidationReport(file, None, (replace(note, path=file),))
    if len(data) > MAX_DOCUMENT_BYTES:
        note = finding("too-large", f"It is larger than {MAX_DOCUMENT_BYTES:,} bytes.")
        return ValidationReport(file, None, (replace(note, path=file),))
    kind = _format(file)
    folder = file.absolute().parent
    skill = read_skill(
        data,
        source=_VALIDATED_SOURCE,
        format=kind,
        name=folder.name if kind is SkillFormat.FULL else file.name.removesuffix(".md"),
        path=file,
        base_dir=folder,
        strict=strict,
    )
    return ValidationReport(file, skill, (*skill.findings, *_interface_findings(folder, kind)))


def _document(path: Path) -> Path:
    if not path.is_dir():
        if not path.exists():
            raise NotFoundError(
                f"No skill or file {str(path)!r}.", hint="See `wellkept skill list`."
            )
        return path
    for name in SKILL_FILES:
        if (path / name).exists():
            return path / name
    raise NotFoundError(f"No SKILL.md in {path}.", hint="Name the folder of one skill.")


def _format(file: Path) -> SkillFormat:
    if file.name in SKILL_FILES:
        return SkillFormat.FULL
    return SkillFormat.CONVENTION if file.name in CONVENTION_FILES else SkillFormat.LIGHT


def _interface_findings(folder: Path, kind: SkillFormat) -> tuple[SkillFinding, ...]:
    path = folder / skill_toml.FILE_NAME
    if kind is not SkillFormat.FULL or not path.is_file():
        return ()
    try:
        data, _ = read_file(str(path), limit_bytes=skill_toml.MAX_TOML_BYTES)
    except (OSError, ValueError) as error:
        return (replace(finding("toml-broken", f"It cannot be read: {error}."), path=path),)
    return skill_toml.read_interface(data, folder=folder)[1]
