"""Reads the bytes of a file as a `Skill`, in any format.

Invariant: `read_skill` never raises; the skill holds as much as could be understood, and findings
with line numbers for the rest. Knows nothing of where documents are stored.
"""

from __future__ import annotations

import re
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeVar

from wellkept.core.skills import (
    PRIORITY_RANGES,
    InjectionPhase,
    Skill,
    SkillContext,
    SkillDetection,
    SkillFinding,
    SkillFormat,
    SkillInvocation,
    SkillReminders,
    SkillSource,
)
from wellkept.core.text import first_line
from wellkept.skills.documents.fields import Fields, canonical, items_as_text
from wellkept.skills.documents.finding_codes import finding
from wellkept.skills.documents.front_matter import DocumentParts, decode, split_document
from wellkept.skills.documents.hook_fields import read_hooks
from wellkept.skills.documents.spec_rules import (
    check_body,
    check_compatibility,
    check_description,
    check_fields,
    check_name,
    read_metadata,
    usable_name,
)
from wellkept.skills.documents.yaml_reader import Mapping, read_mapping
from wellkept.skills.safe_paths import path_inside

_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
_NAMELESS: Final = "unnamed"
_HEAD_LIMIT_CHARS: Final = 4096
_REMINDERS: Final = frozenset(
    ("reminders", "sparse_reminder", "normal_reminder", "detailed_reminder")
)
_INVOCATION: Final = frozenset(
    """user_invocable disable_model_invocation argument_hint aliases allowed_tools model context
    agent""".split()
)
_DEFAULT_INVOCATION: Final = SkillInvocation()
_NO_REMINDERS: Final = SkillReminders()
_Choice = TypeVar("_Choice", bound=StrEnum)


def read_skill(
    data: bytes,
    *,
    source: SkillSource,
    format: SkillFormat,
    name: str,
    path: Path | None = None,
    base_dir: Path | None = None,
    modified_ns: int | None = None,
    strict: bool = False,
) -> Skill:
    """The skill that a document describes. `name` is the name of its folder or file."""
    text, findings = decode(data)
    layout = split_document(text)
    lines = layout.head_lines
    mapping, yaml_findings = read_mapping(lines, first_line=layout.head_line)
    fields = Fields(mapping, lines)
    body = layout.plain_body
    findings += _check_layout(layout, format)
    findings += yaml_findings
    if layout.has_head:
        findings += check_compatibility(fields)
        findings += check_fields(fields, strict=strict)
    if format is SkillFormat.FULL:
        findings += check_body(body, line=layout.body_line)
    return Skill(
        name=_name(fields, format=format, default=name),
        description=_description(fields, body, format=format),
        body=body,
        source=source,
        priority=_priority(fields, source),
        format=format,
        sha256=sha256(data).hexdigest(),
        path=path,
        base_dir=_base_dir(fields, base_dir),
        modified_ns=modified_ns,
        version=fields.text("version"),
        license=fields.text("license"),
        compatibility=fields.text("compatibility"),
        when_to_use=fields.text("when_to_use"),
        tags=fields.words("tags"),
        metadata=read_metadata(fields),
        invocation=_invocation(fields),
        hooks=read_hooks(fields),
        detection=_detection(fields),
        inject_into=_choices(fields, "inject_into", InjectionPhase),
        globs=tuple(dict.fromkeys((*fields.globs("globs"), *fields.globs("paths")))),
        reminders=_reminders(fields),
        extra=fields.extra(),
        findings=_sorted(findings, fields.findings, path),  # last: reading fields adds findings
    )


def _sorted(
    findings: list[SkillFinding], more: list[SkillFinding], path: Path | None
) -> tuple[SkillFinding, ...]:
    found = sorted((*findings, *more), key=lambda one: one.line or 0)
    return tuple(SkillFinding(f.severity, f.code, f.message, f.line, path) for f in found)


def _check_layout(layout: DocumentParts, format: SkillFormat) -> list[SkillFinding]:
    """A convention file may start with a rule, and needs no front matter."""
    if format is SkillFormat.CONVENTION:
        return []
    found = list(layout.findings)
    if layout.has_head and layout.opening[0] != "-":
        found.append(finding("fence-late", "The `---` must be on the first line.", line=1))
    if not layout.has_head and not found:
        message = "The front matter is missing; start with `---`, name and description."
        found.append(finding("head-missing", message, line=1))
    return found


