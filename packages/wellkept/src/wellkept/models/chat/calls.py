"""A chat model over HTTP: streaming with retries and time limits, the same for every protocol.

A call is tried again only before the first word of its answer: what a person has read is never
taken back. Thinking and half-written tool calls are no answer yet: nothing acts on them before the
whole is there. What a server refuses by name (a thinking parameter, old thinking) is left out and
the call made once more. The whole call, retries included, ends within its time limit.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Any, TypeAlias, cast

import httpx2

from wellkept.core.chat.messages import (
    ModelChunk,
    ModelInfo,
    ModelRequest,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
)
from wellkept.core.errors import ContextTooLongError, ProviderError
from wellkept.core.records import replace
from wellkept.models.chat.settings import AgentModelSettings
from wellkept.models.chat.wire import LeftOut, ToolNames, Wire
from wellkept.models.failures import CUT_OFF, NOT_JSON, WEB_PAGE, Failure, broken, refused, reported
from wellkept.models.http import client_options, request_headers

_MAX_ANSWER_CHARS = 8_000_000
_USUAL_OUTPUT_TOKENS = 32_000
_LEAST_OUTPUT_TOKENS = 1_024
_MARGIN = 1.33
Report: TypeAlias = Callable[[str], None]

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
_TOO_LONG = re.compile(
    r"prompt is too long|input is too long|too many (input )?tokens|context[ _]length"
    r"|context[ _]window|context size|maximum context|max(imum)?[ _]prompt[ _]length"
    r"|maximum[ _]input[ _]length|range of input length|input token count|exceeds the (available )?"
    r"context|exceeds? the (maximum|model'?s?)[^.]{0,40}(token|length|context)"
    r"|exceed context limit|reduce the length of|token limit exceeded|request[ _]too[ _]large"
    r"|prompt exceeds max length",
    re.IGNORECASE,
)
_NOT_TOO_LONG = re.compile(r"rate limit|tokens per min|TPM|quota", re.IGNORECASE)


class HttpChatModel:
    """One model at one endpoint. `cuts_silently`: its server cuts a long conversation without a
    word, so that one is refused here. `report` is told of retries."""

    def __init__(
        self,
        wire: Wire,
        info: ModelInfo,
        *,
        settings: AgentModelSettings,
        cuts_silently: bool = False,
        report: Report | None = None,
    ) -> None:
        self.info = info
        self._wire = wire
        self._settings = settings
        self._cuts_silently = cuts_silently
        self._report = report
        self._what = f"{info.provider}:{info.name} at {wire.endpoint.shown_url}"
        # Remembered between calls, so that a refusal costs one request and not one a call.
        self._left_out: set[LeftOut] = set()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Stream an answer; ProviderError when there is none."""
        if self._cuts_silently and request.tokens > self.info.context_tokens:
            raise ContextTooLongError(
                f"About {request.tokens:,} tokens do not fit into the"
                f" {self.info.context_tokens:,} of {self._what}.",
                hint="Give the server a larger window (OLLAMA_CONTEXT_LENGTH), or say less.",
            )
        deadline = asyncio.get_running_loop().time() + self._settings.total_s
        attempt = 1
        while True:
            has_answered = False
            try:
                async with (
                    aclosing(self._call(request)) as chunks,
                    aclosing(self._in_time(chunks, deadline)) as timely,
                ):
                    async for chunk in timely:
                        has_answered = has_answered or _is_answer(chunk)
                        yield chunk
                return
            except _Failed as failed:
                failure = failed.failure
            except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
                is_loopback = self._wire.endpoint.is_loopback
                limit_s = self._settings.connect_s
                failure = broken(error, timeout_s=limit_s, is_loopback=is_loopback)
            except ValueError:  # neither JSON nor text
                failure = NOT_JSON
            if _is_too_long(failure):
                raise ContextTooLongError(
                    f"The conversation does not fit into {self._what}:"
                    f" {failure.detail or 'the request is too large'}",
                    hint="Compact the conversation or choose a model with a larger window.",
                )
            if has_answered:
                raise failure.error(self._what)
            if not self._leaves_out(failure):
                await self._wait(failure, attempt, deadline)
                attempt += 1

    async def _call(self, request: ModelRequest) -> AsyncGenerator[ModelChunk]:
        """One attempt. A client belongs to the running event loop, and a model outlives loops."""
        wire, names = self._wire, ToolNames.of(request)
        answer = wire.answer(names)
        limit = self._output_limit(request)
        body = wire.body(request, names, limit=limit, left_out=frozenset(self._left_out))
        headers = request_headers(wire.endpoint)
        thinking = request.thinking
        if thinking is not None and thinking.interleaved and thinking.budget_tokens != 0:
            headers |= wire.thinking_headers
        timeout = httpx2.Timeout(self._settings.silence_s, connect=self._settings.connect_s)
        url = wire.endpoint.base_url.rstrip("/") + wire.path
        async with (
            httpx2.AsyncClient(timeout=timeout, **client_options(wire.endpoint)) as client,
            client.stream("POST", url, json=body | wire.streaming, headers=headers) as response,
        ):
            api_key = wire.endpoint.api_key
            if not response.is_success:
                content = await response.aread()
                status = response.status_code
                raise _Failed(refused(status, response.headers, content, api_key=api_key))
            if response.headers.get("content-type", "").startswith("text/html"):
                raise _Failed(WEB_PAGE)
            async for event in _events(response):
                if event.get("error"):
                    raise _Failed(reported(event, api_key=api_key))
                for chunk in answer.taken(event):
                    yield chunk
        if not answer.is_complete:
            raise _Failed(CUT_OFF)
        yield answer.response()

    def _output_limit(self, request: ModelRequest) -> int:
        """Tokens that the answer may take. Services refuse what would not fit beside the request,
        and count what is allowed against a rate limit, hence no more than is usual."""
        wanted = request.max_tokens or min(self.info.max_output_tokens, _USUAL_OUTPUT_TOKENS)
        room = int(self.info.context_tokens - request.tokens * _MARGIN)
        return min(wanted, self.info.max_output_tokens, max(room, _LEAST_OUTPUT_TOKENS))

    async def _in_time(
        self, chunks: AsyncGenerator[ModelChunk], deadline: float
    ) -> AsyncGenerator[ModelChunk]:
        """Chunks, none of which takes too long; the answer has a largest size."""
        loop = asyncio.get_running_loop()
        size = 0
        while True:
            left_s = deadline - loop.time()
            limit_s = min(self._settings.silence_s, max(left_s, 0.0))
            try:
                async with asyncio.timeout(limit_s):
                    chunk = await anext(chunks, None)
            except TimeoutError:
                is_over = left_s <= self._settings.silence_s
                raise _Failed(
                    Failure(
                        reason=f"it was not done within {self._settings.total_s:g} s"
                        if is_over
                        else f"it sent nothing for {limit_s:g} s",
                        hint="Try again, or allow more time.",
                        may_retry=not is_over,
                    )
                ) from None
            if chunk is None:
                return
            size += _size(chunk)
            if size > _MAX_ANSWER_CHARS:
                raise ProviderError(f"{self._what} does not stop answering.", cause="answer")
            yield chunk

    def _leaves_out(self, failure: Failure) -> bool:
        """Whether the call should be made again without what the server refused."""
        if failure.status not in (400, 422):
            return False
        for part, pattern in _REFUSALS:
            if part not in self._left_out and pattern.search(failure.detail):
                self._left_out.add(part)
                self._tell(f"{self._what} does not take {part.value}; it is left out.")
                return True
        return False

    async def _wait(self, failure: Failure, attempt: int, deadline: float) -> None:
        """Wait before another attempt, or raise when there is none."""
        policy = self._settings.retries
        error = failure.error(self._what, attempts=attempt)
        if not failure.may_retry or attempt >= policy.attempts:
            raise error
        wait_s = policy.wait_before(attempt, retry_after_s=failure.retry_after_s)
        if wait_s is None:
            after = f"The server asks to wait {failure.retry_after_s:,.0f} s."
            raise replace(failure, hint=after, cause="busy").error(self._what)
        if wait_s > deadline - asyncio.get_running_loop().time():
            raise error
        self._tell(f"{failure.error(self._what).message} Trying again in {wait_s:.1f} s.")
        await policy.sleep(wait_s)

    def _tell(self, message: str) -> None:
        if self._report is not None:
            self._report(message)


class _Failed(Exception):  # noqa: N818 - carries a failure from one generator to another
    def __init__(self, failure: Failure) -> None:
        super().__init__()
        self.failure = failure


async def _events(response: httpx2.Response) -> AsyncGenerator[dict[str, Any]]:
    """The objects of a stream of server-sent events. Lines end with a line feed only: a text may
    hold every other line end."""
    data: list[bytes] = []
    rest = b""
    async for piece in response.aiter_bytes():
        *lines, rest = (rest + piece).split(b"\n")
        for line in (one.rstrip(b"\r") for one in lines):
            if line.startswith(b"data:"):
                data.append(line[5:].strip())
            elif not line and data:
                if data == [b"[DONE]"]:
                    return
                event: object = json.loads(b"\n".join(data))
                data = []
                if isinstance(event, dict):
                    yield cast("dict[str, Any]", event)


def _is_too_long(failure: Failure) -> bool:
    """Whether a server said that the conversation does not fit."""
    if failure.status == 413:
        return True
    is_refusal = failure.status in (None, 400, 422, 500)
    said = failure.detail
    return is_refusal and bool(_TOO_LONG.search(said)) and not _NOT_TOO_LONG.search(said)


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
