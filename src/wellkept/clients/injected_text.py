"""Telling what Wellkept itself put into a conversation from what was said there.

Invariant: text inside a memory frame never comes out, closed or cut off, so that what was once
injected is not taken in again. A mention of the frame's name in running text stays.
"""

from __future__ import annotations

import re
from typing import Final

FRAME: Final = "wellkept-memory"
SERVER: Final = "wellkept"

_OPENING = re.compile(rf"<{FRAME}\b[^<>]*>", re.IGNORECASE)
_CLOSING = re.compile(rf"</\s*{FRAME}\s*>", re.IGNORECASE)
# A client that shortens text may cut the end away. Ours is followed by a line end, which stands
# escaped where a transcript is quoted.
_CUT_OFF = re.compile(rf"<{FRAME}\b[^<>]*>[ \t\r]*(?:\n|\\+n)", re.IGNORECASE)
# The program by any path, quoted where a shell needs that, or as a module of an interpreter.
_OWN_COMMAND = re.compile(
    r"""\s*(?:'[^'\n]*/wellkept'|"[^"\n]*/wellkept"|(?:\S*/)?wellkept"""
    r"""|(?:'[^'\n]+'|"[^"\n]+"|\S+)(?:\s+-\w+)?\s+-m\s+wellkept(?:\.cli)?)(?:\s|\Z)"""
)


def without_own(text: str) -> str:
    """The text without anything that Wellkept injected into it."""
    if FRAME not in text.casefold():
        return text
    kept: list[str] = []
    position = 0
    while opening := _OPENING.search(text, position):
        closing = _CLOSING.search(text, opening.end())
        if closing is None:
            break
        kept.append(text[position : opening.start()])
        position = closing.end()
    cut_off = _CUT_OFF.search(text, position)
    kept.append(text[position : cut_off.start() if cut_off else None])
    return "".join(kept).strip()


def is_own_command(command: str) -> bool:
    """Whether a shell command asks Wellkept, so that its output is memory already."""
    return _OWN_COMMAND.match(command) is not None


def is_own_server(name: str) -> bool:
    """Whether an MCP tool's name says that Wellkept answered: plain, or from its plugin."""
    return re.match(r"(?:mcp_+|MCP:)?(?:plugin_wellkept_)?wellkept[_:]", name) is not None