def _name(fields: Fields, *, format: SkillFormat, default: str) -> str:
    """The document's own name, checked, or that of its folder or file."""
    own, line = fields.text_as_written("name"), fields.line("name")
    if own:
        folder = default if format is SkillFormat.FULL else None
        fields.findings += check_name(own, folder=folder, line=line)
        return usable_name(own) or usable_name(default) or _NAMELESS
    if format is not SkillFormat.CONVENTION:
        fields.report("name-missing", f"The name is missing; {default!r} is used.", line=line or 1)
    return default if format is SkillFormat.CONVENTION else usable_name(default) or _NAMELESS


def _description(fields: Fields, body: str, *, format: SkillFormat) -> str:
    own, line = fields.text_as_written("description"), fields.line("description")
    if own:
        fields.findings += check_description(own, line=line)
        return own
    if format is not SkillFormat.CONVENTION:
        message = "The description is missing; say what the skill does and when to use it."
        fields.report("description-missing", message, line=line or 1)
    start = body[:_HEAD_LIMIT_CHARS]
    heading = _HEADING.search(start)
    return heading[1].strip() if heading else first_line(start)


def _priority(fields: Fields, source: SkillSource) -> int:
    own = fields.number("priority")
    return source.priority if own is None else _fit_priority(own, source, fields)


def _fit_priority(priority: int, source: SkillSource, fields: Fields) -> int:
    """The priority within the range of its source's kind, with a finding when it is not."""
    low, high = PRIORITY_RANGES[source.kind]
    if low <= priority <= high:
        return priority
    message = f"The priority of {source.kind.value} skills is {low} to {high}, not {priority}."
    fields.report("priority-range", message, line=fields.line("priority"))
    return min(max(priority, low), high)


def _base_dir(fields: Fields, base_dir: Path | None) -> Path | None:
    """The folder that the document names, if it is inside its own folder."""
    own = fields.text("base_dir")
    if own is None or base_dir is None:
        return base_dir
    inside = path_inside(base_dir, own)
    if inside is None:
        message = f"base_dir {own[:60]!r} must be a folder inside the skill's own."
        fields.report("path-unsafe", message, line=fields.line("base_dir"))
    return inside or base_dir


def _invocation(fields: Fields) -> SkillInvocation:
    if not fields.has_any(_INVOCATION):
        return _DEFAULT_INVOCATION
    contexts = _choices(fields, "context", SkillContext)
    return SkillInvocation(
        user_invocable=fields.flag("user_invocable", default=True),
        disable_model_invocation=fields.flag("disable_model_invocation", default=False),
        argument_hint=fields.text_as_written("argument_hint"),
        aliases=_aliases(fields),
        allowed_tools=fields.tools("allowed_tools"),
        model=fields.text("model"),
        context=contexts[0] if contexts else SkillContext.MAIN,
        agent=fields.text("agent"),
    )


def _aliases(fields: Fields) -> tuple[str, ...]:
    """Aliases without a leading slash; those that are not one word are left out."""
    usable: list[str] = []
    for alias in fields.words("aliases"):
        plain = alias.removeprefix("/")
        if usable_name(plain) == plain and plain:
            usable.append(plain)
        else:
            message = f"The alias {alias[:40]!r} cannot be typed as one word."
            fields.report("field-value", message, line=fields.line("aliases"))
    return tuple(usable)


def _choices(fields: Fields, name: str, kind: type[_Choice]) -> tuple[_Choice, ...]:
    found: list[_Choice] = []
    for word in fields.words(name):
        try:
            found.append(kind(word.lower()))
        except ValueError:
            known = ", ".join(choice.value for choice in kind)
            message = f"{name} is one of {known}, not {word[:40]!r}."
            fields.report("field-value", message, line=fields.line(name))
    return tuple(found)


def _detection(fields: Fields) -> SkillDetection | None:
    node = fields.mapping("detect")
    return None if node is None else SkillDetection(_part(node, "files"), _part(node, "patterns"))


def _part(mapping: Mapping, name: str) -> tuple[str, ...]:
    value = next((e.value for e in mapping.entries if canonical(e.key) == name), None)
    return items_as_text(value)


def _reminders(fields: Fields) -> SkillReminders:
    if not fields.has_any(_REMINDERS):
        return _NO_REMINDERS
    together = fields.mapping("reminders") or Mapping((), 0)
    found = {
        level: fields.text(f"{level}_reminder") or "\n".join(_part(together, level)) or None
        for level in ("sparse", "normal", "detailed")
    }
    return SkillReminders(**found)
