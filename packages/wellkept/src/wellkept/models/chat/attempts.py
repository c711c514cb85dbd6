"""Streaming with retries and time limits, the same for every protocol.

A call is tried again only before the first word of its answer: what a person has read is never
taken back. Thinking and half-written tool calls are no answer yet: nothing acts on them before the
whole is there. What a server refuses by name (a thinking parameter, old thinking) is left out and
the call made once more. The whole call, retries included, ends within its time limit.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from enum import StrEnum
from typing import Any, TypeAlias

from wellkept.core.chat.messages import ModelChunk, TextChunk, ThinkingChunk, ToolCallChunk
from wellkept.core.errors import ProviderError
from wellkept.core.records import record
from wellkept.models.chat.failures import Failure, failure_of, no_stream
from wellkept.models.chat.settings import AgentModelSettings

_MAX_ANSWER_CHARS = 8_000_000
Report: TypeAlias = Callable[[str], None]


class LeftOut(StrEnum):
    """What is not sent because the server does not take it."""

    THINKING = "thinking"
    PAST_THINKING = "past thinking"
    EFFORT_WITH_TOOLS = "effort with tools"


Call: TypeAlias = Callable[[frozenset[LeftOut]], AsyncGenerator[ModelChunk]]

_REFUSALS = (
    (LeftOut.EFFORT_WITH_TOOLS, re.compile(r"tools with reasoning_effort", re.IGNORECASE)),
    (
        LeftOut.PAST_THINKING,
        re.compile(
            r"signature|redacted_thinking|thinking blocks?\b|reasoning_content|expected .?thinking",
            re.IGNORECASE,
        ),
    ),
    (
        LeftOut.THINKING,
        re.compile(r"think|reasoning|budget_tokens|output_config|effort", re.IGNORECASE),
    ),
)


@record(kw_only=True)
class Attempts:
    """How one model is called. `errors` are those of its SDK; `left_out` is remembered between
    calls, so that a refusal costs one request and not one a call."""

    what: str
    settings: AgentModelSettings
    errors: tuple[type[BaseException], ...]
    api_key: str | None
    left_out: set[LeftOut]
    report: Report | None = None

    async def stream(self, call: Call) -> AsyncGenerator[ModelChunk]:
        """The chunks of a call that succeeds; ProviderError when none does."""
        deadline = asyncio.get_running_loop().time() + self.settings.total_s
        attempt = 1
        while True:
            has_answered = False
            try:
                async with (
                    aclosing(call(frozenset(self.left_out))) as chunks,
                    aclosing(self._in_time(chunks, deadline)) as timely,
                ):
                    async for chunk in timely:
                        has_answered = has_answered or _is_answer(chunk)
                        yield chunk
                return
            except ProviderError:
                raise
            except _Failed as failed:
                failure = failed.failure
            except self.errors as error:
                failure = failure_of(error, what=self.what, api_key=self.api_key)
            if has_answered:
                raise failure.error
            if not self._leaves_out(failure):
                await self._wait(failure, attempt, deadline)
                attempt += 1

    async def _in_time(
        self, chunks: AsyncGenerator[ModelChunk], deadline: float
    ) -> AsyncGenerator[ModelChunk]:
        """Chunks, none of which takes too long; the answer has a largest size."""
        loop = asyncio.get_running_loop()
        size = 0
        while True:
            left_s = deadline - loop.time()
            limit_s = min(self.settings.silence_s, max(left_s, 0.0))
            try:
                async with asyncio.timeout(limit_s):
                    chunk = await anext(chunks, None)
            except TimeoutError:
                raise _Failed(self._too_slow(left_s <= self.settings.silence_s)) from None
            if chunk is None:
                return
            size += _size(chunk)
            if size > _MAX_ANSWER_CHARS:
                raise ProviderError(f"{self.what} does not stop answering.", cause="answer")
            yield chunk

    def _too_slow(self, is_over: bool) -> Failure:
        limit_s = self.settings.total_s if is_over else self.settings.silence_s
        error = ProviderError(
            f"{self.what} sent nothing for {limit_s:g} s."
            if not is_over
            else f"{self.what} was not done within {limit_s:g} s.",
            hint="Try again, or allow more time.",
            cause="busy",
        )
        return Failure(error=error, may_retry=not is_over)

    def _leaves_out(self, failure: Failure) -> bool:
        """Whether the call should be made again without what the server refused."""
        for part, pattern in _REFUSALS:
            if part not in self.left_out and pattern.search(failure.rejected):
                self.left_out.add(part)
                self._tell(f"{self.what} does not take {part.value}; it is left out.")
                return True
        return False

    async def _wait(self, failure: Failure, attempt: int, deadline: float) -> None:
        """Wait before another attempt, or raise when there is none."""
        policy = self.settings.retries
        if not failure.may_retry or attempt >= policy.attempts:
            raise _with_attempts(failure.error, attempt)
        wait_s = policy.wait_before(attempt, retry_after_s=failure.retry_after_s)
        if wait_s is None:
            after = f"The server asks to wait {failure.retry_after_s:,.0f} s."
            raise ProviderError(failure.error.message, hint=after, cause="busy")
        if wait_s > deadline - asyncio.get_running_loop().time():
            raise failure.error
        self._tell(f"{failure.error.message} Trying again in {wait_s:.1f} s.")
        await policy.sleep(wait_s)

    def _tell(self, message: str) -> None:
        if self.report is not None:
            self.report(message)


class _Failed(Exception):  # noqa: N818 - carries a failure from one generator to another
    def __init__(self, failure: Failure) -> None:
        super().__init__()
        self.failure = failure


def check_stream(what: str, response: Any) -> None:
    """Raise when a response that is no error cannot be the stream of an answer either."""
    content_type = str(response.headers.get("content-type") or "")
    failure = no_stream(what, status=int(response.status_code), content_type=content_type)
    if failure is not None:
        raise _Failed(failure)


def broken_off(failure: Failure) -> Exception:
    """An exception by which a call says that it failed in a way no SDK notices."""
    return _Failed(failure)


def _is_answer(chunk: ModelChunk) -> bool:
    """Whether a chunk is something to read or to act on."""
    match chunk:
        case TextChunk(text):
            return bool(text.strip())
        case ThinkingChunk() | ToolCallChunk():
            return False
        case _:
            return True


def _size(chunk: ModelChunk) -> int:
    match chunk:
        case TextChunk(text) | ThinkingChunk(text):
            return len(text)
        case ToolCallChunk(arguments=arguments):
            return len(arguments)
        case _:
            return 0


def _with_attempts(error: ProviderError, attempts: int) -> ProviderError:
    if attempts > 1:
        error.message = f"{error.message.rstrip('.')} (after {attempts} attempts)."
    return error
