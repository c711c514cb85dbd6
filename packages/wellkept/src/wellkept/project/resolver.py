"""Resolves a folder to the project that it names.

In this order: an explicit name from the settings, the normalized git remote, the root commit, the
path. Worktrees and clones share an identity; a submodule is its own project. A remote is a claim:
whether a folder may use the project is decided in `project_decision`.

Rules where git leaves a choice:
- remotes: `origin`, then `upstream`, then the others by name; the first that names a hosted
  repository counts. A remote on the same disk is followed to what it names itself.
- addresses are taken as the repository's own configuration writes them, so that a private mirror
  (`insteadOf`) does not part colleagues; only shorthand such as `gh:owner/repo`, or a configuration
  with includes, is put to git for expansion.
- root commit: the oldest one that a local branch reaches by first parents, so neither an orphan
  branch nor a merged-in history changes it. A shallow clone does not know it and goes by path.
- a repository whose work tree is the home folder (kept settings) speaks for that folder alone.
"""

from __future__ import annotations

import os
import re
from enum import StrEnum
from pathlib import Path, PurePath, PureWindowsPath
from typing import TYPE_CHECKING

from wellkept.core.errors import UsageError
from wellkept.core.git.repository import BrokenRepository, Repository, find_repository
from wellkept.core.records import record
from wellkept.core.text import fold
from wellkept.memory.file_presence import real_path

if TYPE_CHECKING:
    from wellkept.core.git.config import RemoteName

MAX_NAME_CHARS = 200
_MAX_LOCAL_HOPS = 5
_SHORTEST_SECRET = 16
_ROOTS = ("rev-list", "--first-parent", "--max-parents=0", "--timestamp")
_SHA = r"[0-9a-f]{40}([0-9a-f]{24})?"


class ProjectKind(StrEnum):
    """How a project was identified, strongest first."""

    NAME = "name"
    GIT = "git"
    ROOT = "root"
    PATH = "path"


@record
class ProjectIdentity:
    """`identity` is the key of its memories, `name` its display name; paths start at `root`.

    `note` says why a weaker kind was used, when something was wrong.
    """

    identity: str
    name: str
    root: Path
    kind: ProjectKind
    note: str | None = None


def resolve_project(start: Path, *, explicit_name: str | None = None) -> ProjectIdentity:
    """The project that a folder (or a file) belongs to."""
    folder = folder_of(start)
    repository = repository_of(folder)
    root = repository.root if repository else folder
    if explicit_name is not None:
        name = " ".join(explicit_name.split())
        return ProjectIdentity(f"name:{_checked_name(name)}", name, root, ProjectKind.NAME)
    if repository is None or isinstance(repository, BrokenRepository):
        note = repository.reason if repository else None
        return ProjectIdentity(path_identity(root), title(root), root, ProjectKind.PATH, note)
    if remote := _remote_of(repository, hops=_MAX_LOCAL_HOPS):
        return ProjectIdentity(f"git:{remote.slug}", remote.title, root, ProjectKind.GIT)
    commit, note = _root_commit(repository)
    name = title(repository.home)
    if commit:
        return ProjectIdentity(f"root:{commit}", name, root, ProjectKind.ROOT)
    return ProjectIdentity(path_identity(repository.home), name, root, ProjectKind.PATH, note)


def identity_kind(given: str) -> ProjectKind | None:
    """The kind of an identity; None for a plain name."""
    kind, _, name = given.partition(":")
    return ProjectKind(kind) if kind in set(ProjectKind) and name[:1].strip() else None


def parse_identity(given: str) -> str:
    """The identity for a name, or for an identity as listed."""
    kind = identity_kind(given)
    if kind is None:
        return f"{ProjectKind.NAME}:{_checked_name(' '.join(given.split()))}"
    if kind is ProjectKind.NAME:
        require_no_secret(given.removeprefix(f"{kind}:"))
    return given


def claimed_identity(start: Path) -> ProjectIdentity | None:
    """The project that a folder names, by files alone; None when only git could say."""
    folder = folder_of(start)
    repository = repository_of(folder)
    if not isinstance(repository, Repository):
        return resolve_project(folder)
    if remote := _remote_of(repository, hops=_MAX_LOCAL_HOPS, ask=False):
        return ProjectIdentity(f"git:{remote.slug}", remote.title, repository.root, ProjectKind.GIT)
    return None


def root_identity(folder: Path) -> str | None:
    """The identity of a repository by its first commit, when it has one of its own content."""
    from wellkept.project.history import verified

    repository = repository_of(folder_of(folder))
    commit = _root_commit(repository)[0] if isinstance(repository, Repository) else None
    return f"root:{commit}" if commit and verified(folder, [commit]) else None


