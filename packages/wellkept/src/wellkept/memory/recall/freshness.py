"""Marks recalled memories whose files are gone as stale, and ranks them lower.

Catches files deleted since the last refresh. Nothing is written. A project can be opened by name
from any folder: unless the folder is `sure` to be the project's, missing files count only when at
least one file exists.
"""

from __future__ import annotations

from pathlib import Path

from wellkept.core.records import replace
from wellkept.memory.file_presence import exists_below
from wellkept.memory.recall.ranking import STALE_FACTOR
from wellkept.memory.recall.requests import RecallHit, RecallResult, ScorePart


def mark_missing_files(found: RecallResult, *, root: Path, sure: bool) -> RecallResult:
    """The result with hits whose files are gone marked as stale and reordered."""
    files = {path for hit in found.hits for path in hit.memory.files}
    if not files or not root.is_dir():
        return found
    exists = exists_below(root)
    gone = {path for path in files if not exists(path)}
    if not gone or (not sure and gone == files):
        return found
    hits = tuple(_marked(hit, gone) for hit in found.hits)
    if hits == found.hits:
        return found
    scores = [hit.score for hit in found.hits]
    # Results of a reranker or a listing by time keep their own order.
    by_score = scores == sorted(scores, reverse=True)
    ordered = sorted(hits, key=lambda hit: -hit.score) if by_score else hits
    return replace(found, hits=tuple(ordered))


def _marked(hit: RecallHit, gone: set[str]) -> RecallHit:
    if hit.stale or gone.isdisjoint(hit.memory.files):
        return hit
    part = ScorePart("stale", 1.0, STALE_FACTOR, STALE_FACTOR)
    return replace(hit, stale=True, score=hit.score * STALE_FACTOR, parts=(*hit.parts, part))
