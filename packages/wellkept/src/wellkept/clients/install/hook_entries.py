"""Hook entries in a client's JSON settings: add, find and remove ours.

Two layouts: Claude Code, Codex and Gemini CLI list groups of handlers below an event, Cursor lists
handlers. An entry is ours by its command, so entries of another installation are found too.
Invariant: everything else in the file stays as it is.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path as FilePath
from typing import Final, TypeAlias

from wellkept.clients.hook_spec import Hook, HookMode, InstallPart, Programs, Shell
from wellkept.clients.install import jsonc
from wellkept.clients.install.files import FileSnapshot, InstallRecord, naming_file
from wellkept.clients.install.jsonc import Json, JsonChild, JsonNode, Path, WrongShapeError
from wellkept.core.errors import UsageError
from wellkept.core.records import record

Handler: TypeAlias = "dict[str, Json]"

_HOOKS: Final = "hooks"
_MODES: Final = "|".join(mode.value for mode in HookMode)
_ENDING: Final = r"(?:\s*(?:\|\||;)\s*exit 0)?\s*\Z"


@record
class HookLayout:
    """A client's hook layout. `root` holds members that the file must have."""

    client: str
    handler: Callable[[str], Handler]
    grouped: bool = True
    root: tuple[tuple[str, Json], ...] = ()

    def entry(self, hook: Hook, command: str) -> Handler:
        """The entry for a hook."""
        matcher: Handler = {} if hook.matcher is None else {"matcher": hook.matcher}
        handler = self.handler(command)
        if hook.timeout_s is not None:
            handler |= {"timeout": hook.timeout_s}
        body: Handler = {_HOOKS: [handler]} if self.grouped else handler
        return matcher | body

    def is_ours(self, command: object) -> bool:
        """Whether a command starts Wellkept's hook process for this client."""
        if not isinstance(command, str) or "wellkept" not in command.casefold():
            return False
        words = rf"\s{self.client}\s+\w+(?:\s+(?:{_MODES}))?{_ENDING}"
        return re.search(words, command) is not None


@record
class HookTarget:
    """Hook commands in a client's JSON file."""

    path: FilePath
    layout: HookLayout
    hooks: tuple[Hook, ...]
    windows_shell: Shell = Shell.SH
    part: InstallPart = InstallPart.HOOKS

    def with_wellkept(self, snapshot: FileSnapshot, programs: Programs) -> str | None:
        """The settings with exactly our current entries."""
        with naming_file(snapshot):
            entries = self.entries(programs)
            return add_entries(snapshot.text, self.layout, entries)

    def without_wellkept(self, snapshot: FileSnapshot, record: InstallRecord | None) -> str | None:
        """The settings without our entries and the containers left empty by that."""
        before = FileSnapshot(snapshot.path, record.original if record else None)
        with naming_file(snapshot):
            keep = containers(before.text)
            return remove_entries(snapshot.text, self.layout, keep=keep)

    def has_wellkept(self, snapshot: FileSnapshot) -> bool:
        """Whether the settings have an entry of ours."""
        with naming_file(snapshot):
            return bool(our_entries(snapshot.text, self.layout))

    def entries(self, programs: Programs) -> list[tuple[str, Handler]]:
        """Our entries, each with its event."""
        shell = self.windows_shell if programs.windows else Shell.SH
        found: list[tuple[str, Handler]] = []
        for hook in self.hooks:
            if hook.before and not programs.before_tools:
                continue
            mode = [] if hook.mode is HookMode.CAPTURE else [hook.mode.value]
            line = harmless_line([*programs.hook, self.layout.client, hook.event, *mode], shell)
            found.append((hook.event, self.layout.entry(hook, line)))
        return found


def add_entries(text: str, layout: HookLayout, entries: Sequence[tuple[str, Handler]]) -> str:
    """The text with exactly these entries as ours; unchanged when they are there."""
    text = text if text.strip() else "{}\n"
    before = our_entries(text, layout)
    if sorted_entries(before) == sorted_entries(entries):
        return text
    text = remove_entries(text, layout, prune=False)
    _expect(jsonc.parse(text), "object", "the root")
    for key, value in layout.root:
        if jsonc.member(jsonc.parse(text), key) is None:
            text = jsonc.with_member(text, jsonc.parse(text), key, value)
    for event, entry in entries:
        text = _add(text, event, entry)
    # Remove empty lists of events that are no longer hooked.
    for event in {event for event, _ in before} - {event for event, _ in entries}:
        text = jsonc.without_empty(text, (_HOOKS, event), keep=())
    return text


