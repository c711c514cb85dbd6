"""The person at the terminal: allows, answers, approves.

Questions go through one line editor. Asking stops the moving status first; an interrupt is a no.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from rich.panel import Panel
from rich.syntax import Syntax
from rich.text import Text

from wellkept.api.cli.output import one_line, safe
from wellkept_agent.user import Decision, PermissionRequest, Question

if TYPE_CHECKING:
    from wellkept_agent.terminal.screen import Screen

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
