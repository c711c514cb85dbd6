"""Hook entries in a client's JSON settings: adding ours, finding them again, taking them out.

Two layouts: Claude Code, Codex and Gemini CLI keep groups of handlers below an event, Cursor keeps
handlers. An entry is known as ours by its command, so that one written by another installation is
found too. Invariant: entries that are not ours, and everything else in the file, stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from wellkept.clients.hook_spec import Hook, HookMode
from wellkept.clients.install import jsonc
from wellkept.clients.install.jsonc import Json, JsonChild, JsonNode, Path, WrongShapeError
from wellkept.core.records import record

Handler: TypeAlias = "dict[str, Json]"

_HOOKS: Final = "hooks"
_MODES: Final = "|".join(mode.value for mode in HookMode)
_ENDING: Final = r"(?:\s*(?:\|\||;)\s*exit 0)?\s*\Z"


@record
class HookLayout:
    """How a client lays out its hooks. `root` is what the file must hold besides."""

    client: str
    handler: Callable[[str], Handler]
    grouped: bool = True
    root: tuple[tuple[str, Json], ...] = ()

    def entry(self, hook: Hook, command: str) -> Handler:
        """The entry for a hook below its event."""
        narrowed: Handler = {} if hook.matcher is None else {"matcher": hook.matcher}
        handler = self.handler(command)
        inside: Handler = {_HOOKS: [handler]} if self.grouped else handler
        return narrowed | inside

    def is_ours(self, command: object) -> bool:
        """Whether a command starts Wellkept's hook process for this client."""
        if not isinstance(command, str) or "wellkept" not in command.casefold():
            return False
        words = rf"\s{self.client}\s+\w+(?:\s+(?:{_MODES}))?{_ENDING}"
        return re.search(words, command) is not None


def add_entries(text: str, layout: HookLayout, entries: Sequence[tuple[str, Handler]]) -> str:
    """The text with exactly these entries as ours; unchanged when they are there already."""
    text = text if text.strip() else "{}\n"
    before = our_entries(text, layout)
    if sorted_entries(before) == sorted_entries(entries):
        return text
    text = remove_entries(text, layout, prune=False)
    _expect(jsonc.parse(text), "object", "the whole of it")
    for key, value in layout.root:
        if jsonc.member(jsonc.parse(text), key) is None:
            text = jsonc.with_member(text, jsonc.parse(text), key, value)
    for event, entry in entries:
        text = _add(text, event, entry)
    # An event that is hooked no longer leaves no empty list behind.
    for event in {event for event, _ in before} - {event for event, _ in entries}:
        text = jsonc.pruned(text, (_HOOKS, event), keep=())
    return text


def remove_entries(
    text: str, layout: HookLayout, *, prune: bool = True, keep: frozenset[Path] = frozenset()
) -> str:
    """The text without our entries; `prune` takes out what they leave empty, except `keep`."""
    while (found := next(_ours(jsonc.parse(text), layout), None)) is not None:
        text = jsonc.without(text, *found.cut)
        if prune:
            text = jsonc.pruned(text, (_HOOKS, found.event), keep=keep)
    return text


def our_entries(text: str, layout: HookLayout) -> list[tuple[str, Handler]]:
    """Our entries by event, in the order of the file."""
    if not text.strip():
        return []
    return [(found.event, found.entry) for found in _ours(jsonc.parse(text), layout)]


def containers(text: str) -> frozenset[Path]:
    """The parts of a file that entries could stand in, so that they are kept when emptied."""
    if not text.strip():
        return frozenset()
    hooks = jsonc.member(jsonc.parse(text), _HOOKS)
    if hooks is None:
        return frozenset()
    events = ((_HOOKS, child.key) for child in hooks.node.children if child.key is not None)
    return frozenset([(_HOOKS,), *events])


def sorted_entries(entries: Sequence[tuple[str, Handler]]) -> list[str]:
    """Entries in an order of their own, to be compared."""
    return sorted(repr((event, sorted(entry.items()))) for event, entry in entries)


# -- Finding and cutting --------------------------------------------------------------------------


@record
class _Found:
    """One of our entries; `cut` is the container and the child to take out of it."""

    event: str
    entry: Handler
    cut: tuple[JsonNode, JsonChild]


def _ours(root: JsonNode, layout: HookLayout) -> Iterator[_Found]:
    hooks = jsonc.member(root, _HOOKS)
    for event in hooks.node.children if hooks else ():
        for child in event.node.children if event.node.kind == "array" else ():
            yield from _found_in(event, child, layout)


def _found_in(event: JsonChild, child: JsonChild, layout: HookLayout) -> Iterator[_Found]:
    entry = jsonc.plain(child.node)
    if not isinstance(entry, dict) or event.key is None:
        return
    if not layout.grouped:
        if layout.is_ours(entry.get("command")):
            yield _Found(event.key, entry, (event.node, child))
        return
    inner = jsonc.member(child.node, _HOOKS)
    handlers = inner.node.children if inner and inner.node.kind == "array" else ()
    for handler in handlers:
        value = jsonc.plain(handler.node)
        if inner and isinstance(value, dict) and layout.is_ours(value.get("command")):
            # A group that somebody put a handler of their own into is theirs; ours leaves it.
            alone = len(handlers) == 1
            cut = (event.node, child) if alone else (inner.node, handler)
            yield _Found(event.key, entry, cut)


def _add(text: str, event: str, entry: Handler) -> str:
    root = jsonc.parse(text)
    hooks = jsonc.member(root, _HOOKS)
    if hooks is None:
        return jsonc.with_member(text, root, _HOOKS, {event: [entry]})
    _expect(hooks.node, "object", '"hooks"')
    listed = jsonc.member(hooks.node, event)
    if listed is None:
        return jsonc.with_member(text, hooks.node, event, [entry])
    _expect(listed.node, "array", f'"hooks.{event}"')
    return jsonc.with_item(text, listed.node, entry)


def _expect(node: JsonNode, kind: str, what: str) -> None:
    if node.kind != kind:
        raise WrongShapeError(f"{what} is not {'an object' if kind == 'object' else 'a list'}")
