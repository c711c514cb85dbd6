"""Decides which project's memory a folder may read and write.

A remote's address is a claim. A repository belongs to the project that its remote names when nobody
was there before it, or when it has a commit of that project. Otherwise it stays apart, under its
first commit or its path, until the user joins it (`join.py`). A plain folder goes by its path, and
one made later at that path stays apart too. Runs git; the hook process only reads the result
(`places.py`).

Stores from before this rule keep their projects: a folder with sessions or memories under the
claimed project is believed once, and its history is recorded then.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.core.errors import StoreBusyError, StoreFullError, StoreReadOnlyError, UsageError
from wellkept.core.query import Filter, Validity
from wellkept.core.records import record, replace
from wellkept.core.text import clean
from wellkept.project.folder_lookup import (
    Location,
    Place,
    all_places,
    locate,
    put_place,
    recorded_place,
    refs_stamp,
)
from wellkept.project.history import add_history, commits_of, recorded_history, verified
from wellkept.project.resolver import (
    ProjectIdentity,
    ProjectKind,
    claimed_identity,
    identity_kind,
    resolve_project,
    root_identity,
)

if TYPE_CHECKING:
    from wellkept.core.ports.store import Store

LEGACY_FOLDERS = "adopted"
"""Before places, a store kept `identity|root` of each folder that had been opened."""
_MAX_SESSIONS = 200
_MAX_FOLDERS = 8
# A read must not fail because the decision cannot be recorded.
_NOT_NOW = (StoreReadOnlyError, StoreBusyError, StoreFullError)


@record
class _Case:
    """What a decision is based on: the folder, what it names, its commits (None when git cannot
    say), and what was decided for this path before."""

    location: Location
    claim: ProjectIdentity
    commits: tuple[str, ...] | None
    before: Place | None

    @property
    def own(self) -> Place | None:
        """What was decided before for this very folder."""
        before = self.before
        return before if before is not None and before.is_same_folder(self.location) else None


def decide(store: Store, location: Location) -> Place:
    """Decide for a folder, and record it with what was learned about the project's history."""
    case = _Case(
        location,
        resolve_project(location.root),
        commits_of(location.root) if location.git_mark else (),
        recorded_place(store, location),
    )
    place = _decision(store, case)
    with suppress(*_NOT_NOW):
        _adopt(store, case, place)
        if case.commits is not None:
            place = replace(place, project=store.canonical_project(place.project))
            put_place(store, location, place)
            add_history(store, place.project, case.commits)
    return place


def _decision(store: Store, case: _Case) -> Place:
    location, claim, own = case.location, case.claim, case.own
    made = Place(
        claim.identity,
        claim.name,
        location.mark,
        location.git_mark,
        location.remotes,
        refs=refs_stamp(location.root),
    )
    if own is not None and own.joined:
        return replace(made, project=own.project, name=own.name, joined=True)
    project = store.canonical_project(claim.identity)
    if own is not None and own.git_mark and own.apart_from is None:
        held = store.canonical_project(own.project)
        if held == project or (
            identity_kind(held) is ProjectKind.GIT and not _moves_over(store, case, project)
        ):
            return replace(made, project=held)
    if claim.kind is not ProjectKind.GIT:
        return _by_history_or_path(store, case, made)
    if _is_mine(store, case, project):
        return replace(made, project=project)
    apart = _by_history_or_path(store, case, replace(made, name=location.name))
    return replace(apart, apart_from=project)


def _moves_over(store: Store, case: _Case, project: str) -> bool:
    """Whether a repository with a new address now belongs to the project there. It keeps its memory
    when the address is gone, or nobody is there."""
    is_hosted = case.claim.kind is ProjectKind.GIT
    return is_hosted and _has_owner(store, project) and _shares_history(store, case, project)


def _is_mine(store: Store, case: _Case, project: str) -> bool:
    """Whether a repository may use the project that its remote names."""
    if not _has_owner(store, project):
        return True
    is_legacy = case.before is None and not recorded_history(store, project)
    names = {project, case.claim.identity}
    if is_legacy and any(_was_used_in(store, name, case.location) for name in names):
        return True
    return _shares_history(store, case, project)


def _has_owner(store: Store, project: str) -> bool:
    return bool(recorded_history(store, project)) or is_in_use(store, project)


def _shares_history(store: Store, case: _Case, project: str) -> bool:
    """Whether a repository has a commit of the project, or a folder of the project has one of its
    commits: a shallow clone may be newer than what was recorded."""
    history = recorded_history(store, project) or _gather_history(store, project)
    if history and verified(case.location.root, history):
        return True
    others = _living(store, project) if case.commits else ()
    return any(verified(other.root, case.commits or ()) for other in others)


def _by_history_or_path(store: Store, case: _Case, made: Place) -> Place:
    """A repository without a hosted project: by its first commit, else by its path."""
    if case.commits and (own_root := root_identity(case.location.root)):
        return replace(made, project=store.canonical_project(own_root))
    return _by_path(store, case.location, made, case.before)


