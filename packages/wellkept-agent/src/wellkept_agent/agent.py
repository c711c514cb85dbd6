"""An agent: a model, tools and capabilities, from which sessions are made.

agent = Agent("openai:gpt-5", tools=[plain_function], output_type=Invoice)

@agent.on_before_tool
def guard(context, call): ...

invoice = agent.run_sync("Read invoice.txt").output
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from typing_extensions import TypeVar as DefaultTypeVar

from wellkept.core.errors import NotFoundError, UsageError
from wellkept_agent.control import RunEnd, RunFailedError
from wellkept_agent.hooks import Hook, HookPoint
from wellkept_agent.session import AgentSession, RunResult
from wellkept_agent.settings import LoopSettings
from wellkept_agent.tool_calls import TypedOutput
from wellkept_agent.tools.base import FunctionTool, as_tool

if TYPE_CHECKING:
    from wellkept.core.chat.messages import Message
    from wellkept.core.codec import Json
    from wellkept.core.ports.models import AgentModel
    from wellkept.core.ports.transcripts import StoredConversation, Transcripts
    from wellkept_agent.hooks import Capability
    from wellkept_agent.permissions import Person
    from wellkept_agent.session import Persist
    from wellkept_agent.tools.base import Tool

_T = DefaultTypeVar("_T", default=str)
_H = TypeVar("_H", bound=Hook)
_TEXT: Any = str


class _AddsHook:
    """`@agent.on_before_tool`: a decorator that adds a hook to one point of an agent."""

    def __init__(self, point: HookPoint) -> None:
        self._point = point

    def __get__(self, agent: Agent[Any], _owner: object) -> Callable[[_H], _H]:
        def added(hook: _H) -> _H:
            agent.hooks.append((self._point, hook))
            return hook

        return added


class Agent(Generic[_T]):
    """A configuration. `model` is an object or a name such as "openai:gpt-5": an unknown name fails
    here, a missing key at the first call. `tools` may be plain functions. With an `output_type`
    results have an `output` of it. `capabilities` are made anew for each session, hence functions
    (a class is one). `sessions` is the folder for files of sessions; without one they are
    temporary. `transcripts` keeps sessions to be resumed; `project_state` gives the `project:`
    values that earlier sessions left, by full key."""

    on_session_start = _AddsHook(HookPoint.SESSION_START)
    on_user_message = _AddsHook(HookPoint.USER_MESSAGE)
    on_before_llm = _AddsHook(HookPoint.BEFORE_LLM)
    on_after_llm = _AddsHook(HookPoint.AFTER_LLM)
    on_before_tool = _AddsHook(HookPoint.BEFORE_TOOL)
    on_after_tool = _AddsHook(HookPoint.AFTER_TOOL)
    on_session_end = _AddsHook(HookPoint.SESSION_END)
    on_compaction = _AddsHook(HookPoint.COMPACTION)

    def __init__(
        self,
        model: AgentModel | str,
        *,
        output_type: type[_T] = _TEXT,
        instructions: str = "",
        tools: Iterable[Tool | Callable[..., Any]] = (),
        capabilities: Iterable[Callable[[], Capability]] = (),
        hooks: Iterable[tuple[str, Hook]] = (),
        settings: LoopSettings | None = None,
        person: Person | None = None,
        root: str | Path = ".",
        sessions: str | Path | None = None,
        persist: Persist | None = None,
        transcripts: Transcripts | None = None,
        project_state: Callable[[], Mapping[str, Json]] | None = None,
    ) -> None:
        self.model = _opened(model) if isinstance(model, str) else model
        self.instructions = instructions
        self.tools = tuple(map(as_tool, tools))
        self.hooks = list(hooks)
        self.settings = settings or LoopSettings()
        self.person = person
        self.root = Path(root).resolve()
        self._capabilities = tuple(capabilities)
        if output_type is not str:
            if not self.model.info.has_tools:
                raise UsageError(f"{self.model.info.name} calls no tools: it has no output_type.")
            TypedOutput(output_type)  # a type that has no schema fails here
            self._capabilities += (partial(TypedOutput, output_type),)
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
            hooks=self.hooks,
            settings=self.settings,
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

    def tool(self, function: Callable[..., Any] | None = None, **options: Any) -> Any:
        """Give the agent a function as a tool: a decorator, with or without options of `tool`."""

        def added(plain: Callable[..., Any]) -> FunctionTool:
            made = FunctionTool(plain, **options)
            self.tools += (made,)
            return made

        return added if function is None else added(function)

    async def run(self, prompt: str, *, resume: str | None = None) -> RunResult[_T]:
        """Work on one prompt, in a session of its own or in one that is resumed. RunFailedError
        when the model comes to no end; `session.run` returns such a result instead."""
        async with self.session(resume=resume) as session:
            result = cast("RunResult[_T]", await session.run(prompt))
        if result.end is RunEnd.DONE or (result.ok and session.capability(TypedOutput) is None):
            return result
        raise RunFailedError(result)

    def run_sync(self, prompt: str, *, resume: str | None = None) -> RunResult[_T]:
        """`run`, for code that is not async."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self.run(prompt, resume=resume))
        raise UsageError("An event loop is running here.", hint="Write: await agent.run(…)")

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


def _opened(name: str) -> AgentModel:
    """A model by its name, reached as the variables of the environment say."""
    from wellkept_agent.wiring.settings import AgentSettings, open_named_model

    return open_named_model(name, AgentSettings({}, os.environ), os.environ)
