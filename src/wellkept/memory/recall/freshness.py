"""Whether what was recalled still stands: a memory whose file is gone is marked, and ranks lower.

The check at retrieval, for what was deleted since the last refresh. Nothing is written. A project
can be opened by name from any folder: unless the folder is `sure` to be the project's, it counts
only when at least one of the files is there.
"""

from __future__ import annotations

from pathlib import Path

from wellkept.core.records import replace
from wellkept.memory.file_presence import exists_below
from wellkept.memory.recall.ranking import STALE_FACTOR
from wellkept.memory.recall.requests import RecallHit, RecallResult, ScorePart


def with_gone_marked(found: RecallResult, *, root: Path, sure: bool) -> RecallResult:
    """The answer with hits whose files are gone marked as stale and put where they belong."""
    files = {path for hit in found.hits for path in hit.memory.files}
    if not files or not root.is_dir():
        return found
    exists = exists_below(root)
    gone = {path for path in files if not exists(path)}
    if not gone or (not sure and gone == files):
        return found
    hits = tuple(_judged(hit, gone) for hit in found.hits)
    if hits == found.hits:
        return found
    scores = [hit.score for hit in found.hits]
    # A reranker or a listing by time has an order of its own, which stays.
    by_score = scores == sorted(scores, reverse=True)
    ordered = sorted(hits, key=lambda hit: -hit.score) if by_score else hits
    return replace(found, hits=tuple(ordered))


def _judged(hit: RecallHit, gone: set[str]) -> RecallHit:
    if hit.stale or gone.isdisjoint(hit.memory.files):
        return hit
    part = ScorePart("stale", 1.0, STALE_FACTOR, STALE_FACTOR)
    return replace(hit, stale=True, score=hit.score * STALE_FACTOR, parts=(*hit.parts, part))
