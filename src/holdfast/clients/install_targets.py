"""Each client's file with Holdfast in it, and without: texts in, texts out.

A table of targets, one for each client. Nothing here writes; `install` does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol

from holdfast.clients import claude_code, codex, cursor, gemini, hook_entries, opencode
from holdfast.clients.command_lines import command_line
from holdfast.clients.hook_entries import Handler, Layout, WrongShapeError
from holdfast.clients.hook_set import Hook, Mode, Places, Scope, Shell
from holdfast.clients.install_files import Record, Snapshot
from holdfast.clients.jsonc import BrokenJsonError
from holdfast.core.errors import ConflictError, UsageError
from holdfast.core.records import record

# The hook ends by itself long before; this is for a machine that hangs.
_TIMEOUT_S: Final = 10


class Target(Protocol):
    """One client's file."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the person must know or do after installing."""
        ...

    def path(self, scope: Scope, places: Places) -> Path:
        """The file that is changed."""
        ...

    def with_ours(self, seen: Snapshot, command: Sequence[str], *, windows: bool) -> str:
        """The file's text with Holdfast in it."""
        ...

    def without_ours(self, seen: Snapshot, record: Record | None) -> str | None:
        """The text without Holdfast, when it was changed since; None for no file at all."""
        ...

    def has_ours(self, seen: Snapshot) -> bool:
        """Whether anything of ours is in the file."""
        ...


@record
class HookTarget:
    """A client that runs hook commands out of a JSON file."""

    layout: Layout
    hooks: tuple[Hook, ...]
    place: Callable[[Scope, Places], Path]
    windows_shell: Shell = Shell.SH
    notes: tuple[str, ...] = ()

    def path(self, scope: Scope, places: Places) -> Path:
        """The settings or hooks file."""
        return self.place(scope, places)

    def with_ours(self, seen: Snapshot, command: Sequence[str], *, windows: bool) -> str:
        """The settings with exactly our entries of today."""
        with _reading(seen):
            entries = self.entries(command, windows=windows)
            return hook_entries.add_entries(seen.text, self.layout, entries)

    def without_ours(self, seen: Snapshot, record: Record | None) -> str | None:
        """The settings without our entries, and without what only held them."""
        before = Snapshot(seen.path, record.original if record else None)
        with _reading(seen):
            keep = hook_entries.containers(before.text)
            return hook_entries.remove_entries(seen.text, self.layout, keep=keep)

    def has_ours(self, seen: Snapshot) -> bool:
        """Whether the settings have an entry of ours."""
        with _reading(seen):
            return bool(hook_entries.our_entries(seen.text, self.layout))

    def entries(self, command: Sequence[str], *, windows: bool) -> list[tuple[str, Handler]]:
        """Our entries, each with its event."""
        shell = self.windows_shell if windows else Shell.SH
        found: list[tuple[str, Handler]] = []
        for hook in self.hooks:
            mode = [] if hook.mode is Mode.CAPTURE else [hook.mode.value]
            line = command_line([*command, self.layout.client, hook.event, *mode], shell)
            found.append((hook.event, self.layout.entry(hook, line)))
        return found


@record
class PluginTarget:
    """OpenCode: a file of its own, wholly ours."""

    notes: tuple[str, ...] = ()

    def path(self, scope: Scope, places: Places) -> Path:
        """The plugin file."""
        return opencode.plugin_file(scope, places)

    def with_ours(self, seen: Snapshot, command: Sequence[str], *, windows: bool) -> str:  # noqa: ARG002
        """The plugin with the command in place; it is started without a shell."""
        if seen.raw is not None and not self.has_ours(seen):
            raise ConflictError(
                f"{seen.path} is there and is not Holdfast's.", hint="Move it away first."
            )
        words = json.dumps(list(command), ensure_ascii=False)
        return opencode.plugin_source().replace(opencode.COMMAND_MARK, words)

    def without_ours(self, seen: Snapshot, record: Record | None) -> str | None:
        """No file; but one that somebody went on writing is left to them."""
        if record is None:
            return None
        raise ConflictError(
            f"{seen.path} was changed since it was installed.",
            hint="Keep what you need of it, then delete it yourself.",
        )

    def has_ours(self, seen: Snapshot) -> bool:
        """Whether the file is the plugin."""
        return opencode.plugin_source().partition("\n")[0] in seen.text


@contextmanager
def _reading(seen: Snapshot) -> Generator[None]:
    """Says which file it is that cannot be understood."""
    try:
        yield
    except (BrokenJsonError, WrongShapeError) as error:
        fault = "is not valid JSON" if isinstance(error, BrokenJsonError) else "is not as expected"
        raise UsageError(
            f"{seen.path} {fault}: {error}.", hint="Mend it and try again. Nothing was changed."
        ) from None


def _in_seconds(command: str) -> Handler:
    return {"type": "command", "command": command, "timeout": _TIMEOUT_S}


def _in_milliseconds(command: str) -> Handler:
    timeout_ms = _TIMEOUT_S * 1000
    return {"name": "holdfast", "type": "command", "command": command, "timeout": timeout_ms}


def _bare(command: str) -> Handler:
    return {"command": command}


_RESTART: Final = "Sessions that are open now notice it when they are started again."

CLAUDE_CODE: Final = HookTarget(
    Layout(claude_code.CLIENT, _in_seconds),
    claude_code.HOOKS,
    claude_code.settings_file,
    notes=(_RESTART,),
)
TARGETS: Final[Mapping[str, Target]] = MappingProxyType(
    {
        claude_code.CLIENT: CLAUDE_CODE,
        codex.CLIENT: HookTarget(
            Layout(codex.CLIENT, _in_seconds),
            codex.HOOKS,
            codex.settings_file,
            windows_shell=Shell.CMD,
            notes=(
                "Codex skips hooks without a word until you trust them: start it once, look at"
                " its hooks and accept these.",
            ),
        ),
        gemini.CLIENT: HookTarget(
            Layout(gemini.CLIENT, _in_milliseconds),
            gemini.HOOKS,
            gemini.settings_file,
            windows_shell=Shell.POWERSHELL,
            notes=(_RESTART,),
        ),
        cursor.CLIENT: HookTarget(
            Layout(cursor.CLIENT, _bare, grouped=False, root=(("version", 1),)),
            cursor.HOOKS,
            cursor.settings_file,
            windows_shell=Shell.CMD,
            notes=(_RESTART,),
        ),
        opencode.CLIENT: PluginTarget((_RESTART,)),
    }
)
