"""Creates, edits, removes and exports skills on disk.

Invariants: a file is replaced whole or not at all; nothing is overwritten; only files inside their
source are removed. Built-in, plugin and listed skills are never changed.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

from wellkept.core.errors import ConflictError, NotFoundError, UsageError
from wellkept.core.records import record, replace
from wellkept.core.skills import Skill, SkillFinding, SkillFormat, SkillKind, SkillSource
from wellkept.skills.authoring.edit_fields import FieldValue, edit_document, new_document
from wellkept.skills.documents import skill_toml
from wellkept.skills.documents.atomic_write import write_atomically, write_new
from wellkept.skills.documents.fields import (
    MAX_DESCRIPTION_CHARS,
    MAX_NAME_CHARS,
    is_specified_name,
)
from wellkept.skills.documents.finding_codes import finding
from wellkept.skills.documents.front_matter import MAX_DOCUMENT_BYTES
from wellkept.skills.documents.reader import read_skill
from wellkept.skills.safe_paths import is_inside
from wellkept.skills.sources.locations import OWN_NAME
from wellkept.skills.sources.scanner import CONVENTION_FILES, SKILL_FILES, read_file

MAX_COPIED_FILES: Final = 2_000
MAX_COPIED_BYTES: Final = 64 << 20


def create_skill(
    folder: Path,
    name: str,
    *,
    description: str,
    body: str,
    tags: tuple[str, ...] = (),
    fields: Mapping[str, FieldValue] | None = None,
) -> Path:
    """Create `folder/name/SKILL.md`; UsageError when it would break the specification."""
    if not is_specified_name(name):
        raise UsageError(
            f"Invalid skill name {name[:80]!r}.",
            hint="Use 1-64 lower-case letters and digits, with single hyphens between them.",
        )
    if not 0 < len(description.strip()) <= MAX_DESCRIPTION_CHARS:
        raise UsageError(
            "A description has 1 to 1,024 characters.",
            hint="Say what the skill does and when to use it.",
        )
    front_matter: dict[str, FieldValue] = {"name": name, "description": description.strip()}
    if tags:
        front_matter["tags"] = tags
    data = new_document(front_matter | dict(fields or {}), body=body).encode()
    if len(data) > MAX_DOCUMENT_BYTES:
        raise UsageError("A skill has at most 1 MiB.", hint="Put long material into other files.")
    path = folder / name / SKILL_FILES[0]
    write_new(path, data)
    return path


def document_of(skill: Skill) -> str:
    """The text of a skill's file, to be changed; a ConflictError when it is not what was read."""
    path = editable_file(skill)
    data = read_file(str(path), limit_bytes=MAX_DOCUMENT_BYTES)[0]
    if sha256(data).hexdigest() != skill.sha256:
        raise ConflictError(f"{path} was changed by another process.", hint="Try again.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8.", hint="Save it as UTF-8 first.") from None


def edit_skill(
    skill: Skill,
    changes: Mapping[str, FieldValue | None],
    *,
    body: str | None = None,
    text: str | None = None,
) -> Path:
    """Change fields of a skill's file; everything else stays byte for byte. `text` is a whole new
    document first. A change that adds an error is refused."""
    path, old = editable_file(skill), document_of(skill)
    whole = old if text is None else text
    if changes or body is not None:
        whole = edit_document(whole, changes, body=body)
    new = whole.encode()
    if len(new) > MAX_DOCUMENT_BYTES:
        raise UsageError("A skill has at most 1 MiB.", hint="Put long material into other files.")
    _require_no_new_error(skill, new, path)
    # Resolved, so that a link stays a link.
    write_atomically(path.resolve(), new, mode=path.stat().st_mode & 0o7777)
    return path


def _require_no_new_error(skill: Skill, new: bytes, path: Path) -> None:
    is_full = skill.format is SkillFormat.FULL
    read = read_skill(
        new,
        source=skill.source,
        format=skill.format,
        name=path.parent.name if is_full else path.name.removesuffix(".md"),
        path=path,
        base_dir=path.parent,
    )
    known = {found.code for found in skill.findings}
    broken = next((one for one in read.findings if one.is_error and one.code not in known), None)
    if broken is not None:
        raise UsageError(
            f"That would break a rule: {broken.message}",
            hint="Nothing was changed; `wellkept skill validate` shows the rules.",
        )


def files_to_remove(skill: Skill) -> list[Path]:
    """What `remove_skill` would remove: the folder with all files, or one file."""
    path = editable_file(skill, verb="removed")
    if skill.format is not SkillFormat.FULL:
        return [path]
    folder = path.parent
    if folder.is_symlink():
        return [folder]
    root = skill.source.root
    if root is None or folder == root or not folder.is_relative_to(root):
        return [path]
    return [folder, *sorted(inner for inner in folder.rglob("*") if not inner.is_dir())]


