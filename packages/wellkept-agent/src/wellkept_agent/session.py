"""One session of an agent: its conversation, state, tools and hooks.

A session runs turns (`run`, or `stream` for a user interface) and is closed once. Everything that a
capability or a tool may touch hangs on it. The turn itself is in `loop`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Generic

from typing_extensions import TypeVar

from wellkept.core.chat.messages import (
    Message,
    ModelRequest,
    ModelUsage,
    ThinkingRequest,
    new_message_id,
)
from wellkept.core.codec import Json
from wellkept.core.errors import UsageError, WellkeptError
from wellkept.core.records import record
from wellkept_agent.control import RunControl, RunEnd
from wellkept_agent.conversation import Conversation
from wellkept_agent.events import (
    AgentEvent,
    ProblemReported,
    SubagentFinished,
    SubagentStarted,
)
from wellkept_agent.file_cache import FileCache
from wellkept_agent.hooks import Capability, HookContext, Hooks, SessionSummary, register
from wellkept_agent.permissions import PermissionMode, Permissions, Person, Unattended
from wellkept_agent.settings import LoopSettings
from wellkept_agent.tools.base import ToolRegistry
from wellkept_agent.tools.files.file_text import ReadLog
from wellkept_agent.tools.shell.process import ShellJobs

if TYPE_CHECKING:
    from wellkept.core.ports.models import AgentModel
    from wellkept.core.ports.transcripts import TranscriptWriter
    from wellkept_agent.tools.base import Tool


# -- State of a session by scope: `temp:`, `session:` and `project:` keys -------------------------


TEMP = "temp:"
SESSION = "session:"
PROJECT = "project:"
SCOPES = (TEMP, SESSION, PROJECT)
FINDING = SESSION + "finding"

Persist = Callable[[str, Json], None]
"""Keeps a `project:` value: the key without its prefix, and the value."""


class ScopedState:
    """Values by key; the prefix of a key says how long a value lives."""

    def __init__(self, persist: Persist | None = None) -> None:
        self._values: dict[str, Json] = {}
        self._persist = persist

    def set(self, key: str, value: Json) -> None:
        """Set a value. The key must begin with a scope."""
        if not key.startswith(SCOPES) or key in SCOPES:
            raise UsageError(
                f"State key {key!r} has no scope.",
                hint="Begin it with temp:, session: or project:.",
            )
        is_new = key not in self._values or self._values[key] != value
        self._values[key] = value
        if is_new and key.startswith(PROJECT) and self._persist is not None:
            self._persist(key.removeprefix(PROJECT), value)

    def get(self, key: str, default: Json = None) -> Json:
        """A value, or the default."""
        return self._values.get(key, default)

    def remove(self, key: str) -> None:
        """Drop a value, if it is there. What was persisted stays."""
        self._values.pop(key, None)

    def clear_temp(self) -> None:
        """Drop what lives for one round of tools."""
        for key in [key for key in self._values if key.startswith(TEMP)]:
            del self._values[key]

    def add_finding(self, text: str) -> None:
        """Note something worth keeping at the session's end."""
        if text.strip() and text not in self.findings():
            count = sum(1 for key in self._values if key.startswith(FINDING))
            self.set(f"{FINDING}:{count + 1}", text.strip())

    def findings(self) -> tuple[str, ...]:
        """The findings of the session, in order."""
        return tuple(
            value
            for key, value in self._values.items()
            if key.startswith(FINDING) and isinstance(value, str)
        )

    def project(self) -> dict[str, Json]:
        """The `project:` values, keys without their prefix."""
        return {
            k.removeprefix(PROJECT): v for k, v in self._values.items() if k.startswith(PROJECT)
        }

    def session(self) -> dict[str, Json]:
        """What a resumed session needs: everything but `temp:`."""
        return {key: value for key, value in self._values.items() if not key.startswith(TEMP)}

    def restore(self, values: dict[str, Json]) -> None:
        """Take back the values of a resumed session; nothing is persisted again."""
        self._values = {key: value for key, value in values.items() if key.startswith(SCOPES)}

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __contains__(self, key: object) -> bool:
        return key in self._values


_C = TypeVar("_C", bound=Capability)


_T = TypeVar("_T", default=str)


@record(kw_only=True)
class RunResult(Generic[_T]):
    """How a turn ended. `text` is the model's last answer, `output` a value of the agent's
    `output_type`, which is the text by default; `detail` says why it stopped early."""

    session: str
    text: str
    output: _T
    end: RunEnd
    steps: int
    usage: ModelUsage
    detail: str = ""

    @property
    def ok(self) -> bool:
        """Whether the model came to an end by itself."""
        return self.end in (RunEnd.DONE, RunEnd.QUESTION)


