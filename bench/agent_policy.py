"""A policy in the place of a model: follows what it is told, else explores by fixed rules.

It reads the conversation as a model would. A command in backticks that fits the goal is run before
anything is explored; the way out that a failed command's result tells is tried next; rules such as
"X is made from Y" are obeyed. What is told and does not fit costs tokens and is not used. Knows
nothing of the repositories: it sees only files, documents and outputs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import PurePosixPath

from wellkept.core.chat.messages import (
    Message,
    ModelRequest,
    Role,
    ToolCallPart,
    assistant_message,
)

_GOALS = {
    "test": re.compile(r"\btests?\b", re.IGNORECASE),
    "build": re.compile(r"\bbuild\b", re.IGNORECASE),
    "lint": re.compile(r"\blint(?:er)?\b", re.IGNORECASE),
    "deploy": re.compile(r"\bdeploy\b", re.IGNORECASE),
    "check": re.compile(r"\bcheck\b", re.IGNORECASE),
}
_USUAL = {
    "test": ("make test", "python3 -m unittest discover -q", "python3 -m pytest -q"),
    "build": ("make build", "python3 build.py"),
    "lint": ("make lint", "python3 lint.py"),
    "deploy": ("make deploy", "python3 deploy.py"),
    "check": ("make check", "python3 check.py"),
}
_SET = re.compile(r"\bSet (\w+) to (\w+)|\bset (\w+) to (\w+)")
_MUST = re.compile(r"\b(?:always|never|must|not)\b", re.IGNORECASE)
_BACKTICKED = re.compile(r"`([^`\n]{3,200})`")
_NOT_SET = re.compile(r"\b([A-Z][A-Z0-9_]+) is not set")
_MISSING = re.compile(r"No such file or directory: '([\w./-]+)'")
_NOT_HERE = re.compile(r"No rule to make target|cannot open")
_MOVED = re.compile(r"is gone|usage:")
_NONE_RUN = re.compile(r"Ran 0 tests|NO TESTS RAN|no tests ran|collected 0 items")
_MADE_FROM = re.compile(r"([\w./-]+)`? is (?:made|generated) from `?([\w./-]+\w)")
_PROGRAMS = ("make", "python3", "python", "sh", "cd", "env", "npm", "uv", "./")
_VARIABLE = re.compile(r"^[A-Z][A-Z0-9_]*=\S+ ")
_FAILED_STATUS = re.compile(r"exit code:? (?!0)\d+|exited with (?!0)\d+", re.IGNORECASE)
_numbers = count(1)


@dataclass
class _Seen:
    """What the conversation has shown so far."""

    prompt: str = ""
    told: str = ""
    files: list[str] = field(default_factory=list[str])
    results: list[tuple[str, dict[str, str], str, bool]] = field(
        default_factory=list[tuple[str, dict[str, str], str, bool]]
    )

    @property
    def commands(self) -> list[str]:
        return [given.get("command", "") for name, given, _, _ in self.results if name == "Bash"]

    @property
    def last_run(self) -> tuple[str, str, bool] | None:
        for name, given, content, failed in reversed(self.results):
            if name == "Bash":
                return given.get("command", ""), content, failed
        return None


def answer(request: ModelRequest) -> Message:
    """The next step: a tool call, or the end."""
    seen = _read(request)
    goal = next((name for name, words in _GOALS.items() if words.search(seen.prompt)), "test")
    if _is_done(seen):
        return assistant_message("Done: the command ended well.")
    for call in _next_calls(seen, goal):
        if not _was_made(seen, call):
            return assistant_message("", call)
    return assistant_message("I could not find out how this is done.")


def _read(request: ModelRequest) -> _Seen:
    seen = _Seen()
    calls: dict[str, tuple[str, dict[str, str]]] = {}
    for message in request.messages:
        if message.role is Role.TOOL:
            for result in message.tool_results:
                name, given = calls[result.call_id]
                seen.results.append((name, given, result.content, _has_failed(result)))
                if name in ("Glob", "LS"):
                    seen.files = _paths(result.content) or seen.files
            continue
        for one in message.tool_calls:
            calls[one.id] = (one.name, json.loads(one.arguments))
        if message.role is Role.USER and message.kind == "":
            # A new prompt: what was tried before it does not count for it.
            seen.prompt = message.text
            seen.results = []
            seen.told += "\n" + message.text
        elif message.role is not Role.ASSISTANT:
            seen.told += "\n" + message.text
    return seen


def _has_failed(result: object) -> bool:
    content = getattr(result, "content", "")
    return bool(getattr(result, "is_error", False)) or bool(_FAILED_STATUS.search(content))


def _paths(listing: str) -> list[str]:
    lines = (line.strip().lstrip("- ") for line in listing.splitlines())
    return [line for line in lines if line and " " not in line and not line.startswith(".git/")]


def _is_done(seen: _Seen) -> bool:
    run = seen.last_run
    if run is None or run[2] or _NONE_RUN.search(run[1]):
        return False
    # Setting a value is done when the check ran after the edit.
    return not _SET.search(seen.prompt) or any(name == "Edit" for name, *_ in seen.results)


def _was_made(seen: _Seen, call: ToolCallPart) -> bool:
    """Whether a call was made already; a command counts only since the last edit."""
    given = json.loads(call.arguments)
    edits = [at for at, (name, *_) in enumerate(seen.results) if name == "Edit"]
    since = seen.results[edits[-1] :] if edits and call.name == "Bash" else seen.results
    return any(name == call.name and before == given for name, before, _, _ in since)


# -- What to do next ------------------------------------------------------------------------------


def _next_calls(seen: _Seen, goal: str) -> Iterator[ToolCallPart]:
    value = _SET.search(seen.prompt)
    if value is not None:
        yield from _setting(seen, *[group for group in value.groups() if group])
        return
    told = list(_told_commands(seen, goal))
    run = seen.last_run
    if run is not None and (run[2] or _NONE_RUN.search(run[1])):
        yield from map(_bash, _told_in_result(run[1], run[0]))
    yield from map(_bash, told)
    if not seen.files:
        yield _call("Glob", pattern="**/*")
    if run is not None:
        yield from _explore(seen, *run)
    yield from _documents(seen)
    yield from map(_bash, _documented(seen, goal))
    yield from map(_bash, _USUAL[goal])
    for command, content, failed in _runs(seen):
        if failed or _NONE_RUN.search(content):
            yield from _explore(seen, command, content, failed)


def _told_commands(seen: _Seen, goal: str) -> Iterator[str]:
    """Commands that stand in what was told, on lines about the goal: what was said last first,
    and what must be done before what can be done."""
    lines = list(dict.fromkeys(reversed(seen.told.splitlines())))
    for line in sorted(lines, key=lambda line: _MUST.search(line) is None):
        for command in _BACKTICKED.findall(line):
            if _is_command(command) and (_GOALS[goal].search(line) or goal in command):
                yield command


def _told_in_result(content: str, command: str) -> Iterator[str]:
    """Commands that a failed command's output names: each for itself, and those of a line as steps
    before the same one."""
    for line in content.splitlines():
        told = [one for one in _BACKTICKED.findall(line) if _is_command(one) and one != command]
        yield from told[:1]
        if told:
            yield " && ".join([*told, command])
        yield from told[1:]


def _is_command(text: str) -> bool:
    plain = _VARIABLE.sub("", text)
    return plain.startswith(_PROGRAMS)


def _documents(seen: _Seen) -> Iterator[ToolCallPart]:
    for path in seen.files:
        if PurePosixPath(path).name.lower().startswith(("readme", "contributing")):
            yield _call("Read", file_path=path)


def _documented(seen: _Seen, goal: str) -> Iterator[str]:
    for name, _given, content, _ in seen.results:
        if name == "Read":
            for line in content.splitlines():
                for command in _BACKTICKED.findall(line):
                    if _is_command(command) and (_GOALS[goal].search(line) or goal in command):
                        yield command


def _runs(seen: _Seen) -> Iterator[tuple[str, str, bool]]:
    for name, given, content, failed in seen.results:
        if name == "Bash":
            yield given.get("command", ""), content, failed


def _explore(seen: _Seen, command: str, content: str, failed: bool) -> Iterator[ToolCallPart]:
    """What a careful developer would try after this output."""
    if found := _NOT_SET.search(content):
        yield from _find_value(seen, found.group(1), command)
    if _MISSING.search(content):
        for path in seen.files:
            if path.endswith(".sh"):
                yield _bash(f"sh {path} && {command}")
    if failed and _NOT_HERE.search(content) and not command.startswith("cd "):
        for folder in _folders_with(seen.files, command):
            yield _bash(f"cd {folder} && {command}")
    if _MOVED.search(content):
        yield from _try_scripts(seen)
    if _NONE_RUN.search(content):
        for folder in _folders(seen.files):
            for pattern in _patterns(seen.files, folder):
                yield _bash(f"python3 -m unittest discover -q -s {folder} -p '{pattern}'")


def _find_value(seen: _Seen, variable: str, command: str) -> Iterator[ToolCallPart]:
    """Look for the value that a variable must have, and set it."""
    yield _call("Grep", pattern=variable, output_mode="content")
    for _name, _given, content, _ in seen.results:
        for value in re.findall(rf"{variable}['\"]?\)? == ['\"]([^'\"]+)['\"]", content):
            yield _bash(f"{variable}={value} {command}")


def _try_scripts(seen: _Seen) -> Iterator[ToolCallPart]:
    for path in seen.files:
        if path.endswith(".py") and "/" in path and not path.startswith(("src/", "tests/")):
            yield _call("Read", file_path=path)
            for name, given, content, _ in seen.results:
                if name == "Read" and given.get("file_path") == path:
                    for arguments in re.findall(r"sys\.argv\[1:\] != \[([^\]]*)\]", content):
                        words = " ".join(re.findall(r"'([^']*)'", arguments))
                        yield _bash(f"python3 {path} {words}")


def _folders(files: list[str]) -> list[str]:
    found = {str(PurePosixPath(path).parent) for path in files} - {"."}
    return sorted(found)


def _folders_with(files: list[str], command: str) -> list[str]:
    """Folders that hold what a command needs: its script, or a Makefile."""
    needed = "Makefile" if command.startswith("make") else command.rsplit(maxsplit=1)[-1]
    return [str(PurePosixPath(f).parent) for f in files if PurePosixPath(f).name == needed]


def _patterns(files: list[str], folder: str) -> list[str]:
    names = [PurePosixPath(p).name for p in files if str(PurePosixPath(p).parent) == folder]
    parts = [name.removesuffix(".py").split("_") for name in names if "_" in name.strip("_")]
    return [
        pattern
        for words in parts
        if len(words) == 2
        for pattern in (f"*_{words[1]}.py", f"{words[0]}_*.py")
    ]


# -- Setting a value in a file --------------------------------------------------------------------


def _setting(seen: _Seen, key: str, value: str) -> Iterator[ToolCallPart]:
    sources = dict(_MADE_FROM.findall(seen.told))
    for _name, _given, content, _ in seen.results:
        sources |= dict(_MADE_FROM.findall(content))
    yield _call("Grep", pattern=f"{key} =", output_mode="files_with_matches")
    found = next((_paths(c) for n, _, c, _ in seen.results if n == "Grep"), list[str]())
    found = [path for path in found if not path.endswith((".py", ".md"))]
    # A person looks at the plainest place first.
    ordered = sorted(found, key=lambda path: (path.count("/"), path))
    targets = [path for path in ordered if path in sources.values()] or ordered
    for path in targets:
        yield _call("Read", file_path=path)
        read = (c for n, g, c, _ in seen.results if n == "Read" and g.get("file_path") == path)
        line = re.search(rf"{re.escape(key)} = \S+", next(read, ""))
        if line is None:
            continue
        yield _call("Edit", file_path=path, old_string=line[0], new_string=f"{key} = {value}")
        edits = sum(1 for name, *_ in seen.results if name == "Edit")
        runs = len(seen.commands)
        if runs < edits:
            command = next(iter(_told_commands(seen, "check")), _USUAL["check"][-1])
            yield _bash(command)
            return


def _bash(command: str) -> ToolCallPart:
    return _call("Bash", command=command)


def _call(name: str, **arguments: str) -> ToolCallPart:
    return ToolCallPart(f"call{next(_numbers)}", name, json.dumps(arguments))
