"""Reads the bytes of a file as a `Skill`, in any format.

Invariant: `read_skill` never raises; the skill holds as much as could be understood, and findings
with line numbers for the rest. Knows nothing of where documents are stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeVar

from wellkept.core.skills import (
    PRIORITY_RANGES,
    HookEvent,
    InjectionPhase,
    Skill,
    SkillContext,
    SkillDetection,
    SkillFinding,
    SkillFormat,
    SkillHook,
    SkillInvocation,
    SkillReminders,
    SkillSource,
)
from wellkept.core.text import first_line
from wellkept.skills.documents.fields import (
    Fields,
    canonical,
    check_body,
    check_compatibility,
    check_description,
    check_fields,
    check_name,
    items_as_text,
    read_metadata,
    usable_name,
)
from wellkept.skills.documents.finding_codes import finding
from wellkept.skills.documents.front_matter import (
    DocumentParts,
    Entry,
    Mapping,
    Node,
    Scalar,
    Sequence,
    decode,
    read_mapping,
    split_document,
)
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


# -- Hooks: nothing is run here -------------------------------------------------------------------


MAX_MATCHER_CHARS: Final = 500
_EVENTS: Final = {canonical(event.value): event for event in HookEvent}
_EVERY_TOOL: Final = frozenset(("", "*"))
_YES: Final = frozenset(("true", "yes", "on"))


def read_hooks(fields: Fields) -> tuple[SkillHook, ...]:
    """The hooks of a front matter, in document order."""
    hooks = fields.mapping("hooks")
    found: list[SkillHook] = []
    for entry in hooks.entries if hooks else ():
        event = _EVENTS.get(canonical(entry.key))
        if event is None:
            known = ", ".join(known.value for known in HookEvent)
            fields.report(
                "hook-event", f"Unknown hook event {entry.key!r}; known: {known}.", line=entry.line
            )
            continue
        for rule in _items(entry.value):
            found.extend(_read_rule(fields, rule, event))
    return tuple(found)


def _items(node: Node) -> tuple[Node, ...]:
    return node.items if isinstance(node, Sequence) else (node,)


def _read_rule(fields: Fields, rule: Node, event: HookEvent) -> Iterator[SkillHook]:
    """A rule has a matcher and hooks; a hook may also be a mapping or a text by itself."""
    if isinstance(rule, Scalar):
        rule = Mapping((), rule.line) if rule.is_null else _command_alone(rule)
    if not isinstance(rule, Mapping):
        fields.report("field-kind", "A hook must be a mapping.", line=rule.line)
        return
    matcher = _matcher(fields, rule)
    nested = _get(rule, "hooks")
    if matcher is None:
        return
    for action in _items(nested) if nested is not None else (rule,):
        hook = _read_action(fields, action, event, matcher)
        if hook is not None:
            yield hook


def _command_alone(node: Scalar) -> Mapping:
    return Mapping((Entry("command", node, node.line, 0, 0),), node.line)


def _get(mapping: Mapping, name: str) -> Node | None:
    return next((e.value for e in mapping.entries if canonical(e.key) == name), None)


def _text_of(mapping: Mapping, name: str) -> str:
    node = _get(mapping, name)
    return node.text.strip() if isinstance(node, Scalar) and not node.is_null else ""


def _matcher(fields: Fields, rule: Mapping) -> str | None:
    """The pattern over tool names, empty for every tool; None when it is invalid."""
    matcher = _text_of(rule, "matcher")
    if matcher in _EVERY_TOOL:
        return ""
    try:
        if len(matcher) <= MAX_MATCHER_CHARS:
            re.compile(matcher)
            return matcher
        problem = f"it is longer than {MAX_MATCHER_CHARS} characters"
    except (re.error, OverflowError, RecursionError) as error:
        problem = str(error)
    fields.report("hook-matcher", f"{matcher[:40]!r} cannot be used: {problem}.", line=rule.line)
    return None


def _read_action(fields: Fields, action: Node, event: HookEvent, matcher: str) -> SkillHook | None:
    if not isinstance(action, Mapping):
        fields.report("field-kind", "A hook must be a mapping.", line=action.line)
        return None
    kind, command = _text_of(action, "type") or "command", _text_of(action, "command")
    if kind != "command":
        fields.report("hook-type", f"Only commands are run, not {kind!r}.", line=action.line)
        return None
    if not command:
        fields.report("hook-command", "This hook has no command.", line=action.line)
        return None
    return SkillHook(
        event=event,
        command=command,
        matcher=matcher,
        once=_text_of(action, "once").lower() in _YES,
        timeout_s=_seconds(fields, action),
        line=action.line,
    )


def _seconds(fields: Fields, action: Mapping) -> float | None:
    text = _text_of(action, "timeout")
    if not text:
        return None
    if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,3})?", text) and float(text) > 0:
        return float(text)
    fields.report("field-value", f"timeout is in seconds, not {text[:40]!r}.", line=action.line)
    return None
