"""What is to be done about the files of a tree, from what is known of them and what is there now.

Nothing is parsed or written here; a file is read only to see whether its content changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from wellkept.codegraph.index.file_filter import reason_by_path
from wellkept.codegraph.index.fingerprints import hash_of, is_read_otherwise, marked
from wellkept.codegraph.index.parse_file import NOT_INSTALLED
from wellkept.codegraph.index.source_files import ListedFile
from wellkept.codegraph.languages import (
    EXTENSIONS,
    extension_of,
    is_configuration,
    language_name,
    language_of,
)
from wellkept.codegraph.parse.grammars import is_installed
from wellkept.codegraph.parse.tree_index import module_by_folder
from wellkept.core.graph import FileState, SourceFile
from wellkept.core.records import replace

Known = Mapping[str, SourceFile]
"""The files of the graph by path."""

_RACY_NS = 2_000_000_000
"""A file changed this shortly before it was looked at may change again at the same time stamp."""


class UpdatePlan(NamedTuple):
    """What is to be done. `same` are files whose content proved to be what it was."""

    parse: list[ListedFile]
    skip: list[SourceFile]
    same: list[SourceFile]
    gone: list[str]
    unchanged: int
    unnameable: list[str]

    @property
    def settled(self) -> list[SourceFile]:
        """Those of the same whose time stamp can be trusted from now on."""
        return [file for file in self.same if _is_settled(file)]

    def without_old_failures(self, known: Known) -> UpdatePlan:
        """The same, but for files that failed and are as they were."""
        again = [f for f in self.parse if not _failed_as_it_is(known.get(f.path), f)]
        return self._replace(parse=again)


def is_wanted(path: str) -> bool:
    """Whether a file belongs in the graph: source, or what says where imports lead."""
    return extension_of(path) in EXTENSIONS or is_configuration(path)


def planned(
    root: Path,
    known: Known,
    listed: Iterable[ListedFile],
    gone: Sequence[str],
    *,
    now: datetime,
    again: bool = False,
) -> UpdatePlan:
    """What is to be done about listed files; `again` takes unchanged ones for changed."""
    plan = UpdatePlan([], [], [], list(gone), 0, [])
    unchanged = 0
    for found in listed:
        before = known.get(found.path)
        reason = reason_by_path(found.path, found.size_bytes)
        if not _is_text(found.path):
            plan.unnameable.append(found.path.encode("utf-8", "replace").decode())
        elif reason:
            if _was_passed_over(before, found, reason):
                unchanged += 1
            else:
                plan.skip.append(_passed_over(found, reason, now))
        elif again or before is None or _is_to_be_tried_again(before):
            plan.parse.append(found)
        elif _looks_same(before, found):
            unchanged += 1
        elif _has_same_content(root, before, found):
            plan.same.append(replace(before, mtime_ns=found.mtime_ns, analysed_at=now))
        else:
            plan.parse.append(found)
    return plan._replace(unchanged=unchanged)


def _passed_over(found: ListedFile, reason: str, now: datetime) -> SourceFile:
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


def _was_passed_over(before: SourceFile | None, found: ListedFile, reason: str) -> bool:
    """Whether a file is kept as passed over already."""
    now = (reason, found.size_bytes)
    return before is not None and (before.reason, before.size_bytes) == now


def _is_to_be_tried_again(before: SourceFile) -> bool:
    """Whether an unchanged file may be read otherwise now: by another release, with a grammar that
    was installed since, or because it failed."""
    if before.state is FileState.FAILED or is_read_otherwise(before.content_hash):
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
    """Whether size and time are as before, and the time is old enough to be trusted."""
    return _is_as_before(before, found) and before.stale_at is None and _is_settled(before)


def _is_settled(file: SourceFile) -> bool:
    """Whether a file was looked at well after it was changed. One from the future never was."""
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
    return marked(hash_of(source)) == before.content_hash


def _is_text(path: str) -> bool:
    """Whether a file's name can be written down."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