def remove_skill(skill: Skill) -> list[Path]:
    """Remove a skill from disk permanently; of a link only the link is removed."""
    files = files_to_remove(skill)
    first = files[0]
    if first.is_symlink() or not first.is_dir():
        first.unlink()
    else:
        shutil.rmtree(first)
    return files


def _is_editable(skill: Skill) -> bool:
    """Whether a skill is in a folder of this project or user, and not from a list, a remote copy, a
    plugin or Wellkept itself."""
    source = skill.source
    in_home = source.name.startswith("~/") or source.name == OWN_NAME
    return source.kind is SkillKind.PROJECT or (source.kind is SkillKind.USER and in_home)


def editable_file(skill: Skill, *, verb: str = "changed") -> Path:
    """The file of a skill that may be changed; UsageError for all others."""
    if skill.path is None or not _is_editable(skill):
        raise UsageError(
            f"{skill.name!r} comes from {skill.source.kind.value}:{skill.source.name} "
            f"and cannot be {verb} here.",
            hint="Switch it off with `wellkept skill disable`, or export a copy of it.",
        )
    if skill.format is SkillFormat.CONVENTION and verb == "removed":
        raise UsageError(
            f"{skill.path} is the project's own document.", hint="Remove the file yourself."
        )
    return skill.path


def export_skill(
    skill: Skill, folder: Path, *, overwrite: bool = False, document: str | None = None
) -> Path:
    """Copy a skill with its files to `folder/name/`, always as a full SKILL.md; `document` is the
    text of a skill without a file."""
    target = folder / _exported_name(skill)
    if os.path.lexists(target):
        if not overwrite:
            raise ConflictError(f"{target} already exists.", hint="Pass --overwrite.")
        if target.is_symlink() or not (target / SKILL_FILES[0]).is_file():
            raise ConflictError(f"{target} is not a skill.", hint="Choose another folder.")
    has_folder = skill.path is not None and skill.path.name in SKILL_FILES
    own = skill.path.parent if skill.path and has_folder else None
    data = _document(skill) if document is None else document.encode()
    files = _companions(own) if own else []
    copies = [(file, target / file.relative_to(own or file)) for file in files]
    if any(not is_inside(copy, target) for _, copy in copies):
        raise ConflictError(
            f"A link in {target} leads outside of it.", hint="Remove that folder first."
        )
    target.mkdir(parents=True, exist_ok=True)
    for file, copy in copies:
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
        shutil.copymode(file, copy)
    write_atomically(target / SKILL_FILES[0], data, mode=0o644)
    return target


def _exported_name(skill: Skill) -> str:
    """A valid name that can be a folder name: `docs/CLAUDE` becomes `docs-claude`."""
    return re.sub(r"[\W_]+", "-", skill.name).strip("-").lower()[:MAX_NAME_CHARS].strip("-")


def _document(skill: Skill) -> bytes:
    """The document on disk if it is a full one, else a new one with name and description."""
    if skill.path is not None and skill.format is SkillFormat.FULL:
        return read_file(str(skill.path), limit_bytes=MAX_DOCUMENT_BYTES)[0]
    front_matter: dict[str, FieldValue] = {
        "name": _exported_name(skill),
        "description": skill.description[:MAX_DESCRIPTION_CHARS] or skill.name,
    }
    if skill.tags:
        front_matter["tags"] = skill.tags
    return new_document(front_matter, body=skill.body).encode()


def _companions(folder: Path) -> list[Path]:
    """The other files of a skill's folder; links are left out, a huge folder is refused."""
    found: list[Path] = []
    total = 0
    for file in sorted(folder.rglob("*")):
        if file.is_symlink() or not file.is_file() or file.name in SKILL_FILES:
            continue
        found.append(file)
        total += file.stat().st_size
        if len(found) > MAX_COPIED_FILES or total > MAX_COPIED_BYTES:
            raise UsageError(
                f"{folder} is too large to copy.",
                hint=f"At most {MAX_COPIED_FILES:,} files and 64 MiB are copied.",
            )
    return found


# -- Checking one document ------------------------------------------------------------------------


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
    file = _document_at(path)
    try:
        data, _ = read_file(str(file), limit_bytes=MAX_DOCUMENT_BYTES)
    except (OSError, ValueError) as error:
        note = finding("unreadable", f"It cannot be read: {error}.")
        return ValidationReport(file, None, (replace(note, path=file),))
    if len(data) > MAX_DOCUMENT_BYTES:
        note = finding("too-large", f"It is larger than {MAX_DOCUMENT_BYTES:,} bytes.")
        return ValidationReport(file, None, (replace(note, path=file),))
    kind = _format_of(file)
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


def _document_at(path: Path) -> Path:
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


def _format_of(file: Path) -> SkillFormat:
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
