"""A run of the agent on a terminal: events in, lines out.

Text of the model is streamed as it comes; a tool is one line with its result below it; what memory
told the model is shown with its ids, so that a wrong line can be flagged on the spot. Everything
that comes from outside is printed without control characters.
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, cast

from rich.console import Console
from rich.panel import Panel
from rich.syntax import Syntax
from rich.text import Text

from wellkept.api.cli.output import one_line, safe
from wellkept.context.packing import PREAMBLE
from wellkept.core.session.injected_text import FRAME
from wellkept_agent import events
from wellkept_agent.control import RunEnd
from wellkept_agent.permissions import Decision, PermissionRequest, Question

if TYPE_CHECKING:
    from rich.status import Status


_MAX_RESULT_LINES = 6
_MAX_DIFF_LINES = 24
_MAX_MEMORY_LINES = 6
_SUBJECTS: Final = (
    "file_path",
    "notebook_path",
    "command",
    "pattern",
    "query",
    "url",
    "description",
    "path",
    "skill",
    "name",
)
_ENDS: Final = {
    RunEnd.QUESTION: "waits for an answer",
    RunEnd.CANCELLED: "cancelled",
    RunEnd.INTERRUPTED: "interrupted",
    RunEnd.MAX_STEPS: "stopped at the step limit",
    RunEnd.MAX_TOKENS: "stopped at the token limit",
    RunEnd.REPEATED_CALLS: "stopped: it went in circles",
    RunEnd.CONTEXT_FULL: "stopped: the conversation does not fit the model",
    RunEnd.MODEL_FAILED: "the model failed",
}
_TODO_MARKS: Final = {"completed": "☒", "in_progress": "▶"}


class Screen:
    """Prints events. `citations` are the memories told so far, newest last."""

    def __init__(self, console: Console, *, show_thinking: bool = False) -> None:
        self.console = console
        self.show_thinking = show_thinking
        self.citations: list[str] = []
        self.context_tokens = 0
        self.context_limit = 0
        self._status: Status | None = None
        self._is_mid_line = False
        self._running: dict[str, str] = {}
        self._began = time.monotonic()

    def show(self, event: events.AgentEvent) -> None:
        """Print one event."""
        match event:
            case events.TurnStarted():
                self._began = time.monotonic()
            case events.StepStarted():
                self._wait("Thinking")
            case events.TextDelta(delta=delta):
                self._stream(delta, style="")
            case events.ThinkingDelta(delta=delta):
                if self.show_thinking:
                    self._stream(delta, style="dim italic")
            case events.ThinkingComplete(total_tokens=tokens):
                self._line(Text(f"thought for about {tokens:,} tokens", style="dim"))
            case events.ToolStarted():
                subject = _subject(event.arguments)
                self._running[event.call_id] = subject
                self._wait(f"{event.name} {subject}")
            case events.ToolFinished():
                self._finished(event)
            case events.MemoryInjected():
                self._memory(event)
            case events.UsageChanged():
                self.context_tokens, self.context_limit = event.context_tokens, event.context_limit
            case events.RunFinished():
                self._ended(event)
            case _:
                self._notice(event)

    def close(self) -> None:
        """End what is still moving."""
        self._pause()
        self._end_line()

    # -- Parts ------------------------------------------------------------------------------------

    def _stream(self, text: str, *, style: str) -> None:
        self._pause()
        if not self._is_mid_line:
            self.console.print()
        self.console.print(Text(safe(text), style=style), end="", soft_wrap=True)
        self._is_mid_line = True

    def _finished(self, event: events.ToolFinished) -> None:
        subject = self._running.pop(event.call_id, "")
        head = Text("• ", style="red" if event.is_error else "green")
        if event.agent:
            head.append(f"{event.agent} ", style="dim")
        head.append(event.name, style="bold")
        head.append(f" {subject}")
        if event.duration_ms >= 1000:
            head.append(f"  {event.duration_ms / 1000:.1f} s", style="dim")
        self._line(head)
        if event.display and not event.is_error:
            self._diff(event.display)
        else:
            self._result(event.content, style="red" if event.is_error else "dim")

    def _result(self, content: str, *, style: str) -> None:
        lines = [line for line in safe(content).splitlines() if line.strip()]
        shown = lines[:_MAX_RESULT_LINES]
        for number, line in enumerate(shown):
            self._line(Text(("  └ " if number == 0 else "    ") + self._cut(line), style=style))
        if len(lines) > len(shown):
            self._line(Text(f"    … {len(lines) - len(shown)} more lines", style="dim"))

    def _diff(self, display: str) -> None:
        lines = safe(display).splitlines()
        for line in lines[:_MAX_DIFF_LINES]:
            style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "dim")
            self._line(Text("    " + self._cut(line), style=style))
        if len(lines) > _MAX_DIFF_LINES:
            self._line(Text(f"    … {len(lines) - _MAX_DIFF_LINES} more lines", style="dim"))

    def _memory(self, event: events.MemoryInjected) -> None:
        self.citations += [one for one in event.citations if one not in self.citations]
        lines = [line for line in safe(event.text).splitlines() if _is_for_people(line)]
        self._line(Text(f"◆ from memory ({event.moment})", style="magenta"))
        for line in lines[:_MAX_MEMORY_LINES]:
            self._line(Text("  " + self._cut(line), style="dim"))
        if len(lines) > _MAX_MEMORY_LINES:
            self._line(Text(f"  … {len(lines) - _MAX_MEMORY_LINES} more lines", style="dim"))

    def _notice(self, event: events.AgentEvent) -> None:
        if isinstance(event, events.CompactionStarted):
            self._wait("Compacting the conversation")
        elif isinstance(event, events.TodosChanged):
            for text, status in event.todos:
                mark = _TODO_MARKS.get(status, "☐")
                self._line(Text(f"  {mark} {self._cut(one_line(text))}"))
        elif found := notice(event):
            text, style = found
            self._line(Text(self._cut(one_line(text)), style=style))

    def _ended(self, event: events.RunFinished) -> None:
        self._pause()
        self._end_line()
        parts = [
            f"{event.steps} step{'' if event.steps == 1 else 's'}",
            f"{_short(event.usage.total)} tokens",
        ]
        if self.context_limit:
            share = 100 * self.context_tokens / self.context_limit
            parts.append(f"context {share:.0f} % of {_short(self.context_limit)}")
        parts.append(f"{time.monotonic() - self._began:.1f} s")
        if event.end is not RunEnd.DONE:
            self._line(Text(f"! {_ENDS[event.end]}", style="yellow"))
            if event.detail:
                self._line(Text(f"  {safe(event.detail)}", style="yellow"))
        self._line(Text(" · ".join(parts), style="dim"))

    # -- Lines and the moving status --------------------------------------------------------------

    def _line(self, text: Text) -> None:
        self._pause()
        self._end_line()
        self.console.print(text, soft_wrap=True, highlight=False)

    def _end_line(self) -> None:
        if self._is_mid_line:
            self.console.print()
            self._is_mid_line = False

    def _wait(self, what: str) -> None:
        self._end_line()
        if not self.console.is_terminal:
            return
        text = Text(self._cut(one_line(what)), style="dim")
        if self._status is None:
            self._status = self.console.status(text, spinner="dots")
            self._status.start()
        else:
            self._status.update(text)

    def _pause(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _cut(self, line: str) -> str:
        room = max(20, self.console.width - 8)
        return line if len(line) <= room else line[: room - 1] + "…"


def _subject(arguments: str) -> str:
    """What a call is about: its file, command or pattern, in one line."""
    try:
        parsed: object = json.loads(arguments)
    except ValueError:
        return one_line(arguments)[:100]
    if not isinstance(parsed, dict):
        return ""
    given = cast("dict[str, object]", parsed)
    found = next((given[key] for key in _SUBJECTS if given.get(key)), None)
    if found is None:
        found = next((value for value in given.values() if isinstance(value, str)), "")
    return one_line(str(found))[:100]


def _short(count: int) -> str:
    """1,234 -> 1.2k."""
    if count < 1_000:
        return str(count)
    return f"{count / 1_000:.1f}k" if count < 100_000 else f"{count / 1_000:.0f}k"


def _is_for_people(line: str) -> bool:
    """Whether a line of what the model was told tells a person something: not its frame."""
    plain = line.strip()
    return bool(plain) and FRAME not in plain and not plain.startswith(PREAMBLE)


# -- One line for each event that is only told: compaction, plan mode, sub-agents, problems -------


_CHANGE, _WARNING = "cyan", "yellow"


def notice(event: events.AgentEvent) -> tuple[str, str] | None:
    """Text and style of a line; None for events that are shown otherwise or not at all."""
    match event:
        case events.ContextWarning(level=level, context_tokens=used, context_limit=limit):
            return f"! context {level}: {used:,} of {limit:,} tokens", _WARNING
        case events.ProblemReported(source=source, message=message):
            return f"! {source}: {message}", _WARNING
        case events.PlanModeEntered(plan_file=path):
            return f"◇ plan mode: only reading, and the plan at {path}", _CHANGE
        case events.PlanModeExited(approved=approved):
            return f"◇ plan {'approved' if approved else 'not approved'}", _CHANGE
        case events.SubagentStarted(agent=agent, description=description):
            return f"◇ {agent}: {description}", _CHANGE
        case events.SubagentFinished(agent=agent, ok=ok):
            return f"◇ {agent} {'is done' if ok else 'gave up'}", _CHANGE
        case _:
            return _compaction(event)


def _compaction(event: events.AgentEvent) -> tuple[str, str] | None:
    match event:
        case events.CompactionCompleted(removed_messages=count):
            return f"◇ compacted: {count} messages became a summary", _CHANGE
        case events.MicroCompactionApplied(removed_results=count):
            return f"◇ cleared {count} old tool results", _CHANGE
        case events.SessionMemoryCompactApplied(saved_tokens=saved):
            return f"◇ compacted from the running summary: {saved:,} tokens saved", _CHANGE
        case _:
            return None


# -- The person at the terminal: allows, answers, approves ----------------------------------------


ReadLine = Callable[[str], Awaitable[str]]
"""Reads one line with a prompt; raises EOFError or KeyboardInterrupt as a line editor does."""

_MAX_PREVIEW_LINES = 40


class TerminalPerson:
    """Asks at the terminal."""

    def __init__(self, screen: Screen, read_line: ReadLine) -> None:
        self._screen = screen
        self._read_line = read_line

    async def permit(self, request: PermissionRequest) -> Decision:
        """Show what would be done and ask for a yes."""
        self._screen.close()
        console = self._screen.console
        body = safe(request.preview or request.arguments)
        lines = body.splitlines()
        if len(lines) > _MAX_PREVIEW_LINES:
            rest = len(lines) - _MAX_PREVIEW_LINES
            body = "\n".join([*lines[:_MAX_PREVIEW_LINES], f"… {rest} more lines"])
        lexer = "diff" if body.startswith(("---", "@@", "+", "-")) else "text"
        shown = Syntax(body, lexer, word_wrap=True, background_color="default")
        title = Text(f"{request.tool}: {one_line(request.reason)}")
        console.print(Panel(shown, title=title, border_style="yellow", title_align="left"))
        always = f", a = always ({one_line(request.rule)})" if request.rule else ""
        said = (await self._asked(f"Allow? y = yes{always}, n = no: ")).lower()
        if said in ("y", "yes"):
            return Decision.ALLOW
        if said in ("a", "always") and request.rule:
            return Decision.ALLOW_ALWAYS
        return Decision.DENY

    async def answer(self, questions: tuple[Question, ...]) -> tuple[str, ...] | None:
        """Ask questions one after another; None when the person leaves one open."""
        self._screen.close()
        answers: list[str] = []
        for question in questions:
            console = self._screen.console
            head = f"{question.header}: " if question.header else ""
            console.print(Text(f"? {one_line(head + question.text)}", style="bold"))
            for number, option in enumerate(question.options, 1):
                line = Text(f"  {number}. {one_line(option.label)}")
                if option.description:
                    line.append(f"  {one_line(option.description)}", style="dim")
                console.print(line)
            hint = "numbers, or your own words" if question.several else "number, or your own words"
            said = await self._asked(f"{hint}: " if question.options else "answer: ")
            if not said:
                return None
            answers.append(_chosen(said, question))
        return tuple(answers)

    async def approve_plan(self, plan: str) -> str | None:
        """Show a plan; yes approves it, anything else is what to change."""
        self._screen.close()
        console = self._screen.console
        console.print(
            Panel(Text(safe(plan)), title="Plan", border_style="cyan", title_align="left")
        )
        said = await self._asked("Go ahead? y = yes, or say what to change: ")
        if said.lower() in ("y", "yes"):
            return None
        return said or "The person did not say yes. Ask what should be different."

    async def _asked(self, prompt: str) -> str:
        """A line; empty when the person leaves."""
        try:
            return (await self._read_line(prompt)).strip()
        except (EOFError, KeyboardInterrupt):
            return ""


def _chosen(said: str, question: Question) -> str:
    """Numbers as the labels they stand for; other words as they are."""
    picked = [part.strip() for part in said.split(",")] if question.several else [said]
    labels = [
        question.options[int(part) - 1].label
        if part.isdecimal() and 1 <= int(part) <= len(question.options)
        else part
        for part in picked
    ]
    return ", ".join(labels)
