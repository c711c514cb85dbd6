"""`wk.sharing`: a team's memories as files in its repository, reviewed like code.

Files are written into the work tree, for people to commit. They are taken in only from the branch
that the team reviews (the remote's default branch, or the local main one), never from a work tree:
checking out a stranger's branch teaches nothing. And only after somebody here switched it on.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.context.start.handoff import (
    Handoff,
    handed_over,
    handoff_path,
    told_of,
    write_handoff,
)
from wellkept.core.codec import Json
from wellkept.core.errors import ConflictError, NotFoundError, UsageError
from wellkept.core.git.run import ask_git
from wellkept.core.records import record
from wellkept.memory.engine import Engine
from wellkept.memory.exchange.atomic_file import write_text
from wellkept_team.sharing.export_files import WrittenOut, refuse_links, stop_sharing, write_out
from wellkept_team.sharing.import_files import LEFT, TakenIn, synced_memories, take_in
from wellkept_team.sharing.merge import local_mark
from wellkept_team.sync.handoffs import received_as, received_handoff

if TYPE_CHECKING:
    from wellkept.api.wiring.services import Services
    from wellkept.context.sections import SectionLines
    from wellkept.core.memory import Memory

DEFAULT_FOLDER = ".wellkept/shared"
MAX_FILE_BYTES = 32_768
_NAMESPACE = "sharing"
_REVIEWED = (
    "refs/remotes/origin/HEAD",
    "refs/remotes/origin/main",
    "refs/remotes/origin/master",
    "refs/heads/main",
    "refs/heads/master",
    "refs/heads/trunk",
)


@record(kw_only=True)
class SharingChoice:
    """What was switched on for a project; `tree` is the state that was taken in last."""

    folder: str = DEFAULT_FOLDER
    branch: str | None = None
    tree: str | None = None


@record(kw_only=True)
class SharingState:
    """Where sharing of a project stands."""

    is_on: bool
    folder: str
    branch: str | None
    shared: int = 0
    waiting: tuple[str, ...] = ()
    """Memories that were changed here since their file was written."""
    unmerged: tuple[str, ...] = ()
    """Memories whose file is not yet on the branch."""
    to_take_in: bool = False


class Sharing:
    """Shares memories of one project through its repository."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def state(self) -> SharingState:
        """What is shared, and what waits on either side."""
        engine, project, root = self._engine, self._project, self._root()
        choice = _choice(engine, project)
        used = choice or SharingChoice()
        branch = _reviewed_branch(root, used)
        synced = {
            full_id: one for full_id, one in synced_memories(engine, project).items() if one != LEFT
        }
        known = {memory.id: memory for memory in engine.store.get(list(synced))}
        changed = [
            full_id
            for full_id, one in synced.items()
            if (memory := known.get(full_id)) is None
            or not memory.is_open
            or local_mark(memory) != one.mark
        ]
        return SharingState(
            is_on=choice is not None,
            folder=used.folder,
            branch=branch,
            shared=len(synced),
            waiting=tuple(changed),
            unmerged=tuple(full_id for full_id, one in synced.items() if not one.merged),
            to_take_in=_tree(root, branch, used.folder) != used.tree,
        )

    def switch_on(
        self, *, folder: str | None = None, branch: str | None = None, dry_run: bool = False
    ) -> TakenIn:
        """Share this project; takes in what the branch has. A dry run shows what that would be."""
        root = self._root()
        before = _choice(self._engine, self._project)
        choice = SharingChoice(
            folder=_checked_folder(folder or (before.folder if before else DEFAULT_FOLDER)),
            branch=branch or (before.branch if before else None),
        )
        if branch is not None and _resolved(root, branch) is None:
            raise NotFoundError(f"There is no branch {branch!r}.", hint="See `git branch -a`.")
        if not dry_run:
            _put_choice(self._engine, self._project, choice)
        return _take_in(self._engine, self._project, root, choice, dry_run=dry_run)

    def switch_off(self) -> None:
        """Take nothing in any more. Memories and files stay."""
        _put_choice(self._engine, self._project, None)

    def add(self, memories: Iterable[Memory], *, dry_run: bool = False) -> WrittenOut:
        """Write memories into the folder, and bring its other files up to date."""
        root = self._root()
        return write_out(
            self._engine,
            root / self._switched_on().folder,
            project=self._project,
            add=memories,
            author=person(root),
            dry_run=dry_run,
        )

    def remove(self, memories: Iterable[Memory], *, dry_run: bool = False) -> WrittenOut:
        """Remove the files of memories. They stay known here; once merged, others forget them."""
        folder = self._root() / self._switched_on().folder
        return stop_sharing(self._engine, folder, memories, project=self._project, dry_run=dry_run)

    def take_in(self, *, dry_run: bool = False) -> TakenIn:
        """Take in what the reviewed branch says now."""
        choice = self._switched_on()
        return _take_in(self._engine, self._project, self._root(), choice, dry_run=dry_run)

    def hand_over(self, handoff: Handoff) -> Path:
        """Write a hand-over into the folder, for the branch it is about; returns its path."""
        path = self._root() / self._switched_on().folder / handoff_path(handoff.branch)
        refuse_links(path.parent.parent)
        write_text(path, write_handoff(handoff), overwrite=True)
        return path

    @property
    def _engine(self) -> Engine:
        return self._services.engine

    @property
    def _project(self) -> str:
        return self._services.project

    def _root(self) -> Path:
        root = self._services.root
        if ask_git(root, ["rev-parse", "--git-dir"]) is None:
            raise UsageError(
                f"{root} is not a git repository.", hint="Memories are shared through git."
            )
        return root

    def _switched_on(self) -> SharingChoice:
        choice = _choice(self._engine, self._project)
        if choice is None:
            raise ConflictError(
                "Sharing is off for this project.", hint="Switch it on: wellkept team join --git"
            )
        return choice


