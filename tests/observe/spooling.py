"""A spool whose payloads are pickled events, so that tests need no client's payload shapes."""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from wellkept.core.clock import to_ms
from wellkept.core.session.events import Event
from wellkept.core.session.sessions import SpoolEntry
from wellkept.observe.observer.spool_folder import SpoolFolder
from wellkept.store import spool

POISON = b"poison"


class Spooler:
    """Writes events as the hook process would, and reads them back."""

    def __init__(self, folder: Path) -> None:
        self.spool = SpoolFolder(folder)

    def catch(self, *events: Event, session: str | None = None) -> None:
        for event in events:
            self.catch_raw(pickle.dumps(event), event=event, session=session)

    def catch_raw(self, payload: bytes, *, event: Event, session: str | None = None) -> None:
        spool.append(
            str(self.spool.folder),
            client="test-client",
            session=session or event.origin.session_id,
            event=type(event).__name__,
            payload=payload,
            now_ms=to_ms(event.origin.at),
        )

    def quiet_since(self, moment: datetime) -> None:
        """Make every file look as if it was last written to then."""
        for source in self.spool.sources():
            os.utime(self.spool.folder / source, (moment.timestamp(), moment.timestamp()))


def translate(entry: SpoolEntry, redact: object = None) -> Sequence[Event]:
    """The pickled event; a poisoned payload breaks it as a strange one might."""
    if entry.payload == POISON:
        raise KeyError("tool_input")
    event: Event = pickle.loads(entry.payload)
    return [event]
