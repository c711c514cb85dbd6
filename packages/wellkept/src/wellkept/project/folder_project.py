"""The project of a folder: looked up, else decided and recorded.

A decision reads git history, so its module is imported only when one is due.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.project.folder_lookup import (
    Location,
    Place,
    known_place,
    locate,
    recorded_place,
    refs_stamp,
)
from wellkept.project.resolver import ProjectIdentity, ProjectKind, identity_kind

if TYPE_CHECKING:
    from wellkept.core.ports.store import Store


def project_at(store: Store, start: Path) -> ProjectIdentity:
    """The project of a folder, decided and recorded if it was not yet."""
    location = locate(start)
    place = known_place(store, location)
    if place is None or _may_have_changed(place, location):
        from wellkept.project.project_decision import decide

        place = decide(store, location)
    return _identity(store, place, location)


def known_project_at(store: Store, start: Path) -> ProjectIdentity | None:
    """The project of a folder by files and the store alone; None when that takes a decision."""
    location = locate(start)
    place = known_place(store, location)
    if place is None and recorded_place(store, location) is None:
        from wellkept.project.project_decision import legacy_place

        place = legacy_place(store, location)
    return None if place is None else _identity(store, place, location)


def undecided_project_at(start: Path) -> ProjectIdentity:
    """Stands for a folder whose project is not known yet: nothing was ever written under it."""
    location = locate(start)
    identity = f"{location.key}#undecided"
    return ProjectIdentity(identity, location.name, location.root, ProjectKind.PATH, location.note)


def _may_have_changed(place: Place, location: Location) -> bool:
    """Whether to decide again: a repository kept apart may have fetched the history that it lacked,
    and one without commits may have some now."""
    unsettled = place.apart_from is not None or identity_kind(place.project) is ProjectKind.PATH
    return bool(location.git_mark) and unsettled and place.refs != refs_stamp(location.root)


def _identity(store: Store, place: Place, location: Location) -> ProjectIdentity:
    project = store.canonical_project(place.project)
    kind = identity_kind(project) or ProjectKind.NAME
    note = _apart_note(place, location) if place.apart_from else location.note
    return ProjectIdentity(project, place.name, location.root, kind, note)


def _apart_note(place: Place, location: Location) -> str:
    reason = (
        "it names that project but does not share its history"
        if location.git_mark
        else "another folder was at this path before"
    )
    return (
        f"{location.home} is kept apart from {place.apart_from}: {reason}."
        " `wellkept admin join` shows what it would see, and joins it."
    )
