"""Plans an update: compares the known files of a tree with the files on disk.

Parses and writes nothing. Reads a file only to see whether its content changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from wellkept.core.graph import FileState, SourceFile
from wellkept.core.languages import extension_of
from wellkept.core.records import replace
from wellkept.graph.index.file_filter import path_skip_reason
from wellkept.graph.index.parse_file import NOT_INSTALLED, hash_of, is_outdated, versioned_hash
from wellkept.graph.index.source_files import ListedFile
from wellkept.graph.languages import EXTENSIONS, is_configuration, language_name, language_of
from wellkept.graph.parse.grammars import is_installed
from wellkept.graph.parse.tree_index import module_by_folder

Known = Mapping[str, SourceFile]
"""The files of the graph by path."""

_RACY_NS = 2_000_000_000
"""A file this young may change again without a new time stamp."""


class UpdatePlan(NamedTuple):
    """Work to do. `same` are touched files with unchanged content."""

    parse: list[ListedFile]
    skip: list[SourceFile]
    same: list[SourceFile]
    gone: list[str]
    unchanged: int
    unnameable: list[str]

    @property
    def settled(self) -> list[SourceFile]:
        """The `same` files whose time stamps can be trusted from now on."""
        return [file for file in self.same if _is_settled(file)]

    def without_old_failures(self, known: Known) -> UpdatePlan:
        """The plan without unchanged files that failed before."""
        again = [f for f in self.parse if not _failed_as_it_is(known.get(f.path), f)]
        return self._replace(parse=again)


def is_indexed(path: str) -> bool:
    """Whether a file belongs in the graph: source code, or configuration of imports."""
    return extension_of(path) in EXTENSIONS or is_configuration(path)


def plan_update(
    root: Path,
    known: Known,
    listed: Iterable[ListedFile],
    gone: Sequence[str],
    *,
    now: datetime,
    again: bool = False,
) -> UpdatePlan:
    """Plan for the listed files. `again` treats unchanged files as changed."""
    plan = UpdatePlan([], [], [], list(gone), 0, [])
    unchanged = 0
    for found in listed:
        before = known.get(found.path)
        reason = path_skip_reason(found.path, found.size_bytes)
        if not _is_text(found.path):
            plan.unnameable.append(found.path.encode("utf-8", "replace").decode())
        elif reason:
            if _was_skipped(before, found, reason):
                unchanged += 1
            else:
                plan.skip.append(_skipped(found, reason, now))
        elif again or before is None or _needs_retry(before):
            plan.parse.append(found)
        elif _looks_same(before, found):
            unchanged += 1
        elif _has_same_content(root, before, found):
            plan.same.append(replace(before, mtime_ns=found.mtime_ns, analysed_at=now))
        else:
            plan.parse.append(found)
    return plan._replace(unchanged=unchanged)


def _skipped(found: ListedFile, reason: str, now: datetime) -> SourceFile:
    return SourceFile(
        path=found.path,
        language=language_name(found.path),
        content_hash="",
        size_bytes=found.size_bytes,
        mtime_ns=found.mtime_ns,
        state=FileState.SKIPPED,
        reason=reason,
        module=module_by_folder(found.path),
        analysed_at=now,
    )


def _was_skipped(before: SourceFile | None, found: ListedFile, reason: str) -> bool:
    """Whether the graph already has the file as skipped for this reason."""
    now = (reason, found.size_bytes)
    return before is not None and (before.reason, before.size_bytes) == now


def _needs_retry(before: SourceFile) -> bool:
    """Whether to parse an unchanged file again: it failed, the reading code changed, or its grammar
    was installed since."""
    if before.state is FileState.FAILED or is_outdated(before.content_hash):
        return True
    language = language_of(before.path) if before.reason.endswith(NOT_INSTALLED) else None
    return language is not None and is_installed(language)


def _failed_as_it_is(before: SourceFile | None, found: ListedFile) -> bool:
    if before is None or before.state is not FileState.FAILED:
        return False
    return _is_as_before(before, found)


def _is_as_before(before: SourceFile, found: ListedFile) -> bool:
    return (before.size_bytes, before.mtime_ns) == (found.size_bytes, found.mtime_ns)


def _looks_same(before: SourceFile, found: ListedFile) -> bool:
    """Whether size and time are unchanged, and the time is old enough to be trusted."""
    return _is_as_before(before, found) and before.stale_at is None and _is_settled(before)


def _is_settled(file: SourceFile) -> bool:
    """Whether a file was analysed well after its last change. Never true for future times."""
    if file.analysed_at is None:
        return False
    return file.analysed_at.timestamp() * 1e9 - file.mtime_ns > _RACY_NS


def _has_same_content(root: Path, before: SourceFile, found: ListedFile) -> bool:
    if not before.content_hash or before.size_bytes != found.size_bytes:
        return False
    try:
        source = (root / found.path).read_bytes()
    except OSError:
        return False
    return versioned_hash(hash_of(source)) == before.content_hash


def _is_text(path: str) -> bool:
    """Whether a file name is valid UTF-8."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
