"""Joins a folder to a project that is not its own by itself, after showing what it would see.

For a clone without common history, a moved or restored folder, a fork. What the folder kept so far
goes along, and its history counts as the project's from then on.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.core.errors import NotFoundError, UsageError
from wellkept.core.memory import Memory
from wellkept.core.query import Filter, Validity
from wellkept.core.records import record
from wellkept.project.folder_lookup import (
    ABSENT,
    Place,
    all_places,
    locate,
    put_place,
    recorded_place,
    refs_stamp,
)
from wellkept.project.history import add_history, commits_of
from wellkept.project.project_decision import (
    decide,
    is_in_use,
    known_folders,
    move_project,
)
from wellkept.project.resolver import parse_identity

if TYPE_CHECKING:
    from wellkept.core.ports.store import Store
    from wellkept.project.folder_lookup import Location

_SHOWN = 5
_MAX_FOLDERS = 5


@record(kw_only=True)
class JoinPreview:
    """What a folder would see in another project, and what it would bring."""

    folder: Path
    own_project: str
    project: str
    reason: str
    memories: int
    sessions: int
    newest: tuple[Memory, ...]
    folders: tuple[str, ...]
    moving: int


def preview_join(store: Store, folder: Path, *, project: str | None = None) -> JoinPreview:
    """What joining would mean; without a project, the one that this folder names or was in."""
    location = locate(folder)
    place = _place(store, location)
    target, reason = _target(store, location, place, project)
    own = store.canonical_project(place.project)
    if target == own:
        raise UsageError(f"{location.home} belongs to {target} already.")
    if not is_in_use(store, target):
        raise NotFoundError(
            f"{target!r} has no memories.", hint="List projects: wellkept admin projects"
        )
    every = _everything(target)
    return JoinPreview(
        folder=location.home,
        own_project=own,
        project=target,
        reason=reason,
        memories=_count(store, target),
        sessions=len(store.sessions(project=target, limit=1_000)),
        newest=tuple(store.list(every, limit=_SHOWN).items),
        folders=tuple(map(str, known_folders(store, target)[:_MAX_FOLDERS])),
        moving=_count(store, own),
    )


def join_project(store: Store, folder: Path, *, project: str) -> int:
    """Join a folder to a project; returns how many memories of its own moved along."""
    location = locate(folder)
    place = _place(store, location)
    own, target = store.canonical_project(place.project), store.canonical_project(project)
    moved = move_project(store, own, into=target) if own != target else 0
    put_place(
        store,
        location,
        Place(
            target,
            place.name,
            location.mark,
            location.git_mark,
            location.remotes,
            joined=True,
            refs=refs_stamp(location.root),
        ),
    )
    if location.git_mark:
        add_history(store, target, commits_of(location.root) or ())
    return moved


def _place(store: Store, location: Location) -> Place:
    place = recorded_place(store, location)
    return place if place is not None and place.fits(location) else decide(store, location)


def _target(store: Store, location: Location, place: Place, project: str | None) -> tuple[str, str]:
    """The project to join, and why it is the one."""
    if project is not None:
        return store.canonical_project(parse_identity(project)), "you named it"
    if (moved_from := _moved_from(store, location)) is not None:
        key, old = moved_from
        return store.canonical_project(old.project), f"this folder was {key.removeprefix('path:')}"
    if place.apart_from is not None:
        reason = "its remote names this project" if location.git_mark else "it was at this path"
        return store.canonical_project(place.apart_from), reason
    raise UsageError(
        f"{location.home} is not kept apart from any project.",
        hint="Name the project to join, from `wellkept admin projects`.",
    )


def _moved_from(store: Store, location: Location) -> tuple[str, Place] | None:
    """The place of this folder under its path before it was moved."""
    mark = location.git_mark or location.mark
    if not mark or mark in (ABSENT, "unknown"):
        return None
    for key, place in all_places(store).items():
        if key != location.key and (place.git_mark or place.mark) == mark:
            return key, place
    return None


def _everything(project: str) -> Filter:
    return Filter(project=project, include_user=False, validity=Validity.ANY, archived=None)


def _count(store: Store, project: str) -> int:
    return store.stats(_everything(project)).total
