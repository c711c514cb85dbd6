"""Where the agent's events go: the spool of all clients, drained and learned from like theirs.

A memory opened under another path or project has a spool of its own beside its file, since events
in the common one are placed by their folder. The agent drains only the files of agent sessions;
everything else waits for whoever drains the common spool.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from wellkept.core.chat.runtime_events import CLIENT, encoded, event_name
from wellkept.core.clock import to_ms
from wellkept.core.errors import WellkeptError
from wellkept.observe.observer.spool_folder import SpoolFolder
from wellkept.store import spool
from wellkept.text.secrets.redaction import redact_payload

if TYPE_CHECKING:
    from wellkept.core.session.events import Event
    from wellkept_agent.wiring.memory import AgentMemory

FOLDER_NAME: Final = "agent"


def state_folder(wk: AgentMemory) -> Path:
    """The folder for what the agent keeps beside memories."""
    if is_common(wk):
        return SpoolFolder.of(wk.services.environment).state
    return wk.path.with_name(f"{wk.path.name}.agent")


def spool_folder(wk: AgentMemory) -> Path:
    """The folder with the spool that the agent's events go to."""
    return state_folder(wk) / spool.FOLDER_NAME


def is_common(wk: AgentMemory) -> bool:
    """Whether events of a memory belong into the common spool: it is this user's usual memory, and
    its project is that of its folder."""
    services = wk.services
    return services.is_usual and services.project_from_folder


class AgentSources(SpoolFolder):
    """A spool folder as the agent drains it: only the files of agent sessions, its own and those
    that a killed process left."""

    def sources(self) -> list[str]:
        return [name for name in super().sources() if name.startswith(f"{CLIENT}-")]

    def others(self, session: str) -> list[str]:
        """Files of other sessions than one."""
        own = spool.file_name(CLIENT, session)
        return [name for name in self.sources() if name != own]


class AgentSpool:
    """The sink of one session's events. What cannot be written is lost and reported once."""

    def __init__(
        self,
        wk: AgentMemory,
        session: str,
        *,
        report: Callable[[str, str], None],
    ) -> None:
        self._session = session
        self._report = report
        self._folder = spool_folder(wk)
        self._is_broken = False

    def put(self, event: Event) -> None:
        """Append an event, redacted before the first write."""
        try:
            kept = spool.append(
                str(self._folder),
                client=CLIENT,
                session=self._session,
                event=event_name(event),
                payload=redact_payload(encoded(event)),
                now_ms=to_ms(event.origin.at),
            )
        except (OSError, WellkeptError) as error:
            self._problem(f"The session is not captured: {error}")
        else:
            if kept is None:
                self._problem("The session is not captured: the spool is full.")

    def _problem(self, message: str) -> None:
        if not self._is_broken:
            self._is_broken = True
            self._report("observer", message)
