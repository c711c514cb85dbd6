"""Reads the `hooks` field: the shell commands of a skill and their events.

Nothing is run here. A hook that cannot be understood is left out, with a finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from wellkept.core.skills import HookEvent, SkillHook
from wellkept.skills.documents.fields import Fields, canonical
from wellkept.skills.documents.yaml_reader import Entry, Mapping, Node, Scalar, Sequence

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


def _text(mapping: Mapping, name: str) -> str:
    node = _get(mapping, name)
    return node.text.strip() if isinstance(node, Scalar) and not node.is_null else ""


def _matcher(fields: Fields, rule: Mapping) -> str | None:
    """The pattern over tool names, empty for every tool; None when it is invalid."""
    matcher = _text(rule, "matcher")
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
    kind, command = _text(action, "type") or "command", _text(action, "command")
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
        once=_text(action, "once").lower() in _YES,
        timeout_s=_seconds(fields, action),
        line=action.line,
    )


def _seconds(fields: Fields, action: Mapping) -> float | None:
    text = _text(action, "timeout")
    if not text:
        return None
    if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,3})?", text) and float(text) > 0:
        return float(text)
    fields.report("field-value", f"timeout is in seconds, not {text[:40]!r}.", line=action.line)
    return None
