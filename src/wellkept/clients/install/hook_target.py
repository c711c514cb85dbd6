"""Hook commands in a client's JSON file: `hook_entries`, for one client and one place."""

from __future__ import annotations

from pathlib import Path

from wellkept.clients.hook_spec import Hook, HookMode, InstallPart, Programs, Shell
from wellkept.clients.install import hook_entries
from wellkept.clients.install.command_lines import harmless_line
from wellkept.clients.install.files import FileSnapshot, InstallRecord
from wellkept.clients.install.hook_entries import Handler, HookLayout
from wellkept.clients.install.target import reading
from wellkept.core.records import record


@record
class HookTarget:
    """A client that runs hook commands out of a JSON file."""

    path: Path
    layout: HookLayout
    hooks: tuple[Hook, ...]
    windows_shell: Shell = Shell.SH
    part: InstallPart = InstallPart.HOOKS

    def with_ours(self, seen: FileSnapshot, programs: Programs) -> str | None:
        """The settings with exactly our entries of today."""
        with reading(seen):
            entries = self.entries(programs)
            return hook_entries.add_entries(seen.text, self.layout, entries)

    def without_ours(self, seen: FileSnapshot, record: InstallRecord | None) -> str | None:
        """The settings without our entries, and without what only held them."""
        before = FileSnapshot(seen.path, record.original if record else None)
        with reading(seen):
            keep = hook_entries.containers(before.text)
            return hook_entries.remove_entries(seen.text, self.layout, keep=keep)

    def has_ours(self, seen: FileSnapshot) -> bool:
        """Whether the settings have an entry of ours."""
        with reading(seen):
            return bool(hook_entries.our_entries(seen.text, self.layout))

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
