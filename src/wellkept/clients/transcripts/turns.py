"""The turns of a transcript: where the agent stopped and waited, which no record says.

A turn is over when the next prompt comes, when the client says so, or when the file ends. Its event
is placed at the agent's last words, so that reading on after more was written gives the same event
at the same place.
"""

from __future__ import annotations

from collections.abc import Iterator

from wellkept.clients.injected_text import without_own
from wellkept.core.events import Origin, TurnEnded
from wellkept.core.records import record, replace
from wellkept.core.transcripts import TranscriptEvent


@record(frozen=False)
class Turn:
    """What the agent has said since the last prompt."""

    origin: Origin | None = None
    end: int = 0
    message: str | None = None

    def say(self, origin: Origin, *, end: int, message: str | None) -> None:
        """Note that the agent did or said something; its latest words are kept."""
        self.origin, self.end = origin, end
        self.message = message or self.message

    def close(self, *, final: bool = False) -> Iterator[TranscriptEvent]:
        """End the turn, if there is one; `final` when only the end of the file says so."""
        if self.origin is None:
            return
        origin = replace(self.origin, event_id=f"{self.origin.event_id}:turn")
        last = without_own(self.message).strip() if self.message else None
        yield TranscriptEvent(TurnEnded(origin=origin, last_message=last or None), self.end, final)
        self.origin, self.message = None, None
