"""The folders in which skills are searched, with their priorities.

The lists are data: a path below the project or the home folder, its layout, and a priority within
the range of its kind. Knows nothing of the contents of the folders.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Final

from wellkept.core.records import record
from wellkept.core.skills import SkillKind, SkillSource

BUILTIN_FOLDER: Final = Path(__file__).parent / "builtin"


class FolderShape(StrEnum):
    """The layout of skills in a folder."""

    FOLDERS = "folders"
    """One folder for each, with SKILL.md inside."""
    MIXED = "mixed"
    """Folders, or Markdown files of their own."""
    ONE = "one"
    """The folder is itself a skill."""
    CONVENTIONS = "conventions"
    """CLAUDE.md and its like, in the project's folders."""


@record
class SkillLocation:
    """A folder to scan. Links must stay inside `boundary`; without one they may lead anywhere."""

    source: SkillSource
    folder: Path
    shape: FolderShape
    boundary: Path | None = None


_PROJECT: Final = (
    (".skills", FolderShape.MIXED, 240),
    (".claude/skills", FolderShape.FOLDERS, 230),
    (".agents/skills", FolderShape.FOLDERS, 220),
    (".opencode/skills", FolderShape.FOLDERS, 210),
)
_HOME: Final = (
    (".claude/skills", FolderShape.FOLDERS, 160),
    (".agents/skills", FolderShape.FOLDERS, 150),
    (".config/opencode/skills", FolderShape.FOLDERS, 140),
)
CONVENTION_PRIORITY: Final = 205
OWN_PRIORITY: Final = 180
OWN_NAME: Final = "wellkept"
LISTED_USER_PRIORITY: Final = 150
EXTERNAL_PRIORITY: Final = 75
MCP_PRIORITY: Final = 60
PLUGIN_PRIORITY: Final = 85
GENERATED_PRIORITY: Final = 95
BUILTIN_PRIORITY: Final = 25
MANAGED_PRIORITY: Final = 350
"""Of folders; those of a team's server come after them."""
TEAM_PRIORITY: Final = 340


def project_locations(root: Path) -> tuple[SkillLocation, ...]:
    """The locations of a project. A checkout is not trusted: links must stay inside it."""
    folders = (
        SkillLocation(
            SkillSource(SkillKind.PROJECT, name, priority, root / name), root / name, shape, root
        )
        for name, shape, priority in _PROJECT
    )
    conventions = SkillSource(SkillKind.PROJECT, "conventions", CONVENTION_PRIORITY, root)
    return (*folders, SkillLocation(conventions, root, FolderShape.CONVENTIONS, root))


def user_locations(home: Path, own_folder: Path) -> tuple[SkillLocation, ...]:
    """The locations of a user; `own_folder` is Wellkept's configuration folder."""
    own = own_folder / "skills"
    locations = (
        SkillLocation(
            SkillSource(SkillKind.USER, f"~/{name}", priority, home / name), home / name, shape
        )
        for name, shape, priority in _HOME
    )
    mine = SkillSource(SkillKind.USER, OWN_NAME, OWN_PRIORITY, own)
    return (SkillLocation(mine, own, FolderShape.MIXED), *locations)


def builtin_location() -> SkillLocation:
    """The built-in skills."""
    source = SkillSource(SkillKind.BUILTIN, "wellkept", BUILTIN_PRIORITY, BUILTIN_FOLDER)
    return SkillLocation(source, BUILTIN_FOLDER, FolderShape.FOLDERS)


def managed_locations(*folders: Path | None) -> tuple[SkillLocation, ...]:
    """Folders that an organisation puts on its machines."""
    return tuple(
        SkillLocation(
            SkillSource(SkillKind.MANAGED, str(folder), MANAGED_PRIORITY, folder),
            folder,
            FolderShape.MIXED,
        )
        for folder in dict.fromkeys(folders)
        if folder is not None
    )


def plugin_location(name: str, folder: Path) -> SkillLocation:
    """The skills of one installed plugin."""
    source = SkillSource(SkillKind.PLUGIN, name, PLUGIN_PRIORITY, folder)
    return SkillLocation(source, folder / "skills", FolderShape.FOLDERS, folder)
