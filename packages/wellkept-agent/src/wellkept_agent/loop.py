"""The loop: prompt, model, tools, model, … until the model is done.

Read it top to bottom. Everything else is a hook, a tool or a capability. Invariant: when a turn has
ended, whatever ended it, each tool call in the conversation has its result, so that the next turn
can go on.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast

from wellkept.core.chat.messages import (
    Message,
    MessageKind,
    ModelResponse,
    ModelUsage,
    Role,
    StopReason,
    TextChunk,
    TextPart,
    ThinkingChunk,
    new_message_id,
    user_message,
)
from wellkept.core.errors import ContextTooLongError, ProviderError, WellkeptError
from wellkept.core.records import replace
from wellkept.core.text import estimate_tokens
from wellkept_agent import events
from wellkept_agent.control import RunEnd, RunStopped
from wellkept_agent.session import RunResult
from wellkept_agent.tool_calls import TOOL, CallRounds, TypedOutput

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from wellkept.core.chat.messages import ModelChunk, ModelRequest
    from wellkept_agent.session import AgentSession

_MAX_NUDGES = 3
_CUT_OFF = "Your answer was cut off at the token limit. Go on where it ended; be brief."


async def run_turn(session: AgentSession, prompt: str) -> RunResult:
    """One prompt, worked on until the model is done or the run is stopped."""
    turn_id = new_message_id()
    session.turns += 1
    session.task = session.task or prompt
    session.control.restart()
    session.emit(events.TurnStarted(turn_id, prompt))
    end, detail = RunEnd.DONE, ""
    try:
        await session.control.guard(session.start())
        text = await session.control.guard(session.hooks.user_message(session.context, prompt))
        session.add(user_message(text))
        end = await _work(session, turn_id)
    except RunStopped as stopped:
        end, detail = stopped.end, stopped.detail
    except ProviderError as error:
        end, detail = RunEnd.MODEL_FAILED, str(error)
    except WellkeptError as error:
        end, detail = RunEnd.MODEL_FAILED, str(error)
    return _finished(session, turn_id, end, detail)


async def _work(session: AgentSession, turn_id: str) -> RunEnd:
    rounds = CallRounds(session)
    nudges = 0
    while True:
        session.control.count_step()
        response = await _asked(session, turn_id)
        session.add(response.message)
        calls = response.message.tool_calls
        if calls:
            results = await rounds.run(calls)
            session.add(results.message)
            session.state.clear_temp()
            if results.end is not None:
                return results.end
            continue
        why = _why_not_over(session, response)
        if why is None or nudges == _MAX_NUDGES:
            return RunEnd.DONE
        nudges += 1
        session.add(user_message(why, kind=MessageKind.REMINDER))


def _why_not_over(session: AgentSession, response: ModelResponse) -> str | None:
    """What to tell a model that stopped too early; None when the turn may end."""
    if response.stop is StopReason.LENGTH:
        return _CUT_OFF
    reasons = (capability.keep_going() for capability in session.capabilities)
    return next((reason for reason in reasons if reason), None)


async def _asked(session: AgentSession, turn_id: str) -> ModelResponse:
    """The model's answer. When the conversation is too long, room is made once."""
    for attempt in range(2):
        request = await session.control.guard(
            session.hooks.before_llm(session.context, session.request())
        )
        session.control.raise_if_stopped()  # a hook may have found that no call should be made
        session.emit(events.StepStarted(turn_id, session.control.steps, request.tokens))
        try:
            response = await session.control.guard(_streamed(session, turn_id, request))
        except ContextTooLongError as error:
            if attempt or not await session.control.guard(_made_room(session)):
                raise RunStopped(RunEnd.CONTEXT_FULL, str(error)) from error
            continue
        response = _usable(response)
        _count(session, request, response)
        return await session.control.guard(session.hooks.after_llm(session.context, response))
    raise AssertionError("unreachable")


async def _streamed(session: AgentSession, turn_id: str, request: ModelRequest) -> ModelResponse:
    """The whole answer; its pieces are emitted as they come."""
    response: ModelResponse | None = None
    is_thinking = False
    stream = cast("AsyncGenerator[ModelChunk]", _checked(session.model.stream(request)))
    async with aclosing(stream) as chunks:
        async for chunk in chunks:
            match chunk:
                case TextChunk(text):
                    session.emit(events.TextDelta(turn_id, text))
                case ThinkingChunk(text):
                    is_thinking = True
                    session.emit(events.ThinkingDelta(turn_id, text))
                case ModelResponse():
                    response = chunk
                case _:
                    pass
    if response is None:
        raise ProviderError("The model's stream ended without an answer.", cause="answer")
    if is_thinking:
        tokens = estimate_tokens(response.message.thinking)
        session.emit(events.ThinkingComplete(turn_id, tokens))
    return response


async def _checked(chunks: AsyncIterator[ModelChunk]) -> AsyncIterator[ModelChunk]:
    """The stream of a model; a failure that is none of ours becomes a ProviderError."""
    try:
        async for chunk in chunks:
            yield chunk
    except WellkeptError:
        raise
    except Exception as error:
        raise ProviderError(f"The model failed: {type(error).__name__}: {error}") from error


def _usable(response: ModelResponse) -> ModelResponse:
    """An answer that a provider will take back: never without any part."""
    if response.message.parts:
        return response
    empty = Message(role=Role.ASSISTANT, parts=(TextPart("[The model gave an empty answer.]"),))
    return replace(response, message=empty)


async def _made_room(session: AgentSession) -> bool:
    for capability in session.capabilities:
        if await capability.make_room():
            return True
    return False


def _count(session: AgentSession, request: ModelRequest, response: ModelResponse) -> None:
    """Count tokens; estimated where the provider does not say."""
    usage = response.usage or ModelUsage(input=request.tokens, output=response.message.tokens)
    session.control.count_usage(usage)
    session.emit(
        events.UsageChanged(session.control.usage, usage.total, session.model.info.context_tokens)
    )


def _finished(session: AgentSession, turn_id: str, end: RunEnd, detail: str) -> RunResult:
    """End a turn: no call stays without its result, and everything is saved."""
    turns = session.conversation.turns
    if turns and turns[-1].tool_calls:
        session.replace_turns(turns)
    session.save_state()
    answers = [m for m in session.conversation.turns if m.role is Role.ASSISTANT]
    text = answers[-1].text if answers else ""
    typed = session.capability(TypedOutput)
    if typed is not None and end is RunEnd.DONE and not typed.is_given:
        end, detail = RunEnd.NO_OUTPUT, f"the model never called {TOOL}"
    result = RunResult(
        session=session.id,
        text=text,
        output=cast("Any", text if typed is None else typed.value),
        end=end,
        steps=session.control.steps,
        usage=session.control.usage,
        detail=detail,
    )
    session.last_end = end
    for capability in session.capabilities:
        try:
            capability.turn_ended(result)
        except Exception as error:  # noqa: BLE001 - a capability is somebody else's code
            session.report(capability.name, f"turn_ended failed: {type(error).__name__}: {error}")
    session.emit(events.RunFinished(turn_id, end, result.text, result.steps, result.usage, detail))
    return result
