"""An agent: a model, tools and capabilities, from which sessions are made."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.core.errors import NotFoundError, UsageError
from wellkept_agent.session import AgentSession, RunResult
from wellkept_agent.settings import LoopSettings

if TYPE_CHECKING:
    from wellkept.core.chat.messages import Message
    from wellkept.core.codec import Json
    from wellkept.core.ports.agent_model import AgentModel
    from wellkept.core.ports.transcripts import StoredConversation, Transcripts
    from wellkept_agent.capability import Capability
    from wellkept_agent.file_cache import FileCacheSettings
    from wellkept_agent.hooks import Hook
    from wellkept_agent.state import Persist
    from wellkept_agent.tools.base import Tool
    from wellkept_agent.user import Person


class Agent:
    """A configuration. `capabilities` are made anew for each session, hence functions (a class
    is one). `sessions` is the folder for files of sessions; without one they are temporary.
    `transcripts` keeps sessions to be resumed; `project_state` gives the `project:` values that
    earlier sessions left, by full key."""

    def __init__(
        self,
        model: AgentModel,
        *,
        instructions: str = "",
        tools: Iterable[Tool] = (),
        capabilities: Iterable[Callable[[], Capability]] = (),
        hooks: Iterable[tuple[str, Hook]] = (),
        settings: LoopSettings | None = None,
        file_cache: FileCacheSettings | None = None,
        person: Person | None = None,
        root: str | Path = ".",
        sessions: str | Path | None = None,
        persist: Persist | None = None,
        transcripts: Transcripts | None = None,
        project_state: Callable[[], Mapping[str, Json]] | None = None,
    ) -> None:
        self.model = model
        self.instructions = instructions
        self.tools = tuple(tools)
        self.settings = settings or LoopSettings()
        self._file_cache = file_cache
        self.person = person
        self.root = Path(root).resolve()
        self._capabilities = tuple(capabilities)
        self._hooks = tuple(hooks)
        self._sessions = None if sessions is None else Path(sessions)
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._persist = persist
        self._transcripts = transcripts
        self._project_state = project_state

    def session(
        self,
        *,
        session_id: str | None = None,
        resume: str | None = None,
        messages: Iterable[Message] = (),
        person: Person | None = None,
    ) -> AgentSession:
        """A new session; with `resume` an earlier one goes on, named by its id, the beginning of
        it, or "last". NotFoundError when there is no such session."""
        from wellkept.core.chat.messages import new_message_id

        stored = None if resume is None else self._stored(resume)
        name = stored.info.id if stored else session_id or new_message_id()
        state = dict(self._project_state()) if self._project_state else {}
        transcripts = self._transcripts
        return AgentSession(
            self.model,
            root=self.root,
            folder=self._folder() / name,
            system=self.instructions,
            tools=self.tools,
            capabilities=[make() for make in self._capabilities],
            hooks=self._hooks,
            settings=self.settings,
            file_cache=self._file_cache,
            person=person or self.person,
            session_id=name,
            persist=self._persist,
            transcript=None
            if transcripts is None
            else transcripts.writer(name, cwd=str(self.root), model=self.model.info.name),
            messages=stored.messages if stored else messages,
            state=dict(stored.state) | state if stored else state,
            is_resumed=stored is not None,
        )

    async def run(self, prompt: str) -> RunResult:
        """Work on one prompt in a session of its own."""
        async with self.session() as session:
            return await session.run(prompt)

    def _stored(self, name: str) -> StoredConversation:
        if self._transcripts is None:
            raise UsageError("This agent keeps no sessions.", hint="Give it `transcripts`.")
        if name != "last":
            return self._transcripts.load(name)
        latest = self._transcripts.list(limit=1)
        if not latest:
            raise NotFoundError("There is no session to resume yet.")
        return self._transcripts.load(latest[0].id)

    def _folder(self) -> Path:
        if self._sessions is not None:
            return self._sessions
        if self._temporary is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="wellkept-agent-")
        return Path(self._temporary.name)