class AgentSession:
    """A conversation with tools. Use it as an async context manager, or call `close`."""

    def __init__(
        self,
        model: AgentModel,
        *,
        root: Path,
        folder: Path,
        system: str = "",
        tools: Iterable[Tool] = (),
        capabilities: Iterable[Capability] = (),
        hooks: Iterable[tuple[str, Callable[..., object]]] = (),
        settings: LoopSettings | None = None,
        person: Person | None = None,
        permissions: Permissions | None = None,
        session_id: str | None = None,
        agent: str | None = None,
        parent: AgentSession | None = None,
        persist: Persist | None = None,
        transcript: TranscriptWriter | None = None,
        messages: Iterable[Message] = (),
        state: Mapping[str, Json] | None = None,
        is_resumed: bool = False,
        is_read_only: bool = False,
    ) -> None:
        self.id = session_id or new_message_id()
        self.model = model
        self.root = root
        self.folder = folder
        self.working_directory = root
        self.extra_folders: list[Path] = [folder]
        self.settings = settings or LoopSettings()
        self.person: Person = person or Unattended()
        self.permissions = permissions or Permissions(
            PermissionMode(self.settings.permission_mode), person=self.person
        )
        self.agent = agent
        self.parent = parent
        self.control = _control(self.settings, parent)
        self.state = ScopedState(persist)
        self.state.restore(dict(state or {}))
        self.start_source = "resume" if is_resumed else "startup"
        self.is_read_only = is_read_only
        self.files = FileCache() if parent is None else parent.files
        self.reads = ReadLog()
        self.jobs = ShellJobs() if parent is None else parent.jobs
        self._system = system
        self._own_tools = tuple(tools)
        self.tools = ToolRegistry(self._own_tools)
        self.tools.is_told = self._is_told
        self.todos: tuple[tuple[str, str], ...] = ()
        self.tool_usage: Counter[str] = Counter()
        self.thinking: ThinkingRequest | None = None
        self.model_override: str | None = None
        self.task = ""
        self.turns = 0
        self.last_end: RunEnd | None = None
        self._transcript = transcript
        self._is_transcript_broken = False
        self._listeners: list[Callable[[AgentEvent], None]] = []
        self._is_started = False
        self._is_closed = False
        self.capabilities = tuple(capabilities)
        self.hooks = Hooks(time_limit_s=self.settings.hook_time_limit_s, report=self.report)
        for capability in self.capabilities:
            capability.attach(self)
            register(capability, self.hooks)
            for one in capability.tools():
                self.tools.register(one)
        for point, hook in hooks:
            self.hooks.add(point, hook)
        parts = (system, *(one.instructions() for one in self.capabilities))
        self.conversation = Conversation("\n\n".join(filter(None, parts)), messages)

    # -- Turns ------------------------------------------------------------------------------------

    async def run(self, prompt: str) -> RunResult:
        """Take in a prompt and work until the model is done or the run is stopped."""
        from wellkept_agent.loop import run_turn

        return await run_turn(self, prompt)

    async def stream(self, prompt: str) -> AsyncGenerator[AgentEvent]:
        """Like `run`, as events; the last one is `RunFinished`. Leaving early cancels the turn."""
        queue: asyncio.Queue[AgentEvent | None] = asyncio.Queue()
        self._listeners.append(queue.put_nowait)
        turn = asyncio.ensure_future(self.run(prompt))
        turn.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (event := await queue.get()) is not None:
                yield event
            await turn
        finally:
            self._listeners.remove(queue.put_nowait)
            if not turn.done():
                self.stop()
                with suppress(asyncio.CancelledError):
                    await turn

    def stop(self, end: RunEnd = RunEnd.CANCELLED, detail: str = "") -> None:
        """End the running turn; the session can go on with another prompt."""
        self.control.stop(end, detail)

    async def start(self) -> None:
        """Run the hooks of a start, once."""
        if not self._is_started:
            self._is_started = True
            await self.hooks.session_start(self.context)

    async def close(self) -> SessionSummary:
        """End the session: its hooks learn from it. Closing twice does nothing more."""
        summary = self.summary()
        if self.parent is None:
            await self.jobs.close()
        if not self._is_closed and self._is_started:
            self._is_closed = True
            await self.hooks.session_end(self.context, summary)
        return summary

    async def __aenter__(self) -> AgentSession:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def delegate(
        self,
        prompt: str,
        *,
        agent_type: str,
        description: str = "",
        system: str | None = None,
        tools: Iterable[str] | None = None,
        model: str | None = None,
        is_read_only: bool = False,
    ) -> RunResult:
        """Let a sub-agent work on a part: its own conversation, this session's limits and person.

        `tools` names those it gets; the default is all but the one that starts sub-agents. A
        read-only sub-agent is refused every call that would change something.
        """
        agent = f"{agent_type}-{new_message_id()[-6:]}"
        names = [one.name for one in self._own_tools] if tools is None else list(tools)
        sub = AgentSession(
            self.model,
            root=self.root,
            folder=self.folder,
            system=self._system if system is None else system,
            tools=[one for one in self._own_tools if one.name in names and one.name != "Task"],
            capabilities=[c for one in self.capabilities if (c := one.for_subagent()) is not None],
            settings=self.settings,
            person=self.person,
            permissions=self.permissions,
            session_id=self.id,
            agent=agent,
            parent=self,
            is_read_only=is_read_only or self.is_read_only,
        )
        sub.model_override = model or self.model_override
        sub.working_directory = self.working_directory
        sub.extra_folders = self.extra_folders
        self.emit(SubagentStarted(agent, agent_type, description or prompt))
        result = await sub.run(prompt)
        self.emit(SubagentFinished(agent, agent_type, result.ok))
        return result

    # -- What hooks and tools use -----------------------------------------------------------------

    @property
    def context(self) -> HookContext:
        """What hooks are told about the session."""
        info = self.model.info
        return HookContext(self.id, str(self.root), info.provider, info.name, self.state)

    def request(self) -> ModelRequest:
        """The next model call as the conversation stands."""
        limit = self.settings.max_output_tokens
        return ModelRequest(
            messages=self.conversation.messages,
            tools=self.tools.definitions() if self.model.info.has_tools else (),
            max_tokens=limit or None,
            thinking=self.thinking,
            model=self.model_override,
        )

    def _is_told(self, name: str) -> bool:
        """Tools that only make sense at times are told of at those times."""
        if name in ("BashOutput", "KillShell"):
            return bool(self.jobs.all())
        return name != "ExitPlanMode" or self.permissions.mode is PermissionMode.PLAN

    def add(self, message: Message) -> None:
        """Add a message to the conversation and to the transcript."""
        self.conversation.append(message)
        self._keep(lambda transcript: transcript.append(message))

    def replace_turns(self, messages: Iterable[Message]) -> None:
        """Put other messages in the place of the conversation, e.g. after compaction."""
        self.conversation.replace_turns(messages)
        self._keep(lambda transcript: transcript.rewrite(self.conversation.turns))

    def save_state(self) -> None:
        """Save what a resumed session needs beside its messages."""
        self._keep(lambda transcript: transcript.save_state(self.state.session()))

    def _keep(self, write: Callable[[TranscriptWriter], None]) -> None:
        """Write to the transcript. One that cannot be written is reported once; the run goes on."""
        if self._transcript is None:
            return
        try:
            write(self._transcript)
        except (OSError, WellkeptError) as error:
            if not self._is_transcript_broken:
                self.report("transcript", str(error))
            self._is_transcript_broken = True

    def summary(self) -> SessionSummary:
        """What the session did so far."""
        return SessionSummary(
            session=self.id,
            task=self.task,
            files_read=tuple(
                (str(path), lines, times) for path, lines, times in self.files.read_counts()
            ),
            key_findings=self.state.findings(),
            tool_usage=tuple(sorted(self.tool_usage.items())),
            turns=self.turns,
            success=self.last_end is RunEnd.DONE,
        )

    def capability(self, kind: type[_C]) -> _C | None:
        """The session's capability of a kind, if it has one."""
        return next((one for one in self.capabilities if isinstance(one, kind)), None)

    def listen(self, listener: Callable[[AgentEvent], None]) -> None:
        """Call a function with every event."""
        self._listeners.append(listener)

    def emit(self, event: AgentEvent) -> None:
        """Tell the listeners; one that fails is skipped. A sub-agent's events go to its parent."""
        for listener in tuple(self._listeners):
            with suppress(Exception):
                listener(event)
        if self.parent is not None:
            self.parent.emit(event)

    def report(self, source: str, message: str) -> None:
        """Tell the listeners of a problem that does not end the run."""
        self.emit(ProblemReported(source, message))


def _control(settings: LoopSettings, parent: AgentSession | None) -> RunControl:
    if parent is not None:
        return parent.control.child(max_steps=settings.subagent_max_steps)
    return RunControl(max_steps=settings.max_steps, max_tokens=settings.max_tokens or None)
