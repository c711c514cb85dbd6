"""Parse a tool call once into everything that later stages read.

Takes cleaned calls only. `is_failure` is the one place that decides whether a command failed.
Knows nothing of session state.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b

from wellkept.core.clock import to_ms
from wellkept.core.records import record, replace
from wellkept.core.session.events import Edit, ToolCalled, ToolKind
from wellkept.core.session.steps import MAX_COMMAND_CHARS, MAX_NAME_CHARS, SessionStep
from wellkept.core.text import shorten
from wellkept.text.events.failure_cause import (
    cause_of,
    failed_silently,
    may_tell_failure,
)
from wellkept.text.shell.environment import ToolContext
from wellkept.text.shell.purpose import Purpose, changes_git_state
from wellkept.text.shell.reader import (
    ShellCommand,
    files_shown,
    main_command,
    parse_command,
    read_commit,
)
from wellkept.text.shell.results import (
    TestResult,
    error_line,
    is_ci_failure,
    is_informative,
    read_tests,
    short_test_name,
    was_stopped,
)

MAX_CALL_TOKENS = 25_000
"""The limit of Claude Code for the answer of an MCP tool; command output is cut shorter still."""
_CALL_CHARS = 160
_MESSAGE_CHARS = 160
_HASH_BYTES = 4
_MAX_TESTS, _MAX_COMMIT_FILES, _MAX_MESSAGE = 6, 40, 1_200
_UNDOES_WORK = re.compile(r"\bgit\s+(?:-\S+\s+)*(?:stash|checkout|restore|reset|revert|clean)\b")


@record(kw_only=True)
class _CommandFailure:
    """A command line that failed. `message` is None when the output names no lasting cause."""

    command: ShellCommand
    names: tuple[str, ...] = ()
    error: str | None = None
    message: str | None = None

    @property
    def test(self) -> str | None:
        """The short name of the first test that failed."""
        is_test = self.command.purpose is Purpose.TEST
        return short_test_name(self.names[0]) if is_test and self.names else None


@record(kw_only=True)
class ToolStep:
    """A tool call with what was parsed from it. Paths are relative to the project's root; `began`
    is the folder in which a command was typed.

    `log` are the entries for the step log, at least one: what was read, then what was done.
    """

    call: ToolCalled
    number: int
    tokens: int
    ok: bool
    stopped: bool = False
    files_read: tuple[str, ...] = ()
    edits: tuple[tuple[str, Edit], ...] = ()
    commands: tuple[ShellCommand, ...] = ()
    main: ShellCommand | None = None
    tests: TestResult | None = None
    failure: _CommandFailure | None = None
    began: str | None = None
    log: tuple[SessionStep, ...] = ()

    @property
    def agent(self) -> str | None:
        """The sub-agent that made the call; None for the main agent."""
        return self.call.origin.agent


def read_step(
    call: ToolCalled, *, number: int, tokens: int, prompt: int, context: ToolContext, page: str = ""
) -> ToolStep:
    """Parse a cleaned call. `page` names the part of a file that a read asked for."""
    reader = _StepReader(call, number, tokens, prompt, context, page)
    if call.kind is ToolKind.SHELL and call.command:
        return reader.shell(call.command)
    if call.kind in (ToolKind.EDIT, ToolKind.WRITE):
        return reader.edit()
    if call.kind is ToolKind.READ:
        return reader.read()
    return reader.tool()


def is_failure(
    call: ToolCalled, commands: Sequence[ShellCommand], tests: TestResult | None
) -> bool:
    """Whether a command line failed: by its exit code, its test report, its CI status, or by output
    that says so where the exit code does not."""
    if call.error is not None or (tests is not None and tests.is_failure):
        return True
    if failed_silently(commands, call.output):
        return True
    is_ci = any(command.words[0] in ("gh", "glab") for command in commands)
    return is_ci and is_ci_failure(call.output)


def needs_output(call: ToolCalled) -> bool:
    """Whether the output of a call is read: tests, commits, failures, and commands whose exit code
    is hidden by a pipe."""
    if call.kind is not ToolKind.SHELL or not call.command:
        return False
    commands = parse_command(call.command)
    purposes = {command.purpose for command in commands}
    if call.error is not None or purposes & {Purpose.TEST, Purpose.COMMIT}:
        return True
    main = main_command(commands)
    return main is not None and not main.exit_counts and may_tell_failure(call.output)


def call_tokens(call: ToolCalled) -> int:
    """Estimated tokens of a call: a quarter of the characters that went in and came out."""
    edited = sum(len(edit.before) + len(edit.after) for edit in call.edits)
    chars = max(len(call.input), edited, len(call.command or "")) + len(call.output)
    return min((chars + 3) // 4, MAX_CALL_TOKENS)


def short_call(command: ShellCommand) -> str:
    """A command on one short line; every commit is `git commit`."""
    if command.purpose is Purpose.COMMIT:
        return "git commit"
    return shorten(" ".join(command.call.split()), limit=_CALL_CHARS)


@record
class _StepReader:
    call: ToolCalled
    number: int
    tokens: int
    prompt: int
    context: ToolContext
    page: str = ""

    def read(self) -> ToolStep:
        names = self._names(self.call.files)
        if self.call.error is None:
            return self._step(files_read=names, log=self._reads(names))
        return self._step(log=tuple(self._failed("read", name) for name in names))

    def edit(self) -> ToolStep:
        call = self.call
        edits = call.edits or tuple(Edit(path, "", "") for path in call.files)
        named = tuple((name, edit) for edit in edits if (name := self.context.relative(edit.path)))
        if call.error is not None:
            names = dict.fromkeys(name for name, _ in named)
            return self._step(log=tuple(self._failed("edit", name) for name in names))
        log = tuple(
            self._entry(
                "edit" if edit.before.strip() else "create",
                name,
                mark=f"{short_hash(edit.before)}>{short_hash(edit.after)}",
            )
            for name, edit in named
        )
        return self._step(edits=named, log=log)

    def tool(self) -> ToolStep:
        """A call of an MCP tool or of a skill is logged by its name."""
        call = self.call
        if call.kind is ToolKind.MCP:
            return self._step(log=(self._entry("tool", call.name),))
        if call.name.casefold() == "skill" and call.query:
            return self._step(log=(self._entry("skill", call.query),))
        return self._step()

    def shell(self, line: str) -> ToolStep:
        call = self.call
        commands = parse_command(line)
        main = main_command(commands)
        is_test = any(command.purpose is Purpose.TEST for command in commands)
        tests = read_tests(f"{call.output}\n{call.error or ''}") if is_test else None
        stopped = was_stopped(call.error)
        failed = is_failure(call, commands, tests)
        failure = self._failure(commands, main, tests) if failed and main and not stopped else None
        return self._step(
            ok=not failed,
            files_read=self._names(files_shown(commands)),
            commands=commands,
            main=main,
            tests=tests,
            failure=failure,
            began=self.context.folder(""),
            log=() if stopped else self._shell_log(line, commands, main, failure, failed=failed),
        )

    def _reads(self, names: Sequence[str]) -> tuple[SessionStep, ...]:
        return tuple(self._entry("read", name, mark=self.page) for name in names)

    def _failure(
        self,
        commands: Sequence[ShellCommand],
        main: ShellCommand,
        tests: TestResult | None,
    ) -> _CommandFailure:
        line = error_line(self.call.output, self.call.error)
        names = tests.names if tests is not None else ()
        failure = _CommandFailure(command=main, names=names, error=line)
        # Failure messages repeat across tests, so the message includes the test name.
        named = f"{failure.test}: {line}" if failure.test else f"{line}"
        message = shorten(named, limit=_MESSAGE_CHARS)
        is_lasting = not any(changes_git_state(command.words) for command in commands)
        is_known = line is not None and is_lasting and is_informative(message, command=main.call)
        return replace(failure, message=message) if is_known else failure

    def _shell_log(
        self,
        line: str,
        commands: Sequence[ShellCommand],
        main: ShellCommand | None,
        failure: _CommandFailure | None,
        *,
        failed: bool,
    ) -> tuple[SessionStep, ...]:
        """Files shown, lines that do something or undo work, failed looks that name an error."""
        error = cause_of(self.call.output, self.call.error) if failed else None
        shown = () if failed else self._reads(self._names(files_shown(commands)))
        if main is None:
            undoes = not failed and _UNDOES_WORK.search(line) is not None
            if not commands or not (undoes or error):
                return shown
            kind = "run" if undoes else "read"
            return (
                *shown,
                self._command_entry(kind, line, commands[-1], ok=not failed, error=error),
            )
        entry = self._command_entry("run", line, main, ok=not failed, error=error)
        if failure is not None:
            return (replace(entry, names=failure.names[:_MAX_TESTS]),)
        return (*shown, self._with_commit(entry, commands))

    def _with_commit(self, entry: SessionStep, commands: Sequence[ShellCommand]) -> SessionStep:
        """The entry with the commit that a line made, as git printed it."""
        if all(one.purpose is not Purpose.COMMIT for one in commands):
            return entry
        made = read_commit(commands, self.call.output)
        if made is None or not entry.ok:
            return entry
        files = self.context.commit_files(made.sha) if made.sha else made.files
        said = shorten(f"{made.subject}\n{made.body}".strip(), limit=_MAX_MESSAGE)
        return replace(
            entry, sha=made.sha, said=said, mark=made.branch or "", files=files[:_MAX_COMMIT_FILES]
        )

    def _command_entry(
        self, kind: str, line: str, command: ShellCommand, *, ok: bool, error: str | None
    ) -> SessionStep:
        return self._entry(
            kind,
            short_call(command),
            ok=ok,
            error=error,
            purpose=command.purpose.value,
            command=shorten(line.strip(), limit=MAX_COMMAND_CHARS),
            folder=self.context.folder(command.folder),
            began=self.context.folder(""),
        )

    def _failed(self, kind: str, name: str) -> SessionStep:
        error = error_line(self.call.output, self.call.error)
        return self._entry(kind, name, ok=False, error=error)

    def _entry(self, kind: str, what: str, **rest: object) -> SessionStep:
        origin = self.call.origin
        return SessionStep(
            kind,  # type: ignore[arg-type]
            shorten(what, limit=MAX_NAME_CHARS),
            **{"ok": self.call.error is None, **rest},  # type: ignore[arg-type]
            prompt=self.prompt,
            number=self.number,
            agent=origin.agent,
            at_ms=to_ms(origin.at),
        )

    def _step(self, *, log: tuple[SessionStep, ...] = (), **parts: object) -> ToolStep:
        entries = log or (self._entry("look", self.call.query or self.call.name, ok=True),)
        return ToolStep(
            log=(replace(entries[0], tokens=self.tokens), *entries[1:]),
            call=self.call,
            number=self.number,
            tokens=self.tokens,
            stopped=was_stopped(self.call.error),
            **{"ok": self.call.error is None, **parts},  # type: ignore[arg-type]
        )

    def _names(self, paths: Sequence[str]) -> tuple[str, ...]:
        return tuple(name for path in paths if (name := self.context.relative(path)))


def short_hash(text: str) -> str:
    """A short hash of a text."""
    return blake2b(text.encode("utf-8", errors="replace"), digest_size=_HASH_BYTES).hexdigest()
