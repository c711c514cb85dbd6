"""What the observer learns of a call from its arguments alone, also when it failed.

The names are those that coding clients use, so that a call of ours says the same as one of theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from wellkept.core.records import replace
from wellkept.core.session.events import Edit, ToolKind
from wellkept_agent.tools.base import ToolOutput

_FILE: Final = ("file_path", "notebook_path", "path")
_QUERY: Final = ("pattern", "query", "url")
_NAME_FILES: Final = frozenset({ToolKind.READ, ToolKind.EDIT, ToolKind.WRITE})
_SEARCHES: Final = frozenset({ToolKind.SEARCH, ToolKind.WEB})


def described(output: ToolOutput, kind: ToolKind, arguments: Mapping[str, object]) -> ToolOutput:
    """An output whose empty fields for the observer are filled from the arguments."""
    path = _text(arguments, *_FILE)
    changes: dict[str, object] = {}
    if kind in _NAME_FILES and path and not output.files:
        changes["files"] = (path,)
    if kind is ToolKind.SHELL and output.command is None and (command := arguments.get("command")):
        changes["command"] = str(command)
    if kind in _SEARCHES and output.query is None and (query := _text(arguments, *_QUERY)):
        changes["query"] = query
    if path and not output.edits and (edit := _edit(kind, path, arguments)) is not None:
        changes["edits"] = (edit,)
    return replace(output, **changes) if changes else output


def _edit(kind: ToolKind, path: str, arguments: Mapping[str, object]) -> Edit | None:
    if kind is ToolKind.EDIT and ("old_string" in arguments or "new_source" in arguments):
        after = _text(arguments, "new_string", "new_source")
        return Edit(path, _text(arguments, "old_string"), after)
    if kind is ToolKind.WRITE and "content" in arguments:
        return Edit(path, "", _text(arguments, "content"))
    return None


def _text(arguments: Mapping[str, object], *names: str) -> str:
    found = (arguments.get(name) for name in names)
    return next((value for value in found if isinstance(value, str) and value), "")
