"""Memory in the loop: what is known reaches the model at the moment it matters.

Everything that is told comes from one operation, the same that answers the hooks of other clients.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, ClassVar

from wellkept.context.moment import tell
from wellkept.core.chat.runtime_events import CLIENT
from wellkept.core.clock import system_clock
from wellkept.core.records import replace
from wellkept.core.session.events import ContextInjected, Origin, ToolKind
from wellkept.core.session.hook_context import HookContext as Told
from wellkept.core.session.hook_context import HookContextRequest, may_have_failed
from wellkept.core.session.injected_text import FRAME
from wellkept_agent.events import MemoryInjected
from wellkept_agent.hooks import Capability
from wellkept_agent.permissions import PermissionMode
from wellkept_agent.tools.base import not_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from wellkept.api.wellkept import Wellkept
    from wellkept.context.moment import ContextLimits
    from wellkept.core.chat.messages import ToolCallPart
    from wellkept_agent.hooks import HookContext
    from wellkept_agent.observer_feed import EventSink, OpenSink
    from wellkept_agent.session import AgentSession
    from wellkept_agent.tools.base import ToolOutput
    from wellkept_agent.wiring.task_context import TaskContext


# -- `Recall`: memories at the start, at a prompt, inside file results and at failed commands; ----


MAX_QUERY_CHARS = 2_000
MAX_OUTPUT_CHARS = 8_000
MAX_TRIGGER_CHARS = 500
SKILL_TIMEOUT_S = 1.0
SHOWN = "session:recall.shown"
_FRAME_TAG = re.compile(rf"<(\s*/?\s*{FRAME})", re.IGNORECASE)
_HELD = (
    "Not run: this command failed here before, see below. Run what worked instead, or repeat the"
    " same call to run it all the same."
)
_CITATION = re.compile(r"\[m:([0-9A-Za-z]+)\]")
_CHANGING = frozenset({ToolKind.EDIT, ToolKind.WRITE})
_FILES = _CHANGING | {ToolKind.READ}


class Recall(Capability):
    """Asks memory and adds what it says. A memory that is late or broken says nothing."""

    name: ClassVar[str] = "recall"

    def __init__(
        self,
        wk: Wellkept,
        limits: ContextLimits,
        *,
        task: TaskContext | None = None,
        open_log: OpenSink | None = None,
        clock: Callable[[], datetime] = system_clock,
        warns_before_run: bool = False,
    ) -> None:
        self._wk = wk
        self._limits = limits
        self._task = task
        self._open_log = open_log
        self._log: EventSink | None = None
        self._clock = clock
        self._is_started = False
        self._cwds: dict[str, str] = {}
        self._warns_before_run = warns_before_run
        self._warnings: dict[str, Told] = {}
        self._warned: set[str] = set()

    def for_subagent(self) -> Capability:
        """A sub-agent has its own conversation, in which nothing was shown yet."""
        return Recall(
            self._wk,
            self._limits,
            open_log=self._open_log,
            clock=self._clock,
            warns_before_run=self._warns_before_run,
        )

    def attach(self, session: AgentSession) -> None:
        """Remember the session."""
        self._session = session
        self._log = None if self._open_log is None else self._open_log(session)

    # -- Hooks ------------------------------------------------------------------------------------

    async def on_session_start(self, context: HookContext) -> None:
        """Load what a session should know from its first step on."""
        if self._session.parent is not None:
            return
        kept = self._kept_in_conversation()
        self._session.state.remove(SHOWN)
        told = await self._told(self._request("session", fresh=True))
        relay = Told() if self._task is None else await asyncio.to_thread(self._task.at_start)
        await self._note(self._request("session", query="relay"), relay)
        texts = [one.text for one in (told, relay) if one.text]
        self._session.conversation.set_memory("\n\n".join(texts))
        if kept:
            self._session.state.set(SHOWN, [*sorted(self._shown() | kept)])

    async def on_user_message(self, context: HookContext, text: str) -> str | None:
        """Add what is clearly about this prompt."""
        if not text.strip():
            return None
        # Of a command only what was typed: the rest is the text of its skill.
        query = text.partition("\n")[0] if text.startswith("/") else text
        plans = self._session.permissions.mode is PermissionMode.PLAN
        about_prompt = await self._told(self._request("plan" if plans else "prompt", query=query))
        texts = [one.text for one in (about_prompt, await self._about_task(query)) if one.text]
        return "\n\n".join([text, *texts]) if texts else None

    async def on_before_tool(self, context: HookContext, call: ToolCallPart) -> ToolOutput | None:
        """Note the folder that a call begins in: a command may change it. One that is known to
        fail is held once."""
        self._cwds[call.id] = str(self._session.working_directory)
        warning = await self._warning(call) if self._warns_before_run else Told()
        if not warning.text:
            return None
        self._warnings[call.id] = warning
        return not_run(_HELD)

    async def on_after_tool(
        self, context: HookContext, call: ToolCallPart, output: ToolOutput
    ) -> ToolOutput | None:
        """Add what is known of a file, or the way out of a failure."""
        tool = self._session.tools.get(call.name)
        cwd = self._cwds.pop(call.id, None)
        told = self._warnings.pop(call.id, Told())
        request = None if tool is None else self._about(tool.kind, output, cwd=cwd)
        if request is not None and not told.text:
            told = await self._told(request)
        # Nothing that a tool returns may look as if memory had said it.
        content = _FRAME_TAG.sub(r"&lt;\1", output.content)
        if told.text:
            content = f"{content}\n\n{told.text}"
        return None if content == output.content else replace(output, content=content)

    async def _warning(self, call: ToolCallPart) -> Told:
        """What to say before a command runs; each warning once, whatever the start told."""
        tool = self._session.tools.get(call.name)
        command = call.args.get("command")
        if tool is None or tool.kind is not ToolKind.SHELL or not isinstance(command, str):
            return Told()
        request = self._request("command", query=command)
        told = await asyncio.to_thread(self._source, request, frozenset(self._warned))
        self._warned.update(told.ids)
        return await self._note(request, told)

    async def _about_task(self, task: str) -> Told:
        """Recipes and the like, once: the first prompt of a session is its task."""
        if self._task is None or self._session.parent is not None or self._session.turns > 1:
            return Told()
        told = await asyncio.to_thread(self._task.for_task, task, self._shown())
        return await self._note(self._request("plan", query=task), told)

    # -- Asking -----------------------------------------------------------------------------------

    def _about(
        self, kind: ToolKind, output: ToolOutput, *, cwd: str | None
    ) -> HookContextRequest | None:
        if not output.has_run:
            return None
        if kind is ToolKind.SHELL and output.command:
            if not output.is_error and not may_have_failed(output.content):
                return None
            return self._request(
                "failure", query=output.command, output=_ends(output.content), cwd=cwd
            )
        if kind in _FILES and output.files and not output.is_error:
            return self._request("file", files=output.files, reading=kind is ToolKind.READ)
        return None

    def _request(
        self,
        moment: str,
        *,
        query: str = "",
        output: str = "",
        files: tuple[str, ...] = (),
        fresh: bool = False,
        reading: bool = False,
        cwd: str | None = None,
    ) -> HookContextRequest:
        session = self._session
        name = f"{session.id}/{session.agent}" if session.agent else session.id
        return HookContextRequest(
            client=CLIENT,
            session=name,
            moment=moment,
            agent=session.agent,
            cwd=cwd or str(session.working_directory),
            query=query.strip()[:MAX_QUERY_CHARS],
            output=output,
            files=files,
            fresh=fresh,
            reading=reading,
        )

    def _source(self, request: HookContextRequest, shown: frozenset[str]) -> Told:
        """The one operation behind everything that is told; runs in a thread."""
        return tell(self._wk, request, shown, skill_timeout_s=SKILL_TIMEOUT_S, limits=self._limits)

    async def _told(self, request: HookContextRequest) -> Told:
        """Ask memory, and note what it said."""
        return await self._note(
            request, await asyncio.to_thread(self._source, request, self._shown())
        )

    async def _note(self, request: HookContextRequest, told: Told) -> Told:
        """Remember what is told, show it to the person, and log it; nothing for an empty text."""
        if not told.text.strip():
            return Told()
        self._session.state.set(SHOWN, [*sorted(self._shown() | set(told.ids))])
        cited = "\n".join(line.text for line in told.lines if line.memory_id)
        citations = dict.fromkeys(_CITATION.findall(cited))
        self._session.emit(MemoryInjected(request.moment, told.text, tuple(citations)))
        if self._log is not None and told.lines and told.project:
            await asyncio.to_thread(self._log.put, self._logged(request, told))
        return told

    def _kept_in_conversation(self) -> frozenset[str]:
        """What a resumed session was told with its prompts and results, which it still has. After
        compaction they are gone."""
        is_first, self._is_started = not self._is_started, True
        return self._shown() if is_first and self._session.start_source == "resume" else frozenset()

    def _shown(self) -> frozenset[str]:
        known = self._session.state.get(SHOWN)
        return frozenset(map(str, known)) if isinstance(known, list) else frozenset()

    def _logged(self, request: HookContextRequest, told: Told) -> ContextInjected:
        session = self._session
        trigger = request.query or ", ".join(request.files)
        return ContextInjected(
            origin=Origin(
                event_id="",
                client=CLIENT,
                session_id=session.id,
                at=self._clock(),
                cwd=request.cwd,
                agent=session.agent,
            ),
            project=told.project,
            moment=request.moment,
            trigger=trigger[:MAX_TRIGGER_CHARS],
            tokens=told.tokens,
            lines=told.lines,
        )


def _ends(text: str) -> str:
    """The beginning and the end of a long output: the cause is in one of them."""
    if len(text) <= MAX_OUTPUT_CHARS:
        return text
    half = MAX_OUTPUT_CHARS // 2
    return f"{text[:half]}\n{text[-half:]}"
