"""What both protocols need for a call: an HTTP client, tool names, the size of the answer."""

from __future__ import annotations

import os
import ssl
from functools import cache

import httpx2

from wellkept.core.chat.messages import ModelInfo, ModelRequest
from wellkept.models.chat.settings import AgentModelSettings
from wellkept.models.chat.tool_names import ToolNames
from wellkept.models.http.client import Endpoint
from wellkept.models.http.real_requests import check_allowed

_USUAL_OUTPUT_TOKENS = 32_000
_LEAST_OUTPUT_TOKENS = 1_024
_MARGIN = 1.33
_ACCOUNT_HEADERS = ("OpenAI-Organization", "OpenAI-Project")


def http_client(endpoint: Endpoint, settings: AgentModelSettings) -> httpx2.AsyncClient:
    """A client for one call. It belongs to the running event loop, and a model outlives loops.

    Redirects are refused, so that a key is never sent elsewhere; no proxy is used for loopback.
    """
    check_allowed(endpoint)
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(settings.silence_s, connect=settings.connect_s),
        follow_redirects=False,
        trust_env=not endpoint.is_loopback,
        verify=_certificates() if endpoint.base_url.startswith("https:") else False,
    )


def wire_names(request: ModelRequest) -> ToolNames:
    """The names of all tools that a request mentions, offered or called before."""
    offered = [one.name for one in request.tools]
    called = [call.name for message in request.messages for call in message.tool_calls]
    return ToolNames([*offered, *called])


def output_limit(request: ModelRequest, info: ModelInfo) -> int:
    """Tokens that the answer may take. Services refuse what would not fit beside the request, and
    count what is allowed against a rate limit, hence no more than is usual."""
    wanted = request.max_tokens or min(info.max_output_tokens, _USUAL_OUTPUT_TOKENS)
    room = int(info.context_tokens - request.tokens * _MARGIN)
    return min(wanted, info.max_output_tokens, max(room, _LEAST_OUTPUT_TOKENS))


def stray_headers(vendor: str, provider: str) -> list[str]:
    """Headers that an SDK would take from its vendor's variables and send to another provider."""
    if provider == vendor:
        return []
    lines = os.environ.get(f"{vendor.upper()}_CUSTOM_HEADERS", "").splitlines()
    return [*_ACCOUNT_HEADERS, *(line.partition(":")[0].strip() for line in lines if ":" in line)]


@cache
def _certificates() -> ssl.SSLContext:
    """Loading CA certificates takes 30 ms: once is enough."""
    return httpx2.create_ssl_context()
