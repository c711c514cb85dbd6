"""At how many tokens a conversation is compacted, warned about or stopped.

The documented offsets (13,000, 20,000, 3,000) are for windows of 100,000 tokens and more; in a
smaller window they shrink in proportion, so that a window of 8,000 tokens can be used too.
"""

from __future__ import annotations

from enum import StrEnum

from wellkept.core.records import record
from wellkept_agent.compaction.settings import CompactionSettings

_FULL_OFFSETS_FROM = 100_000


class Level(StrEnum):
    """How near the limit a conversation is."""

    FINE = "fine"
    WARNING = "warning"
    ERROR = "error"
    BLOCKING = "blocking"


@record(kw_only=True)
class Thresholds:
    """Tokens in use from which something happens; `limit` is the model's window."""

    limit: int
    auto_compact: int
    warning: int
    error: int
    blocking: int

    def level(self, tokens: int) -> Level:
        """How near the limit so many tokens are."""
        if tokens >= self.blocking:
            return Level.BLOCKING
        if tokens >= self.error:
            return Level.ERROR
        return Level.WARNING if tokens >= self.warning else Level.FINE


def thresholds(limit: int, settings: CompactionSettings) -> Thresholds:
    """The thresholds for a window of `limit` tokens."""

    def below(offset: int) -> int:
        return limit - min(offset, offset * limit // _FULL_OFFSETS_FROM)

    percent = settings.auto_compact_percent
    share = settings.auto_compact_ratio if percent is None else percent / 100
    return Thresholds(
        limit=limit,
        auto_compact=min(int(limit * share), below(settings.auto_compact_offset)),
        warning=below(settings.warning_offset),
        error=below(settings.error_offset),
        blocking=settings.blocking_limit or below(settings.blocking_offset),
    )
