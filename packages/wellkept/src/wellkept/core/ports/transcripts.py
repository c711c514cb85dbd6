"""Conversations of the agent, kept so that they can be resumed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from wellkept.core.records import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from wellkept.core.chat.messages import Message
    from wellkept.core.codec import Json


@record(kw_only=True)
class AgentSessionInfo:
    """One kept session, for a list. `title` is the beginning of its first prompt."""

    id: str
    title: str
    started_at: datetime
    changed_at: datetime
    messages: int
    cwd: str = ""
    model: str = ""


@record(kw_only=True)
class StoredConversation:
    """What a resumed session begins with."""

    info: AgentSessionInfo
    messages: tuple[Message, ...] = ()
    state: tuple[tuple[str, Json], ...] = ()


class TranscriptWriter(Protocol):
    """Keeps one session while it runs. What was appended is on disk when the call returns."""

    def append(self, message: Message) -> None: ...

    def rewrite(self, messages: Iterable[Message]) -> None:
        """The conversation is from now on these messages."""
        ...

    def save_state(self, state: dict[str, Json]) -> None: ...


class Transcripts(Protocol):
    """The kept sessions of one project."""

    def writer(self, session_id: str, *, cwd: str = "", model: str = "") -> TranscriptWriter:
        """Write on at a session, new or old. No file is made before the first message."""
        ...

    def load(self, session_id: str) -> StoredConversation:
        """A session by its id or the beginning of it; NotFoundError when there is none."""
        ...

    def list(self, *, limit: int = 50) -> Sequence[AgentSessionInfo]:
        """Sessions, latest changed first."""
        ...