def take_in_shared(engine: Engine, project: str, root: Path) -> None:
    """Take in what was merged since the last time, where sharing is on. One git call if nothing."""
    choice = _choice(engine, project)
    if choice is not None:
        branch = _reviewed_branch(root, choice)
        if _tree(root, branch, choice.folder) != choice.tree:
            _take_in(engine, project, root, choice)


def handed_over_to(
    engine: Engine, project: str, root: Path, branch: str, *, seen_until: datetime | None
) -> SectionLines | None:
    """What was handed over on a branch, unless by this person or before `seen_until`."""
    me = {name for name in (person(root), received_as(engine.store, project)) if name}
    choice = _choice(engine, project)
    told = None
    if choice is not None:
        told = handed_over(root, choice.folder, branch, me=me, seen_until=seen_until)
    if told is None:
        text = received_handoff(engine.store, project, branch)
        told = told_of(text, branch, me=me, seen_until=seen_until)
    return told


# -- State ----------------------------------------------------------------------------------------


def _choice(engine: Engine, project: str) -> SharingChoice | None:
    value = engine.store.get_value(_NAMESPACE, project)
    if not isinstance(value, dict):
        return None
    branch, tree = value.get("branch"), value.get("tree")
    return SharingChoice(
        folder=str(value.get("folder") or DEFAULT_FOLDER),
        branch=branch if isinstance(branch, str) else None,
        tree=tree if isinstance(tree, str) else None,
    )


def _put_choice(engine: Engine, project: str, choice: SharingChoice | None) -> None:
    value: Json = None
    if choice is not None:
        value = {"folder": choice.folder, "branch": choice.branch, "tree": choice.tree}
    engine.store.put_value(_NAMESPACE, project, value)


def _checked_folder(folder: str) -> str:
    parts = folder.replace("\\", "/").strip("/").split("/")
    if folder.startswith("/") or not all(parts) or {"..", ".", ".git"} & set(parts):
        raise UsageError(
            f"{folder!r} is no folder inside the repository.", hint=f"For example {DEFAULT_FOLDER}."
        )
    return "/".join(parts)


# -- Git ------------------------------------------------------------------------------------------


def _take_in(
    engine: Engine, project: str, root: Path, choice: SharingChoice, *, dry_run: bool = False
) -> TakenIn:
    branch = _reviewed_branch(root, choice)
    tree = _tree(root, branch, choice.folder)
    files = _files(root, tree) if tree else {}
    if files is None:
        raise ConflictError("The files could not be read with git.", hint="Try `git fsck`.")
    taken = take_in(engine, files, project=project, dry_run=dry_run)
    if not dry_run:
        done = SharingChoice(folder=choice.folder, branch=choice.branch, tree=tree)
        _put_choice(engine, project, done)
    return taken


def _reviewed_branch(root: Path, choice: SharingChoice) -> str | None:
    """The branch whose files are taken in; None when there is none yet."""
    candidates = (choice.branch,) if choice.branch else _REVIEWED
    return next((one for one in candidates if _resolved(root, one)), None)


def _resolved(root: Path, name: str) -> str | None:
    found = ask_git(root, ["rev-parse", "-q", "--verify", "--end-of-options", f"{name}^{{commit}}"])
    return None if found is None else found.decode("ascii", "replace").strip()


def _tree(root: Path, branch: str | None, folder: str) -> str | None:
    """The state of the folder on the branch; None when it has no such folder."""
    if branch is None:
        return None
    place = f"{branch}:{folder}"
    found = ask_git(root, ["rev-parse", "-q", "--verify", "--end-of-options", place])
    return None if found is None else found.decode("ascii", "replace").strip()


def _files(root: Path, tree: str) -> dict[str, str | None] | None:
    """The texts of the Markdown files in a tree; None where one cannot be read as text."""
    listed = ask_git(root, ["ls-tree", "-r", "-l", "-z", tree])
    if listed is None:
        return None
    sizes: dict[str, tuple[str, int]] = {}
    for row in listed.decode("utf-8", "replace").split("\0"):
        about, _, path = row.partition("\t")
        fields = about.split()
        is_plain = len(fields) == 4 and fields[0] == "100644" and fields[3].isdigit()
        if is_plain and path.endswith(".md") and "/" in path:
            sizes[path] = (fields[2], int(fields[3]))
    wanted = {path: name for path, (name, size) in sizes.items() if size <= MAX_FILE_BYTES}
    asked = "".join(f"{name}\n" for name in wanted.values()).encode()
    answer = ask_git(root, ["cat-file", "--batch"], stdin=asked) if wanted else b""
    if answer is None:
        return None
    texts: dict[str, str | None] = dict.fromkeys(sizes)
    for path in wanted:
        head, _, rest = answer.partition(b"\n")
        size = int(head.rsplit(b" ", 1)[-1]) if head.count(b" ") == 2 else -1
        if size < 0:
            return None
        try:
            texts[path] = rest[:size].decode("utf-8")
        except UnicodeDecodeError:
            texts[path] = None
        answer = rest[size + 1 :]
    return texts


def person(root: Path) -> str | None:
    """Who shares, as git knows them."""
    found = ask_git(root, ["config", "user.name"])
    name = "" if found is None else found.decode("utf-8", "replace").strip()
    return name[:80] or None
