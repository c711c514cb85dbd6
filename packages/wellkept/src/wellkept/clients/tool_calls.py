"""Build `ToolCalled` events from a tool's name, input and result.

Clients use similar inputs: a file is `file_path` or `filePath`, an edit has an old and a new
string, a shell call has a command. Patches (`*** Begin Patch`) and a person's answers to an
agent's questions are parsed here. Results differ; client modules parse them into a `ToolResult`.
Invariant: nothing raises, and no event holds text that Wellkept injected or returned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from wellkept.clients.payload_fields import (
    Fields,
    as_fields,
    as_json,
    items,
    nested,
    optional,
    text,
    texts,
)
from wellkept.core.records import field, record
from wellkept.core.session.events import Answer, Edit, Origin, ToolCalled, ToolKind, ToolStarting
from wellkept.core.session.injected_text import (
    is_wellkept_command,
    is_wellkept_tool,
    without_injected,
)

ASKING_TOOLS: Final = frozenset(
    "askuserquestion ask_user_question ask_user askuser ask_question askquestion ask_questions"
    " ask_followup_question question request_user_input user_input".split()
)
_SAID = re.compile(
    r'"(?P<question>(?:[^"\\]|\\.|"(?!=))+)"="(?P<answer>.*?)"(?=, "|[.]|\s+user notes|\Z)',
    re.DOTALL,
)
_NOTE: Final = "user_note: "
_UNANSWERED: Final = ("unanswered", "(no answer provided)")


def asks(tool: str) -> bool:
    """Whether a tool asks the person something."""
    return tool.casefold() in ASKING_TOOLS


def read_answers(tool_input: Fields, output: str) -> tuple[Answer, ...]:
    """The answers to the questions in an input; `output` is the tool's result as text or JSON."""
    questions = [as_fields(one) for one in items(tool_input, "questions")]
    if not questions and text(tool_input, "question"):
        questions = [tool_input]
    given = nested(as_fields(output), "answers") or nested(tool_input, "answers")
    spoken = {} if given else dict(_in_sentence(output))
    found: list[Answer] = []
    for number, question in enumerate(questions):
        asked = text(question, "question")
        raw = next(
            (given[key] for key in (asked, text(question, "id"), str(number)) if key in given), None
        )
        answer = _as_text(raw) or spoken.get(asked, "")
        if not answer and len(questions) == 1 and not given and not spoken:
            # A short plain result is the answer itself; anything longer is a report of the tool.
            plain = output.strip()
            is_report = "\n" in plain or plain.startswith(("{", "[", "<", '"')) or len(plain) > 400
            answer = "" if is_report or plain.startswith("User ") else plain
        if asked and answer and answer.casefold() not in _UNANSWERED:
            found.append(_answer(question, asked, answer))
    return tuple(found)


def _answer(question: Fields, asked: str, answer: str) -> Answer:
    """With the meaning of the chosen options; an answer that is no option is the person's own."""
    meanings: list[str] = []
    left = answer
    for option in map(as_fields, items(question, "options")):
        label = text(option, "label", "value", "title")
        if label and label in left:
            left = left.replace(label, "", 1)
            meanings.append(text(option, "description"))
    is_choice = bool(meanings) and not left.strip(" ,;")
    meaning = meanings[0] if is_choice and len(meanings) == 1 else ""
    topic = text(question, "header")
    return Answer(asked, answer.strip(), is_choice=is_choice, meaning=meaning, topic=topic)


def _as_text(raw: object) -> str:
    """An answer as text: a string, a list of labels, or an object that holds one of these."""
    if isinstance(raw, str):
        return text({"it": raw}, "it").strip()
    several = items({"it": raw}, "it")
    if several:
        return ", ".join(part for one in several if (part := _as_text(one)))
    fields = as_fields(raw)
    inside = next(
        (fields[name] for name in ("answers", "answer", "value", "label") if name in fields), None
    )
    return "" if inside is None else _as_text(inside).replace(_NOTE, "")


def _in_sentence(output: str) -> Iterator[tuple[str, str]]:
    """Pairs in `"question"="answer"` form."""
    for pair in _SAID.finditer(output[:40_000]):
        yield pair["question"], pair["answer"].strip()


_HEAD = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)")
_MOVE = re.compile(r"\*\*\* Move to: (.+)")


@record(frozen=False)
class _Hunk:
    """One hunk of one file."""

    path: str
    before: list[str] = field(default_factory=list[str])
    after: list[str] = field(default_factory=list[str])

    def add(self, line: str) -> None:
        if line[:1] != "+":
            self.before.append(line[1:])
        if line[:1] != "-":
            self.after.append(line[1:])

    def edit(self) -> Edit:
        return Edit(self.path, _text(self.before), _text(self.after))


