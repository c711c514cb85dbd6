"""Skills made by hand, for tests of choosing."""

from __future__ import annotations

from hashlib import sha256

from wellkept.core.skills import (
    InjectionPhase,
    Skill,
    SkillDetection,
    SkillFinding,
    SkillFormat,
    SkillInvocation,
    SkillKind,
    SkillSource,
)


def skill(
    name: str,
    description: str = "",
    body: str = "Do it well.",
    *,
    tags: tuple[str, ...] = (),
    files: tuple[str, ...] = (),
    patterns: tuple[str, ...] = (),
    globs: tuple[str, ...] = (),
    phases: tuple[InjectionPhase, ...] = (),
    priority: int = 210,
    enabled: bool = True,
    format: SkillFormat = SkillFormat.FULL,
    for_people_only: bool = False,
    findings: tuple[SkillFinding, ...] = (),
) -> Skill:
    """A skill of the project."""
    return Skill(
        name=name,
        description=description,
        body=body,
        source=SkillSource(SkillKind.PROJECT, ".skills", 210),
        priority=priority,
        format=format,
        sha256=sha256(f"{name}{body}".encode()).hexdigest(),
        tags=tags,
        detection=SkillDetection(files, patterns) if files or patterns else None,
        globs=globs,
        inject_into=phases,
        enabled=enabled,
        invocation=SkillInvocation(disable_model_invocation=for_people_only),
        findings=findings,
    )
