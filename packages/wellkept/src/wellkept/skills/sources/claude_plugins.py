"""Skills of installed Claude Code plugins, read from its own list.

Only plugins that the list names and the user did not disable are scanned.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final, cast

from wellkept.core.records import replace
from wellkept.skills.sources.fingerprints import current_fingerprint
from wellkept.skills.sources.locations import SkillLocation, plugin_location
from wellkept.skills.sources.scanner import FolderScanner, ScannedSkill, ScanResult, read_file

_LIST: Final = "plugins/installed_plugins.json"
_SETTINGS: Final = "settings.json"
_LIMIT_BYTES: Final = 4 << 20


class PluginScanner:
    """Installed plugins as skill locations. `folder` is Claude Code's own, usually `~/.claude`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._scanners: dict[SkillLocation, FolderScanner] = {}
        self._seen: object = None
        self._results: tuple[ScanResult, ...] = ()
        self._last = ScanResult()

    def scan(self) -> ScanResult:
        """The skills of every enabled plugin."""
        seen = [current_fingerprint(str(self._folder / name)) for name in (_LIST, _SETTINGS)]
        if seen != self._seen:
            self._seen = seen
            locations = [plugin_location(name, folder) for name, folder in self._installed()]
            known = self._scanners
            self._scanners = {
                location: known.get(location) or FolderScanner(location) for location in locations
            }
        results = tuple(scanner.scan() for scanner in self._scanners.values())
        if len(results) != len(self._results) or any(
            new is not old for new, old in zip(results, self._results, strict=True)
        ):
            self._results, self._last = results, _merged(results)
        return self._last

    def forget(self) -> None:
        """Read everything again next time."""
        self._seen, self._scanners, self._results, self._last = None, {}, (), ScanResult()

    def _installed(self) -> Iterator[tuple[str, Path]]:
        switches = _table(_json(self._folder / _SETTINGS).get("enabledPlugins"))
        plugins = _table(_json(self._folder / _LIST).get("plugins"))
        for name, value in sorted(plugins.items()):
            if switches.get(name) is False:
                continue
            installs = cast("list[object]", value) if isinstance(value, list) else [value]
            for install in installs:
                path = _table(install).get("installPath")
                if isinstance(path, str) and Path(path).is_absolute() and "\0" not in path:
                    yield name.partition("@")[0], Path(path)


def _merged(results: tuple[ScanResult, ...]) -> ScanResult:
    return ScanResult(
        tuple(_qualified(scanned) for result in results for scanned in result.skills),
        tuple(found for result in results for found in result.findings),
        sources=tuple(source for result in results for source in result.sources),
    )


def _qualified(scanned: ScannedSkill) -> ScannedSkill:
    """A plugin's skill is also named `plugin:skill`, as in Claude Code."""
    skill = scanned.skill
    full = f"{skill.source.name}:{skill.name}"
    invocation = replace(skill.invocation, aliases=(*skill.invocation.aliases, full))
    return ScannedSkill(replace(skill, invocation=invocation), scanned.file_id)


def _json(path: Path) -> dict[str, object]:
    """A file of the client; a broken one counts as empty."""
    try:
        data, _ = read_file(str(path), limit_bytes=_LIMIT_BYTES)
        return _table(json.loads(data.decode("utf-8-sig")))
    except (OSError, ValueError, RecursionError):
        return {}


def _table(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}
