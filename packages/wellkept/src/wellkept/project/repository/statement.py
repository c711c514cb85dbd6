"""One statement about a repository, with its source and a key that names its subject."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from wellkept.core.memory import Evidence, MemoryDraft
from wellkept.core.records import record
from wellkept.core.types import EvidenceKind, MemoryType, Scope, Source

if TYPE_CHECKING:
    from wellkept.memory.exchange.passages import Passage

PREFIX = "repo:"
"""Keys of statements that a repository gave begin with this."""
MAX_FILES = 12
_HALF_LIFE_DAYS = 3_650.0
"""Its source keeps a statement alive: a later import closes it when that is gone."""


@record(kw_only=True)
class Statement:
    """A true sentence or two, and where they were read: a path, a path and heading, or a commit."""

    key: str
    text: str
    read_from: str
    type: MemoryType = MemoryType.FACT
    importance: float = 0.5
    confidence: float = 0.8
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    module: str | None = None
    commit: str | None = None
    author: str | None = None
    at: datetime | None = None

    def passage(self) -> Passage:
        """The statement as a draft under its key."""
        # Not to be loaded by who only reads what a repository says.
        from wellkept.memory.exchange.passages import Passage, fingerprint

        kind = EvidenceKind.COMMIT if self.commit else EvidenceKind.DOCUMENT
        evidence = Evidence(kind, self.read_from, fingerprint(self.text), at=self.at)
        draft = MemoryDraft(
            content=self.text,
            type=self.type,
            key=PREFIX + self.key,
            tags=("repository", *self.tags),
            files=self.files[:MAX_FILES],
            modules=(self.module,) if self.module else (),
            importance=self.importance,
            confidence=self.confidence,
            half_life_days=_HALF_LIFE_DAYS,
            scope=Scope.MODULE if self.module else Scope.GLOBAL,
            source=Source.COMMIT_AUTO if self.commit else Source.IMPORTED,
            author=self.author,
            commit_sha=self.commit,
            evidence=(evidence,),
            valid_from=self.at,
        )
        return Passage(self.read_from, draft)
