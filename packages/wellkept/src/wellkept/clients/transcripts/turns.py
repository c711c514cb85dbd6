"""Find the end of each turn in a transcript; no record marks it.

A turn ends at the next prompt, when the client says so, or at the end of the file. Its event gets
the position of the agent's last record, so reading a longer file gives the same event again.
"""

from __future__ import annotations

from collections.abc import Iterator

from wellkept.core.chat.transcripts import TranscriptEvent
from wellkept.core.records import record, replace
from wellkept.core.session.events import Origin, TurnEnded
from wellkept.core.session.injected_text import without_injected


@record(frozen=False)
class Turn:
    """The turn in progress: the agent's last record and message since the prompt."""

    origin: Origin | None = None
    end: int = 0
    message: str | None = None

    def add(self, origin: Origin, *, end: int, message: str | None) -> None:
        """Add a record of the agent; its latest message is kept."""
        self.origin, self.end = origin, end
        self.message = message or self.message

    def close(self, *, final: bool = False) -> Iterator[TranscriptEvent]:
        """End the turn, if there is one; `final` when only the end of the file ends it."""
        if self.origin is None:
            return
        origin = replace(self.origin, event_id=f"{self.origin.event_id}:turn")
        last = without_injected(self.message).strip() if self.message else None
        yield TranscriptEvent(TurnEnded(origin=origin, last_message=last or None), self.end, final)
        self.origin, self.message = None, None