def path_identity(path: PurePath) -> str:
    """The identity of a folder by where it is; Windows paths ignore case and long-path marks."""
    text = path.as_posix()
    if isinstance(path, PureWindowsPath):
        text = text.removeprefix("//?/").removeprefix("UNC/").casefold()
        return f"path:{text.removeprefix('//')}" if text.startswith("//") else f"path:{text}"
    return f"path:{os.fsencode(text).decode('utf-8', errors='replace')}"


# -- Git ------------------------------------------------------------------------------------------


def repository_of(folder: Path) -> Repository | BrokenRepository | None:
    """The repository that a folder belongs to; the one of the home folder is only for itself."""
    found = find_repository(folder)
    if found is not None and folder != found.root and found.root == _home():
        return None
    return found


def _remote_of(repository: Repository, *, hops: int, ask: bool = True) -> RemoteName | None:
    """The hosted repository of a remote, following remotes on this disk."""
    # Imported here: a project with an explicit name does not need it.
    from wellkept.core.git.config import read_remote

    urls = _remote_urls(repository, ask=ask)
    for name in sorted(urls, key=lambda name: (name != "origin", name != "upstream", name)):
        if remote := read_remote(urls[name]):
            return remote
        if hops and (remote := _through_local(repository, urls[name], hops=hops, ask=ask)):
            return remote
    return None


def _remote_urls(repository: Repository, *, ask: bool) -> dict[str, str]:
    from wellkept.core.git.config import is_shorthand, read_config

    config = read_config(repository.common_dir / "config")
    urls = config.remote_urls()
    if not config.has_includes and not any(map(is_shorthand, urls.values())):
        return urls
    if not ask:
        return {}
    from wellkept.core.git.run import ask_git

    names = ask_git(repository.root, ["remote"])
    if names is None:
        return urls
    asked = {name: _expanded(repository, name) for name in _text(names).splitlines()}
    return {name: asked.get(name) or urls.get(name, "") for name in {*urls, *asked}}


def _expanded(repository: Repository, remote: str) -> str:
    from wellkept.core.git.run import ask_git

    answer = ask_git(repository.root, ["remote", "get-url", "--", remote])
    return _text(answer or b"").split("\n", 1)[0]


def _through_local(repository: Repository, url: str, *, hops: int, ask: bool) -> RemoteName | None:
    path = url.removeprefix("file://")
    if not path or "\0" in path:
        return None
    folder = real_path(repository.root / path)
    if not folder.is_dir():
        return None
    found = find_repository(folder)
    if not isinstance(found, Repository) or found.common_dir == repository.common_dir:
        return None
    return _remote_of(found, hops=hops - 1, ask=ask)


def _root_commit(repository: Repository) -> tuple[str | None, str | None]:
    """The first commit, or why it is not known."""
    if repository.is_shallow:
        return None, "a shallow clone does not know its first commit"
    from wellkept.core.git.run import ask_git

    answer = ask_git(repository.root, [*_ROOTS, "--branches", "--"])
    if answer is None:
        return None, "git is not there or could not read the repository"
    # Without a branch (a detached checkout) use the current commit.
    lines = _text(answer or ask_git(repository.root, [*_ROOTS, "HEAD", "--"]) or b"").splitlines()
    dated = sorted((int(at), sha) for at, sha in map(str.split, lines) if re.fullmatch(_SHA, sha))
    return (dated[0][1], None) if dated else (None, None)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", errors="replace")


# -- Paths and names ------------------------------------------------------------------------------


def folder_of(start: Path) -> Path:
    """The real folder of a path: of a file its folder; a missing path stays as it is."""
    real = real_path(start.expanduser() if str(start).startswith("~") else start)
    return real.parent if real.is_file() else real


def _home() -> Path | None:
    try:
        return Path.home().resolve()
    except (OSError, RuntimeError):
        return None


def title(folder: Path) -> str:
    """The display name of a folder."""
    return folder.name or str(folder)


def require_no_secret(name: str) -> None:
    """Refuse a name that looks like a secret: project names are stored unredacted."""
    # Short words without an assignment need no check; loading the rules is slow.
    if not any(mark in name for mark in "=：:") and all(
        len(word) < _SHORTEST_SECRET for word in name.split()
    ):
        return
    from wellkept.text.secrets.redaction import redact

    if redact(name).changed:
        raise UsageError(
            "The name of the project looks like it holds a secret.", hint="Choose another name."
        )


def _is_control(character: str) -> bool:
    return character < " " or character == "\x7f" or "\ud800" <= character <= "\udfff"


def _checked_name(name: str) -> str:
    require_no_secret(name)
    if not name or any(map(_is_control, name)) or len(name) > MAX_NAME_CHARS:
        raise UsageError(
            f"{name!r} cannot name a project.",
            hint=f"Use 1 to {MAX_NAME_CHARS} printable characters.",
        )
    return fold(name)
