"""Files an agent has read lately, to be shown again after compaction.

Bounded by tokens; the least recently read goes first. Restoration prefers what was read most often.
Invariant: what is restored is what the file holds now; a file that changed is read again, one that
is gone is forgotten.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from wellkept.core.records import record
from wellkept.core.text import estimate_tokens

BUDGET_TOKENS = 50_000


class _CachedFile:
    """One file as it was last read."""

    def __init__(self, path: Path, content: str) -> None:
        self.path = path
        self.last_read = 0
        self.access_count = 0
        self.set_content(content)

    def set_content(self, content: str) -> None:
        """Take what the file holds now."""
        self.content = content
        self.tokens = estimate_tokens(content)
        self.lines = content.count("\n") + 1
        self.stamp = _stamp(self.path)


@record
class RestoredFile:
    """A file that is shown again."""

    path: Path
    content: str
    tokens: int


class FileCache:
    """Files by path."""

    def __init__(self, budget_tokens: int = BUDGET_TOKENS) -> None:
        self._budget = budget_tokens
        self._files: dict[Path, _CachedFile] = {}
        self._reads = 0
        self._counts: dict[Path, tuple[int, int]] = {}

    def track_read(self, path: Path, content: str) -> None:
        """Note that a file was read; others give way when the budget is used up. A file that is
        larger than the whole budget is counted, but not kept."""
        self._reads += 1
        file = _CachedFile(path, content)
        times = self._counts.get(path, (0, 0))[1] + 1
        self._counts[path] = (file.lines, times)
        file.last_read, file.access_count = self._reads, times
        self._files.pop(path, None)
        if file.tokens <= self._budget:
            self._files[path] = file
            self._evict()

    def count_read(self, path: Path) -> None:
        """Note that a file was read again, unchanged."""
        if (file := self._files.get(path)) is not None:
            self.track_read(path, file.content)

    def refresh(self) -> None:
        """Read files again that changed on disk; forget those that are gone. Reads files: call it
        in a thread."""
        for file in list(self._files.values()):
            stamp = _stamp(file.path)
            if stamp is None:
                self.forget(file.path)
            elif stamp != file.stamp:
                try:
                    file.set_content(file.path.read_text("utf-8"))
                except (OSError, ValueError):
                    self.forget(file.path)
        self._evict()

    def forget(self, path: Path) -> None:
        """Drop a file that is gone."""
        self._files.pop(path, None)

    def read_counts(self) -> list[tuple[Path, int, int]]:
        """Every file that was read, evicted ones too: path, lines, times."""
        return [(path, lines, times) for path, (lines, times) in self._counts.items()]

    def files_for_restoration(
        self, *, max_files: int, max_tokens: int, per_file_tokens: int
    ) -> list[RestoredFile]:
        """The most read files within the limits; one that is too large is skipped."""
        restored: list[RestoredFile] = []
        used = 0
        ranked = sorted(
            self._files.values(), key=lambda file: (-file.access_count, -file.last_read)
        )
        for file in ranked:
            if len(restored) == max_files:
                break
            if file.tokens > per_file_tokens or used + file.tokens > max_tokens:
                continue
            restored.append(RestoredFile(file.path, file.content, file.tokens))
            used += file.tokens
        return restored

    @property
    def tokens(self) -> int:
        """Tokens of all cached files."""
        return sum(file.tokens for file in self._files.values())

    def __contains__(self, path: object) -> bool:
        return path in self._files

    def _evict(self) -> None:
        total = self.tokens
        for file in sorted(self._files.values(), key=lambda one: one.last_read):
            if total <= self._budget:
                return
            total -= file.tokens
            del self._files[file.path]


def _stamp(path: Path) -> tuple[int, int] | None:
    """What changes when a file is written; None when there is no such file."""
    with suppress(OSError, ValueError):
        known = path.stat()
        return known.st_mtime_ns, known.st_size
    return None
