"""The sources of skills of an open project: one scanner for every location, and its switches."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from wellkept.core.settings import paths
from wellkept.core.text import clean
from wellkept.skills.sources.claude_plugins import PluginScanner
from wellkept.skills.sources.list_scanner import ListScanner
from wellkept.skills.sources.locations import (
    builtin_location,
    managed_locations,
    project_locations,
    user_locations,
)
from wellkept.skills.sources.remote_copies import RemoteCopies, RemoteScanner
from wellkept.skills.sources.scanner import FolderScanner

if TYPE_CHECKING:
    from wellkept.core.ports.key_values import KeyValueStore
    from wellkept.skills.sources.catalog import Scanner


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
