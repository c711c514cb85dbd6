"""Tool calls: from a client's name, input and answer to one `ToolCalled`.

Clients agree more than they admit: a file is `file_path` or `filePath`, an edit has an old and a
new string, a shell has a command. What differs in kind (patches, exit codes, wrappers) the client
modules tell in an `ToolResult`. Invariant: nothing raises, and nothing that Wellkept injected or
answered is in what comes out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from wellkept.clients.injected_text import is_own_command, is_own_server, without_own
from wellkept.clients.patches import read_patch
from wellkept.clients.payload_fields import Fields, as_fields, as_json, items, optional, text, texts
from wellkept.core.events import Edit, Origin, ToolCalled, ToolKind, ToolStarting
from wellkept.core.records import record

_NAMES: Final[Mapping[ToolKind, str]] = MappingProxyType(
    {
        ToolKind.READ: "read read_file read_many_files notebookread view view_file view_image"
        " readmcpresourcetool",
        ToolKind.EDIT: "edit multiedit notebookedit replace apply_patch patch edit_file"
        " search_replace strreplace str_replace",
        ToolKind.WRITE: "write write_file create_file delete delete_file",
        ToolKind.SHELL: "bash shell exec_command local_shell run_shell_command powershell"
        " run_terminal_cmd bashoutput",
        ToolKind.SEARCH: "grep glob ls list list_dir list_directory search_file_content"
        " grep_search codebase_search file_search semanticsearch codesearch",
        ToolKind.WEB: "webfetch websearch web_fetch web_search google_web_search",
        ToolKind.TASK: "agent task delegate_to_agent codebase_investigator spawn_agent generalist",
    }
)
_KINDS: Final = MappingProxyType(
    {name: kind for kind, names in _NAMES.items() for name in names.split()}
)
_FILE: Final = ("file_path", "filePath", "absolute_path", "notebook_path", "target_file", "path")
_FILES: Final = ("file_paths", "filePaths", "paths", "files", "include")
_BEFORE: Final = ("old_string", "oldString", "old_str", "old_text")
_AFTER: Final = ("new_string", "newString", "new_str", "new_text", "new_source")
_CONTENT: Final = ("content", "contents", "file_text")
_COMMAND: Final = ("command", "cmd")
_PATCH: Final = ("patch", "patchText", "input", *_COMMAND)
_QUERY: Final = ("pattern", "query", "url", "search_term")
_ANSWER_TEXT: Final = tuple(
    "content output text result message contents file structuredContent".split()
)
_NAMES_FILES: Final = (ToolKind.READ, ToolKind.EDIT, ToolKind.WRITE, ToolKind.OTHER)
_PATCH_MARK: Final = "*** Begin Patch"
_EXIT: Final = re.compile(r"\A\s*Exit code:? (-?\d+)[ \t\r]*(?:\n|\Z)", re.IGNORECASE)


@record
class ToolResult:
    """What came back from a tool."""

    output: str = ""
    error: str | None = None


def kind_of(name: str) -> ToolKind:
    """What a tool does, by the name that a client gives it."""
    if name.startswith(("mcp_", "MCP:")):
        return ToolKind.MCP
    return _KINDS.get(name.casefold(), ToolKind.OTHER)


def tool_called(
    origin: Origin,
    name: str,
    given: Fields,
    answer: ToolResult,
    *,
    call_id: str | None = None,
    duration_ms: int | None = None,
    kind: ToolKind | None = None,
    edits: tuple[Edit, ...] | None = None,
) -> ToolCalled:
    """The event of a tool call that came back; `edits` when the client tells them better."""
    kind = kind or kind_of(name)
    command = _command(given, kind)
    files, found = _touched(given, kind)
    quiet = answer.error is None and (is_own_server(name) or is_own_command(command or ""))
    return ToolCalled(
        origin=origin,
        call_id=call_id,
        name=name,
        kind=kind,
        files=files,
        command=command,
        query=_query(given, kind, name),
        edits=tuple(_clean_edit(edit) for edit in (found if edits is None else edits)),
        input=without_own(_rest(given, kind)),
        output="" if quiet else without_own(answer.output),
        error=None if answer.error is None else without_own(answer.error) or "failed",
        duration_ms=duration_ms if duration_ms is None or duration_ms >= 0 else None,
    )


def tool_starting(origin: Origin, name: str, given: Fields) -> ToolStarting:
    """The event of a tool that is about to be called."""
    kind = kind_of(name)
    files, _ = _touched(given, kind)
    return ToolStarting(
        origin=origin, name=name, kind=kind, files=files, command=_command(given, kind)
    )


def answer_text(response: object, *, depth: int = 6) -> str:
    """The text of what a tool gave back, in whichever of the usual shapes it came."""
    if depth == 0:
        return ""
    if isinstance(response, str):
        return _unwrapped(text({"it": response}, "it"))
    parts = items({"it": response}, "it")
    if parts:
        found = (answer_text(part, depth=depth - 1) for part in parts)
        return "\n".join(part for part in found if part.strip())
    fields = as_fields(response)
    if not fields:
        return ""
    streams = [text(fields, name) for name in ("stdout", "stderr")]
    if any(streams):
        return "\n".join(stream for stream in streams if stream)
    inside = (answer_text(fields[name], depth=depth - 1) for name in _ANSWER_TEXT if name in fields)
    return next((part for part in inside if part), "")


def failed_shell(report: str) -> ToolResult:
    """A failure told as text: an exit code on its first line is the error, the rest the output."""
    head = _EXIT.match(report)
    if head is None:
        return ToolResult("", report or "failed")
    return ToolResult(report[head.end() :], f"Exit code {head[1]}")


def written(given: Fields, *, before: str) -> tuple[Edit, ...] | None:
    """A whole file written, with the text that it replaced; None when the input does not tell."""
    path, after = text(given, *_FILE), text(given, *_CONTENT)
    return (Edit(path, before, after),) if path and (before or after) else None


# -- Input ----------------------------------------------------------------------------------------


def _query(given: Fields, kind: ToolKind, name: str) -> str | None:
    """What is looked for; of a skill that is called, its name."""
    if kind in (ToolKind.SEARCH, ToolKind.WEB):
        return optional(given, *_QUERY)
    return optional(given, "skill", "command") if name.casefold() == "skill" else None


def _command(given: Fields, kind: ToolKind) -> str | None:
    if kind is not ToolKind.SHELL:
        return None
    found = text(given, *_COMMAND) or " ".join(texts(given, *_COMMAND))
    return without_own(found) or None


def _touched(given: Fields, kind: ToolKind) -> tuple[tuple[str, ...], tuple[Edit, ...]]:
    """The files that an input names, and the edits it asks for."""
    body = _patch_body(given) if kind is ToolKind.EDIT else ""
    if body:
        return read_patch(body)
    if kind not in _NAMES_FILES:
        return (), ()
    path = text(given, *_FILE)
    named: list[str] = [path, *texts(given, *_FILES)] if path else texts(given, *_FILES)
    files = tuple(dict.fromkeys(named))
    if not path or kind not in (ToolKind.EDIT, ToolKind.WRITE):
        return files, ()
    return files, tuple(_edits(path, given))


def _patch_body(given: Fields) -> str:
    """The patch in an input: a field of its own, or one of a command's words."""
    candidates = [text(given, name) for name in _PATCH] + texts(given, *_COMMAND)
    return next((body for body in candidates if _PATCH_MARK in body), "")


