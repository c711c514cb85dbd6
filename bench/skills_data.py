"""Labelled prompts over skills: read from a folder or from one JSON file.

The format is told in bench/data/skills/README.md. Invariant: what was read is complete and
consistent; a set that is not is refused with the place that is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import cast

from wellkept.core.skills import Skill, SkillDetection, SkillFormat, SkillKind, SkillSource
from wellkept.skills.documents.reader import read_skill
from wellkept.skills.selection.detection import ProjectFiles, scan_project

SHIPPED = Path(__file__).parent / "data" / "skills"
TEST_HALF_SHA256 = "6ec9d9d7a2071c31a8510d27aceb80a5b1768a312ba736417220c588511e1eec"
"""Digest of the sorted test prompts of the shipped set: no prompt moves between the halves."""
_SOURCE = SkillSource(SkillKind.PROJECT, "bench", 250)


@dataclass(frozen=True, slots=True)
class Prompt:
    """What somebody typed, and which skills fit; none when `expected` is empty."""

    text: str
    expected: frozenset[str]
    split: str
    kind: str
    project: str | None


@dataclass(frozen=True, slots=True)
class SkillSet:
    """Skills, labelled prompts, and the projects that prompts were typed in."""

    skills: tuple[Skill, ...]
    prompts: tuple[Prompt, ...]
    projects: Mapping[str, ProjectFiles]


def load(path: Path) -> SkillSet:
    """The set at a path; ValueError says what is wrong with it."""
    made = _from_file(path) if path.is_file() else _from_folder(path)
    names = {skill.name for skill in made.skills}
    for prompt in made.prompts:
        unknown = prompt.expected - names
        if unknown:
            raise ValueError(f"{prompt.text!r} expects {min(unknown)!r}, which is no skill here.")
        if prompt.project is not None and prompt.project not in made.projects:
            raise ValueError(f"{prompt.text!r} stands in the unknown project {prompt.project!r}.")
    return made


def digest_of_test_half(data: SkillSet) -> str:
    """Digest of the prompts in the test half, to compare with `TEST_HALF_SHA256`."""
    texts = sorted({prompt.text for prompt in data.prompts if prompt.split == "test"})
    return sha256("\n".join(texts).encode()).hexdigest()


def _from_folder(folder: Path) -> SkillSet:
    library = next((folder / n for n in ("library", "skills") if (folder / n).is_dir()), None)
    if library is None:
        raise ValueError(f"{folder} has neither library/ nor skills/.")
    skills = [
        read_skill(
            path.read_bytes(), source=_SOURCE, format=SkillFormat.FULL, name=path.parent.name
        )
        for path in sorted(library.glob("*/SKILL.md"))
    ]
    lines = (folder / "prompts.jsonl").read_text("utf-8").splitlines()
    prompts = [_prompt(json.loads(line)) for line in lines if line.strip()]
    projects = folder / "projects"
    found = (
        {p.name: scan_project(p) for p in sorted(projects.iterdir())} if projects.is_dir() else {}
    )
    return SkillSet(tuple(skills), tuple(prompts), found)


def _from_file(path: Path) -> SkillSet:
    content = cast("dict[str, object]", json.loads(path.read_text("utf-8")))
    skills = cast("Sequence[dict[str, object]]", _of(content, "skills", "the file"))
    prompts = cast("Sequence[dict[str, object]]", _of(content, "prompts", "the file"))
    projects = cast("Mapping[str, Mapping[str, str]]", content.get("projects", {}))
    return SkillSet(
        tuple(_skill(one) for one in skills),
        tuple(_prompt(one) for one in prompts),
        {name: ProjectFiles.of(files) for name, files in projects.items()},
    )


def _skill(given: Mapping[str, object]) -> Skill:
    rule = cast("Mapping[str, object]", given.get("detect") or {})
    name, body = str(_of(given, "name", "a skill")), str(given.get("body", ""))
    return Skill(
        name=name,
        description=str(_of(given, "description", f"the skill {name!r}")),
        body=body,
        source=_SOURCE,
        priority=_SOURCE.priority,
        format=SkillFormat.FULL,
        sha256=sha256(f"{name}\n{body}".encode()).hexdigest(),
        when_to_use=str(given["when_to_use"]) if given.get("when_to_use") else None,
        tags=_texts(given.get("tags")),
        globs=_texts(given.get("globs")),
        detection=SkillDetection(_texts(rule.get("files")), _texts(rule.get("patterns")))
        if rule
        else None,
    )


def _prompt(given: Mapping[str, object]) -> Prompt:
    project, text = given.get("project"), str(_of(given, "prompt", "a prompt"))
    expected = _texts(_of(given, "expected", f"the prompt {text!r}"))
    return Prompt(
        text,
        frozenset(expected),
        str(given.get("split", "test")),
        str(given.get("kind", "plain" if expected else "none")),
        None if project is None else str(project),
    )


def _of(given: Mapping[str, object], key: str, what: str) -> object:
    if key not in given:
        raise ValueError(f"{what} has no {key!r}.")
    return given[key]


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(str(item) for item in cast("Sequence[object]", value or ()))
