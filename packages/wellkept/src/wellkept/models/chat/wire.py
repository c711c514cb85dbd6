"""What both protocols share: names of tools, calls, the pieces of an answer.

Providers take tool names of letters, digits, `_` and `-`, at most 64.

`mcp:server:tool` becomes `mcp__server__tool`; what would be ambiguous or too long ends with a hash.
Invariant: a name's translation depends on the name alone, unless two would become the same, so that
the request stays the same from call to call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from wellkept.core.chat.messages import ModelChunk, ModelRequest, ModelResponse
    from wellkept.models.http import Endpoint

Block = dict[str, Any]
NO_IMAGE = "[An image was here; this model takes none.]"
BEGINNING = "[The conversation goes on.]"
EMPTY = "[empty]"
_MAX_INVALID_CHARS = 4_000
_MAX_CHARS = 64
_HASH_CHARS = 8
_VALID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_VALID_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class LeftOut(StrEnum):
    """What is not sent because the server does not take it."""

    THINKING = "thinking"
    PAST_THINKING = "past thinking"
    EFFORT_WITH_TOOLS = "effort with tools"


class Answer(Protocol):
    """An answer as its events come in. `is_complete`: the server said why it ended."""

    @property
    def is_complete(self) -> bool: ...

    def taken(self, event: Mapping[str, Any]) -> list[ModelChunk]: ...

    def whole(self, reply: Mapping[str, Any]) -> ModelResponse: ...

    def response(self) -> ModelResponse: ...


class Wire(Protocol):
    """A protocol: `endpoint` has the headers it wants, `path` is below its address. `limit` is the
    number of tokens that the answer may take; `thinking_headers` go with interleaved thinking."""

    endpoint: Endpoint
    path: str
    streaming: Block
    thinking_headers: Mapping[str, str]

    def body(
        self, request: ModelRequest, names: ToolNames, *, limit: int, left_out: frozenset[LeftOut]
    ) -> Block: ...

    def answer(self, names: ToolNames) -> Answer: ...


class ToolNames:
    """The names of one request, there and back."""

    def __init__(self, names: Iterable[str]) -> None:
        self._sent: dict[str, str] = {}
        self._own: dict[str, str] = {}
        # Names that need no change keep themselves, whatever the others become.
        for name in sorted(set(names), key=lambda name: (_VALID.fullmatch(name) is None, name)):
            sent = _plain(name)
            if sent in self._own:
                sent = _hashed(name)
            self._sent[name] = sent
            self._own[sent] = name

    @classmethod
    def of(cls, request: ModelRequest) -> ToolNames:
        """The names of all tools that a request mentions, offered or called before."""
        offered = [one.name for one in request.tools]
        called = [call.name for message in request.messages for call in message.tool_calls]
        return cls([*offered, *called])

    def sent(self, name: str) -> str:
        """A tool's name as the provider is told it."""
        return self._sent.get(name) or _plain(name)

    def own(self, sent: str) -> str:
        """The tool that a model meant."""
        return self._own.get(sent, sent)


def call_id(given: str) -> str:
    """A call's id that every provider takes; other ids come from another provider's answer."""
    if _VALID_ID.fullmatch(given):
        return given
    return f"call_{sha256(given.encode('utf-8', 'replace')).hexdigest()[:24]}"


def arguments_object(arguments: str) -> dict[str, Any]:
    """A call's arguments as an object; what is no valid object is kept as text."""
    try:
        parsed: object = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        parsed = None
    if isinstance(parsed, dict):
        return cast("dict[str, Any]", parsed)
    return {"invalid_json": arguments[:_MAX_INVALID_CHARS]}


def _plain(name: str) -> str:
    if _VALID.fullmatch(name):
        return name
    replaced = re.sub(r"[^A-Za-z0-9_-]", "_", name.replace(":", "__"))
    is_lossless = replaced == name.replace(":", "__") and "__" not in name
    if is_lossless and replaced and len(replaced) <= _MAX_CHARS:
        return replaced
    return _hashed(name)


def _hashed(name: str) -> str:
    mark = sha256(name.encode("utf-8", "replace")).hexdigest()[:_HASH_CHARS]
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", name.replace(":", "__"))
    return f"{plain[: _MAX_CHARS - _HASH_CHARS - 1]}_{mark}"