def _edits(path: str, given: Fields) -> Iterator[Edit]:
    several = [as_fields(part) for part in items(given, "edits")]
    for part in several or [given]:
        before, after = text(part, *_BEFORE), text(part, *_AFTER) or text(part, *_CONTENT)
        if before or after:
            yield Edit(path, before, after)


def _clean_edit(edit: Edit) -> Edit:
    return Edit(edit.path, without_own(edit.before), without_own(edit.after))


def _rest(given: Fields, kind: ToolKind) -> str:
    """What the input says that no other field of the event carries, as JSON."""
    told: tuple[str, ...] = ()
    if kind is ToolKind.SHELL:
        told = _COMMAND
    elif kind in (ToolKind.EDIT, ToolKind.WRITE):
        told = (*_FILE, *_BEFORE, *_AFTER, *_CONTENT, "edits")
        told += _PATCH if _patch_body(given) else ()
    elif kind is ToolKind.READ:
        told = (*_FILE, *_FILES)
    elif kind in (ToolKind.SEARCH, ToolKind.WEB):
        told = _QUERY
    left = {name: value for name, value in given.items() if name not in told}
    return as_json(left) if left else ""


def _unwrapped(answer: str) -> str:
    """The text inside the envelope that some clients put around what an MCP tool says."""
    if not answer.startswith('{"result":'):
        return answer
    fields = as_fields(answer)
    return (optional(fields, "result") if len(fields) == 1 else None) or answer
