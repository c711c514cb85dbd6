"""The request to change a file, with what needs a yes even where edits are accepted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from wellkept_agent.user import PermissionRequest

if TYPE_CHECKING:
    from wellkept_agent.tools.context import ToolContext

_GUARDED: Final = frozenset({".git", ".hg", ".claude", ".cursor", ".vscode", ".idea", ".husky"})
"""Folders whose files make other programs run something."""
_GUARDED_FILES: Final = frozenset({".mcp.json", ".envrc", ".gitmodules", ".gitconfig", ".bashrc"})


def edit_request(
    context: ToolContext, tool: str, path: Path, reason: str, preview: str
) -> PermissionRequest:
    """A request that shows a diff. "Always" allows the tool for the whole session."""
    shown = context.label(path)
    parts = {part.lower() for part in Path(shown).parts}
    is_guarded = bool(parts & _GUARDED) or path.name.lower() in _GUARDED_FILES
    return PermissionRequest(
        tool=tool,
        arguments=shown,
        reason=reason,
        preview=preview,
        rule=f"{tool}({shown})" if is_guarded else tool,
        guarded=is_guarded,
    )
