"""Running the tool calls of one answer.

Read-only calls that stand side by side run side by side; everything else runs alone and in order.
Whatever happens to a call, the model gets a result for it: bad arguments, an unknown tool, a
refusal, a failure and a time limit are results too.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, ClassVar, cast

from pydantic import TypeAdapter, ValidationError, create_model

from wellkept.core.chat.messages import Message, ToolCallPart, ToolResultPart, tool_message
from wellkept.core.errors import UsageError, WellkeptError
from wellkept.core.records import record, replace
from wellkept.core.session.events import ToolKind
from wellkept.core.text import clean, shorten
from wellkept_agent import events
from wellkept_agent.control import RunEnd, RunStopped
from wellkept_agent.hooks import Capability
from wellkept_agent.tools.base import (
    Arguments,
    ToolContext,
    ToolOutput,
    described,
    failure,
    misfit,
    not_run,
)
from wellkept_agent.tools.schemas import sanitised

if TYPE_CHECKING:
    from wellkept_agent.hooks import HookContext
    from wellkept_agent.session import AgentSession
    from wellkept_agent.tools.base import Tool, ToolContext


# -- Typed results: an agent with an `output_type` gives its answer by calling one more tool ------


TOOL = "final_result"


class TypedOutput(Capability):
    """Holds what the model gave in this turn."""

    name: ClassVar[str] = "output"

    def __init__(self, kind: Any) -> None:
        self._tool = _FinalResult(self, kind)
        self.value: Any = None
        self.is_given = False

    def tools(self) -> Sequence[Tool]:
        """The tool that takes the result."""
        return (self._tool,)

    def keep_going(self) -> str | None:
        """A turn ends with the result."""
        return None if self.is_given else f"Give your answer by calling {TOOL}."

    async def on_user_message(self, context: HookContext, text: str) -> None:
        """A new prompt wants a new result."""
        self.value, self.is_given = None, False


class _FinalResult:
    """The tool. A type that is no object in JSON is wrapped into one."""

    name = TOOL
    description = "Give the final result. Call it once, when you are done."
    kind = ToolKind.OTHER
    read_only = True
    is_long_running = False

    def __init__(self, output: TypedOutput, kind: Any) -> None:
        self._output = output
        self._adapter: TypeAdapter[Any] = TypeAdapter(kind)
        schema = self._adapter.json_schema()
        self._is_wrapped = schema.get("type") != "object" and "$ref" not in schema
        if self._is_wrapped:
            wrapped = create_model(TOOL, __base__=Arguments, result=(kind, ...))
            self._adapter, schema = TypeAdapter(wrapped), wrapped.model_json_schema()
        self.parameters: Mapping[str, object] = sanitised(schema)

    async def execute(self, context: ToolContext, arguments: Mapping[str, object]) -> ToolOutput:
        """Check the result and end the turn."""
        try:
            given = self._adapter.validate_python(arguments)
        except ValidationError as error:
            raise misfit(TOOL, error) from error
        self._output.value = given.result if self._is_wrapped else given
        self._output.is_given = True
        return ToolOutput(content="Taken.", ends_turn=RunEnd.DONE)


_CANCELLED = "[Cancelled before it had run.]"
_MAX_SHOWN_ARGUMENTS = 2_000


@record
class _RoundResult:
    """The results of one answer's calls; `end` when one of them ends the turn: it asked the person
    something that nobody answered yet, or gave the result."""

    message: Message
    end: RunEnd | None


class CallRounds:
    """The calls of a turn, round by round. Notices when a model repeats itself."""

    def __init__(self, session: AgentSession) -> None:
        self._session = session
        self._seen: Counter[tuple[str, str, str]] = Counter()

    async def run(self, calls: Sequence[ToolCallPart]) -> _RoundResult:
        """Run calls; when the run is stopped meanwhile, the rest gets a result all the same."""
        done: dict[str, ToolOutput] = {}
        try:
            for group in self._groups(calls):
                await self._run_group(group, done)
        except RunStopped:
            for call in calls:
                done.setdefault(call.id, failure(_CANCELLED))
            self._session.add(self._message(calls, done))
            raise
        message = self._message(calls, done)
        self._stop_if_repeating(calls, done, message)
        ends = [output.ends_turn for output in done.values() if output.ends_turn is not None]
        return _RoundResult(message, ends[0] if ends else None)

    def _groups(self, calls: Sequence[ToolCallPart]) -> Iterator[list[ToolCallPart]]:
        """Calls that may run side by side, in order."""
        group: list[ToolCallPart] = []
        for call in calls:
            tool = self._session.tools.get(call.name)
            alone = tool is None or not tool.read_only
            if group and (alone or len(group) == self._session.settings.parallel_tools):
                yield group
                group = []
            if alone:
                yield [call]
            else:
                group.append(call)
        if group:
            yield group

    async def _run_group(self, group: list[ToolCallPart], done: dict[str, ToolOutput]) -> None:
        async def one(call: ToolCallPart) -> None:
            done[call.id] = await self._run_one(call)

        self._session.control.raise_if_stopped()
        await self._session.control.guard(asyncio.gather(*map(one, group)))

    async def _run_one(self, call: ToolCallPart) -> ToolOutput:
        session = self._session
        shown = shorten(call.arguments, limit=_MAX_SHOWN_ARGUMENTS)
        session.emit(events.ToolStarted(call.id, call.name, shown, session.agent))
        session.tool_usage[call.name] += 1
        began = time.monotonic()
        output = await session.hooks.before_tool(session.context, call)
        if output is None:
            output = await self._executed(call)
        output = self._bounded(output)
        output = await session.hooks.after_tool(session.context, call, output)
        session.emit(
            events.ToolFinished(
                call.id,
                call.name,
                output.content,
                output.is_error,
                int((time.monotonic() - began) * 1000),
                output.display,
                session.agent,
            )
        )
        return output

    async def _executed(self, call: ToolCallPart) -> ToolOutput:
        """The tool's own output, or what kept it from running."""
        session = self._session
        tool = session.tools.get(call.name)
        if tool is None:
            return failure(_unknown(call.name, session.tools.names()))
        try:
            arguments = _parsed(call.arguments)
        except UsageError as error:
            return failure(str(error))
        return described(await self._tried(tool, call, arguments), tool.kind, arguments)

    async def _tried(
        self, tool: Tool, call: ToolCallPart, arguments: Mapping[str, object]
    ) -> ToolOutput:
        session = self._session
        try:
            context = ToolContext(session, call_id=call.id)
            refusal = await session.permissions.refusal(tool, context, arguments)
            if refusal is not None:
                return not_run(refusal)
            limit = None if tool.is_long_running else session.settings.tool_time_limit_s
            return await asyncio.wait_for(tool.execute(context, arguments), limit)
        except TimeoutError:
            return failure(
                f"{call.name} took longer than {session.settings.tool_time_limit_s:g} s and was "
                "ended. Do less at once."
            )
        except WellkeptError as error:
            return failure(str(error))
        except RunStopped:
            raise
        except Exception as error:  # noqa: BLE001 - a tool is somebody else's code
            return failure(f"{call.name} failed: {type(error).__name__}: {error}")

    def _bounded(self, output: ToolOutput) -> ToolOutput:
        """The output cut to what a conversation can take, and free of what breaks a request."""
        limit = self._session.settings.max_result_chars
        content = clean(output.content)
        if len(content) > limit:
            left_out = len(content) - limit
            half = limit // 2
            content = f"{content[:half]}\n[{left_out:,} characters left out]\n{content[-half:]}"
        return output if content == output.content else replace(output, content=content)

    def _message(self, calls: Sequence[ToolCallPart], done: Mapping[str, ToolOutput]) -> Message:
        return tool_message(
            *(
                ToolResultPart(
                    call.id,
                    call.name,
                    done[call.id].content or "[no output]",
                    is_error=done[call.id].is_error,
                    images=done[call.id].images,
                )
                for call in calls
            )
        )

    def _stop_if_repeating(
        self, calls: Sequence[ToolCallPart], done: Mapping[str, ToolOutput], message: Message
    ) -> None:
        """End a turn that goes in circles: the same calls with the same results."""
        limit = self._session.settings.repeated_calls
        for call in calls:
            key = (call.name, call.arguments, done[call.id].content)
            self._seen[key] += 1
            if self._seen[key] == limit:
                self._session.report(
                    "loop", f"{call.name} was called {limit} times with the same result."
                )
            if self._seen[key] >= 2 * limit:
                self._session.add(message)
                raise RunStopped(
                    RunEnd.REPEATED_CALLS,
                    f"{call.name} was called {2 * limit} times with the same result.",
                )


def _parsed(arguments: str) -> Mapping[str, object]:
    """A call's arguments; a model's mistake is an error it can act on."""
    try:
        parsed: object = json.loads(arguments or "{}")
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"The arguments are no valid JSON ({error}).", hint="Call the tool again."
        ) from error
    if not isinstance(parsed, dict):
        raise UsageError("The arguments must be a JSON object.", hint="Call the tool again.")
    return cast("dict[str, object]", parsed)


def _unknown(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, n=1, cutoff=0.6)
    hint = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(known)}."
    return f"There is no tool named {name!r}. {hint}"
