"""Open a model by name: `anthropic:claude-sonnet-4-5`, `openai:gpt-5`, `ollama:qwen3`.

A name without a model takes the vendor's usual one. Nothing is sent before the first call.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import httpx2

from wellkept.core.chat.messages import (
    ModelChunk,
    ModelInfo,
    ModelRequest,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
)
from wellkept.core.errors import ContextTooLongError, ProviderError, UsageError
from wellkept.core.records import field, record, replace
from wellkept.models.chat.catalog import ModelCatalog, ModelRow, load_catalog
from wellkept.models.chat.wire import LeftOut, ToolNames, Wire
from wellkept.models.failures import CUT_OFF, NOT_JSON, WEB_PAGE, Failure, broken, refused, reported
from wellkept.models.http import Endpoint, client_options, request_headers

if TYPE_CHECKING:
    from wellkept.core.ports.models import AgentModel
    from wellkept.models.chat.catalog import ProviderPreset

_OLLAMA_WINDOW = "OLLAMA_CONTEXT_LENGTH"


def open_model(
    name: str,
    *,
    environment: Mapping[str, str],
    settings: AgentModelSettings | None = None,
    report: Report | None = None,
) -> AgentModel:
    """A model that is not contacted yet. UsageError for an unknown name, ProviderError when the SDK
    is missing; a missing key is told at the first call. `report` is told of retries."""
    settings = settings or AgentModelSettings()
    catalog = load_catalog(settings.models_file)
    preset, model = _parsed(name, catalog)
    endpoint = _endpoint(preset, settings, environment)
    needs_key = preset.needs_key and not (endpoint.is_loopback or settings.base_url)
    problem = None if endpoint.api_key or not needs_key else _no_key(preset)

    def opened(model: str) -> AgentModel:
        row = _row(catalog, preset, model, settings, environment)
        return _made(endpoint, row=row, preset=preset, settings=settings, report=report)

    def known(wanted: str) -> str | None:
        return _same_vendor(wanted, preset, catalog)

    return _ModelWithOverrides(opened(model), opened=opened, known=known, problem=problem)


def _parsed(name: str, catalog: ModelCatalog) -> tuple[ProviderPreset, str]:
    provider, separator, model = name.strip().partition(":")
    if not separator and provider not in catalog.providers():
        raise UsageError(
            f"{name!r} does not say whose model it is.",
            hint=f"Write PROVIDER:MODEL with one of: {', '.join(catalog.providers())}.",
        )
    preset = catalog.preset(provider)
    return preset, preset.aliases.get(model, model) or preset.default_model


def _same_vendor(wanted: str, preset: ProviderPreset, catalog: ModelCatalog) -> str | None:
    """The model that a skill or sub-agent asks for, when the vendor in use has it.

    Another vendor's is not used: who receives the conversation is the user's choice alone.
    """
    provider, separator, model = wanted.strip().partition(":")
    if separator and provider in catalog.providers():
        return (preset.aliases.get(model, model) or None) if provider == preset.name else None
    if wanted in preset.aliases:
        return preset.aliases[wanted]
    return wanted if catalog.knows(preset.name, wanted) else None


def _endpoint(
    preset: ProviderPreset, settings: AgentModelSettings, environment: Mapping[str, str]
) -> Endpoint:
    from_environment = next(
        (environment[name] for name in preset.url_variables if environment.get(name)), None
    )
    if preset.name == "ollama":
        from wellkept.models.embedders.remote import server_url

        from_environment = f"{server_url(environment).rstrip('/')}/v1"
    base_url = settings.base_url or from_environment or preset.base_url
    key = settings.api_key
    if not key and not settings.base_url:
        # A key in the environment belongs to the vendor: another server must not get it.
        key = next((environment[v] for v in preset.key_variables if environment.get(v)), None)
    endpoint = Endpoint(base_url, api_key=key or None, timeout_s=settings.total_s)
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise UsageError(
            f"The API key for {preset.name} has characters that cannot be sent in a header.",
            hint="Copy it again without spaces or line ends.",
        )
    return endpoint


def _no_key(preset: ProviderPreset) -> ProviderError:
    return ProviderError(
        f"There is no API key for {preset.name}.",
        hint=f"Set {preset.key_variables[0]}." if preset.key_variables else None,
        cause="login",
    )


def _row(
    catalog: ModelCatalog,
    preset: ProviderPreset,
    model: str,
    settings: AgentModelSettings,
    environment: Mapping[str, str],
) -> ModelRow:
    row = catalog.row(preset.name, model)
    window = environment.get(_OLLAMA_WINDOW, "") if preset.name == "ollama" else ""
    changes = {
        "context_tokens": settings.context_tokens or (int(window) if window.isdecimal() else None),
        "max_output_tokens": settings.max_output_tokens,
    }
    kept = {name: value for name, value in changes.items() if value is not None}
    return replace(row, info=replace(row.info, **kept)) if kept else row


def _made(
    endpoint: Endpoint,
    *,
    row: ModelRow,
    preset: ProviderPreset,
    settings: AgentModelSettings,
    report: Report | None,
) -> AgentModel:
    if find_spec("httpx2") is None:
        raise ProviderError(
            f"{preset.name} needs the package httpx2.", hint="Run: pip install 'wellkept[agent]'"
        )

    return HttpChatModel(
        wire_of(endpoint, row, preset),
        row.info,
        settings=settings,
        cuts_silently=preset.cuts_silently,
        report=report,
    )


def wire_of(endpoint: Endpoint, row: ModelRow, preset: ProviderPreset) -> Wire:
    """The protocol that a vendor speaks, for one model."""
    if preset.protocol == "anthropic":
        from wellkept.models.chat.anthropic import AnthropicWire

        return AnthropicWire(endpoint, row)
    from wellkept.models.chat.openai import OpenAIWire

    return OpenAIWire(endpoint, row, preset)


# -- Override -------------------------------------------------------------------------------------


class _ModelWithOverrides:
    """Sends a request to the model that it names, else to its own.

    `known` gives the vendor's name of a model that is asked for; None when the vendor in use does
    not have it, and then the own model answers. `problem` is what keeps every call from working.
    """

    def __init__(
        self,
        model: AgentModel,
        *,
        opened: Callable[[str], AgentModel],
        known: Callable[[str], str | None],
        problem: ProviderError | None = None,
    ) -> None:
        self._model = model
        self._opened = opened
        self._known = known
        self._problem = problem
        self._others: dict[str, AgentModel] = {}

    @property
    def info(self) -> ModelInfo:
        return self._model.info

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Stream an answer."""
        if self._problem is not None:
            raise self._problem
        return self._chosen(request.model).stream(request)

    def _chosen(self, wanted: str | None) -> AgentModel:
        name = self._known(wanted) if wanted else None
        if name is None or name == self.info.name:
            return self._model
        if name not in self._others:
            self._others[name] = self._opened(name)
        return self._others[name]


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


@record(kw_only=True)
class RetryPolicy:
    """How often a call is tried before its first chunk, and how long to wait in between."""

    attempts: int = 4
    first_wait_s: float = 0.5
    longest_wait_s: float = 60.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    def wait_before(self, attempt: int, *, retry_after_s: float | None) -> float | None:
        """Seconds until the next attempt: what the server says, or twice as long each time. None
        when the server wants a longer wait than is allowed."""
        if retry_after_s is not None:
            return retry_after_s if retry_after_s <= self.longest_wait_s else None
        backoff_s = self.first_wait_s * 2 ** (attempt - 1)
        # Clients that failed together should not come back together.
        return min(backoff_s, self.longest_wait_s) * random.uniform(0.75, 1.0)


@record(kw_only=True)
class AgentModelSettings:
    """A model's address, key and limits. None means what the vendor's row says.

    `silence_s` is the longest wait for the next piece of an answer, `total_s` for all of it.
    `models_file` is the user's own table of models.
    """

    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    connect_s: float = 10.0
    silence_s: float = 300.0
    total_s: float = 1_800.0
    retries: RetryPolicy = field(default_factory=RetryPolicy)
    context_tokens: int | None = None
    max_output_tokens: int | None = None
    models_file: Path | None = None