def remove_entries(
    text: str, layout: HookLayout, *, prune: bool = True, keep: frozenset[Path] = frozenset()
) -> str:
    """The text without our entries; `prune` removes containers left empty, except `keep`."""
    while (found := next(_ours(jsonc.parse(text), layout), None)) is not None:
        text = jsonc.without(text, *found.cut)
        if prune:
            text = jsonc.without_empty(text, (_HOOKS, found.event), keep=keep)
    return text


def our_entries(text: str, layout: HookLayout) -> list[tuple[str, Handler]]:
    """Our entries by event, in the order of the file."""
    if not text.strip():
        return []
    return [(found.event, found.entry) for found in _ours(jsonc.parse(text), layout)]


def containers(text: str) -> frozenset[Path]:
    """The containers of hook entries in a file, to keep them when emptied."""
    if not text.strip():
        return frozenset()
    hooks = jsonc.member(jsonc.parse(text), _HOOKS)
    if hooks is None:
        return frozenset()
    events = ((_HOOKS, child.key) for child in hooks.node.children if child.key is not None)
    return frozenset([(_HOOKS,), *events])


def sorted_entries(entries: Sequence[tuple[str, Handler]]) -> list[str]:
    """Entries in a canonical order, for comparison."""
    return sorted(repr((event, sorted(entry.items()))) for event, entry in entries)


# -- Finding our entries --------------------------------------------------------------------------


@record
class _Found:
    """One of our entries; `cut` is a container and the child to remove from it."""

    event: str
    entry: Handler
    cut: tuple[JsonNode, JsonChild]


def _ours(root: JsonNode, layout: HookLayout) -> Iterator[_Found]:
    hooks = jsonc.member(root, _HOOKS)
    for event in hooks.node.children if hooks else ():
        for child in event.node.children if event.node.kind == "array" else ():
            yield from _found_in(event, child, layout)


def _found_in(event: JsonChild, child: JsonChild, layout: HookLayout) -> Iterator[_Found]:
    entry = jsonc.to_python(child.node)
    if not isinstance(entry, dict) or event.key is None:
        return
    if not layout.grouped:
        if layout.is_ours(entry.get("command")):
            yield _Found(event.key, entry, (event.node, child))
        return
    inner = jsonc.member(child.node, _HOOKS)
    handlers = inner.node.children if inner and inner.node.kind == "array" else ()
    for handler in handlers:
        value = jsonc.to_python(handler.node)
        if inner and isinstance(value, dict) and layout.is_ours(value.get("command")):
            # Remove the group if our handler is alone in it, else only the handler.
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


_CMD_UNQUOTABLE = frozenset('%"!\r\n\0')
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:\\=+")


def command_line(words: Sequence[str], shell: Shell) -> str:
    """The words as one line for a shell."""
    if shell is Shell.SH:
        return shlex.join(words)
    if shell is Shell.POWERSHELL:
        return f"& {' '.join(_powershell_word(word) for word in words)}"
    return _cmd_line(words)


def harmless_line(words: Sequence[str], shell: Shell) -> str:
    """The command line with exit code 0 forced: some clients take a failed hook for a veto.

    The program cannot do that itself when it is missing.
    """
    ending = "; exit 0" if shell is Shell.POWERSHELL else " || exit 0"
    return command_line(words, shell) + ending


def _powershell_word(word: str) -> str:
    # A leading dash is safe: PowerShell takes it for a parameter only after a cmdlet.
    if word and _PLAIN.issuperset(word):
        return word
    return "'" + word.replace("'", "''") + "'"


def _cmd_line(words: Sequence[str]) -> str:
    for word in words:
        if bad := _CMD_UNQUOTABLE.intersection(word):
            raise UsageError(
                f"cmd.exe cannot quote {sorted(bad)[0]!r} in {word!r}.",
                hint="Install Wellkept in a folder without that character.",
            )
    # Quote what cmd interprets; list2cmdline does the rest.
    return " ".join(_cmd_word(word) for word in words)


def _cmd_word(word: str) -> str:
    quoted = subprocess.list2cmdline([word])
    needs_quotes = not quoted.startswith('"') and set("&|<>^()@,;=") & set(word)
    return f'"{quoted}"' if needs_quotes else quoted
