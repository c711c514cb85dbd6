"""Small steps that the tests of skills share: reading a text as a skill, writing one to disk."""

from __future__ import annotations

import os
from pathlib import Path

from wellkept.core.skills import Skill, SkillFormat, SkillKind, SkillSource
from wellkept.skills.documents.reader import read_skill

SOURCE = SkillSource(SkillKind.PROJECT, ".claude/skills", 230)
LONG_AGO_S = 1_000_000_000


def skill_of(
    text: str | bytes,
    *,
    format: SkillFormat = SkillFormat.FULL,
    name: str = "demo",
    source: SkillSource = SOURCE,
    base_dir: Path | None = None,
    strict: bool = False,
) -> Skill:
    """The skill that a text describes, as if it lay in a folder called `name`."""
    data = text.encode() if isinstance(text, str) else text
    return read_skill(
        data, source=source, format=format, name=name, base_dir=base_dir, strict=strict
    )


def codes(skill: Skill) -> set[str]:
    """The codes of what is wrong with a skill."""
    return {finding.code for finding in skill.findings}


def document(name: str = "demo", *, more: str = "", body: str = "Do it.") -> str:
    """A valid document."""
    return f"---\nname: {name}\ndescription: What {name} does.\n{more}---\n\n{body}\n"


def put(folder: Path, name: str, text: str | bytes | None = None) -> Path:
    """Write `folder/name/SKILL.md`, dated long ago so that its stamp is settled."""
    path = folder / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    data = document(name) if text is None else text
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    age(path, path.parent, folder)
    return path


def age(*paths: Path) -> None:
    """Date files and folders long ago."""
    for path in paths:
        os.utime(path, (LONG_AGO_S, LONG_AGO_S))
