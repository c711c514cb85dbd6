"""WebSearch, and an engine for servers that speak SearXNG's JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, Protocol, cast
from urllib.parse import quote, urlsplit

from pydantic import Field

from wellkept.core.errors import UsageError
from wellkept.core.records import record
from wellkept.core.session.events import ToolKind
from wellkept.core.text import shorten, strip_invisible
from wellkept_agent.tools.base import Arguments, ToolOutput, TypedTool
from wellkept_agent.tools.context import ToolContext
from wellkept_agent.tools.web.client import PublicWeb, WebClient

_MAX_SNIPPET_CHARS = 400


@record
class WebHit:
    """One result of a search."""

    title: str
    url: str
    snippet: str = ""


class SearchEngine(Protocol):
    """Searches the web. Raises UsageError when it cannot."""

    async def search(self, query: str, *, limit: int) -> Sequence[WebHit]: ...


class SearxEngine:
    """A SearXNG server of the person's own choice, which may be in a private network.

    `address` is its search page, such as http://localhost:8888/search.
    """

    def __init__(self, address: str, *, client: WebClient | None = None) -> None:
        self._address = address
        self._client = client or PublicWeb(allows=lambda _address: True)

    async def search(self, query: str, *, limit: int) -> Sequence[WebHit]:
        """Ask the server."""
        mark = "&" if "?" in self._address else "?"
        page = await self._client.fetch(f"{self._address}{mark}format=json&q={quote(query)}")
        try:
            answer: object = json.loads(page.body) if page.status == 200 else None
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise UsageError(
                f"The search server answered HTTP {page.status} without results.",
                hint="Its settings must allow the format json.",
            )
        results: object = cast("dict[str, Any]", answer).get("results")
        found = cast("list[object]", results) if isinstance(results, list) else []
        hits = [cast("dict[str, Any]", one) for one in found if isinstance(one, dict)]
        return [
            WebHit(str(one.get("title", "")), str(one["url"]), str(one.get("content") or ""))
            for one in hits[:limit]
            if one.get("url")
        ]


class WebSearchArguments(Arguments):
    """Arguments of WebSearch."""

    query: Annotated[str, Field(min_length=2, description="What to search for.")]
    allowed_domains: Annotated[
        tuple[str, ...], Field(description="Only results from these hosts.")
    ] = ()
    blocked_domains: Annotated[tuple[str, ...], Field(description="None from these hosts.")] = ()
    limit: Annotated[int, Field(ge=1, le=30, description="At most so many results.")] = 10


class WebSearch(TypedTool[WebSearchArguments]):
    """Searches the web with the engine that was set up."""

    name = "WebSearch"
    description = "Search the web: titles, addresses and snippets. Load pages with WebFetch."
    kind = ToolKind.WEB
    read_only = True

    def __init__(self, engine: SearchEngine) -> None:
        self._engine = engine

    async def run(self, context: ToolContext, arguments: WebSearchArguments) -> ToolOutput:
        """Search."""
        hits = await self._engine.search(arguments.query, limit=30)
        kept = [hit for hit in hits if _is_wanted(hit, arguments)][: arguments.limit]
        lines = [
            f"{n}. {strip_invisible(hit.title) or hit.url}\n   {hit.url}"
            + (f"\n   {shorten(strip_invisible(hit.snippet), limit=_MAX_SNIPPET_CHARS)}"
               if hit.snippet else "")
            for n, hit in enumerate(kept, 1)
        ]  # fmt: skip
        content = "\n".join(lines) or f"No results for {arguments.query!r}."
        return ToolOutput(content=content, query=arguments.query)


def _is_wanted(hit: WebHit, arguments: WebSearchArguments) -> bool:
    try:
        host = (urlsplit(hit.url).hostname or "").lower()
    except ValueError:
        return False

    def is_of(domain: str) -> bool:
        plain = domain.lower().removeprefix("www.")
        return host == plain or host.endswith(f".{plain}")

    if any(map(is_of, arguments.blocked_domains)):
        return False
    return not arguments.allowed_domains or any(map(is_of, arguments.allowed_domains))
