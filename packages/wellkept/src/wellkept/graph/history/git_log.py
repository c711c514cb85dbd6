"""Reads commits with their messages and file changes.

Two git commands with NUL-separated output, so that no message or file name can be misread. Files
have their current names: renames are followed from new to old.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from wellkept.core.git.run import ask_git
from wellkept.core.records import record, replace
from wellkept.core.text import clean
from wellkept.graph.history.commits import ChangeStatus, CommitFile, PastCommit

MAX_PATH_CHARS = 400
BULK_FILES = 30
LOG_TIMEOUT_S = 120.0

_LOG = ("log", "-z", "--no-color", "--format=%H%n%P%n%at%n%aE%n%aN%n%B")
_DIFF = (
    "diff-tree", "--stdin", "-z", "-r", "--root", "--name-status", "-M", "--relative",
    "--no-ext-diff", "--no-textconv", "--ignore-submodules",
)  # fmt: skip
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@record
class Commit:
    """One commit; `files` are those it added or changed, by current name."""

    sha: str
    parents: int
    at: datetime | None
    author: str
    message: str
    files: tuple[str, ...] = ()

    @property
    def is_merge(self) -> bool:
        """Whether it has several parents."""
        return self.parents > 1

    @property
    def is_bulk(self) -> bool:
        """Whether it touches too many files to say much about one."""
        return len(self.files) > BULK_FILES


def read_history_and_past(
    root: Path, *, limit: int, past_limit: int
) -> tuple[list[Commit], list[PastCommit]] | None:
    """The latest commits, newest first, and as `read_past` gives them those of the newest that are
    no merges; None when git cannot tell (no git, no commits)."""
    if limit <= 0:
        return [], []
    read = _read(root, (f"--max-count={limit}",))
    if read is None:
        return None
    commits, changes = read
    plain = [commit for commit in commits if not commit.is_merge][:past_limit]
    return list(_with_files(commits, changes)), _past(plain, changes)


def read_past(
    root: Path, *, limit: int, after: str | None = None, upto: str = "HEAD"
) -> list[PastCommit] | None:
    """The latest commits that are no merges, oldest first, with files as they were called then;
    with `after` only those that this commit does not have behind it. None when git cannot tell."""
    since = (f"{after}..{upto}",) if after and _SHA.fullmatch(after) else (upto,)
    read = _read(root, ("--no-merges", f"--max-count={limit}", *since))
    if read is None:
        return None
    return _past(*read)


# -- Reading git's answers ------------------------------------------------------------------------


def _read(
    root: Path, options: Sequence[str]
) -> tuple[list[Commit], dict[str, list[tuple[str, str, str]]]] | None:
    """Commits, newest first, and what each did; None when git cannot tell."""
    answer = ask_git(root, [*_LOG, *options], timeout_s=LOG_TIMEOUT_S)
    if answer is None:
        return None
    read = [commit for record in answer.split(b"\0") if (commit := _commit(record))]
    known_as = _one_name_each((commit.author, address) for commit, address in read)
    commits = [replace(commit, author=known_as[commit.author]) for commit, _ in read]
    wanted = "\n".join(commit.sha for commit in commits).encode()
    names = ask_git(root, _DIFF, stdin=wanted + b"\n", timeout_s=LOG_TIMEOUT_S) or b""
    return commits, _changes(names)


def _past(
    commits: Sequence[Commit], changes: dict[str, list[tuple[str, str, str]]]
) -> list[PastCommit]:
    return [
        PastCommit(commit.sha, commit.message, tuple(_file_changes(changes.get(commit.sha, []))))
        for commit in reversed(commits)
    ]


def _commit(record: bytes) -> tuple[Commit, str] | None:
    """A commit, and the address of its author."""
    fields = record.decode("utf-8", errors="replace").lstrip("\n").split("\n", 5)
    if len(fields) < 6 or not _SHA.fullmatch(fields[0]):
        return None
    sha, parents, seconds, address, author, message = fields
    author = clean(author)[:200]
    at = _moment(seconds)
    return Commit(sha, len(parents.split()), at, author, clean(message)), address.casefold()


def _one_name_each(authors: Iterable[tuple[str, str]]) -> dict[str, str]:
    """For each name the one that its person uses most: who shares an address is one person."""
    counts: Counter[str] = Counter()
    names: defaultdict[str, set[str]] = defaultdict(set)
    for name, address in authors:
        counts[name] += 1
        names[name.casefold()].add(name)
        if "@" in address and not address.startswith(("noreply@", "root@")):
            names[address].add(name)
    group = {name: {name} for name in counts}
    for together in names.values():
        joined = set[str]().union(*(group[name] for name in together))
        group |= dict.fromkeys(joined, joined)
    return {name: max(sorted(those), key=lambda one: counts[one]) for name, those in group.items()}


def _moment(seconds: str) -> datetime | None:
    """The author date; None when it is out of range."""
    try:
        at = _EPOCH + timedelta(seconds=int(seconds))
    except (ValueError, OverflowError):
        return None
    return at if at >= _EPOCH else None


def _changes(raw: bytes) -> dict[str, list[tuple[str, str, str]]]:
    """For each commit its (status, old name, new name)."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    tokens = iter(raw.decode("utf-8", errors="surrogateescape").split("\0"))
    here: list[tuple[str, str, str]] = []
    for token in tokens:
        if _SHA.fullmatch(token):
            here = found.setdefault(token, [])
        elif token:
            old = next(tokens, "")
            new = next(tokens, "") if token[0] in "RC" else old
            here.append((token[0], old, new))
    return found


def _file_changes(changes: Iterable[tuple[str, str, str]]) -> Iterator[CommitFile]:
    """Changes of plainly named files; a change of type counts as a change."""
    for letter, old, new in changes:
        if _is_plain(old) and _is_plain(new):
            status = ChangeStatus(letter) if letter in "AMDRC" else ChangeStatus.CHANGED
            yield CommitFile(status, old, new)


def _with_files(
    commits: Sequence[Commit], changes: dict[str, list[tuple[str, str, str]]]
) -> Iterator[Commit]:
    """Commits with today's names of their files; goes from new to old to follow renames."""
    today: dict[str, str] = {}
    for commit in commits:
        files: list[str] = []
        renamed: dict[str, str] = {}
        for status, old, new in changes.get(commit.sha, []):
            name = today.get(new, new)
            if status == "R":
                renamed[old] = name
            if status != "D" and _is_plain(name):
                files.append(name)
        today |= renamed
        yield replace(commit, files=tuple(dict.fromkeys(files)))


def _is_plain(name: str) -> bool:
    return 0 < len(name) <= MAX_PATH_CHARS and clean(name) == name and name.isprintable()