def read_patch(body: str) -> tuple[tuple[str, ...], tuple[Edit, ...]]:
    """The files of a patch in order, once each, and its edits."""
    files: dict[str, None] = {}
    edits: list[Edit] = []
    for part in _parts(body):
        if isinstance(part, str):
            files[part] = None
        elif part.before or part.after:
            edits.append(part.edit())
    return tuple(files), tuple(edits)


def _parts(body: str) -> Iterator[str | _Hunk]:
    """Each file's path, then its hunks; a renamed file is named by both paths."""
    hunk: _Hunk | None = None
    for line in body.splitlines():
        if line.startswith("*** "):
            if (move := _MOVE.match(line)) and hunk is not None:
                hunk.path = move[1].strip()
                yield hunk.path
                continue
            if hunk is not None:
                yield hunk
            head = _HEAD.match(line)
            hunk = _Hunk(head[2].strip()) if head else None
            if head:
                yield head[2].strip()
        elif hunk is not None and line.startswith("@@"):
            yield hunk
            hunk = _Hunk(hunk.path)
        elif hunk is not None and line[:1] in ("+", "-", " ", ""):
            hunk.add(line)
    if hunk is not None:
        yield hunk


def _text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


_NAMES: Final[Mapping[ToolKind, str]] = MappingProxyType(
    {
        ToolKind.READ: "read read_file read_many_files notebookread view view_file view_image"
        " readmcpresourcetool",
        ToolKind.EDIT: "edit multiedit notebookedit notebook_edit replace apply_patch patch"
        " edit_file search_replace strreplace str_replace",
        ToolKind.WRITE: "write write_file create create_file delete delete_file",
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
_RESULT_FIELDS: Final = tuple(
    "content output text result message contents file structuredContent".split()
)
_NAMES_FILES: Final = (ToolKind.READ, ToolKind.EDIT, ToolKind.WRITE, ToolKind.OTHER)
_PATCH_MARK: Final = "*** Begin Patch"
_EXIT: Final = re.compile(r"\A\s*Exit code:? (-?\d+)[ \t\r]*(?:\n|\Z)", re.IGNORECASE)


@record
class ToolResult:
    """A tool's output, and its error if it failed."""

    output: str = ""
    error: str | None = None


def tool_kind(name: str) -> ToolKind:
    """The kind of a tool, by its name."""
    if name.startswith(("mcp_", "MCP:")):
        return ToolKind.MCP
    return _KINDS.get(name.casefold(), ToolKind.OTHER)


def tool_called(
    origin: Origin,
    name: str,
    tool_input: Fields,
    result: ToolResult,
    *,
    call_id: str | None = None,
    duration_ms: int | None = None,
    kind: ToolKind | None = None,
    edits: tuple[Edit, ...] | None = None,
) -> ToolCalled:
    """The event of a finished tool call; `edits` overrides those found in the input."""
    kind = kind or tool_kind(name)
    command = _command(tool_input, kind)
    files, found = _files_and_edits(tool_input, kind)
    is_own = result.error is None and (is_wellkept_tool(name) or is_wellkept_command(command or ""))
    return ToolCalled(
        origin=origin,
        call_id=call_id,
        name=name,
        kind=kind,
        files=files,
        command=command,
        query=_query(tool_input, kind, name),
        edits=tuple(_clean_edit(edit) for edit in (found if edits is None else edits)),
        answers=_answers(name, tool_input, result),
        input=without_injected(_remaining_input(tool_input, kind)),
        output="" if is_own else without_injected(result.output),
        error=None if result.error is None else without_injected(result.error) or "failed",
        duration_ms=duration_ms if duration_ms is None or duration_ms >= 0 else None,
    )


def tool_starting(origin: Origin, name: str, tool_input: Fields) -> ToolStarting:
    """The event of a tool call that is about to start."""
    kind = tool_kind(name)
    files, _ = _files_and_edits(tool_input, kind)
    return ToolStarting(
        origin=origin, name=name, kind=kind, files=files, command=_command(tool_input, kind)
    )


def result_text(response: object, *, depth: int = 6) -> str:
    """The text of a tool's response, in any of the usual shapes."""
    if depth == 0:
        return ""
    if isinstance(response, str):
        return _unwrapped(text({"it": response}, "it"))
    parts = items({"it": response}, "it")
    if parts:
        found = (result_text(part, depth=depth - 1) for part in parts)
        return "\n".join(part for part in found if part.strip())
    fields = as_fields(response)
    if not fields:
        return ""
    streams = [text(fields, name) for name in ("stdout", "stderr")]
    if any(streams):
        return "\n".join(stream for stream in streams if stream)
    if "answers" in fields:  # of a tool that asked the person
        return as_json(fields)
    inside = (
        result_text(fields[name], depth=depth - 1) for name in _RESULT_FIELDS if name in fields
    )
    return next((part for part in inside if part), "")


def failed_result(report: str) -> ToolResult:
    """Parse a failure report: an exit code on its first line is the error, the rest is output."""
    head = _EXIT.match(report)
    if head is None:
        return ToolResult("", report or "failed")
    return ToolResult(report[head.end() :], f"Exit code {head[1]}")


def file_written(tool_input: Fields, *, before: str) -> tuple[Edit, ...] | None:
    """The edit of a whole file, with the text it replaced; None when the input lacks the text."""
    path, after = text(tool_input, *_FILE), text(tool_input, *_CONTENT)
    return (Edit(path, before, after),) if path and (before or after) else None


def _answers(name: str, tool_input: Fields, result: ToolResult) -> tuple[Answer, ...]:
    """What a person answered, when the tool asks questions."""
    if result.error is not None or not ("questions" in tool_input or "question" in tool_input):
        return ()

    return read_answers(tool_input, result.output) if asks(name) else ()


# -- Input ----------------------------------------------------------------------------------------


def _query(tool_input: Fields, kind: ToolKind, name: str) -> str | None:
    """The query of a search, or the name of a skill that is called."""
    if kind in (ToolKind.SEARCH, ToolKind.WEB):
        return optional(tool_input, *_QUERY)
    return optional(tool_input, "skill", "command") if name.casefold() == "skill" else None


def _command(tool_input: Fields, kind: ToolKind) -> str | None:
    if kind is not ToolKind.SHELL:
        return None
    found = text(tool_input, *_COMMAND) or " ".join(texts(tool_input, *_COMMAND))
    return without_injected(found) or None


def _files_and_edits(
    tool_input: Fields, kind: ToolKind
) -> tuple[tuple[str, ...], tuple[Edit, ...]]:
    """The files named in an input, and its edits."""
    body = _patch_body(tool_input) if kind is ToolKind.EDIT else ""
    if body:
        return read_patch(body)
    if kind not in _NAMES_FILES:
        return (), ()
    path = text(tool_input, *_FILE)
    named: list[str] = [path, *texts(tool_input, *_FILES)] if path else texts(tool_input, *_FILES)
    files = tuple(dict.fromkeys(named))
    if not path or kind not in (ToolKind.EDIT, ToolKind.WRITE):
        return files, ()
    return files, tuple(_edits(path, tool_input))


def _patch_body(tool_input: Fields) -> str:
    """The patch in an input: in its own field, or in a command."""
    candidates = [text(tool_input, name) for name in _PATCH] + texts(tool_input, *_COMMAND)
    return next((body for body in candidates if _PATCH_MARK in body), "")


def _edits(path: str, tool_input: Fields) -> Iterator[Edit]:
    several = [as_fields(part) for part in items(tool_input, "edits")]
    for part in several or [tool_input]:
        before, after = text(part, *_BEFORE), text(part, *_AFTER) or text(part, *_CONTENT)
        if before or after:
            yield Edit(path, before, after)


def _clean_edit(edit: Edit) -> Edit:
    return Edit(edit.path, without_injected(edit.before), without_injected(edit.after))


def _remaining_input(tool_input: Fields, kind: ToolKind) -> str:
    """The input fields that no other field of the event carries, as JSON."""
    used: tuple[str, ...] = ()
    if kind is ToolKind.SHELL:
        used = _COMMAND
    elif kind in (ToolKind.EDIT, ToolKind.WRITE):
        used = (*_FILE, *_BEFORE, *_AFTER, *_CONTENT, "edits")
        used += _PATCH if _patch_body(tool_input) else ()
    elif kind is ToolKind.READ:
        used = (*_FILE, *_FILES)
    elif kind in (ToolKind.SEARCH, ToolKind.WEB):
        used = _QUERY
    left = {name: value for name, value in tool_input.items() if name not in used}
    return as_json(left) if left else ""


def _unwrapped(output: str) -> str:
    """The text inside the `{"result": …}` envelope of some clients' MCP results."""
    if not output.startswith('{"result":'):
        return output
    fields = as_fields(output)
    return (optional(fields, "result") if len(fields) == 1 else None) or output