def _by_path(store: Store, location: Location, made: Place, before: Place | None) -> Place:
    """A folder without history: it is what is at this path, unless another was there before."""
    plain = location.key
    if before is None:
        if store.canonical_project(plain) == plain:
            return replace(made, project=plain)
        # What was here became a repository with a project of its own.
        return replace(made, project=_own_path(location), apart_from=plain)
    if before.is_same_folder(location):
        return replace(made, project=before.project, apart_from=before.apart_from)
    return replace(
        made, project=_own_path(location), apart_from=store.canonical_project(before.project)
    )


def _own_path(location: Location) -> str:
    digest = sha256(f"{location.mark}|{location.git_mark}".encode()).hexdigest()[:8]
    return f"{location.key}#{digest}"


# -- What a project is known by -------------------------------------------------------------------


def is_in_use(store: Store, project: str) -> bool:
    """Whether a project has memories or sessions."""
    own = Filter(project=project, include_user=False, validity=Validity.ANY, archived=None)
    return bool(store.list(own, limit=1).items or store.sessions(project=project, limit=1))


def known_folders(store: Store, project: str) -> list[Path]:
    """Folders that were placed in a project, or had sessions in it; newest sessions first."""
    by_place = [
        Path(key.removeprefix("path:"))
        for key, place in all_places(store).items()
        if store.canonical_project(place.project) == project
    ]
    sessions = store.sessions(project=project, limit=_MAX_SESSIONS)
    by_session = [Path(one.cwd) for one in sessions if one.cwd and "\0" not in one.cwd]
    return list(dict.fromkeys((*by_place, *by_session)))


def _gather_history(store: Store, project: str) -> tuple[str, ...]:
    """Read the history of a project from its folders that still are repositories."""
    for location in _living(store, project):
        commits = commits_of(location.root)
        if commits:
            with suppress(*_NOT_NOW):
                add_history(store, project, commits)
            return commits
    return ()


def _living(store: Store, project: str) -> Iterator[Location]:
    """Repositories of a project that are still what was placed there."""
    for folder in known_folders(store, project)[:_MAX_FOLDERS]:
        try:
            location = locate(folder)
        except UsageError:
            continue
        place = recorded_place(store, location)
        if location.git_mark and (place is None or place.fits(location)):
            yield location


def _was_used_in(store: Store, project: str, location: Location) -> bool:
    """Whether a store from before places has this folder in a project."""
    roots = {location.root, location.home}
    if any(store.get_value(LEGACY_FOLDERS, clean(f"{project}|{root}")) for root in roots):
        return True
    for session in store.sessions(project=project, limit=_MAX_SESSIONS):
        cwd = session.cwd
        if cwd and "\0" not in cwd and any(Path(cwd).is_relative_to(root) for root in roots):
            return True
    return False


def legacy_place(store: Store, location: Location) -> Place | None:
    """The place of a folder in a store from before places, as far as files can tell."""
    claim = claimed_identity(location.root)
    if claim is None:
        return None
    project = store.canonical_project(claim.identity)
    if claim.kind is ProjectKind.PATH and project != location.key:
        return None
    is_believed = claim.kind is ProjectKind.PATH or (
        not recorded_history(store, project) and _was_used_in(store, project, location)
    )
    return Place(project, claim.name, location.mark) if is_believed else None


# -- Earlier identities of the same folder --------------------------------------------------------


def _adopt(store: Store, case: _Case, place: Place) -> None:
    """Move what this very folder kept under a weaker identity into its project."""
    if place.apart_from is not None:
        return
    own, claim = case.own, case.claim
    target = store.canonical_project(place.project)
    earlier: list[str] = []
    if own is not None and not own.joined:
        earlier.append(store.canonical_project(own.project))
        if claim.kind is ProjectKind.GIT and claim.identity != target:
            # The repository moved to a new address: later clones from there find its memory, if
            # they share its history.
            earlier.append(claim.identity)
    elif case.before is None:
        location = case.location
        found = [location.key]
        root = root_identity(location.root) if location.git_mark else None
        if root and _was_used_in(store, root, location):
            found.insert(0, root)
        earlier += [name for name in found if name != target and is_in_use(store, name)]
    for identity in dict.fromkeys(earlier):
        kind = identity_kind(identity)
        is_new_address = identity == claim.identity and not _has_owner(store, identity)
        if identity == target or store.canonical_project(identity) == target:
            continue
        if kind in (ProjectKind.ROOT, ProjectKind.PATH) or is_new_address:
            move_project(store, identity, into=target)


def move_project(store: Store, alias: str, *, into: str) -> int:
    """Make one project an alias of another, with its memories and its history."""
    target = store.canonical_project(into)
    moved = store.merge_projects(alias, into=target)
    add_history(store, target, recorded_history(store, alias))
    return moved
