"""Permission for Wellkept's reading and remembering tools in a client's settings.

Without a rule a client refuses the tool or asks at every call. Only what reads or stores is
granted; what forgets or changes is asked for as ever. Invariant: rules of the person stay, and
uninstalling leaves the list as it was.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from wellkept.clients.hook_spec import InstallPart, Programs
from wellkept.clients.install import jsonc
from wellkept.clients.install.files import FileSnapshot, InstallRecord
from wellkept.clients.install.target import naming_file
from wellkept.core.records import record

_KEYS: Final = ("permissions", "allow")


@record
class PermissionEntry:
    """Rules in the list of allowed tools of a JSON file."""

    path: Path
    rules: tuple[str, ...]
    part: InstallPart = InstallPart.PERMISSIONS

    def with_wellkept(self, snapshot: FileSnapshot, programs: Programs) -> str | None:
        """The settings with the rules, or without them when no server is to be started."""
        if not programs.server:
            return self.without_wellkept(snapshot, None)
        with naming_file(snapshot):
            text = snapshot.text if snapshot.text.strip() else "{}\n"
            known = _allowed(text)
            missing = [rule for rule in self.rules if rule not in known]
            return jsonc.with_value(text, _KEYS, [*known, *missing]) if missing else text

    def without_wellkept(self, snapshot: FileSnapshot, record: InstallRecord | None) -> str | None:
        """The settings without the rules and the objects left empty by that."""
        if not self.has_wellkept(snapshot):
            return None if snapshot.raw is None else snapshot.text
        with naming_file(snapshot):
            before = FileSnapshot(snapshot.path, record.original if record else None).text
            left = [rule for rule in _allowed(snapshot.text) if rule not in self.rules]
            had_list = bool(before.strip()) and jsonc.find(jsonc.parse(before), _KEYS) is not None
            if left or had_list:
                return jsonc.with_value(snapshot.text, _KEYS, left)
            root = jsonc.parse(before) if before.strip() else None
            had_parent = root is not None and jsonc.find(root, _KEYS[:1]) is not None
            keep = frozenset({_KEYS[:1]}) if had_parent else frozenset[jsonc.Path]()
            return jsonc.without_value(snapshot.text, _KEYS, keep=keep)

    def has_wellkept(self, snapshot: FileSnapshot) -> bool:
        """Whether all rules are there."""
        with naming_file(snapshot):
            return bool(snapshot.text.strip()) and set(self.rules) <= set(_allowed(snapshot.text))


def _allowed(text: str) -> list[jsonc.Json]:
    found = jsonc.find(jsonc.parse(text), _KEYS)
    value = jsonc.to_python(found.node) if found else None
    return list(value) if isinstance(value, list) else []
