"""Remove text that Wellkept injected, so that it is never captured again.

Invariant: text inside a `<wellkept-memory>` frame never passes, closed or cut off. The frame's name
in running text stays.
"""

from __future__ import annotations

import re
from typing import Final

from wellkept.core.text import strip_invisible

FRAME: Final = "wellkept-memory"
SERVER: Final = "wellkept"

# Some clients write the frame with entities.
_LEFT, _RIGHT = "(?:<|&lt;)", "(?:>|&gt;)"
_TAG = rf"{_LEFT}{FRAME}\b(?:(?!&[lg]t;)[^<>])*{_RIGHT}"
_OPENING = re.compile(_TAG, re.IGNORECASE)
_CLOSING = re.compile(rf"{_LEFT}/\s*{FRAME}\s*{_RIGHT}", re.IGNORECASE)
# A client may cut the closing tag off. Our opening tag is followed by a line end, which is escaped
# in a quoted transcript.
_CUT_OFF = re.compile(rf"{_TAG}[ \t\r]*(?:\n|\\+n)", re.IGNORECASE)
# The program by any path, quoted or not, or as `python -m wellkept`.
_OWN_COMMAND = re.compile(
    r"""\s*(?:'[^'\n]*/wellkept'|"[^"\n]*/wellkept"|(?:\S*/)?wellkept"""
    r"""|(?:'[^'\n]+'|"[^"\n]+"|\S+)(?:\s+-\w+)?\s+-m\s+wellkept(?:\.cli)?)(?:\s|\Z)"""
)

_FRAME_TAG = re.compile(
    rf"<\s*/?\s*(?=(?:{FRAME}|system[-_ ]?reminder|hook_context|untrusted_context|function_\w+"
    r"|tool_\w+|antml:|system|user|human|assistant|instructions?)\b)|<\|(?=\w+\|>)",
    re.IGNORECASE,
)


def without_injected(text: str) -> str:
    """The text without injected frames."""
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


def is_wellkept_command(command: str) -> bool:
    """Whether a shell command runs Wellkept, so its output is memory already."""
    return _OWN_COMMAND.match(command) is not None


def is_wellkept_tool(name: str) -> bool:
    """Whether an MCP tool is Wellkept's, directly or through its plugin."""
    return re.match(r"(?:mcp_+|MCP:)?(?:plugin_wellkept_)?wellkept[_:]", name) is not None


def quoted(text: str) -> str:
    """Memory text as one visible line that cannot close our frame or imitate one of the client."""
    return _FRAME_TAG.sub("", " ".join(strip_invisible(text).split()))


def quoted_lines(text: str) -> str:
    """Memory text that keeps its lines and cannot close the frame it may end up in."""
    # Only a line that names the frame is touched: code keeps its spacing.
    return "\n".join(
        quoted(line) if FRAME in line.casefold() else line for line in text.splitlines()
    )
