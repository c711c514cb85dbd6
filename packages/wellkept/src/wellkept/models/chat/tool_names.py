"""Tool names as providers take them: letters, digits, `_` and `-`, at most 64.

`mcp:server:tool` becomes `mcp__server__tool`; what would be ambiguous or too long ends with a hash.
Invariant: a name's translation depends on the name alone, unless two would become the same, so that
the request stays the same from call to call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256

_MAX_CHARS = 64
_HASH_CHARS = 8
_VALID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_VALID_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


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
