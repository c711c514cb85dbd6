"""The sources of skills of an open project: one scanner for every location, and its switches."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import quote

from wellkept.core.records import replace
from wellkept.core.session.hook_context import forced_skills
from wellkept.core.settings import paths
from wellkept.core.text import clean
from wellkept.skills.sources.list_files import ListScanner
from wellkept.skills.sources.locations import (
    SkillLocation,
    builtin_location,
    managed_locations,
    plugin_location,
    project_locations,
    user_locations,
)
from wellkept.skills.sources.remote_copies import RemoteCopies, RemoteScanner
from wellkept.skills.sources.scanner import (
    FolderScanner,
    ScannedSkill,
    ScanResult,
    current_fingerprint,
    read_file,
)

if TYPE_CHECKING:
    from wellkept.core.codec import Json
    from wellkept.core.ports.store import KeyValueStore
    from wellkept.skills.sources.catalog import Scanner

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


# -- The sources of a project ---------------------------------------------------------------------


class StoredSkillSwitches:
    """The skill switches of one project, stored in its store."""

    def __init__(self, store: KeyValueStore, project: str) -> None:
        self._store = store
        self._space = f"skills.switches/{quote(clean(project), safe='')}"

    def switched(self) -> dict[str, bool]:
        """Every switch that was set."""
        values = self._store.values(self._space)
        return {key: on for key, on in values.items() if isinstance(on, bool)}

    def switch(self, key: str, *, on: bool | None) -> None:
        """Set a switch; None removes it."""
        self._store.put_value(self._space, key, on)


def scanners_of(
    environment: Mapping[str, str],
    *,
    root: Path,
    own_folder: Path,
    copies: RemoteCopies,
    managed: Path | None = None,
) -> list[Scanner]:
    """A scanner for every location of a project and a user."""
    home = _home(environment)
    given = environment.get("CLAUDE_CONFIG_DIR")
    claude = Path(given) if given else home / ".claude"
    locations = (
        *managed_locations(paths.managed_skills_folder(environment), managed),
        *project_locations(root),
        *user_locations(home, own_folder),
        builtin_location(),
    )
    lists: list[tuple[Path, Path | None]] = [
        (root / "external-skills.json", root),
        (root / ".plan-cascade" / "skills.json", root),
        (own_folder / "external-skills.json", None),
        (own_folder / "skills.json", None),
        (home / ".plan-cascade" / "skills.json", None),
    ]
    scanners: list[Scanner] = [FolderScanner(location) for location in locations]
    scanners += [ListScanner(path, boundary=boundary, copies=copies) for path, boundary in lists]
    return [*scanners, RemoteScanner(copies), PluginScanner(claude)]


def _home(environment: Mapping[str, str]) -> Path:
    given = environment.get("HOME") or environment.get("USERPROFILE")
    return Path(given) if given else paths.expanded("~")


# -- Forced skills --------------------------------------------------------------------------------


class ForcedSkills:
    """The forced skills of one project, by name."""

    def __init__(self, store: KeyValueStore, project: str, *, always: str = "") -> None:
        self._store = store
        self._space = forced_skills(project)
        self._always = _distinct(always.split(","))

    def names(self, session: str | None = None) -> tuple[str, ...]:
        """What is forced always, and in a session."""
        return _distinct([*self._always, *(self.of_session(session) if session else ())])

    def of_session(self, session: str) -> tuple[str, ...]:
        """What is forced in this session alone."""
        kept = self._store.get_value(self._space, session)
        return tuple(one for one in kept if isinstance(one, str)) if isinstance(kept, list) else ()

    def put(self, session: str, names: Sequence[str]) -> None:
        """Force these in a session, in place of those before; none of them to end it."""
        value: list[Json] = [*_distinct(names)]
        self._store.put_value(self._space, session, value or None)


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.strip() for one in names if one.strip()))
